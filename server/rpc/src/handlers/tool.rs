//! `tool/list` and `tool/call`.

use std::sync::Arc;

use dsh_protocol::error::RpcError;
use dsh_protocol::ids::SessionId;
use dsh_protocol::params::tool::{ToolCallParams, ToolCallResult, ToolListParams, ToolListResult};
use dsh_runtime::agent::setup::Setup;
use dsh_runtime::agent::tools::About;
use dsh_runtime::workspace::Workspace;
use tokio_util::sync::CancellationToken;

use crate::cx::Cx;
use crate::handlers::errors;

pub(crate) async fn list(cx: &Cx, params: ToolListParams) -> Result<ToolListResult, RpcError> {
    let workspace = workspace(cx, params.workspace.as_deref(), params.session_id.as_ref()).await?;
    let tools = workspace.tools().await.map_err(|error| errors::mount(&error))?;
    Ok(ToolListResult { tools: tools.list() })
}

pub(crate) async fn call(cx: &Cx, params: ToolCallParams) -> Result<ToolCallResult, RpcError> {
    let workspace = workspace(cx, params.workspace.as_deref(), params.session_id.as_ref()).await?;
    // Dropping this future, as a cancelled request does, cancels the call.
    let cancel = CancellationToken::new();
    let _cancelled_when_dropped = cancel.clone().drop_guard();
    let tools = workspace.tools().await.map_err(|error| errors::mount(&error))?;
    let mut about = About { session: params.session_id, ..About::default() };
    if let Some(id) = &about.session {
        let session = cx.server.runtime.session(id).await;
        let (_, agent) = session.map_err(|error| errors::session(&error))?;
        about.folders = Setup::folders(agent.log());
    }
    let outcome = tools.call(about, &params.name, params.arguments, &cancel).await;
    Ok(ToolCallResult {
        content: outcome.content,
        is_error: outcome.is_error,
        error: outcome.error,
        value: outcome.value,
        notes: outcome.notes,
    })
}

/// The folder that is named, or that of the session.
async fn workspace(
    cx: &Cx,
    name: Option<&str>,
    session: Option<&SessionId>,
) -> Result<Arc<Workspace>, RpcError> {
    let runtime = &cx.server.runtime;
    if let (None, Some(id)) = (name, session) {
        let (workspace, _) = runtime.session(id).await.map_err(|error| errors::session(&error))?;
        return Ok(workspace);
    }
    runtime.workspace(name).await.map_err(|error| errors::workspace(&error))
}
