//! Work that its process has left: what came of it is taken from the child's log.

use dsh_protocol::event::SubagentSettled;
use dsh_session::activations::Activation;

use super::Background;
use super::outcome::{CameOut, Progress, progress};
use super::work::{Work, notice};
use crate::hooks::{ActivationAdopted, ActivationLeft};
use crate::subagents::left::{Left, look, may_be_starting};

impl Background {
    /// What came of work that was left. `None`: it may still be done.
    pub async fn adopt(&self, left: &ActivationLeft) -> Option<ActivationAdopted> {
        let activation = &left.activation;
        if self.lock().activations.contains(&activation.id) {
            return None;
        }
        let out = self.came_of(activation).await?;
        let work = Work {
            id: activation.id.clone(),
            parent: left.session_id.clone(),
            child: activation.child.clone(),
            label: left.label.clone(),
            call_id: None,
        };
        let settled = SubagentSettled {
            activation_id: activation.id.clone(),
            child_session_id: activation.child.clone(),
            stop_reason: out.stop_reason,
        };
        let notice = (!out.is_quiet).then(|| notice(&work, &out));
        Some(ActivationAdopted { settled, notice })
    }

    async fn came_of(&self, activation: &Activation) -> Option<CameOut> {
        let lost_unless_starting =
            || (!may_be_starting(&self.host, activation.since)).then(CameOut::lost);
        let writer = match look(&self.agents, &self.sessions, &activation.child).await {
            Left::AtWork => return None,
            Left::Missing => return lost_unless_starting(),
            Left::Unreadable => return Some(CameOut::lost()),
            Left::Closed(writer) => writer,
        };
        let name = activation.id.as_str();
        writer.log().read(|fold| {
            let Some(message) = fold.client_messages.get(name) else {
                return lost_unless_starting();
            };
            // Nobody waits for its own children any more: they were left as well.
            match progress(fold, message, &mut false) {
                Progress::Out(out) => Some(out),
                Progress::Waits => Some(CameOut::lost()),
                Progress::Runs => Some(CameOut::cut(fold)),
            }
        })
    }
}
