//! Row `tool-subagent`: lets the model start a subagent for one task and read its answer.

use std::sync::Arc;
use std::time::Duration;

use dsh_agent::subagents::error::StartError as Refused;
use dsh_agent::subagents::provider::Capability;
use dsh_agent::subagents::request::{Route, StartRequest};
use dsh_agent::subagents::run::RunResult;
use dsh_agent::subagents::{SUBAGENTS, Subagents};
use dsh_agent::tool::{Caller, Tool, ToolContext, ToolFailure, ToolOutput, Viewer};
use dsh_agent::tools::TOOLS;
use dsh_kernel::Context;
use dsh_kernel::config::{ConfigProblem, ConfigSpec};
use dsh_kernel::plugin::{Plugin, StartError, read_config};
use dsh_protocol::content::ContentBlock;
use dsh_protocol::ids::SessionId;
use dsh_protocol::subagent::{StopReason, ToolFilter};
use dsh_protocol::tool::{ToolDefinition, ToolKind};
use dsh_protocol::workspace::ToolErrorCode;
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

pub(crate) const PLUGIN: Plugin = Plugin {
    inject: &["subagents", "tools"],
    config: ConfigSpec::of::<Config>().and(problems),
    ..Plugin::new("tool-subagent", start)
};

/// How long a call may take: as long as a turn of the subagent may.
const DEADLINE: Duration = Duration::from_hours(1);

/// How long a subagent may take to end once its answer is there.
const CLEANUP: Duration = Duration::from_secs(5);

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct Config {
    /// The provider of subagents that starts them.
    provider: String,
    /// The tool's name.
    tool_name: String,
    /// How deep a subagent may stand, counted from 1 for one of a session that a person began.
    #[schemars(range(min = 1))]
    max_depth: u32,
    /// Which model they ask, where it is not their parent's.
    agent_options: AgentOptions,
    /// What they are told of themselves, in place of the deployment's persona.
    persona: Option<String>,
    /// Which tools they may use; absent: their parent's.
    tool_filter: Option<ToolFilter>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            provider: "spawn".to_owned(),
            tool_name: "subagent".to_owned(),
            max_depth: 3,
            agent_options: AgentOptions::default(),
            persona: None,
            tool_filter: None,
        }
    }
}

#[derive(Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct AgentOptions {
    provider: Option<String>,
    model: Option<String>,
    max_tokens: Option<u64>,
}

fn problems(config: &Value) -> Vec<ConfigProblem> {
    let empty = |key: &str| config[key].as_str().is_some_and(|text| text.trim().is_empty());
    ["provider", "toolName"]
        .into_iter()
        .filter(|key| empty(key))
        .map(|key| ConfigProblem::new(key, "must be non-empty"))
        .collect()
}

fn start(context: Context, config: Value) -> BoxFuture<'static, Result<(), StartError>> {
    Box::pin(async move {
        let config: Config = read_config(config)?;
        let tool = Subagent {
            definition: definition(&config.tool_name),
            subagents: context.get(&SUBAGENTS)?,
            config,
        };
        context.keep(context.get(&TOOLS)?.register(Arc::new(tool))?)?;
        Ok(())
    })
}

fn definition(name: &str) -> ToolDefinition {
    ToolDefinition {
        name: name.to_owned(),
        description: include_str!("tool_subagent/description.md").trim().to_owned(),
        input_schema: json!({
            "type": "object",
            "properties": {
                "description": {
                    "type": "string",
                    "description": "The task in three to five words, for people who look on.",
                },
                "prompt": {
                    "type": "string",
                    "description": "The task, with everything that the subagent must know.",
                },
            },
            "required": ["description", "prompt"],
            "additionalProperties": false,
        }),
    }
}

struct Subagent {
    definition: ToolDefinition,
    subagents: Arc<Subagents>,
    config: Config,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    description: String,
    prompt: String,
}

