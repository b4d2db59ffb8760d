//! Row `agents`: the agents that are loaded. Unloading it ends them: at once when everything is shut down, else when
//! no turn runs any more.

use std::sync::Arc;
use std::time::Duration;

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

/// How long a replacement of anything that agents depend on waits for running turns: as long as one may take.
const PATIENCE: Duration = Duration::from_hours(1);

/// How long the agents may take to end.
const CLOSE: Duration = Duration::from_secs(5);

fn start(context: Context, _config: Value) -> BoxFuture<'static, Result<(), StartError>> {
    Box::pin(async move {
        let agents = Arc::new(Agents::new(
            context.get(&HOST)?,
            context.get(&SESSIONS)?,
            context.get(&AGENT_LOOP)?,
            context.get(&DEFAULT_MODEL)?,
            context.hooks().clone(),
        ));
        let unloading = Arc::clone(&agents);
        let unloading = tokio::spawn(async move { unloading.unload_unused().await });
        let closing = Arc::clone(&agents);
        context.on_dispose_within(
            "running agents",
            PATIENCE + 2 * CLOSE,
            move |why| async move {
                tokio::select! {
                    () = closing.at_rest() => {}
                    () = why.shutdown() => {}
                    () = tokio::time::sleep(PATIENCE) => {
                        tracing::warn!("turns are aborted: what they depend on is replaced");
                    }
                }
                unloading.abort();
                if tokio::time::timeout(CLOSE, closing.close_all()).await.is_err() {
                    tracing::error!("agents did not end in time");
                }
            },
        )?;
        context.provide(&AGENTS, agents)
    })
}
