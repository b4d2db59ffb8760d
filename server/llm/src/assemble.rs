//! Builds a message from its chunks.

use std::collections::BTreeSet;

use dsh_protocol::content::{BlockKind, Chunk, ContentBlock, FinishReason, ModelFailure, Usage};
use dsh_protocol::ids::CallId;

/// An answer in the making. Tolerant: blocks may start late or never end.
#[derive(Debug, Default)]
pub struct Assembler {
    blocks: Vec<(u32, Block)>,
    usage: Option<Usage>,
    finish: Option<(FinishReason, Option<ModelFailure>)>,
}

#[derive(Debug)]
enum Block {
    Text(String),
    Reasoning(String),
    ToolCall { id: Option<CallId>, name: String, arguments: String },
}

impl Assembler {
    /// Takes a chunk.
    pub fn push(&mut self, chunk: &Chunk) {
        match chunk {
            Chunk::BlockStart { index, block, id, name } => {
                let start = match block {
                    BlockKind::Text => Block::Text(String::new()),
                    BlockKind::Reasoning => Block::Reasoning(String::new()),
                    BlockKind::ToolCall => Block::ToolCall {
                        id: id.clone(),
                        name: name.clone().unwrap_or_default(),
                        arguments: String::new(),
                    },
                };
                self.blocks.push((*index, start));
            }
            Chunk::TextDelta { index, text } => {
                if let Block::Text(joined) = self.block(*index, || Block::Text(String::new())) {
                    joined.push_str(text);
                }
            }
            Chunk::ReasoningDelta { index, text } => {
                if let Block::Reasoning(joined) =
                    self.block(*index, || Block::Reasoning(String::new()))
                {
                    joined.push_str(text);
                }
            }
            Chunk::ToolCallDelta { index, arguments_delta } => {
                let start =
                    || Block::ToolCall { id: None, name: String::new(), arguments: String::new() };
                if let Block::ToolCall { arguments, .. } = self.block(*index, start) {
                    arguments.push_str(arguments_delta);
                }
            }
            Chunk::BlockEnd { .. } => {}
            Chunk::Usage { usage } => self.usage = Some(*usage),
            Chunk::Finish { reason, error } => self.finish = Some((*reason, error.clone())),
        }
    }

    /// The tokens that were reported.
    pub fn usage(&self) -> Option<Usage> {
        self.usage
    }

    /// How the answer ended; `stop` when nothing was said of it.
    pub fn finish(&self) -> (FinishReason, Option<ModelFailure>) {
        self.finish.clone().unwrap_or((FinishReason::Stop, None))
    }

    /// The whole answer. Empty text and reasoning are left out. Calls without an id, and those whose id another
    /// call of the answer has, get one from `new_id`: a result is found by its call's id alone.
    pub fn content(&self, mut new_id: impl FnMut() -> CallId) -> Vec<ContentBlock> {
        let mut taken = BTreeSet::new();
        self.blocks
            .iter()
            .filter_map(|(_, block)| match block {
                Block::Text(text) => (!text.is_empty()).then(|| ContentBlock::text(text.clone())),
                Block::Reasoning(text) => {
                    (!text.is_empty()).then(|| ContentBlock::Reasoning { text: text.clone() })
                }
                Block::ToolCall { id, name, arguments } => {
                    let own = id.clone().filter(|id| !id.as_str().is_empty());
                    let id = own.filter(|id| !taken.contains(id)).unwrap_or_else(&mut new_id);
                    taken.insert(id.clone());
                    Some(ContentBlock::ToolCall {
                        id,
                        name: name.clone(),
                        arguments: arguments.clone(),
                    })
                }
            })
            .collect()
    }

    /// What an interrupted answer leaves: its visible text and reasoning, never its tool calls. Empty when
    /// there is nothing but white space.
    pub fn interrupted_content(&self) -> Vec<ContentBlock> {
        let content = self.content_without_calls();
        let blank = content.iter().all(|block| match block {
            ContentBlock::Text { text } | ContentBlock::Reasoning { text } => {
                text.trim().is_empty()
            }
            ContentBlock::Image { .. }
            | ContentBlock::Resource { .. }
            | ContentBlock::ToolCall { .. }
            | ContentBlock::ToolResult { .. } => true,
        });
        if blank { Vec::new() } else { content }
    }

    /// The answer without its tool calls.
    pub fn content_without_calls(&self) -> Vec<ContentBlock> {
        let mut content = self.content(|| CallId::from(""));
        content.retain(|block| !matches!(block, ContentBlock::ToolCall { .. }));
        content
    }

    /// A block by its index; started when its first delta comes without a start.
    fn block(&mut self, index: u32, start: impl FnOnce() -> Block) -> &mut Block {
        let known = self.blocks.iter().rposition(|(at, _)| *at == index);
        let at = known.unwrap_or_else(|| {
            self.blocks.push((index, start()));
            self.blocks.len() - 1
        });
        &mut self.blocks[at].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(index: u32, id: Option<&str>, name: &str, pieces: &[&str]) -> Vec<Chunk> {
        let start = Chunk::BlockStart {
            index,
            block: BlockKind::ToolCall,
            id: id.map(CallId::from),
            name: Some(name.to_owned()),
        };
        let deltas = pieces
            .iter()
            .map(|piece| Chunk::ToolCallDelta { index, arguments_delta: (*piece).to_owned() });
        std::iter::once(start).chain(deltas).collect()
    }

    fn assembled(chunks: impl IntoIterator<Item = Chunk>) -> Assembler {
        let mut assembler = Assembler::default();
        chunks.into_iter().for_each(|chunk| assembler.push(&chunk));
        assembler
    }

    #[test]
    fn calls_that_arrive_interleaved_keep_their_order_and_get_ids_of_their_own() {
        let (a, b) = (
            call(0, Some("same"), "read", &["{\"a\"", ":1}"]),
            call(1, Some("same"), "grep", &["{}"]),
        );
        let c = call(2, Some(""), "glob", &[]);
        let interleaved =
            [a[0].clone(), b[0].clone(), a[1].clone(), b[1].clone(), a[2].clone(), c[0].clone()];
        let mut made = 0;
        let content = assembled(interleaved).content(|| {
            made += 1;
            CallId::from(format!("new-{made}"))
        });
        let shown: Vec<_> = content
            .iter()
            .map(|block| {
                let ContentBlock::ToolCall { id, name, arguments } = block else {
                    panic!("{block:?}")
                };
                format!("{id} {name} {arguments}")
            })
            .collect();
        assert_eq!(shown, ["same read {\"a\":1}", "new-1 grep {}", "new-2 glob "]);
    }

    #[test]
    fn an_interrupted_answer_keeps_what_was_seen_and_none_of_its_calls() {
        let text = |text: &str| Chunk::TextDelta { index: 0, text: text.to_owned() };
        let mut chunks = vec![text("half a "), text("sentence")];
        chunks.extend(call(1, Some("c"), "read", &["{"]));
        assert_eq!(
            assembled(chunks).interrupted_content(),
            [ContentBlock::text("half a sentence")]
        );
        assert!(assembled([text(" \n")]).interrupted_content().is_empty());
    }

    #[test]
    fn the_last_usage_counts_and_a_missing_finish_means_stop() {
        let usage =
            |output_tokens| Chunk::Usage { usage: Usage { output_tokens, ..Usage::default() } };
        let assembler = assembled([usage(1), usage(7)]);
        assert_eq!(assembler.usage().map(|usage| usage.output_tokens), Some(7));
        assert_eq!(assembler.finish(), (FinishReason::Stop, None));
    }
}