impl Tool for Subagent {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Think
    }

    fn is_offered(&self, to: Viewer) -> bool {
        to.depth < self.config.max_depth && self.subagents.provider(&self.config.provider).is_some()
    }

    fn has_effects(&self) -> bool {
        true
    }

    fn deadline(&self) -> Duration {
        DEADLINE
    }

    fn run(
        &self,
        arguments: Value,
        cx: ToolContext,
    ) -> BoxFuture<'static, Result<ToolOutput, ToolFailure>> {
        let (subagents, config) = (Arc::clone(&self.subagents), self.config.clone());
        Box::pin(async move {
            let request = request(&subagents, &config, arguments, cx)?;
            answer(&subagents, &config.provider, request).await
        })
    }
}

fn request(
    subagents: &Subagents,
    config: &Config,
    arguments: Value,
    cx: ToolContext,
) -> Result<StartRequest, ToolFailure> {
    let invalid = |message: String| {
        ToolFailure::new(ToolErrorCode::InvalidArgs, format!("invalid arguments: {message}"))
    };
    let Input { description, prompt } =
        serde_json::from_value(arguments).map_err(|error| invalid(error.to_string()))?;
    if prompt.trim().is_empty() {
        return Err(invalid("`prompt` must be non-empty".to_owned()));
    }
    let Some(Caller { at, call_id }) = cx.caller else {
        return Err(failed(format!(
            "`{}` works on behalf of an agent only; ask one to use it",
            config.tool_name
        )));
    };
    let can = subagents.provider(&config.provider).map(|provider| provider.capabilities());
    let limited = can.is_none_or(|can| can.can(Capability::DepthLimit));
    Ok(StartRequest {
        route: Route {
            provider: config.agent_options.provider.clone(),
            model: config.agent_options.model.clone(),
            max_tokens: config.agent_options.max_tokens,
        },
        tool_filter: config.tool_filter.clone(),
        persona: config.persona.clone(),
        max_depth: limited.then_some(config.max_depth),
        call_id: Some(call_id),
        label: Some(description).filter(|label| !label.trim().is_empty()),
        cancel: cx.cancel,
        ..StartRequest::new(at.session_id, vec![ContentBlock::text(prompt)])
    })
}

async fn answer(
    subagents: &Subagents,
    provider: &str,
    request: StartRequest,
) -> Result<ToolOutput, ToolFailure> {
    let mut run =
        subagents.start(provider, request).await.map_err(|refused| not_started(&refused))?;
    let child = run.child_session_id().clone();
    let notes = run.degraded().to_vec();
    let result = run.result().await;
    let _ = run.dispose(CLEANUP).await;
    let result = result.map_err(|error| failed(error.to_string()))?;
    if result.stop_reason != StopReason::Completed {
        return Err(stopped(&result));
    }
    Ok(output(&child, result, notes))
}

fn output(child: &SessionId, result: RunResult, notes: Vec<String>) -> ToolOutput {
    let mut text = if result.text.trim().is_empty() {
        "The subagent ended without a word.".to_owned()
    } else {
        result.text
    };
    for note in &notes {
        text.push_str("\nNote: ");
        text.push_str(note);
        text.push('.');
    }
    let value = json!({ "childSessionId": child, "stopReason": result.stop_reason });
    ToolOutput { text, value, notes }
}

/// What the model reads of a subagent that never was. Errors of the disk are for the server's own log.
fn not_started(refused: &Refused) -> ToolFailure {
    if matches!(refused, Refused::Open(_) | Refused::Command(_)) {
        tracing::error!(%refused, "a subagent was not started");
        return failed("the subagent could not be started; try again or do the work yourself");
    }
    failed(refused.to_string())
}

fn stopped(result: &RunResult) -> ToolFailure {
    let why = result.diagnostic.as_deref().unwrap_or("it was cancelled");
    let mut message = format!("the subagent stopped before it was done: {why}");
    if !result.text.trim().is_empty() {
        message.push_str(". What it had said:\n");
        message.push_str(&result.text);
    }
    failed(message)
}

fn failed(message: impl Into<String>) -> ToolFailure {
    ToolFailure::new(ToolErrorCode::SubagentFailed, message)
}
