//! Tool calls, which arrive in pieces that belong together by their index on the wire.
//!
//! Servers disagree on almost everything here: names come late, again or never, ids are missing, and some send
//! several whole calls under one index. A call is passed on once its name and its id are known and the calls
//! before it have been, so that they keep the order of their indexes; what is still open at the end goes then.

use std::collections::BTreeMap;

use dsh_protocol::content::{BlockKind, Chunk};
use dsh_protocol::ids::CallId;
use serde_json::Value;
use serde_json::value::RawValue;

/// Its index on the wire, and which of the calls under that index.
type Place = (u64, u64);

/// The calls of one answer.
#[derive(Debug, Default)]
pub(super) struct Calls {
    calls: BTreeMap<Place, Call>,
}

#[derive(Debug, Default)]
struct Call {
    id: String,
    name: String,
    arguments: String,
    /// How many bytes of the arguments were passed on.
    sent: usize,
    /// Its block, once it has one.
    block: Option<u32>,
}

impl Calls {
    /// Takes an entry of a delta's `tool_calls`.
    pub(super) fn take(&mut self, entry: &Value) {
        let function = entry.get("function");
        let id = text(entry.get("id"));
        let name = text(function.and_then(|function| function.get("name")));
        let arguments = match function.and_then(|function| function.get("arguments")) {
            Some(Value::String(text)) => text.clone(),
            // Some servers send the object itself.
            Some(object @ Value::Object(_)) => object.to_string(),
            _ => String::new(),
        };
        if id.is_empty() && name.is_empty() && arguments.is_empty() {
            return;
        }
        let place = self.place(entry.get("index").and_then(Value::as_u64), id, name);
        let call = self.calls.entry(place).or_default();
        if call.id.is_empty() {
            id.clone_into(&mut call.id);
        }
        if call.name.is_empty() {
            name.clone_into(&mut call.name);
        }
        call.arguments.push_str(&arguments);
    }

    /// Where a piece belongs. Without an index it goes to the call of its id, to a new call if it names one,
    /// else to the last. With the index of a call that is whole, another id and a name begin a new call.
    fn place(&self, index: Option<u64>, id: &str, name: &str) -> Place {
        let last = self.calls.last_key_value().map(|(place, _)| *place);
        let Some(index) = index else {
            let known = self.calls.iter().find(|(_, call)| !id.is_empty() && call.id == id);
            let next = last.map_or((0, 0), |(index, _)| (index.saturating_add(1), 0));
            let begins = !name.is_empty() || !id.is_empty();
            return known.map(|(place, _)| *place).or(last.filter(|_| !begins)).unwrap_or(next);
        };
        let current = self.calls.range((index, 0)..=(index, u64::MAX)).next_back();
        let Some((&(_, nth), call)) = current else { return (index, 0) };
        let another = !id.is_empty() && !call.id.is_empty() && id != call.id && !name.is_empty();
        if another && call.is_whole() { (index, nth + 1) } else { (index, nth) }
    }

    /// Passes on what can be: calls in their order, and of each what is new. `all`: nothing more will come.
    pub(super) fn send(&mut self, all: bool, blocks: &mut u32, chunks: &mut Vec<Chunk>) {
        let mut next = 0;
        for (&(index, _), call) in &mut self.calls {
            let known = index <= next && !call.id.is_empty() && !call.name.is_empty();
            if call.block.is_none() && !known && !all {
                return;
            }
            next = index.saturating_add(1);
            call.send(blocks, chunks);
        }
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// The blocks of the calls that were passed on.
    pub(super) fn started(&self) -> impl Iterator<Item = u32> {
        self.calls.values().filter_map(|call| call.block)
    }
}

impl Call {
    fn is_whole(&self) -> bool {
        self.arguments.trim().is_empty()
            || serde_json::from_str::<&RawValue>(&self.arguments).is_ok()
    }

    fn send(&mut self, blocks: &mut u32, chunks: &mut Vec<Chunk>) {
        let index = *self.block.get_or_insert_with(|| {
            let index = *blocks;
            *blocks += 1;
            chunks.push(Chunk::BlockStart {
                index,
                block: BlockKind::ToolCall,
                id: (!self.id.is_empty()).then(|| CallId::from(self.id.as_str())),
                name: Some(self.name.clone()),
            });
            index
        });
        let new = &self.arguments[self.sent..];
        if !new.is_empty() {
            chunks.push(Chunk::ToolCallDelta { index, arguments_delta: new.to_owned() });
            self.sent = self.arguments.len();
        }
    }
}

fn text(value: Option<&Value>) -> &str {
    value.and_then(Value::as_str).unwrap_or_default()
}
