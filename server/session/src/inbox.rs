//! The messages that wait, folded from `agent/inbox/spliced`.

use std::sync::Arc;

use dsh_protocol::event::{InboxSpliced, InboxTarget};
use dsh_protocol::ids::MessageId;
use dsh_protocol::message::Message;
use dsh_protocol::session::Queue;

/// Two ordered lists of messages; ids are unique across both.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inbox {
    /// Join the running turn before its next step.
    pub next_step: Vec<Arc<Message>>,
    /// Each starts a turn of its own.
    pub next_turn: Vec<Arc<Message>>,
}

impl Inbox {
    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.next_step.is_empty() && self.next_turn.is_empty()
    }

    /// One of the lists.
    pub fn list(&self, target: InboxTarget) -> &Vec<Arc<Message>> {
        match target {
            InboxTarget::NextStep => &self.next_step,
            InboxTarget::NextTurn => &self.next_turn,
        }
    }

    /// The ids that wait, by list.
    pub fn queue(&self) -> Queue {
        let ids = |list: &[Arc<Message>]| list.iter().map(|message| message.id.clone()).collect();
        Queue { next_step: ids(&self.next_step), next_turn: ids(&self.next_turn) }
    }

    /// Whether a message waits.
    pub fn contains(&self, id: &MessageId) -> bool {
        self.next_step.iter().chain(&self.next_turn).any(|message| message.id == *id)
    }

    /// What is wrong with a splice, if anything.
    pub(crate) fn check(&self, splice: &InboxSpliced) -> Result<(), String> {
        let length = self.list(splice.target).len() as u64;
        let removed = splice.removed_count.unwrap_or(0);
        if splice.start > length || removed > length - splice.start {
            return Err(format!("splice of {removed} at {} in a list of {length}", splice.start));
        }
        match splice.inserted.iter().find(|message| self.contains(&message.id)) {
            Some(message) => Err(format!("message `{}` waits already", message.id)),
            None => Ok(()),
        }
    }

    /// Applies a checked splice; returns the messages that left.
    pub(crate) fn apply(&mut self, splice: &InboxSpliced) -> Vec<Arc<Message>> {
        let list = match splice.target {
            InboxTarget::NextStep => &mut self.next_step,
            InboxTarget::NextTurn => &mut self.next_turn,
        };
        let start = usize::try_from(splice.start).unwrap_or(usize::MAX).min(list.len());
        let removed = usize::try_from(splice.removed_count.unwrap_or(0)).unwrap_or(usize::MAX);
        let end = start.saturating_add(removed).min(list.len());
        list.splice(start..end, splice.inserted.iter().cloned()).collect()
    }
}
