//! `send_message`: gives a child more work.

use std::sync::Arc;

use dsh_agent::background::Background;
use dsh_agent::tool::{Caller, ToolContext, ToolFailure, ToolOutput, TypedTool};
use dsh_protocol::ids::SessionId;
use dsh_protocol::tool::ToolKind;
use dsh_protocol::workspace::ToolErrorCode;
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{caller, failed};

pub(super) struct Send(pub(super) Arc<Background>);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// The agent, as `list_agents` and the call that started it name it.
    agent: String,
    /// What it is to do now. It remembers what it did before.
    message: String,
}

impl TypedTool for Send {
    type Input = Input;

    const NAME: &'static str = "send_message";

    const DESCRIPTION: &'static str = include_str!("send.md");

    const KIND: ToolKind = ToolKind::Think;

    fn run(
        &self,
        input: Input,
        cx: ToolContext,
    ) -> BoxFuture<'static, Result<ToolOutput, ToolFailure>> {
        let background = Arc::clone(&self.0);
        Box::pin(async move {
            let Input { agent, message } = input;
            if message.trim().is_empty() {
                let said = "invalid arguments: `message` must be non-empty";
                return Err(ToolFailure::new(ToolErrorCode::InvalidArgs, said));
            }
            let Caller { at, call_id } = caller(cx, Self::NAME)?;
            let child = SessionId::from(agent.as_str());
            let given = background.send(&at.session_id, &child, message, call_id).await;
            let given = given.map_err(failed)?;
            let text = if given.waits {
                format!(
                    "`{agent}` has it, behind the work that it has. You are told when it is done."
                )
            } else {
                format!("`{agent}` works on it. You are told when it is done.")
            };
            let value = json!({ "agent": agent, "waits": given.waits });
            Ok(ToolOutput { text, value, notes: Vec::new() })
        })
    }
}
