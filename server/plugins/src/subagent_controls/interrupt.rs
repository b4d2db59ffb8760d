//! `interrupt_agent`: stops what a child does now.

use std::fmt::Write as _;
use std::sync::Arc;

use dsh_agent::background::Background;
use dsh_agent::tool::{Caller, ToolContext, ToolFailure, ToolOutput, TypedTool};
use dsh_protocol::ids::SessionId;
use dsh_protocol::tool::ToolKind;
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{caller, failed};

pub(super) struct Interrupt(pub(super) Arc<Background>);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// The agent, as `list_agents` and the call that started it name it.
    agent: String,
}

impl TypedTool for Interrupt {
    type Input = Input;

    const NAME: &'static str = "interrupt_agent";

    const DESCRIPTION: &'static str = include_str!("interrupt.md");

    const KIND: ToolKind = ToolKind::Think;

    fn run(
        &self,
        input: Input,
        cx: ToolContext,
    ) -> BoxFuture<'static, Result<ToolOutput, ToolFailure>> {
        let background = Arc::clone(&self.0);
        Box::pin(async move {
            let Caller { at, .. } = caller(cx, Self::NAME)?;
            let agent = SessionId::from(input.agent.as_str());
            let done = background.interrupt(&at.session_id, &agent).await.map_err(failed)?;
            let mut text = if done.was_running {
                format!("`{agent}` stops what it was doing; nobody tells you of that.")
            } else {
                format!("`{agent}` was not at work.")
            };
            if done.waiting > 0 {
                let _ = write!(
                    text,
                    " {} of its messages wait; send_message makes it go on with them.",
                    done.waiting
                );
            }
            let value =
                json!({ "agent": agent, "wasRunning": done.was_running, "waiting": done.waiting });
            Ok(ToolOutput { text, value, notes: Vec::new() })
        })
    }
}
