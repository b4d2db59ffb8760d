//! What one request is answered with, step by step.

use std::time::Duration;

use serde_json::{Value, json};

/// One thing that is done on the connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Bytes, written at once.
    Write(Vec<u8>),
    /// Waits until the test says so.
    Pause,
    /// Waits for a time.
    Sleep(Duration),
    /// Closes with a reset.
    Reset,
    /// Leaves the connection open until the other side closes it.
    Hold,
}

/// How the bytes of an answer are cut into writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// As the script wrote them.
    AsWritten,
    /// Each byte alone.
    EachByte,
    /// Once, before the byte of this number.
    At(usize),
    /// At places that a seed decides.
    Seeded(u64),
}

/// An answer in the making. Without [`Answer::reset`] or [`Answer::hold`] it ends with a normal close.
#[derive(Clone, Debug)]
pub struct Answer {
    pub(crate) head: String,
    pub(crate) steps: Vec<Step>,
    pub(crate) cut: Cut,
}

impl Answer {
    /// A stream of events, which ends when the connection does.
    pub fn stream() -> Self {
        Self::status(200).header("content-type", "text/event-stream")
    }

    /// An answer with a status and, so far, no body.
    pub fn status(status: u16) -> Self {
        let head = format!("HTTP/1.1 {status} Scripted\r\nconnection: close\r\n");
        Self { head, steps: Vec::new(), cut: Cut::AsWritten }
    }

    /// A header more.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.head.extend([name, ": ", value, "\r\n"]);
        self
    }

    /// Exact bytes of the body.
    pub fn raw(mut self, bytes: impl AsRef<[u8]>) -> Self {
        self.steps.push(Step::Write(bytes.as_ref().to_vec()));
        self
    }

    /// A JSON body, with its header.
    pub fn json(self, body: &Value) -> Self {
        self.header("content-type", "application/json").raw(body.to_string())
    }

    /// An event with any data.
    pub fn event(self, data: &Value) -> Self {
        self.raw(format!("data: {data}\n\n"))
    }

    /// A delta with any fields.
    pub fn delta_of(self, delta: &Value) -> Self {
        self.event(&json!({ "choices": [{ "index": 0, "delta": delta }] }))
    }

    /// Visible text.
    pub fn delta(self, text: &str) -> Self {
        self.delta_of(&json!({ "content": text }))
    }

    /// Reasoning, in the field that most providers use.
    pub fn reasoning(self, text: &str) -> Self {
        self.delta_of(&json!({ "reasoning_content": text }))
    }

    /// A piece of a tool call. An id or a name that is empty is left out.
    pub fn tool_call(self, index: u32, id: &str, name: &str, arguments: &str) -> Self {
        let mut function = json!({ "arguments": arguments });
        if !name.is_empty() {
            function["name"] = name.into();
        }
        let mut call = json!({ "index": index, "type": "function", "function": function });
        if !id.is_empty() {
            call["id"] = id.into();
        }
        self.delta_of(&json!({ "tool_calls": [call] }))
    }

    /// The reason for which the answer ends.
    pub fn finish(self, reason: &str) -> Self {
        self.event(&json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] }))
    }

    /// The cost, in an event without choices.
    pub fn usage(self, usage: &Value) -> Self {
        self.event(&json!({ "choices": [], "usage": usage }))
    }

    /// The last event.
    pub fn done(self) -> Self {
        self.raw("data: [DONE]\n\n")
    }

    /// A comment that keeps the connection alive.
    pub fn keep_alive(self) -> Self {
        self.raw(": keep-alive\n\n")
    }

    /// Waits for [`crate::server::MockModel::release`].
    pub fn pause(mut self) -> Self {
        self.steps.push(Step::Pause);
        self
    }

    /// Waits for a time.
    pub fn sleep(mut self, time: Duration) -> Self {
        self.steps.push(Step::Sleep(time));
        self
    }

    /// Closes with a reset.
    pub fn reset(mut self) -> Self {
        self.steps.push(Step::Reset);
        self
    }

    /// Closes normally: what happens anyway, for scripts that want to say it.
    pub fn close(self) -> Self {
        self
    }

    /// Says nothing more and leaves the connection open until the other side closes it.
    pub fn hold(mut self) -> Self {
        self.steps.push(Step::Hold);
        self
    }

    /// Writes each byte of the body alone.
    pub fn each_byte(mut self) -> Self {
        self.cut = Cut::EachByte;
        self
    }

    /// Cuts the body once, before the byte of this number.
    pub fn cut_at(mut self, at: usize) -> Self {
        self.cut = Cut::At(at);
        self
    }

    /// Cuts the body at places that a seed decides.
    pub fn seeded_cuts(mut self, seed: u64) -> Self {
        self.cut = Cut::Seeded(seed);
        self
    }

    /// All bytes of the body, for tests that need no connection.
    pub fn into_body(self) -> Vec<u8> {
        let written = self.steps.into_iter().filter_map(|step| match step {
            Step::Write(bytes) => Some(bytes),
            Step::Pause | Step::Sleep(_) | Step::Reset | Step::Hold => None,
        });
        written.flatten().collect()
    }
}
