//! The guards before an automatic review, in their order: the first that holds a turn back ends it.

use dsh_agent::hooks::TurnStopping;
use dsh_protocol::deliberation::BranchRole;
use dsh_protocol::event::{Event, EventData};
use dsh_protocol::message::{Message, Source};
use dsh_protocol::review::ReviewBy;
use dsh_session::fold::Fold;
use dsh_session::log::Log;

use super::notice::{CHECKPOINT, FORM};
use crate::deliberation::config::{NAME, ReviewScope};

/// Why a turn is not reviewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Held {
    /// Guard 1: the session is an agent's child.
    Child,
    /// Guard 1: the turn does not end well, whatever a review says: at the model's limit, or because it was
    /// cancelled. One that fails, or that a budget stops, does not come here.
    Cut,
    /// Guard 2: no tool was called in it, and only such turns are reviewed.
    NoTool,
    /// Guard 3: the model had it reviewed itself, and the review came out with a packet.
    Reviewed,
    /// Guard 4: it was told of an automatic review before.
    Told,
    /// Guard 5: its review has come out, or runs.
    Attempted,
    /// Guard 6: the provider is not ready.
    NotReady,
}

/// What holds a turn back, if something does.
pub(super) fn held(
    event: &TurnStopping,
    log: &Log,
    scope: ReviewScope,
    is_ready: impl FnOnce() -> bool,
) -> Option<Held> {
    if !event.is_root {
        return Some(Held::Child);
    }
    if event.cut || event.cancel.is_cancelled() {
        return Some(Held::Cut);
    }
    let events = of_turn(log);
    let calls_tool = || events.iter().any(|event| matches!(event.data, EventData::ToolCall(_)));
    let needs_tool = match scope {
        ReviewScope::AllPrimaryTurns => false,
        ReviewScope::ToolBearingTurns => true,
    };
    if needs_tool && !calls_tool() {
        return Some(Held::NoTool);
    }
    if events.iter().any(|event| is_own_review(event)) {
        return Some(Held::Reviewed);
    }
    if log.read(|fold| events.iter().any(|event| is_told(event, fold))) {
        return Some(Held::Told);
    }
    if log.read(|fold| fold.reviews.automatic(event.at.turn).is_some()) {
        return Some(Held::Attempted);
    }
    (!is_ready()).then_some(Held::NotReady)
}

/// The events of the open turn that guards look at.
fn of_turn(log: &Log) -> Vec<std::sync::Arc<Event>> {
    let start = log.read(|fold| fold.turns.last().map_or(0, |turn| turn.seq));
    let after = i64::try_from(start).unwrap_or(i64::MAX);
    let looked_at = |event: &Event| {
        matches!(
            event.data,
            EventData::ToolCall(_) | EventData::DeliberationSettled(_) | EventData::UserMessage(_)
        )
    };
    log.page(after, usize::MAX, looked_at).events
}

/// Whether a round of the model came out here with the packet of a masked review. One that was only asked for, or
/// that failed, has told the model nothing.
fn is_own_review(event: &Event) -> bool {
    let EventData::DeliberationSettled(settled) = &event.data else { return false };
    settled.call_id.is_some()
        && settled
            .outcomes
            .iter()
            .any(|it| it.role == BranchRole::MaskedReview && it.packet.is_some())
}

/// Whether this is the notice of an automatic review. A person's own reviews do not count.
fn is_told(event: &Event, fold: &Fold) -> bool {
    let EventData::UserMessage(message) = &event.data else { return false };
    if !is_notice(message) {
        return false;
    }
    let by = message
        .client_message_id
        .as_ref()
        .and_then(|id| fold.reviews.get(&id.as_str().into()))
        .map(|review| review.by);
    by != Some(ReviewBy::User)
}

fn is_notice(message: &Message) -> bool {
    match &message.source {
        Source::Plugin { plugin, form, summary } => {
            plugin == NAME
                && form.as_deref() == Some(FORM)
                && summary.as_deref().is_some_and(|it| it.starts_with(CHECKPOINT))
        }
        Source::User | Source::Model { .. } | Source::Tool { .. } => false,
    }
}
