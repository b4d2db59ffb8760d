//! Row `agent-default-model`: the model that is used when nobody chose one.

use std::sync::Arc;

use dsh_agent::agent_loop::DEFAULT_MODEL;
use dsh_kernel::Context;
use dsh_kernel::config::ConfigSpec;
use dsh_kernel::plugin::{Plugin, StartError, read_config};
use dsh_protocol::ids::ModelId;
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

pub(crate) const PLUGIN: Plugin = Plugin {
    provides: &["defaultModel"],
    config: ConfigSpec::of::<Config>(),
    ..Plugin::new("agent-default-model", start)
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Config {
    /// The provider of the model that new sessions ask.
    provider: String,
    /// Its name there.
    model: String,
}

fn start(context: Context, config: Value) -> BoxFuture<'static, Result<(), StartError>> {
    Box::pin(async move {
        let config: Config = read_config(config)?;
        let model = ModelId { provider: config.provider, model: config.model };
        context.provide(&DEFAULT_MODEL, Arc::new(model))
    })
}
