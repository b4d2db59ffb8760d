//! Builds a message from its chunks.

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

    /// The whole answer. Empty text and reasoning are left out; calls without an id get one from `new_id`.
    pub fn content(&self, mut new_id: impl FnMut() -> CallId) -> Vec<ContentBlock> {
        self.blocks
            .iter()
            .filter_map(|(_, block)| match block {
                Block::Text(text) => (!text.is_empty()).then(|| ContentBlock::text(text.clone())),
                Block::Reasoning(text) => {
                    (!text.is_empty()).then(|| ContentBlock::Reasoning { text: text.clone() })
                }
                Block::ToolCall { id, name, arguments } => Some(ContentBlock::ToolCall {
                    id: id.clone().filter(|id| !id.as_str().is_empty()).unwrap_or_else(&mut new_id),
                    name: name.clone(),
                    arguments: arguments.clone(),
                }),
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
