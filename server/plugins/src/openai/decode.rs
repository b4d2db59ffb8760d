//! From the events of an answer to chunks: a state machine without clock, socket or memory of other answers.

mod calls;
mod tags;
mod usage;

use std::sync::Arc;

use dsh_llm::adapter::failure;
use dsh_llm::sse::Event;
use dsh_protocol::content::{BlockKind, Chunk, FinishReason, ModelFailure, Usage};
use serde_json::Value;

use super::dialect::{Dialect, Markup};
use super::failure;
use calls::Calls;
use tags::{Piece, Tags};

/// What the decoder knows of the request.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    /// Who answers, for messages.
    pub provider: Arc<str>,
    /// How it differs.
    pub dialect: &'static Dialect,
    /// The model's context window, where known.
    pub context_window: Option<u64>,
    /// Whether tools were offered.
    pub tools: bool,
}

/// Whether more is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    /// More may come.
    Continue,
    /// The finish is among the chunks.
    Over,
}

/// An answer of which some events have come.
#[derive(Debug)]
pub(super) struct Decoder {
    asked: Asked,
    tags: Tags,
    calls: Calls,
    /// How many blocks began.
    blocks: u32,
    /// The block of text or reasoning that goes on.
    open: Option<(u32, BlockKind)>,
    /// All visible text, to see at the end whether there is any and whether it is markup.
    text: String,
    usage: Option<Usage>,
    finish: Option<String>,
}

impl Decoder {
    pub(super) fn new(asked: Asked) -> Self {
        Self {
            tags: Tags::new(asked.dialect.tags),
            asked,
            calls: Calls::default(),
            blocks: 0,
            open: None,
            text: String::new(),
            usage: None,
            finish: None,
        }
    }

    /// Whether the reason of the end has come: what is missing then is the cost at most.
    pub(super) fn is_complete(&self) -> bool {
        self.finish.is_some()
    }

    /// Takes an event.
    pub(super) fn event(&mut self, event: &Event, chunks: &mut Vec<Chunk>) -> Flow {
        let data = event.data.trim();
        if data.is_empty() {
            return Flow::Continue;
        }
        if data == "[DONE]" {
            return self.complete(chunks);
        }
        match serde_json::from_str::<Value>(data) {
            Ok(data) if is_error(&data, event) && !self.is_complete() => {
                self.fail(failure::of_event(&self.asked.provider, &data), chunks)
            }
            Ok(data) => {
                self.data(&data, chunks);
                Flow::Continue
            }
            Err(_) if !event.terminated || self.is_complete() => Flow::Continue,
            Err(_) if event.name == "error" => {
                let said = Value::String(data.to_owned());
                self.fail(failure::of_event(&self.asked.provider, &said), chunks)
            }
            Err(_) => self.fail(failure::of_page(&self.asked.provider, data.as_bytes()), chunks),
        }
    }

    /// The stream ended in good order.
    pub(super) fn end(&mut self, chunks: &mut Vec<Chunk>) -> Flow {
        let closed = failure("STREAM_CLOSED", "the model's answer ended before it was complete");
        self.fail(closed, chunks)
    }

    /// Something went wrong. That is nothing to speak of once the answer is complete.
    pub(super) fn fail(&mut self, failure: ModelFailure, chunks: &mut Vec<Chunk>) -> Flow {
        if self.is_complete() {
            return self.complete(chunks);
        }
        self.flush_text(chunks);
        self.close(FinishReason::Error, Some(failure), chunks)
    }

