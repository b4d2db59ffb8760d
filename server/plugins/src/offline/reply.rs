//! A step as the chunks of a model's answer.

use dsh_llm::adapter::Request;
use dsh_protocol::content::{BlockKind, Chunk, FinishReason, Usage, visible_text};
use dsh_protocol::ids::CallId;
use serde_json::Value;

/// What to do next.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    /// Ask for tools, all at once.
    Calls(Vec<Call>),
    /// Say the answer.
    Say(String),
}

/// A tool to ask for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Call {
    pub tool: &'static str,
    pub arguments: Value,
}

/// The chunks of a step, usage and finish included.
pub(super) fn chunks(step: &Step, request: &Request) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    let (written, reason) = match step {
        Step::Calls(calls) => (call_chunks(calls, request, &mut chunks), FinishReason::ToolCalls),
        Step::Say(text) => (text_chunks(text, &mut chunks), FinishReason::Stop),
    };
    let usage = Usage {
        input_tokens: tokens(read_by(request)),
        output_tokens: tokens(written),
        ..Usage::default()
    };
    chunks.push(Chunk::Usage { usage });
    chunks.push(Chunk::Finish { reason, error: None });
    chunks
}

fn call_chunks(calls: &[Call], request: &Request, chunks: &mut Vec<Chunk>) -> usize {
    let mut written = 0;
    for (index, call) in (0..).zip(calls) {
        // Unique in the session, and the same when the same request is asked again.
        let id = format!("offline-{}-{}-{index}", request.turn, request.step);
        let arguments_delta = call.arguments.to_string();
        written += arguments_delta.len() + call.tool.len();
        chunks.extend([
            Chunk::BlockStart {
                index,
                block: BlockKind::ToolCall,
                id: Some(CallId::from(id)),
                name: Some(call.tool.to_owned()),
            },
            Chunk::ToolCallDelta { index, arguments_delta },
            Chunk::BlockEnd { index },
        ]);
    }
    written
}

/// A line at a time, so that a reader sees the answer grow.
fn text_chunks(text: &str, chunks: &mut Vec<Chunk>) -> usize {
    let index = 0;
    chunks.push(Chunk::BlockStart { index, block: BlockKind::Text, id: None, name: None });
    for line in text.split_inclusive('\n') {
        chunks.push(Chunk::TextDelta { index, text: line.to_owned() });
    }
    chunks.push(Chunk::BlockEnd { index });
    text.len()
}

fn read_by(request: &Request) -> usize {
    let system = request.header.system.as_ref().map_or(0, String::len);
    request.messages.iter().map(|message| visible_text(&message.content).len()).sum::<usize>()
        + system
}

/// About four characters to a token.
fn tokens(length: usize) -> u64 {
    (length as u64).div_ceil(4)
}
