//! The messages that wait or are claimed, followed through the splices of the log.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::event::{InboxSpliced, InboxTarget};
use crate::ids::MessageId;
use crate::message::Message;

/// What waits, and what a turn took and has not shown yet.
#[derive(Debug, Default)]
pub(super) struct Queue {
    next_step: Vec<Arc<Message>>,
    next_turn: Vec<Arc<Message>>,
    claimed: BTreeMap<MessageId, Arc<Message>>,
}

impl Queue {
    /// Applies a splice and returns what it removed. Places outside the list are moved to its end: the stream
    /// may begin in the middle of a log.
    pub(super) fn splice(&mut self, splice: &InboxSpliced) -> Vec<Arc<Message>> {
        let list = match splice.target {
            InboxTarget::NextStep => &mut self.next_step,
            InboxTarget::NextTurn => &mut self.next_turn,
        };
        let place = |number: u64| usize::try_from(number).unwrap_or(usize::MAX).min(list.len());
        let start = place(splice.start);
        let end = place(splice.start.saturating_add(splice.removed_count.unwrap_or(0)));
        list.splice(start..end, splice.inserted.iter().cloned()).collect()
    }

    /// Keeps what a turn took until it is shown.
    pub(super) fn claim(&mut self, messages: Vec<Arc<Message>>) {
        self.claimed.extend(messages.into_iter().map(|message| (message.id.clone(), message)));
    }

    /// Takes a claimed message out: it is shown now.
    pub(super) fn arrived(&mut self, id: &MessageId) -> Option<Arc<Message>> {
        self.claimed.remove(id)
    }

    /// Forgets what an earlier turn took and never showed.
    pub(super) fn forget_claimed(&mut self) {
        self.claimed.clear();
    }
}
