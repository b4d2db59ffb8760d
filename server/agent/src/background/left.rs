//! Work that its process has left: what came of it is taken from the child's log.

use dsh_protocol::event::SubagentSettled;
use dsh_session::activations::Activation;
use dsh_session::store::BoxFuture;

use super::Background;
use super::outcome::{CameOut, Progress, progress};
use super::work::{Work, notice};
use crate::hooks::{ActivationAdopted, ActivationLeft};
use crate::subagents::left::{Left, look, may_be_starting};

/// How long after its end what came of work may not be told to whoever waits for it, in milliseconds.
const TELLING_MS: u64 = 1_000;

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
        let writer = match look(&self.agents, &self.sessions, &activation.child).await {
            Left::AtWork => return None,
            Left::Missing => return self.lost_unless_starting(activation),
            Left::Unreadable => return Some(CameOut::lost()),
            Left::Closed(writer) => writer,
        };
        let name = activation.id.as_str();
        let (progress, below) = writer.log().read(|fold| {
            let message = fold.client_messages.get(name);
            (message.map(|message| progress(fold, message)), fold.activations.open().to_vec())
        });
        let Some(progress) = progress else { return self.lost_unless_starting(activation) };
        match progress {
            Progress::Out(out) => Some(out),
            Progress::Waits => Some(CameOut::lost()),
            Progress::Runs => {
                for open in &below {
                    if self.is_attended(open).await {
                        return None;
                    }
                }
                Some(writer.log().read(CameOut::cut))
            }
        }
    }

    fn lost_unless_starting(&self, activation: &Activation) -> Option<CameOut> {
        (!may_be_starting(&self.host, activation.since)).then(CameOut::lost)
    }

    /// Whether another process may still attend to work of a child's own child.
    fn is_attended<'a>(&'a self, activation: &'a Activation) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            let writer = match look(&self.agents, &self.sessions, &activation.child).await {
                Left::AtWork => return true,
                Left::Missing => return may_be_starting(&self.host, activation.since),
                Left::Unreadable => return false,
                Left::Closed(writer) => writer,
            };
            let (below, last) = writer
                .log()
                .read(|fold| (fold.activations.open().to_vec(), fold.updated_at.unwrap_or(0)));
            for open in &below {
                if self.is_attended(open).await {
                    return true;
                }
            }
            // What has just come out may be about to be told.
            (self.host.clock)().saturating_sub(last) < TELLING_MS
        })
    }
}
