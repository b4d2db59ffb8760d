//! One piece of work, and what is logged and said of it.

use dsh_protocol::content::ContentBlock;
use dsh_protocol::event::{EventData, SubagentActivated, SubagentSettled};
use dsh_protocol::ids::{ActivationId, CallId, SessionId};
use dsh_protocol::subagent::StopReason;

use super::error::Refused;
use super::outcome::{self, CameOut};
use crate::agent::{Agent, Notice};

/// What its messages to parents say they are from.
const NAME: &str = "subagents";

/// One piece of work.
#[derive(Clone)]
pub(super) struct Work {
    pub(super) id: ActivationId,
    pub(super) parent: SessionId,
    pub(super) child: SessionId,
    pub(super) label: Option<String>,
    pub(super) call_id: Option<CallId>,
}

pub(super) fn activated(work: &Work) -> EventData {
    EventData::SubagentActivated(SubagentActivated {
        activation_id: work.id.clone(),
        child_session_id: work.child.clone(),
        label: work.label.clone(),
        call_id: work.call_id.clone(),
    })
}

pub(super) fn settled(work: &Work, stop_reason: StopReason) -> EventData {
    EventData::SubagentSettled(SubagentSettled {
        activation_id: work.id.clone(),
        child_session_id: work.child.clone(),
        stop_reason,
    })
}

/// Whether the parent's log says that the work has not come out.
pub(super) fn is_open(parent: &Agent, work: &Work) -> bool {
    parent.log().read(|fold| fold.activations.open().iter().any(|open| open.id == work.id))
}

/// What the parent is told.
pub(super) fn notice(work: &Work, out: &CameOut) -> Notice {
    let about = work.label.as_deref().unwrap_or("a task");
    Notice {
        plugin: NAME.to_owned(),
        form: Some("notice".to_owned()),
        summary: Some(outcome::summary(about, out)),
        content: vec![ContentBlock::text(outcome::told(&work.child, about, out))],
        once: Some(work.id.to_string()),
    }
}

pub(super) fn provider_of(child: &Agent) -> String {
    let provider = child
        .log()
        .read(|fold| fold.descriptor.as_ref().map(|descriptor| descriptor.provider.clone()));
    provider.unwrap_or_default()
}

/// The label of a parent's child, if it is one.
pub(super) fn label_of(parent: &Agent, child: &SessionId) -> Result<Option<String>, Refused> {
    let known = parent.log().read(|fold| fold.activations.children().get(child).cloned());
    known.map(|known| known.label).ok_or_else(|| Refused::unauthorized(child))
}
