//! Row `tools`: the registry of tools.

use std::sync::Arc;

use dsh_agent::tools::{TOOLS, Tools};
use dsh_kernel::Context;
use dsh_kernel::plugin::{Plugin, StartError};
use futures_util::future::BoxFuture;
use serde_json::Value;

pub(crate) const PLUGIN: Plugin = Plugin { provides: &["tools"], ..Plugin::new("tools", start) };

fn start(context: Context, _config: Value) -> BoxFuture<'static, Result<(), StartError>> {
    Box::pin(async move { context.provide(&TOOLS, Arc::new(Tools::default())) })
}
