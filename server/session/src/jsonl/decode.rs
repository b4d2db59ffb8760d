//! What a line of a log file says.

use dsh_protocol::content::Chunk;
use dsh_protocol::event::{AssistantChunk, Event, EventData};
use serde::Deserialize;
use serde_json::Value;

use crate::run::{Entry, Run};

/// How the rows begin that this server writes.
const ROWS: [&[u8]; 3] =
    [b"{\"type\":\"text-", b"{\"type\":\"reasoning-", b"{\"type\":\"tool-call-"];

/// Why a line cannot be used.
#[derive(Debug)]
pub(super) enum Refusal {
    Damaged(String),
    /// It may be right, for a server that knows more.
    Unsupported(String),
}

/// Decodes lines; keeps a buffer for it.
#[derive(Default)]
pub(super) struct Decoder {
    written: Vec<u8>,
}

impl Decoder {
    /// What a line holds. Refused unless all of it is understood: what is passed over silently would be missing
    /// from what clients and models see.
    pub(super) fn decode(&mut self, line: &[u8]) -> Result<Entry, Refusal> {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        if line.ends_with(b"\r") {
            return Err(Refusal::Damaged("it ends with a carriage return".to_owned()));
        }
        if ROWS.iter().any(|row| line.starts_with(row)) {
            return row(line);
        }
        if let Some(event) = delta(line) {
            return Ok(Entry::One(event));
        }
        let event = match serde_json::from_slice::<Event>(line) {
            Ok(event) => event,
            Err(error) if is_row(line) => {
                return row(line).map_err(|_| Refusal::Damaged(error.to_string()));
            }
            Err(error) => return Err(Refusal::Damaged(error.to_string())),
        };
        if let EventData::Unknown(unknown) = &event.data
            && !event.ignorable
        {
            return Err(Refusal::Unsupported(format!(
                "an event of type `{}`, which this server does not know",
                unknown.name
            )));
        }
        self.check_all_was_read(line, &event)?;
        Ok(Entry::One(event))
    }

    fn check_all_was_read(&mut self, line: &[u8], event: &Event) -> Result<(), Refusal> {
        let wrong = |error: serde_json::Error| Refusal::Damaged(error.to_string());
        self.written.clear();
        serde_json::to_writer(&mut self.written, event).map_err(wrong)?;
        if self.written == line {
            return Ok(());
        }
        // Another writer may put keys in another order and escape more than is needed.
        let said: Value = serde_json::from_slice(line).map_err(wrong)?;
        let read: Value = serde_json::from_slice(&self.written).map_err(wrong)?;
        match left_out(&said, &read) {
            None => Ok(()),
            Some(path) => Err(Refusal::Unsupported(format!(
                "`{}`, which this server does not know",
                path.trim_start_matches('.')
            ))),
        }
    }
}

/// A delta that stands alone, as nearly all lines of logs without rows are: this takes a fraction of the time.
fn delta(line: &[u8]) -> Option<Event> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Line<'a> {
        r#type: &'a str,
        seq: u64,
        time: u64,
        #[serde(borrow)]
        data: Data<'a>,
    }
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Data<'a> {
        turn: u64,
        step: u64,
        #[serde(borrow)]
        chunk: Delta<'a>,
    }
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Delta<'a> {
        r#type: &'a str,
        index: u32,
        text: Option<String>,
        #[serde(rename = "argumentsDelta")]
        arguments: Option<String>,
    }
    if !line.starts_with(b"{\"type\":\"assistant/chunk\"") {
        return None;
    }
    let line: Line<'_> = serde_json::from_slice(line).ok()?;
    let Delta { r#type, index, text, arguments } = line.data.chunk;
    let chunk = match (r#type, text, arguments) {
        ("text-delta", Some(text), None) => Chunk::TextDelta { index, text },
        ("reasoning-delta", Some(text), None) => Chunk::ReasoningDelta { index, text },
        ("tool-call-delta", None, Some(arguments_delta)) => {
            Chunk::ToolCallDelta { index, arguments_delta }
        }
        _ => return None,
    };
    let Data { turn, step, .. } = line.data;
    let data = EventData::AssistantChunk(AssistantChunk { turn, step, chunk });
    let Line { seq, time, .. } = line;
    let (surface_op, source_event_seqs) = (None, None);
    (line.r#type == "assistant/chunk").then_some(Event {
        seq,
        time,
        data,
        surface_op,
        source_event_seqs,
        ignorable: false,
    })
}

fn row(line: &[u8]) -> Result<Entry, Refusal> {
    let run = serde_json::from_slice::<Run>(line);
    run.map(Entry::Run).map_err(|error| Refusal::Damaged(error.to_string()))
}

/// Whether a line means to be a row, however it is spelled.
fn is_row(line: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Start {
        seq0: Option<u64>,
    }
    serde_json::from_slice::<Start>(line).is_ok_and(|start| start.seq0.is_some())
}

/// Where something was said that was not read; what says nothing may be left out.
fn left_out(said: &Value, read: &Value) -> Option<String> {
    match (said, read) {
        (Value::Object(said), Value::Object(read)) => said.iter().find_map(|(key, value)| {
            let below = match read.get(key) {
                Some(read) => left_out(value, read),
                None if says_nothing(value) => None,
                None => Some(String::new()),
            };
            below.map(|below| format!(".{key}{below}"))
        }),
        (Value::Array(said), Value::Array(read)) if said.len() == read.len() => {
            let mut pairs = said.iter().zip(read).enumerate();
            pairs.find_map(|(at, (said, read))| {
                left_out(said, read).map(|below| format!(".{at}{below}"))
            })
        }
        (said, read) if said == read => None,
        (said, Value::Null) if says_nothing(said) => None,
        _ => Some(String::new()),
    }
}

fn says_nothing(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Array(list) => list.is_empty(),
        Value::Bool(true) | Value::Number(_) | Value::String(_) | Value::Object(_) => false,
    }
}