    fn data(&mut self, data: &Value, chunks: &mut Vec<Chunk>) {
        let choices = data.get("choices").and_then(Value::as_array).into_iter().flatten();
        let choice = choices.into_iter().find(|choice| {
            choice.get("index").and_then(Value::as_u64).is_none_or(|index| index == 0)
        });
        let of_choice = choice.and_then(|choice| choice.get("usage"));
        if let Some(usage) =
            [data.get("usage"), of_choice].into_iter().flatten().find_map(usage::read)
        {
            self.usage = Some(Usage { context_window: self.asked.context_window, ..usage });
        }
        let Some(choice) = choice else { return };
        // A server that does not stream sends the same fields as a whole message.
        let delta = choice.get("delta").filter(|delta| delta.is_object());
        if let Some(delta) = delta.or_else(|| choice.get("message")) {
            self.delta(delta, chunks);
        }
        if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str)
            && !reason.is_empty()
        {
            self.finish = Some(reason.to_owned());
        }
    }

    fn delta(&mut self, delta: &Value, chunks: &mut Vec<Chunk>) {
        let fields = self.asked.dialect.reasoning.iter();
        let reasoning = fields.filter_map(|field| delta.get(field)).map(text_of);
        if let Some(reasoning) = reasoning.into_iter().find(|text| !text.is_empty()) {
            self.flush_text(chunks);
            self.say(BlockKind::Reasoning, reasoning, chunks);
        }
        for field in ["content", "refusal"] {
            let content = delta.get(field).map(text_of).unwrap_or_default();
            for piece in self.tags.take(&content) {
                self.say_piece(piece, chunks);
            }
        }
        let calls = delta.get("tool_calls").and_then(Value::as_array).into_iter().flatten();
        for call in calls {
            self.flush_text(chunks);
            self.calls.take(call);
        }
        self.start_calls(false, chunks);
    }

    fn start_calls(&mut self, all: bool, chunks: &mut Vec<Chunk>) {
        let before = chunks.len();
        self.calls.send(all, &mut self.blocks, chunks);
        let started = |chunk: &Chunk| matches!(chunk, Chunk::BlockStart { .. });
        if let Some((index, _)) = self.open.take_if(|_| chunks[before..].iter().any(started)) {
            chunks.insert(before, Chunk::BlockEnd { index });
        }
    }

    fn flush_text(&mut self, chunks: &mut Vec<Chunk>) {
        if let Some(piece) = self.tags.flush() {
            self.say_piece(piece, chunks);
        }
    }

    fn say_piece(&mut self, piece: Piece, chunks: &mut Vec<Chunk>) {
        match piece {
            Piece::Text(text) => {
                self.text.push_str(&text);
                self.say(BlockKind::Text, text, chunks);
            }
            Piece::Reasoning(text) => self.say(BlockKind::Reasoning, text, chunks),
        }
    }

    /// Adds to the open block, or to a new one when it is of another kind.
    fn say(&mut self, kind: BlockKind, text: String, chunks: &mut Vec<Chunk>) {
        if text.is_empty() {
            return;
        }
        if let Some((index, _)) = self.open.take_if(|(_, open)| *open != kind) {
            chunks.push(Chunk::BlockEnd { index });
        }
        let (index, _) = *self.open.get_or_insert_with(|| {
            let index = self.blocks;
            self.blocks += 1;
            chunks.push(Chunk::BlockStart { index, block: kind, id: None, name: None });
            (index, kind)
        });
        chunks.push(match kind {
            BlockKind::Reasoning => Chunk::ReasoningDelta { index, text },
            BlockKind::Text | BlockKind::ToolCall => Chunk::TextDelta { index, text },
        });
    }

    /// The answer is whole.
    fn complete(&mut self, chunks: &mut Vec<Chunk>) -> Flow {
        self.flush_text(chunks);
        let reason = self.finish.clone();
        match reason.as_deref().unwrap_or("stop") {
            "stop" | "tool_calls" | "function_call" | "tool_use" | "end_turn" | "eos"
            | "stop_sequence" => self.stop(chunks),
            "length" | "max_tokens" | "model_length" => {
                self.close(FinishReason::MaxTokens, None, chunks)
            }
            other => {
                let code = finish_code(other);
                let text = format!("{} ended the answer: {other}", self.asked.provider);
                self.close(FinishReason::Error, Some(failure(&code, text)), chunks)
            }
        }
    }

    fn stop(&mut self, chunks: &mut Vec<Chunk>) -> Flow {
        self.start_calls(true, chunks);
        let failure = if !self.calls.is_empty() {
            return self.close(FinishReason::ToolCalls, None, chunks);
        } else if self.asked.tools && leaks(&self.text, self.asked.dialect.markup) {
            failure("MALFORMED_RESPONSE", "the model wrote a tool call as text")
        } else if self.text.trim().is_empty() {
            failure("EMPTY_RESPONSE", "the model answered nothing")
        } else {
            return self.close(FinishReason::Stop, None, chunks);
        };
        self.close(FinishReason::Error, Some(failure), chunks)
    }

    fn close(
        &mut self,
        reason: FinishReason,
        error: Option<ModelFailure>,
        chunks: &mut Vec<Chunk>,
    ) -> Flow {
        let open = self.open.take().map(|(index, _)| index);
        let ended = open.into_iter().chain(self.calls.started());
        chunks.extend(ended.map(|index| Chunk::BlockEnd { index }));
        chunks.extend(self.usage.map(|usage| Chunk::Usage { usage }));
        chunks.push(Chunk::Finish { reason, error });
        Flow::Over
    }
}

fn is_error(data: &Value, event: &Event) -> bool {
    event.name == "error" || data.get("error").is_some_and(|error| !error.is_null())
}

/// A text, or the texts of a list of parts.
fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part.get("text")).filter_map(Value::as_str).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

/// The code of a reason that is no proper end. Those that mean a busy server are tried again.
fn finish_code(reason: &str) -> String {
    if ["insufficient_system_resource", "abort", "error"].contains(&reason) {
        return "SERVER".to_owned();
    }
    let plain = |character: char| if character.is_ascii_alphanumeric() { character } else { '_' };
    reason.to_ascii_uppercase().chars().take(40).map(plain).collect()
}

fn leaks(text: &str, markup: &[Markup]) -> bool {
    markup.iter().any(|markup| match markup {
        Markup::Anywhere(token) => text.contains(token),
        Markup::LineStart(tag) => text.lines().any(|line| line.trim_start().starts_with(tag)),
    })
}

#[cfg(test)]
mod tests;
