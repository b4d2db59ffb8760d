//! The notifications that are made from events of the log: one line each in the table below.
//!
//! They carry their event's `seq`. A subscriber gets one right after its event, in a replay as well; a
//! connection that has the workspace open and does not subscribe gets it when the event is appended.

use super::{
    DeliberateResult, DeliberateStarted, EvidenceNotice, Notification, ReviewNotice, ReviewStarted,
};
use crate::event::{Event, EventData};
use crate::ids::SessionId;
use crate::review::ReviewStatus;

/// Makes the notification of one type of event.
type Derive = fn(&SessionId, &Event) -> Option<Notification>;

const DERIVED: &[Derive] =
    &[deliberation_started, deliberation_settled, evidence_checked, review_claimed, review_settled];

impl Notification {
    /// The notification that goes out beside an event of a session's log, if its type has one.
    pub fn derived(session: &SessionId, event: &Event) -> Option<Self> {
        DERIVED.iter().find_map(|derive| derive(session, event))
    }
}

fn deliberation_started(session: &SessionId, event: &Event) -> Option<Notification> {
    let EventData::DeliberationStarted(started) = &event.data else { return None };
    Some(Notification::DeliberateStarted(DeliberateStarted {
        session_id: session.clone(),
        seq: event.seq,
        round_id: started.round_id.clone(),
        call_id: started.call_id.clone(),
        branches: started.branches.clone(),
    }))
}

fn deliberation_settled(session: &SessionId, event: &Event) -> Option<Notification> {
    let EventData::DeliberationSettled(settled) = &event.data else { return None };
    Some(Notification::DeliberateResult(DeliberateResult {
        session_id: session.clone(),
        seq: event.seq,
        round_id: settled.round_id.clone(),
        call_id: settled.call_id.clone(),
        outcomes: settled.outcomes.clone(),
    }))
}

fn evidence_checked(session: &SessionId, event: &Event) -> Option<Notification> {
    let EventData::EvidenceChecked(checked) = &event.data else { return None };
    Some(Notification::EvidenceChecked(EvidenceNotice {
        session_id: session.clone(),
        seq: event.seq,
        turn: checked.turn,
        message_seq: checked.message_seq,
        checked: checked.checked,
        failures: checked.failures.clone(),
    }))
}

fn review_claimed(session: &SessionId, event: &Event) -> Option<Notification> {
    let EventData::ReviewClaimed(claimed) = &event.data else { return None };
    Some(Notification::ReviewStarted(ReviewStarted {
        session_id: session.clone(),
        seq: event.seq,
        review_id: claimed.review_id.clone(),
        turn: claimed.turn,
    }))
}

/// A review that was cancelled has nothing to say: whoever cancelled it knows.
fn review_settled(session: &SessionId, event: &Event) -> Option<Notification> {
    let EventData::ReviewSettled(settled) = &event.data else { return None };
    if settled.status == ReviewStatus::Cancelled {
        return None;
    }
    Some(Notification::ReviewNotice(ReviewNotice {
        session_id: session.clone(),
        seq: event.seq,
        review_id: settled.review_id.clone(),
        turn: settled.turn,
        status: settled.status,
        published: settled.published,
        items: settled.items.clone().unwrap_or_default(),
        reason: settled.reason,
    }))
}
