//! Findings of earlier times: what the logs of a folder's last sessions say that still stands.

use std::collections::BTreeMap;

use dsh_protocol::event::EventData;
use dsh_protocol::ids::SessionId;
use dsh_protocol::notifications::Notification;
use dsh_protocol::review::ReviewItemState;
use dsh_runtime::workspace::Workspace;

use crate::findings::{self, Finding, Origin};

/// How many sessions are looked at, the last ones of a folder.
const SESSIONS: usize = 20;

/// The events that say what was found and what became of it.
const TYPES: &[&str] = &["review/settled", "review/item", "evidence/checked", "evidence/item"];

/// The sessions whose findings are shown, the one that was used last at the end.
pub(crate) async fn sessions(workspace: &Workspace) -> Vec<SessionId> {
    let Ok(agents) = workspace.agents().await else { return Vec::new() };
    let listed = agents.list().await.unwrap_or_else(|error| {
        tracing::warn!(%error, "earlier findings are not shown");
        Vec::new()
    });
    let own = listed.into_iter().filter(|session| session.origin.is_none()).take(SESSIONS);
    let mut last: Vec<SessionId> = own.map(|session| session.session_id).collect();
    last.reverse();
    last
}

/// What was found in a session and has not been accepted or dismissed, from its log. `opened` is open again, though
/// that may not be on disk yet.
pub(crate) async fn standing(
    workspace: &Workspace,
    session: &SessionId,
    opened: Option<Origin>,
) -> Vec<Finding> {
    let Ok(agents) = workspace.agents().await else { return Vec::new() };
    let events = agents.pick(session, TYPES).await.unwrap_or_else(|error| {
        tracing::warn!(%session, %error, "earlier findings are not shown");
        Vec::new()
    });
    let mut states = BTreeMap::new();
    let mut found = Vec::new();
    for event in events {
        if let Some((origin, state)) = said(&event.data) {
            states.insert(origin, state);
        } else if let Some(notice) = Notification::derived(session, &event) {
            found.extend(findings::of(&notice));
        }
    }
    if let Some(opened) = opened {
        states.insert(opened, ReviewItemState::Open);
    }
    let stands =
        |it: &Finding| states.get(&it.origin).is_none_or(|it| *it == ReviewItemState::Open);
    found.retain(stands);
    found
}

/// What a person said of something that was found.
pub(crate) fn said(data: &EventData) -> Option<(Origin, ReviewItemState)> {
    if let EventData::ReviewItemChanged(it) = data {
        Some((Origin::Review(it.review_id.clone(), it.index), it.state))
    } else if let EventData::EvidenceItemChanged(it) = data {
        Some((Origin::Evidence(it.seq, it.index), it.state))
    } else {
        None
    }
}
