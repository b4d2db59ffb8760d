//! Work that its process has left: what came of it is taken from the child's log.

use dsh_protocol::event::SubagentSettled;
use dsh_protocol::ids::SessionId;
use dsh_protocol::session::SessionStatus;
use dsh_session::activations::Activation;
use dsh_session::repair::repair;
use dsh_session::store::StoreError;
use dsh_session::writer::AcquireError;

use super::Background;
use super::outcome::{CameOut, Progress, progress};
use super::work::{Work, notice};
use crate::hooks::{ActivationAdopted, ActivationLeft};

/// How long after it was given work may be without a child before it is taken for lost, in milliseconds: another
/// process may be starting it.
const STARTING_MS: u64 = 30_000;

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
        let id: &SessionId = &activation.child;
        let live = self.agents.live(id);
        if live.is_some_and(|agent| agent.status() == SessionStatus::Running) {
            return None;
        }
        let age = (self.host.clock)().saturating_sub(activation.since);
        let is_starting = age < STARTING_MS;
        let writer = match self.sessions.open(id.clone()).await {
            Ok(writer) => writer,
            Err(StoreError::NotFound(_)) => return (!is_starting).then(CameOut::lost),
            Err(StoreError::Storage(_) | StoreError::Written(_)) => return None,
            Err(StoreError::Taken(_) | StoreError::Damaged { .. } | StoreError::Unsupported(_)) => {
                return Some(CameOut::lost());
            }
        };
        // Whoever runs it holds the right to append.
        match writer.acquire().await {
            Ok(()) => {}
            Err(AcquireError::Lease(_)) => return None,
            Err(AcquireError::Violation(_)) => return Some(CameOut::lost()),
        }
        if let Err(violation) = repair(&writer) {
            tracing::warn!(%violation, "the log of a child that was left could not be closed");
        }
        writer.release().await;
        let name = activation.id.as_str();
        writer.log().read(|fold| {
            let Some(message) = fold.client_messages.get(name) else {
                return (!is_starting).then(CameOut::lost);
            };
            // Its own children are no reason to wait: they were left as well.
            match progress(fold, message, &mut false) {
                Progress::Out(out) => Some(out),
                Progress::Waits => Some(CameOut::lost()),
                Progress::Runs => Some(CameOut::last_of(fold, message)),
            }
        })
    }
}
