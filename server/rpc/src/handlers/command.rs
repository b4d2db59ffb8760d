//! `command/list` and `command/run`.

use dsh_protocol::error::{ErrorKind, RpcError};
use dsh_protocol::params::command::{
    CommandListParams, CommandListResult, CommandRunParams, CommandRunResult,
};
use dsh_runtime::agent::commands::CommandLineError;
use serde_json::json;

use crate::cx::Cx;
use crate::handlers::errors;

pub(crate) async fn list(
    cx: &Cx,
    params: CommandListParams,
) -> Result<CommandListResult, RpcError> {
    let workspace = cx.server.runtime.workspace(params.workspace.as_deref()).await;
    let workspace = workspace.map_err(|error| errors::workspace(&error))?;
    let commands = workspace.commands().map(|commands| commands.list()).unwrap_or_default();
    Ok(CommandListResult { commands })
}

pub(crate) async fn run(cx: &Cx, params: CommandRunParams) -> Result<CommandRunResult, RpcError> {
    let found = cx.server.runtime.session(&params.session_id).await;
    let (workspace, agent) = found.map_err(|error| errors::session(&error))?;
    let Some(commands) = workspace.commands() else {
        return Err(RpcError::domain(ErrorKind::Unsupported, "no commands can be run here")
            .with_hint("enable the row `commands`"));
    };
    let outcome = commands.run(agent, &params.line).await.map_err(|error| match &error {
        CommandLineError::NotACommand => RpcError::invalid_params(error.to_string()),
        CommandLineError::Unknown { name, .. } => {
            RpcError::domain(ErrorKind::CommandNotFound, error.to_string())
                .with_fact("command", json!(name))
        }
    })?;
    Ok(CommandRunResult { ok: outcome.ok, text: outcome.text })
}
