//! Row `subagents`: the registry of those who start subagents.

use std::sync::Arc;

use dsh_agent::host::HOST;
use dsh_agent::subagents::{SUBAGENTS, Subagents};
use dsh_kernel::Context;
use dsh_kernel::plugin::{Plugin, StartError};
use futures_util::future::BoxFuture;
use serde_json::Value;

pub(crate) const PLUGIN: Plugin =
    Plugin { inject: &["host"], provides: &["subagents"], ..Plugin::new("subagents", start) };

fn start(context: Context, _config: Value) -> BoxFuture<'static, Result<(), StartError>> {
    Box::pin(async move {
        let subagents = Subagents::new(context.get(&HOST)?, context.hooks().clone());
        context.provide(&SUBAGENTS, Arc::new(subagents))
    })
}
