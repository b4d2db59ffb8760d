//! The `session/…` methods that begin a session from another one, and those that end one.

use dsh_protocol::error::{ErrorKind, RpcError};
use dsh_protocol::ids::SessionId;
use dsh_protocol::params::session::{SessionForkParams, SessionForkResult, SessionIdParams};
use dsh_protocol::session::SessionInfo;
use dsh_runtime::agent::agents::ForkFailed;
use dsh_runtime::session::fork::ForkError;
use serde_json::json;

use super::{info, on_one_line, repaired};
use crate::cx::Cx;
use crate::handlers::errors;

pub(crate) async fn fork(
    cx: &Cx,
    params: SessionForkParams,
) -> Result<SessionForkResult, RpcError> {
    let title = params.title.filter(|title| !title.trim().is_empty());
    let title = title.map(|title| on_one_line(&title)).transpose()?;
    let parent = repaired(cx, &params.session_id).await?;
    let runtime = &cx.server.runtime;
    let (workspace, _) =
        runtime.session(&params.session_id).await.map_err(|error| errors::session(&error))?;
    let agents = workspace.agents().await.map_err(|error| errors::mount(&error))?;
    let forked = agents.fork(&parent, params.boundary, title).await;
    let agent = forked.map_err(|error| match error {
        ForkFailed::Place(error) => {
            let (kind, boundary) = match error {
                ForkError::InvalidBoundary { boundary, .. } => {
                    (ErrorKind::InvalidBoundary, boundary)
                }
                ForkError::OpenTurn { boundary } => (ErrorKind::OpenTurn, boundary),
            };
            RpcError::domain(kind, error.to_string()).with_fact("boundary", json!(boundary))
        }
        ForkFailed::Open(error) => errors::open(&error),
    })?;
    runtime.remember(agent.id().clone(), &workspace);
    Ok(SessionForkResult { session: info(&agent).await? })
}

/// Ends the work on a session; returns what clients are to be told of it. The subscription of whoever asks ends, those
/// of others go on with the session's next agent.
pub(crate) async fn close(cx: &Cx, params: &SessionIdParams) -> Result<SessionInfo, RpcError> {
    let found = cx.server.runtime.session(&params.session_id).await;
    let (workspace, agent) = found.map_err(|error| errors::session(&error))?;
    let agents = workspace.agents().await.map_err(|error| errors::mount(&error))?;
    cx.outbox.finish(&params.session_id);
    agents.close(&agent).await.map_err(|error| errors::command(&error))
}

/// Deletes a session; returns which ones are gone with it.
pub(crate) async fn delete(cx: &Cx, params: &SessionIdParams) -> Result<Vec<SessionId>, RpcError> {
    let deleted = cx.server.runtime.delete(&params.session_id).await;
    deleted.map_err(|error| errors::session(&error))
}
