//! Server-sent events, parsed from bytes that arrive in any pieces.
//!
//! Looser than the standard where real servers are: a last event without its blank line counts, and a byte
//! that is not UTF-8 becomes U+FFFD and spoils nothing else.

use std::collections::VecDeque;

/// The longest event: far more than any delta, far less than what would hurt.
pub const MAX_EVENT_BYTES: usize = 8 * 1024 * 1024;

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// What `event:` named it; empty when nothing did.
    pub name: String,
    /// The `data:` lines, joined by newlines.
    pub data: String,
    /// Whether its blank line came; without it the data may be cut.
    pub terminated: bool,
}

/// What some bytes were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// At least a part of an event.
    Data,
    /// Comments and blank lines: the server lives and has nothing to say.
    KeepAlive,
}

/// An event is longer than the parser takes.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("an event is longer than {0} bytes")]
pub struct TooLong(pub usize);

/// A parser in the middle of a stream.
#[derive(Debug)]
pub struct Parser {
    max_event_bytes: usize,
    /// The line that has not ended.
    line: Vec<u8>,
    /// Whether the first line, which may begin with a byte order mark, is still to come.
    at_start: bool,
    /// Whether the last byte was a CR, so that an LF now belongs to it.
    after_cr: bool,
    name: String,
    data: String,
    has_data: bool,
}

impl Parser {
    /// A parser at the start of a stream.
    pub fn new(max_event_bytes: usize) -> Self {
        Self {
            max_event_bytes,
            line: Vec::new(),
            at_start: true,
            after_cr: false,
            name: String::new(),
            data: String::new(),
            has_data: false,
        }
    }

    /// Takes bytes and adds the events that they complete.
    pub fn push(
        &mut self,
        mut bytes: &[u8],
        events: &mut VecDeque<Event>,
    ) -> Result<Activity, TooLong> {
        let mut activity = Activity::KeepAlive;
        while !bytes.is_empty() {
            if std::mem::take(&mut self.after_cr) && bytes[0] == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
            self.line.extend_from_slice(&bytes[..end.unwrap_or(bytes.len())]);
            if self.line.len() + self.data.len() > self.max_event_bytes {
                return Err(TooLong(self.max_event_bytes));
            }
            if self.line.first().is_some_and(|first| *first != b':') {
                activity = Activity::Data;
            }
            let Some(end) = end else { break };
            self.after_cr = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            events.extend(self.end_line());
        }
        Ok(activity)
    }

    /// The event that the end of the stream leaves without its blank line.
    pub fn end(&mut self) -> Option<Event> {
        if !self.line.is_empty() {
            self.end_line();
        }
        self.event(false)
    }

    fn end_line(&mut self) -> Option<Event> {
        let line = std::mem::take(&mut self.line);
        let mut line = line.as_slice();
        if std::mem::take(&mut self.at_start) {
            line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
        }
        if line.is_empty() {
            return self.event(true);
        }
        let line = String::from_utf8_lossy(line);
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                if self.has_data {
                    self.data.push('\n');
                }
                self.data.push_str(value);
                self.has_data = true;
            }
            "event" => value.clone_into(&mut self.name),
            _ => {}
        }
        None
    }

    fn event(&mut self, terminated: bool) -> Option<Event> {
        let name = std::mem::take(&mut self.name);
        let data = std::mem::take(&mut self.data);
        std::mem::take(&mut self.has_data).then_some(Event { name, data, terminated })
    }
}

#[cfg(test)]
mod tests;
