//! What became of a child, read from its log.

use std::collections::BTreeMap;
use std::sync::Arc;

use dsh_protocol::content::{Chunk, ContentBlock, visible_text};
use dsh_protocol::event::{Event, EventData, ToolResult};
use dsh_protocol::ids::CallId;
use dsh_protocol::subagent::StopReason;
use dsh_protocol::turn::TurnEnd;
use dsh_session::log::Log;
use serde_json::Value;

use super::run::RunResult;
use super::structured::STRUCTURED_OUTPUT;

/// What became of the child with this log, from its own events alone: the same while it is loaded and after a
/// restart.
pub fn of(log: &Log) -> RunResult {
    let inherited = log.header().seed_length.unwrap_or(0);
    let after = i64::try_from(inherited).unwrap_or(i64::MAX) - 1;
    let (contract, usage) = log.read(|fold| {
        (fold.descriptor.as_ref().is_some_and(|descriptor| descriptor.structured), fold.totals)
    });
    let mut seen = Seen::default();
    for event in log.page(after, usize::MAX, |_| true).events {
        seen.push(&event);
    }
    let unkept = contract && seen.structured.is_none();
    let ended = stop_reason(seen.turn_end.as_ref());
    let stop_reason =
        if unkept && ended == StopReason::Completed { StopReason::Error } else { ended };
    RunResult {
        stop_reason,
        diagnostic: diagnostic(seen.turn_end.as_ref(), unkept),
        text: if seen.text.is_empty() { seen.streamed } else { seen.text },
        content: seen.content,
        structured: seen.structured,
        usage,
        turn_end: seen.turn_end,
    }
}

/// What a turn's end means for its child.
pub(crate) fn stop_reason(end: Option<&TurnEnd>) -> StopReason {
    match end {
        Some(TurnEnd::Completed) => StopReason::Completed,
        Some(TurnEnd::MaxTokens) => StopReason::MaxTokens,
        Some(TurnEnd::Aborted { .. }) => StopReason::Aborted,
        Some(TurnEnd::Blocked) => StopReason::Refusal,
        Some(TurnEnd::Error { .. } | TurnEnd::Interrupted | TurnEnd::Limit { .. }) | None => {
            StopReason::Error
        }
    }
}

fn diagnostic(end: Option<&TurnEnd>, unkept: bool) -> Option<String> {
    let unkept = unkept && end == Some(&TurnEnd::Completed);
    let said = || format!("it ended without a call of `{STRUCTURED_OUTPUT}` that fits");
    unkept.then(said).or_else(|| said_of(end))
}

/// What is said of an end that is no success: fixed sentences and codes, never a model's or a provider's words.
pub(crate) fn said_of(end: Option<&TurnEnd>) -> Option<String> {
    match end {
        Some(TurnEnd::Completed | TurnEnd::Aborted { .. }) => None,
        Some(TurnEnd::MaxTokens) => Some("its answer was cut at the model's limit".to_owned()),
        Some(TurnEnd::Blocked) => Some("its prompt was refused".to_owned()),
        Some(TurnEnd::Error { error }) => {
            let known = error
                .code
                .bytes()
                .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
            let code = if known && error.code.len() <= 64 { &error.code } else { "UNKNOWN" };
            Some(format!("its model failed ({code})"))
        }
        Some(TurnEnd::Limit { .. }) => Some("it used up a budget of its turn".to_owned()),
        Some(TurnEnd::Interrupted) => Some("the server stopped while it worked".to_owned()),
        None => Some("it did not come to work".to_owned()),
    }
}

/// What was seen of a child's own events.
#[derive(Default)]
struct Seen {
    turn_end: Option<TurnEnd>,
    text: String,
    content: Vec<ContentBlock>,
    /// The text of an answer that is not complete yet.
    streamed: String,
    /// What each call of the output tool was given, as the model wrote it.
    calls: BTreeMap<CallId, String>,
    structured: Option<Value>,
}

impl Seen {
    fn push(&mut self, event: &Arc<Event>) {
        if let EventData::TurnEnd(end) = &event.data {
            self.turn_end = Some(end.reason.clone());
        } else if let EventData::TurnStart(_) = &event.data {
            self.turn_end = None;
        } else if let EventData::StepStart(_) = &event.data {
            self.streamed.clear();
        } else if let EventData::AssistantChunk(piece) = &event.data {
            if let Chunk::TextDelta { text, .. } = &piece.chunk {
                self.streamed.push_str(text);
            }
        } else if let EventData::AssistantMessage(answer) = &event.data {
            let text = visible_text(&answer.message.content);
            if !text.trim().is_empty() {
                self.text = text;
            }
            self.content.clone_from(&answer.message.content);
        } else if let EventData::ToolCall(call) = &event.data {
            if call.name == STRUCTURED_OUTPUT {
                self.calls.insert(call.call_id.clone(), call.arguments.clone());
            }
        } else if let EventData::ToolResult(result) = &event.data {
            self.capture(result);
        }
    }

    /// Takes what the output tool took.
    fn capture(&mut self, result: &ToolResult) {
        let [ContentBlock::ToolResult { tool_call_id, is_error, .. }] =
            result.message.content.as_slice()
        else {
            return;
        };
        let Some(arguments) = self.calls.remove(tool_call_id) else { return };
        if *is_error == Some(true) {
            return;
        }
        // What ran is what counts; what was asked stands in for a value too large to be logged twice.
        let ran = result.meta.as_ref().map(|meta| meta["value"].clone());
        self.structured =
            ran.filter(|value| !value.is_null()).or_else(|| serde_json::from_str(&arguments).ok());
    }
}
