//! What the model sees: the visible messages, in order, folded from the surface events.

use std::sync::Arc;

use dsh_protocol::content::ContentBlock;
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
        if let Some(node) = shadowed.iter().find(|node| !cited.contains(&node.seq)) {
            return Err(format!("replaces event {} without citing it", node.seq));
        }
        let EventData::ToolResult(result) = &event.data else { return Ok(()) };
        let is_same = |node: &Node| {
            node.message
                .as_ref()
                .is_some_and(|message| differs_in_content_only(message, &result.message))
        };
        match shadowed {
            [node] if is_same(node) => Ok(()),
            _ => {
                Err("a result of a tool replaces one of the same call, but for its content"
                    .to_owned())
            }
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

/// Whether two results of tools are the same but for what the tool said.
fn differs_in_content_only(old: &Message, new: &Message) -> bool {
    let emptied = |message: &Message| {
        let mut message = message.clone();
        for block in &mut message.content {
            if let ContentBlock::ToolResult { content, .. } = block {
                content.clear();
            }
        }
        message
    };
    emptied(old) == emptied(new)
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
