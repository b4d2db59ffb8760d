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

#[cfg(test)]
mod tests {
    use dsh_agent::hooks::{At, Notes};
    use dsh_protocol::session::FileHeader;
    use serde_json::{Value, json};
    use tokio_util::sync::CancellationToken;

    use super::*;

    /// Every guard, in its order.
    const ALL: [Held; 7] = [
        Held::Child,
        Held::Cut,
        Held::NoTool,
        Held::Reviewed,
        Held::Told,
        Held::Attempted,
        Held::NotReady,
    ];

    fn outcome(role: &str, packet: bool) -> Value {
        let mut outcome = json!({
            "label": "a", "role": role, "history": "mid-fork", "route": "same", "capability": "c",
            "stopReason": "completed", "cleanup": "completed",
        });
        if packet {
            outcome["packet"] = json!({ "role": role, "status": "no_update" });
        }
        outcome
    }

    fn settled(call: Option<&str>, outcome: &Value) -> Value {
        let mut data = json!({ "roundId": "r", "outcomes": [outcome] });
        if let Some(call) = call {
            data["callId"] = call.into();
        }
        json!({ "type": "deliberation/settled", "data": data, "ignorable": true })
    }

    fn notice(source: &Value, id: Option<&str>) -> Value {
        let mut data = json!({
            "id": "n", "role": "user", "content": [{ "type": "text", "text": "{}" }], "source": source,
        });
        if let Some(id) = id {
            data["clientMessageId"] = id.into();
        }
        json!({ "type": "user/message", "data": data, "surfaceOp": "append" })
    }

    fn checkpoint() -> Value {
        json!({
            "kind": "plugin", "plugin": NAME, "form": FORM,
            "summary": "masked review checkpoint · update · 1 items",
        })
    }

    fn claimed(id: &str, by: &str) -> Value {
        let data = json!({ "reviewId": id, "turn": 2, "by": by, "configHash": "h" });
        json!({ "type": "review/claimed", "data": data, "ignorable": true })
    }

    fn released(id: &str) -> Value {
        let data = json!({ "reviewId": id, "turn": 2, "reason": "no-completed-step" });
        json!({ "type": "review/released", "data": data, "ignorable": true })
    }

    /// A log whose second turn is open and holds these events. The first turn holds everything that would hold it
    /// back.
    fn log(own: Vec<Value>) -> Log {
        let event = |name: &str, data: Value| json!({ "type": name, "data": data });
        let mut events = vec![
            event("turn/start", json!({ "turn": 1 })),
            settled(Some("c0"), &outcome("masked-review", true)),
            notice(&checkpoint(), None),
            event("turn/end", json!({ "turn": 1, "reason": { "kind": "completed" } })),
            event("turn/start", json!({ "turn": 2 })),
            event("step/start", json!({ "turn": 2, "step": 1 })),
        ];
        events.extend(own);
        let read = |(seq, mut event): (u64, Value)| {
            event["seq"] = seq.into();
            event["time"] = 1.into();
            serde_json::from_value(event).unwrap()
        };
        let header: FileHeader = serde_json::from_value(json!({
            "type": "session", "version": FileHeader::VERSION, "id": "s", "createdAt": 1, "cwd": "/w",
        }))
        .unwrap();
        Log::new(header, (0..).zip(events).map(read).collect()).unwrap()
    }

    fn calls_tool() -> Value {
        let data =
            json!({ "turn": 2, "step": 1, "callId": "c1", "name": "read", "arguments": "{}" });
        json!({ "type": "tool/call", "data": data })
    }

    /// What holds back a turn that has these events, and for the rest what these guards look for.
    fn stops(by: &[Held], own: Vec<Value>, scope: ReviewScope) -> Option<Held> {
        let event = TurnStopping {
            at: At { session_id: "s".into(), turn: 2, step: 1 },
            cut: by.contains(&Held::Cut),
            rounds: 0,
            may_go_on: true,
            answer: None,
            is_root: !by.contains(&Held::Child),
            notes: Notes::default(),
            cancel: CancellationToken::new(),
        };
        held(&event, &log(own), scope, || !by.contains(&Held::NotReady))
    }

    /// What holds back a turn in which these guards find what they look for.
    fn held_by(by: &[Held]) -> Option<Held> {
        let mut own = Vec::new();
        if !by.contains(&Held::NoTool) {
            own.push(calls_tool());
        }
        if by.contains(&Held::Reviewed) {
            own.push(settled(Some("c1"), &outcome("masked-review", true)));
        }
        if by.contains(&Held::Told) {
            own.push(notice(&checkpoint(), None));
        }
        if by.contains(&Held::Attempted) {
            own.push(claimed("v1", "auto"));
        }
        stops(by, own, ReviewScope::ToolBearingTurns)
    }

    #[test]
    fn s6_2_guards_are_asked_in_their_order() {
        for (at, first) in ALL.iter().enumerate() {
            assert_eq!(held_by(&ALL[at..]), Some(*first));
        }
        assert_eq!(held_by(&[]), None);
    }

    #[test]
    fn s6_2_each_guard_alone_holds_a_turn_back() {
        for guard in ALL {
            assert_eq!(held_by(&[guard]), Some(guard));
        }
    }

    #[test]
    fn s6_2_what_looks_like_it_holds_nothing_back() {
        let stops = |own| stops(&[], own, ReviewScope::AllPrimaryTurns);
        for (what, own) in [
            ("another role", settled(Some("c1"), &outcome("trajectory-audit", true))),
            ("a review that failed", settled(Some("c1"), &outcome("masked-review", false))),
            ("a person's round", settled(None, &outcome("masked-review", true))),
            ("a prompt", notice(&json!({ "kind": "user" }), None)),
            (
                "packets of a round",
                notice(&json!({ "kind": "plugin", "plugin": NAME, "form": FORM }), None),
            ),
            (
                "another plugin",
                notice(
                    &json!({
                        "kind": "plugin", "plugin": "other", "form": FORM,
                        "summary": "masked review checkpoint",
                    }),
                    None,
                ),
            ),
        ] {
            assert_eq!(stops(vec![own]), None, "{what}");
        }
        let by_person = vec![claimed("v1", "user"), notice(&checkpoint(), Some("v1"))];
        assert_eq!(stops(by_person), None, "a person's own review");
        assert_eq!(stops(vec![claimed("v1", "auto"), released("v1")]), None, "released");
        let again = vec![claimed("v1", "auto"), released("v1"), claimed("v2", "auto")];
        assert_eq!(stops(again), Some(Held::Attempted));
    }
}
