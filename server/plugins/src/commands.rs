//! Row `commands`: the registry of what a person can type into a session.

use std::sync::Arc;

use dsh_agent::commands::{COMMANDS, Commands};
use dsh_kernel::Context;
use dsh_kernel::plugin::{Plugin, StartError};
use futures_util::future::BoxFuture;
use serde_json::Value;

pub(crate) const PLUGIN: Plugin =
    Plugin { provides: &["commands"], ..Plugin::new("commands", start) };

fn start(context: Context, _config: Value) -> BoxFuture<'static, Result<(), StartError>> {
    Box::pin(async move { context.provide(&COMMANDS, Arc::new(Commands::default())) })
}
