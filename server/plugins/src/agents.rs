//! Row `agents`: the agents that are loaded. Unloading it ends them.

use std::sync::Arc;

use dsh_agent::agent_loop::{AGENT_LOOP, DEFAULT_MODEL};
use dsh_agent::agents::{AGENTS, Agents};
use dsh_agent::host::HOST;
use dsh_agent::sessions::SESSIONS;
use dsh_kernel::Context;
use dsh_kernel::plugin::{Plugin, StartError};
use futures_util::future::BoxFuture;
use serde_json::Value;

pub(crate) const PLUGIN: Plugin = Plugin {
    inject: &["host", "sessions", "agentLoop", "defaultModel"],
    provides: &["agents"],
    ..Plugin::new("agents", start)
};

fn start(context: Context, _config: Value) -> BoxFuture<'static, Result<(), StartError>> {
    Box::pin(async move {
        let agents = Arc::new(Agents::new(
            context.get(&HOST)?,
            context.get(&SESSIONS)?,
            context.get(&AGENT_LOOP)?,
            context.get(&DEFAULT_MODEL)?,
        ));
        let closing = Arc::clone(&agents);
        context.on_dispose("running agents", move |_| async move { closing.close_all().await })?;
        context.provide(&AGENTS, agents)
    })
}
