//! What an outbox hears of sessions and passes on: what is new replaces what is old, and what belongs to an event keeps
//! its place.

use dsh_protocol::ids::SessionId;
use dsh_protocol::notifications::{
    DeliberateBranch, DeliberateResult, DeliberateStarted, EvidenceNotice, Notification,
    ReviewNotice, ReviewStarted, SessionChanged,
};
use dsh_protocol::subagent::SubagentStarted;
use dsh_runtime::notices::Listener;

use super::Outbox;
use crate::subscription::takes_place;

impl Outbox {
    /// Tells whoever follows the children of a session of one that starts.
    fn child_started(&self, started: &SubagentStarted) {
        let state = self.lock();
        let parent = state.subscriptions.get(&started.parent_session_id);
        if let Some(children) = parent.and_then(|parent| parent.children.as_ref())
            && children.started.try_send(started.child_session_id.clone()).is_err()
        {
            tracing::warn!(child = %started.child_session_id, "too many children start at once");
        }
    }

    /// A session is gone: its subscription says so when everything in its log was sent. Returns whether there is one.
    pub(super) fn end_removed(&self, session: &SessionId) -> bool {
        let has_one = {
            let mut state = self.lock();
            let subscription = state.subscriptions.get_mut(session);
            if let Some(subscription) = subscription {
                let removed = SessionChanged::Removed { removed: session.clone() };
                subscription.end(Some(Notification::SessionChanged(removed)));
                true
            } else {
                false
            }
        };
        self.filled.notify_one();
        has_one
    }

    /// A notice of an event. A subscription sends it itself, right after the event.
    fn notice_derived(&self, session: &SessionId, seq: u64, notice: &Notification) {
        {
            let mut state = self.lock();
            let is_told = state.subscriptions.contains_key(session);
            if state.abandoned || is_told || state.keep(session, Some(seq), notice) {
                return;
            }
            state.derive(notice.clone());
        }
        self.filled.notify_one();
    }

    /// A notice without an event that must keep its place between those that have one.
    fn notice_between(&self, branch: &DeliberateBranch, notice: &Notification) {
        {
            let mut state = self.lock();
            if state.abandoned {
                return;
            }
            if let Some(subscription) = state.subscriptions.get_mut(&branch.session_id) {
                subscription.say_here(notice);
            } else if state.keep(&branch.session_id, None, notice) {
                return;
            } else {
                state.derived.retain(|earlier| !takes_place(notice, earlier));
                state.derive(notice.clone());
            }
        }
        self.filled.notify_one();
    }
}

impl Listener for Outbox {
    fn notice(&self, notice: &Notification) {
        let key = match notice {
            Notification::SessionStatus(status) => ("status", status.session_id.0.clone()),
            Notification::SessionChanged(SessionChanged::Changed { session }) => {
                ("changed", session.session_id.0.clone())
            }
            Notification::SessionChanged(SessionChanged::Removed { removed }) => {
                if self.end_removed(removed) {
                    return;
                }
                ("changed", removed.0.clone())
            }
            Notification::SubagentStarted(started) => {
                self.child_started(started);
                ("subagent started", started.child_session_id.0.clone())
            }
            Notification::SubagentFinished(finished) => {
                ("subagent finished", finished.child_session_id.0.clone())
            }
            Notification::ConfigChanged(changed) => ("config", changed.workspace.clone()),
            Notification::DeliberateBranch(branch) => return self.notice_between(branch, notice),
            Notification::DeliberateStarted(DeliberateStarted { session_id, seq, .. })
            | Notification::DeliberateResult(DeliberateResult { session_id, seq, .. })
            | Notification::EvidenceChecked(EvidenceNotice { session_id, seq, .. })
            | Notification::ReviewStarted(ReviewStarted { session_id, seq, .. })
            | Notification::ReviewNotice(ReviewNotice { session_id, seq, .. }) => {
                return self.notice_derived(session_id, *seq, notice);
            }
            Notification::SessionCaughtUp(_)
            | Notification::SessionEvent(_)
            | Notification::SessionLagged(_) => return,
        };
        {
            let mut state = self.lock();
            if state.abandoned {
                return;
            }
            // The newest stands last, so that order in time is kept.
            state.notices.shift_remove(&key);
            state.notices.insert(key, notice.clone());
        }
        self.filled.notify_one();
    }
}
