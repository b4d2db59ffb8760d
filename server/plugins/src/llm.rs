//! Row `llm`: the registry of model adapters.

use std::sync::Arc;

use dsh_kernel::Context;
use dsh_kernel::plugin::{Plugin, StartError};
use dsh_llm::models::{LLM, Models};
use futures_util::future::BoxFuture;
use serde_json::Value;

pub(crate) const PLUGIN: Plugin = Plugin { provides: &["llm"], ..Plugin::new("llm", start) };

fn start(context: Context, _config: Value) -> BoxFuture<'static, Result<(), StartError>> {
    Box::pin(async move { context.provide(&LLM, Arc::new(Models::default())) })
}
