//! What the model sees: the visible messages, in order, folded from the surface events.

use std::sync::Arc;

use dsh_protocol::event::{Event, EventData, SurfaceOp};
use dsh_protocol::message::Message;

/// A place in the conversation: the event that fills it and its message.
#[derive(Clone, Debug, PartialEq)]
struct Node {
    seq: u64,
    /// Absent for an answer without content, which is not sent.
    message: Option<Arc<Message>>,
}

/// The visible messages.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Surface {
    nodes: Vec<Node>,
}

impl Surface {
    /// The messages that the model sees, in order.
    pub fn messages(&self) -> Vec<Arc<Message>> {
        self.nodes.iter().filter_map(|node| node.message.clone()).collect()
    }

    /// What is wrong with an event's place, if anything.
    pub(crate) fn check(&self, event: &Event) -> Result<(), String> {
        let Some(op) = event.surface_op else {
            if event.data.is_surface() {
                return Err("a surface event needs `surfaceOp`".to_owned());
            }
            return Ok(());
        };
        if !event.data.is_surface() {
            return Err("only surface events have `surfaceOp`".to_owned());
        }
        let SurfaceOp::Replace { start, end, .. } = op else { return Ok(()) };
        let (first, last) = self.range(start, end)?;
        let cited = event.source_event_seqs.as_deref().unwrap_or_default();
        let shadowed = self.nodes.get(first..=last).unwrap_or_default();
        match shadowed.iter().find(|node| !cited.contains(&node.seq)) {
            Some(node) => Err(format!("replaces event {} without citing it", node.seq)),
            None => Ok(()),
        }
    }

    /// Applies a checked event.
    pub(crate) fn apply(&mut self, event: &Event) {
        let Some(op) = event.surface_op else { return };
        let node = Node { seq: event.seq, message: message(&event.data) };
        match op {
            SurfaceOp::Append(_) => self.nodes.push(node),
            SurfaceOp::Replace { start, end, .. } => {
                if let Ok((first, last)) = self.range(start, end) {
                    self.nodes.splice(first..=last, [node]);
                }
            }
        }
    }

    /// Where two visible events stand.
    fn range(&self, start: u64, end: u64) -> Result<(usize, usize), String> {
        let place = |seq: u64| {
            self.nodes
                .iter()
                .position(|node| node.seq == seq)
                .ok_or_else(|| format!("event {seq} is not visible"))
        };
        let (first, last) = (place(start)?, place(end)?);
        if first > last {
            return Err(format!("the range {start} to {end} is reversed"));
        }
        Ok((first, last))
    }
}

/// The message of a surface event, unless it is an answer without content.
fn message(data: &EventData) -> Option<Arc<Message>> {
    if let EventData::UserMessage(message) = data {
        return Some(Arc::clone(message));
    }
    if let EventData::ToolResult(result) = data {
        return Some(Arc::clone(&result.message));
    }
    if let EventData::AssistantMessage(answer) = data {
        return (!answer.message.content.is_empty()).then(|| Arc::clone(&answer.message));
    }
    None
}
