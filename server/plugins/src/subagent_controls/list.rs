//! `list_agents`: what the children do.

use std::sync::Arc;

use dsh_agent::background::Background;
use dsh_agent::background::list::Scope;
use dsh_agent::tool::{Caller, ToolContext, ToolFailure, ToolOutput, TypedTool};
use dsh_protocol::tool::ToolKind;
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{caller, failed};

pub(super) struct ListAgents(pub(super) Arc<Background>);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// `children`: those that you started; `descendants`: theirs as well.
    #[serde(default)]
    scope: Scope,
}

impl TypedTool for ListAgents {
    type Input = Input;

    const NAME: &'static str = "list_agents";

    const DESCRIPTION: &'static str = include_str!("list.md");

    const KIND: ToolKind = ToolKind::Think;

    fn run(
        &self,
        input: Input,
        cx: ToolContext,
    ) -> BoxFuture<'static, Result<ToolOutput, ToolFailure>> {
        let background = Arc::clone(&self.0);
        Box::pin(async move {
            let Caller { at, .. } = caller(cx, Self::NAME)?;
            let list = background.list(&at.session_id, input.scope).await.map_err(failed)?;
            let value = serde_json::to_value(&list).unwrap_or_default();
            Ok(ToolOutput { text: value.to_string(), value, notes: Vec::new() })
        })
    }
}
