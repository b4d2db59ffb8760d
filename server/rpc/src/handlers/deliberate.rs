//! `deliberate/start` and `deliberate/cancel`.

use std::fmt::Write as _;

use dsh_protocol::error::{ErrorKind, RpcError};
use dsh_protocol::params::deliberate::{
    DeliberateCancelParams, DeliberateStartParams, DeliberateStartResult,
};
use dsh_protocol::params::lifecycle::NoParams;
use dsh_runtime::agent::deliberation::{RoundError, RoundRequest};
use serde_json::json;

use crate::cx::Cx;
use crate::handlers::errors;

pub(crate) async fn start(
    cx: &Cx,
    params: DeliberateStartParams,
) -> Result<DeliberateStartResult, RpcError> {
    let found = cx.server.runtime.session(&params.session_id).await;
    let (workspace, agent) = found.map_err(|error| errors::session(&error))?;
    agent.refresh().await.map_err(|error| errors::command(&error))?;
    let Some(deliberation) = workspace.deliberation() else {
        return Err(unsupported("no rounds can be run here".to_owned()));
    };
    let request = RoundRequest {
        goal: params.goal,
        incumbent: params.incumbent,
        context: params.context,
        branches: params.branches,
        publish: params.publish.unwrap_or(false),
    };
    let round_id = deliberation.start(agent, request).await.map_err(|error| match error {
        RoundError::Invalid(message) => RpcError::invalid_params(message),
        RoundError::OpenTurn => RpcError::domain(ErrorKind::OpenTurn, error.to_string()),
        RoundError::Unavailable(message) => unsupported(message),
        RoundError::Command(error) => errors::command(&error),
    })?;
    Ok(DeliberateStartResult { round_id })
}

fn unsupported(message: String) -> RpcError {
    RpcError::domain(ErrorKind::Unsupported, message)
        .with_hint("`plugin/list` tells what the row `tool-deliberation` waits for")
}

pub(crate) async fn cancel(cx: &Cx, params: &DeliberateCancelParams) -> Result<NoParams, RpcError> {
    let workspaces = cx.server.runtime.workspaces().await;
    let workspaces = workspaces.map_err(|error| errors::workspace(&error))?;
    let known = workspaces
        .iter()
        .flat_map(|workspace| workspace.deliberations())
        .any(|rounds| rounds.cancel(&params.round_id, params.label.as_deref()));
    if known {
        return Ok(NoParams {});
    }
    let mut message = format!("there is no round `{}`", params.round_id);
    if let Some(label) = &params.label {
        let _ = write!(message, " with a branch `{label}` that runs");
    }
    Err(RpcError::domain(ErrorKind::RoundNotFound, message)
        .with_fact("roundId", json!(params.round_id)))
}
