//! A child at work, as whoever started it holds it.

use std::sync::Arc;
use std::time::Duration;

use dsh_protocol::content::ContentBlock;
use dsh_protocol::ids::{CallId, SessionId};
use dsh_protocol::notifications::Notification;
use dsh_protocol::session::Totals;
use dsh_protocol::subagent::{StopReason, SubagentFinished, SubagentStarted};
use dsh_protocol::turn::TurnEnd;
use dsh_session::log::Log;
use serde_json::Value;

use super::error::RunError;
use super::provider::SubagentRun;
use crate::host::Host;

/// How long a child that nobody holds any more may take to end.
const ORPHAN_GRACE: Duration = Duration::from_secs(5);

/// What became of a child. Only its own events count, never those that it inherited.
#[derive(Clone, Debug, PartialEq)]
pub struct RunResult {
    /// Why it stopped. `error` also when an output contract was not kept.
    pub stop_reason: StopReason,
    /// How its last turn ended; absent when it had none.
    pub turn_end: Option<TurnEnd>,
    /// The visible text of its last answer that has any, else what had arrived of one.
    pub text: String,
    /// All blocks of its last answer.
    pub content: Vec<ContentBlock>,
    /// What it gave to `structured_output`, whatever the stop reason: look at both.
    pub structured: Option<Value>,
    /// The tokens of all its requests.
    pub usage: Totals,
    /// What its provider says to a person about it; safe to show, at most 4,096 bytes.
    pub diagnostic: Option<String>,
}

/// How a child's end went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cleanup {
    /// Nothing of it runs any more.
    Completed,
    /// The provider says that it could not end it.
    Failed,
    /// It did not end in time and was left to itself.
    Abandoned,
}

/// A child that was started. Dropping it cancels the child and disposes of it behind one's back.
#[must_use = "a run is disposed of when it is dropped"]
pub struct Run {
    host: Arc<Host>,
    parent: SessionId,
    provider: String,
    label: Option<String>,
    call_id: Option<CallId>,
    child: Option<Box<dyn SubagentRun>>,
    child_session_id: SessionId,
    degraded: Vec<String>,
    log: Option<Arc<Log>>,
    /// Whether clients were told that it is over, or somebody else tells them.
    told: bool,
}

impl Run {
    pub(super) fn new(
        host: Arc<Host>,
        parent: SessionId,
        provider: String,
        (label, call_id): (Option<String>, Option<CallId>),
        child: Box<dyn SubagentRun>,
        told: bool,
    ) -> Self {
        let child_session_id = child.child_session_id().clone();
        host.observer.notice(&Notification::SubagentStarted(SubagentStarted {
            parent_session_id: parent.clone(),
            child_session_id: child_session_id.clone(),
            provider: provider.clone(),
            label: label.clone(),
            call_id: call_id.clone(),
        }));
        let (degraded, log) = (child.degraded(), child.log());
        Self {
            host,
            parent,
            provider,
            label,
            call_id,
            child: Some(child),
            child_session_id,
            degraded,
            log,
            told,
        }
    }

    /// The child's session.
    pub fn child_session_id(&self) -> &SessionId {
        &self.child_session_id
    }

    /// What the request asked for and the child does not have, a sentence each.
    pub fn degraded(&self) -> &[String] {
        &self.degraded
    }

    /// The child's log, where it is one of this process.
    pub fn log(&self) -> Option<&Arc<Log>> {
        self.log.as_ref()
    }

    /// Waits for the child's end. May be dropped and called again.
    pub async fn result(&mut self) -> Result<RunResult, RunError> {
        let Some(child) = &mut self.child else { return Err(RunError::Gone) };
        let result = child.result().await;
        match &result {
            Ok(done) => self.tell(done.stop_reason, Some(done.text.clone())),
            Err(_) => self.tell(StopReason::Error, None),
        }
        result
    }

    /// Cancels the child unless it has ended, and waits for that for up to `grace`.
    pub async fn dispose(mut self, grace: Duration) -> Cleanup {
        let Some(child) = self.child.take() else { return Cleanup::Completed };
        // A task of its own, so that the child is ended even when whoever waits here is gone.
        let ending = tokio::spawn(child.dispose());
        let cleanup = match tokio::time::timeout(grace, ending).await {
            Ok(Ok(Ok(()))) => Cleanup::Completed,
            Ok(Ok(Err(_)) | Err(_)) => Cleanup::Failed,
            Err(_) => Cleanup::Abandoned,
        };
        self.tell(StopReason::Aborted, None);
        cleanup
    }

    /// Tells clients that the child is over, once.
    fn tell(&mut self, stop_reason: StopReason, text: Option<String>) {
        if std::mem::replace(&mut self.told, true) {
            return;
        }
        self.host.observer.notice(&Notification::SubagentFinished(SubagentFinished {
            parent_session_id: self.parent.clone(),
            child_session_id: self.child_session_id.clone(),
            provider: self.provider.clone(),
            label: self.label.clone(),
            call_id: self.call_id.clone(),
            stop_reason,
            text: text.filter(|text| !text.is_empty()),
        }));
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let Some(child) = self.child.take() else { return };
        self.tell(StopReason::Aborted, None);
        // Outside a runtime everything has ended already.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(async move {
            if tokio::time::timeout(ORPHAN_GRACE, child.dispose()).await.is_err() {
                tracing::error!("a subagent that nobody holds did not end in time");
            }
        });
    }
}
