//! Looks for a child whose process may be gone: what came of it is in its log.

use dsh_protocol::ids::SessionId;
use dsh_protocol::session::SessionStatus;
use dsh_session::repair::repair;
use dsh_session::store::StoreError;
use dsh_session::writer::{AcquireError, Writer};

use crate::agents::Agents;
use crate::host::Host;
use crate::sessions::Sessions;

/// How long after it was to begin a child may not be there before it is taken for lost, in milliseconds: another
/// process may be starting it.
const STARTING_MS: u64 = 5_000;

/// What is known of such a child.
pub enum Left {
    /// It is at work, or its log cannot be read now.
    AtWork,
    /// There is no such session.
    Missing,
    /// Its log will never be read.
    Unreadable,
    /// Nobody works on it. Its log is closed.
    Closed(Box<Writer>),
}

/// Looks for a child, and closes what a crash left open in its log.
pub async fn look(agents: &Agents, sessions: &Sessions, id: &SessionId) -> Left {
    let live = agents.live(id);
    if live.is_some_and(|agent| agent.status() == SessionStatus::Running) {
        return Left::AtWork;
    }
    let writer = match sessions.open(id.clone()).await {
        Ok(writer) => writer,
        Err(StoreError::NotFound(_)) => return Left::Missing,
        Err(StoreError::Storage(_) | StoreError::Written(_)) => return Left::AtWork,
        Err(StoreError::Taken(_) | StoreError::Damaged { .. } | StoreError::Unsupported(_)) => {
            return Left::Unreadable;
        }
    };
    // Whoever runs it holds the right to append.
    match writer.acquire().await {
        Ok(()) => {}
        Err(AcquireError::Lease(_)) => return Left::AtWork,
        Err(AcquireError::Violation(_)) => return Left::Unreadable,
    }
    if let Err(violation) = repair(&writer) {
        tracing::warn!(session = %id, %violation, "the log of a child that was left could not be closed");
    }
    if let Err(error) = writer.release().await {
        // What is missing is appended again by whoever opens it next.
        tracing::warn!(session = %id, %error, "the log of a child that was left is not closed on disk");
    }
    Left::Closed(Box::new(writer))
}

/// Whether another process may be about to start a child that was to begin then, in epoch milliseconds.
pub fn may_be_starting(host: &Host, since: u64) -> bool {
    (host.clock)().saturating_sub(since) < STARTING_MS
}
