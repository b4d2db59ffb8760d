//! Row `system-prompt`: puts the system prompt together and says who the agent is.

use std::sync::Arc;

use dsh_agent::prompt::{SYSTEM_PROMPT, Section, SystemPrompt};
use dsh_kernel::Context;
use dsh_kernel::config::ConfigSpec;
use dsh_kernel::plugin::{Plugin, StartError, read_config};
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

pub(crate) const PLUGIN: Plugin = Plugin {
    provides: &["systemPrompt"],
    config: ConfigSpec::of::<Config>(),
    ..Plugin::new("system-prompt", start)
};

const IDENTITY: &str = include_str!("system_prompt/identity.md");

#[derive(Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct Config {
    /// Whether the product's own section stands first.
    include_harness_identity: bool,
    /// What a person adds; empty: nothing.
    persona: String,
}

impl Default for Config {
    fn default() -> Self {
        Self { include_harness_identity: true, persona: String::new() }
    }
}

fn start(context: Context, config: Value) -> BoxFuture<'static, Result<(), StartError>> {
    Box::pin(async move {
        let config: Config = read_config(config)?;
        let prompt = SystemPrompt::default();
        let identity = if config.include_harness_identity { IDENTITY } else { "" };
        for (name, order, text) in [
            ("harness:identity", -100, identity),
            ("deployment:persona", 0, config.persona.as_str()),
        ] {
            let section = Section { name: name.to_owned(), order, text: text.to_owned() };
            context.keep(prompt.register(section)?)?;
        }
        context.provide(&SYSTEM_PROMPT, Arc::new(prompt))
    })
}
