//! Keeps back what is said of a session while it is being subscribed to: the replay says it again.

use std::sync::Arc;

use dsh_protocol::ids::SessionId;
use dsh_protocol::notifications::Notification;

use super::{DERIVED_MOST, Outbox, State};
use crate::subscription::Subscription;

/// What was said of one session meanwhile.
#[derive(Default)]
pub(super) struct Kept {
    /// How many subscriptions are about to begin.
    guards: usize,
    /// With the seq of its event, where it has one.
    notices: Vec<(Option<u64>, Notification)>,
}

/// While it is there, what is said of a session is kept back; what is left is said when it goes.
pub(crate) struct Withheld {
    outbox: Arc<Outbox>,
    session: SessionId,
}

impl Outbox {
    /// Keeps back what is said of a session's events: taking the session over appends some.
    pub(crate) fn withhold(self: &Arc<Self>, session: &SessionId) -> Withheld {
        self.lock().withheld.entry(session.clone()).or_default().guards += 1;
        Withheld { outbox: Arc::clone(self), session: session.clone() }
    }
}

impl Drop for Withheld {
    fn drop(&mut self) {
        {
            let mut state = self.outbox.lock();
            let Some(kept) = state.withheld.get_mut(&self.session) else { return };
            kept.guards -= 1;
            if kept.guards > 0 {
                return;
            }
            let kept = state.withheld.shift_remove(&self.session).unwrap_or_default();
            for (_, notice) in kept.notices {
                state.derive(notice);
            }
        }
        self.outbox.filled.notify_one();
    }
}

impl State {
    /// Keeps a notice back, if its session is being subscribed to; tells whether it is.
    pub(super) fn keep(
        &mut self,
        session: &SessionId,
        seq: Option<u64>,
        notice: &Notification,
    ) -> bool {
        let Some(kept) = self.withheld.get_mut(session) else { return false };
        if kept.notices.len() == DERIVED_MOST {
            kept.notices.remove(0);
        }
        kept.notices.push((seq, notice.clone()));
        true
    }

    /// Gives a subscription that begins what was kept back: its replay says what has an event behind its start.
    pub(super) fn hand_over(&mut self, subscription: &mut Subscription) {
        let Some(kept) = self.withheld.get_mut(subscription.session_id()) else { return };
        for (seq, notice) in std::mem::take(&mut kept.notices) {
            match seq {
                Some(seq) if subscription.begins_before(seq) => {}
                Some(_) => self.derive(notice),
                None => subscription.say_here(&notice),
            }
        }
    }
}
