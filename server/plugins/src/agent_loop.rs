//! Row `agent-loop`: the loop that runs every session's turns.

use std::sync::Arc;
use std::time::Duration;

use dsh_agent::agent_loop::{
    AGENT_LOOP, AgentLoop, Budgets, DEFAULT_MODEL, StandardLoop, StandardLoopConfig,
};
use dsh_agent::host::HOST;
use dsh_agent::prompt::SYSTEM_PROMPT;
use dsh_agent::tools::TOOLS;
use dsh_kernel::Context;
use dsh_kernel::config::ConfigSpec;
use dsh_kernel::plugin::{Plugin, StartError, read_config};
use dsh_llm::models::LLM;
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

pub(crate) const PLUGIN: Plugin = Plugin {
    inject: &["host", "llm", "tools", "systemPrompt", "defaultModel"],
    provides: &["agentLoop"],
    config: ConfigSpec::of::<Config>(),
    ..Plugin::new("agent-loop", start)
};

#[derive(Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct Config {
    /// How many tool calls of one answer run at once.
    #[schemars(range(min = 1))]
    max_parallel_tool_calls: usize,
    /// What a turn may use up; one that reaches a limit ends there, and a prompt goes on.
    budgets: BudgetsConfig,
}

impl Default for Config {
    fn default() -> Self {
        Self { max_parallel_tool_calls: 10, budgets: BudgetsConfig::default() }
    }
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct BudgetsConfig {
    /// Model requests; 200 unless said.
    #[schemars(range(min = 1))]
    steps: Option<u64>,
    /// Time in minutes; 60 unless said.
    minutes: Option<u64>,
    /// Tokens in and out; no limit unless said.
    tokens: Option<u64>,
    /// How often plugins may keep a turn from ending; 5 unless said.
    stopping_rounds: Option<u64>,
}

fn start(context: Context, config: Value) -> BoxFuture<'static, Result<(), StartError>> {
    Box::pin(async move {
        let config: Config = read_config(config)?;
        let defaults = Budgets::default();
        let minutes =
            config.budgets.minutes.map(|minutes| Duration::from_secs(minutes.saturating_mul(60)));
        let agent_loop = StandardLoop::new(StandardLoopConfig {
            host: context.get(&HOST)?,
            models: context.get(&LLM)?,
            tools: context.get(&TOOLS)?,
            prompt: context.get(&SYSTEM_PROMPT)?,
            hooks: context.hooks().clone(),
            default_model: context.get(&DEFAULT_MODEL)?,
            max_parallel_tool_calls: config.max_parallel_tool_calls,
            budgets: Budgets {
                steps: config.budgets.steps.unwrap_or(defaults.steps),
                time: minutes.unwrap_or(defaults.time),
                tokens: config.budgets.tokens,
                stopping_rounds: config.budgets.stopping_rounds.unwrap_or(defaults.stopping_rounds),
            },
        });
        context.provide(&AGENT_LOOP, Arc::new(agent_loop) as Arc<dyn AgentLoop>)
    })
}
