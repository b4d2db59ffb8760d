//! Row `sessions`: opens and creates logs, and says how long sessions stay loaded that nobody uses.

use std::sync::Arc;
use std::time::Duration;

use dsh_agent::host::HOST;
use dsh_agent::sessions::{IdleLimits, SESSIONS, Sessions};
use dsh_kernel::Context;
use dsh_kernel::config::ConfigSpec;
use dsh_kernel::plugin::{Plugin, StartError, read_config};
use dsh_session::store::SESSION_STORE;
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

pub(crate) const PLUGIN: Plugin = Plugin {
    inject: &["host", "sessionStore"],
    provides: &["sessions"],
    config: ConfigSpec::of::<Config>(),
    ..Plugin::new("sessions", start)
};

/// Configuration of the row.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Config {
    /// How long after its last use an idle session stays in memory, in milliseconds. It comes back with the next
    /// request that names it.
    unload_after_ms: u64,
    /// How many idle sessions stay in memory; those that were used last.
    max_idle: usize,
}

impl Default for Config {
    fn default() -> Self {
        let limits = IdleLimits::default();
        let unload_after_ms = u64::try_from(limits.after.as_millis()).unwrap_or(u64::MAX);
        Self { unload_after_ms, max_idle: limits.most }
    }
}

fn start(context: Context, config: Value) -> BoxFuture<'static, Result<(), StartError>> {
    Box::pin(async move {
        let config: Config = read_config(config)?;
        let limits = IdleLimits {
            after: Duration::from_millis(config.unload_after_ms),
            most: config.max_idle,
        };
        let clock = Arc::clone(&context.get(&HOST)?.clock);
        let sessions = Sessions::new(context.get(&SESSION_STORE)?, clock).with_idle_limits(limits);
        context.provide(&SESSIONS, Arc::new(sessions))
    })
}
