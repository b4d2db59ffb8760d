//! Row `tool-subagent`: lets the model start a subagent for one task and read its answer.

use std::sync::Arc;
use std::time::Duration;

use dsh_agent::background::{BACKGROUND, Background, Given};
use dsh_agent::names::{Names, is_tool_name};
use dsh_agent::subagents::error::StartError as Refused;
use dsh_agent::subagents::provider::Capability;
use dsh_agent::subagents::request::{Route, StartRequest};
use dsh_agent::subagents::run::RunResult;
use dsh_agent::subagents::{SUBAGENTS, Subagents};
use dsh_agent::tool::{Caller, Tool, ToolContext, ToolFailure, ToolOutput, Viewer};
use dsh_agent::tools::TOOLS;
use dsh_kernel::Context;
use dsh_kernel::Missing;
use dsh_kernel::config::{ConfigProblem, ConfigSpec};
use dsh_kernel::plugin::{Plugin, StartError, read_config};
use dsh_llm::models::LLM;
use dsh_protocol::content::ContentBlock;
use dsh_protocol::event::SubagentMode;
use dsh_protocol::ids::SessionId;
use dsh_protocol::subagent::{StopReason, ToolFilter};
use dsh_protocol::tool::{ToolDefinition, ToolKind};
use dsh_protocol::workspace::ToolErrorCode;
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

pub(crate) const PLUGIN: Plugin = Plugin {
    inject: &["subagents", "tools"],
    optional: &["backgroundAgents", "llm"],
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
    /// Whether a call may leave its subagent to work in the background. Needs the row `tool-subagent-controls`.
    enable_run_in_background: bool,
    /// Whether a subagent in the background takes more work later: `continuable`, or `one-shot`.
    background_mode: BackgroundMode,
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
            enable_run_in_background: true,
            background_mode: BackgroundMode::Continuable,
            max_depth: 3,
            agent_options: AgentOptions::default(),
            persona: None,
            tool_filter: None,
        }
    }
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum BackgroundMode {
    Continuable,
    OneShot,
}

impl From<BackgroundMode> for SubagentMode {
    fn from(mode: BackgroundMode) -> Self {
        match mode {
            BackgroundMode::Continuable => Self::Continuable,
            BackgroundMode::OneShot => Self::OneShot,
        }
    }
}

#[derive(Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct AgentOptions {
    provider: Option<String>,
    model: Option<String>,
    #[schemars(range(min = 1))]
    max_tokens: Option<u64>,
}

fn problems(config: &Value) -> Vec<ConfigProblem> {
    let text = |key: &str| config[key].as_str();
    let mut problems = Vec::new();
    if text("provider").is_some_and(|provider| provider.trim().is_empty()) {
        problems.push(ConfigProblem::new("provider", "must be non-empty"));
    }
    if text("toolName").is_some_and(|name| !is_tool_name(name)) {
        problems.push(ConfigProblem::new("toolName", "must be 1 to 64 of A-Z a-z 0-9 _ -"));
    }
    problems
}

fn start(context: Context, config: Value) -> BoxFuture<'static, Result<(), StartError>> {
    Box::pin(async move {
        let config: Config = read_config(config)?;
        let background =
            if config.enable_run_in_background { context.optional(&BACKGROUND)? } else { None };
        let (subagents, tools) = (context.get(&SUBAGENTS)?, context.get(&TOOLS)?);
        let names = Names {
            subagents: Arc::clone(&subagents),
            tools: Arc::clone(&tools),
            models: context.optional(&LLM)?,
        };
        let asked = config.clone();
        context.report_missing(move || missing(&asked, &names));
        let definition = |knows| definition(&config.tool_name, knows, background.is_some());
        let tool = Subagent {
            fresh: definition(false),
            knowing: definition(true),
            background,
            subagents,
            config,
        };
        context.keep(tools.register(Arc::new(tool))?)?;
        Ok(())
    })
}

/// The names that nobody has. Without its provider there is no tool.
fn missing(config: &Config, names: &Names) -> Vec<Missing> {
    let Config { provider, agent_options, tool_filter, .. } = config;
    let ToolFilter { allow, deny } = tool_filter.clone().unwrap_or_default();
    let mut missing: Vec<Missing> = names.subagents("provider", provider).into_iter().collect();
    missing.extend(names.models("agentOptions.provider", agent_options.provider.as_ref()));
    missing.extend(names.tools("toolFilter.allow", &allow.unwrap_or_default()));
    missing.extend(names.tools("toolFilter.deny", &deny));
    missing
}

/// `knows`: whether its subagents know what the session holds.
fn definition(name: &str, knows: bool, may_run_in_background: bool) -> ToolDefinition {
    let mut description = if knows {
        include_str!("tool_subagent/fork.md").trim().to_owned()
    } else {
        include_str!("tool_subagent/description.md").trim().to_owned()
    };
    let mut properties = json!({
        "description": {
            "type": "string",
            "description": "The task in three to five words, for people who look on.",
        },
        "prompt": {
            "type": "string",
            "description": "The task, with everything that the subagent must know.",
        },
    });
    if may_run_in_background {
        description.push(' ');
        description.push_str(include_str!("tool_subagent/background.md").trim());
        properties["run_in_background"] = json!({
            "type": "boolean",
            "description": "Return at once; a message tells you what came of it.",
        });
    }
    ToolDefinition {
        name: name.to_owned(),
        description,
        input_schema: json!({
            "type": "object",
            "properties": properties,
            "required": ["description", "prompt"],
            "additionalProperties": false,
        }),
    }
}

struct Subagent {
    /// What it is while its subagents know nothing, and while they know what the session holds: the provider says.
    fresh: ToolDefinition,
    knowing: ToolDefinition,
    subagents: Arc<Subagents>,
    background: Option<Arc<Background>>,
    config: Config,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    description: String,
    prompt: String,
    run_in_background: Option<bool>,
}

impl Tool for Subagent {
    fn definition(&self) -> &ToolDefinition {
        let provider = self.subagents.provider(&self.config.provider);
        let knows = provider.is_some_and(|it| it.capabilities().inherits_parent_context);
        if knows { &self.knowing } else { &self.fresh }
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
        let background = self.background.clone();
        Box::pin(async move {
            let (request, is_left) = request(&subagents, &config, arguments, cx)?;
            match background.filter(|_| is_left) {
                Some(background) => left(&background, &config, request).await,
                None if is_left => Err(ToolFailure::new(
                    ToolErrorCode::ContinuationUnavailable,
                    "subagents cannot work in the background here; call again without \
                     run_in_background",
                )),
                None => answer(&subagents, &config.provider, request).await,
            }
        })
    }
}

fn request(
    subagents: &Subagents,
    config: &Config,
    arguments: Value,
    cx: ToolContext,
) -> Result<(StartRequest, bool), ToolFailure> {
    let invalid = |message: String| {
        ToolFailure::new(ToolErrorCode::InvalidArgs, format!("invalid arguments: {message}"))
    };
    let Input { description, prompt, run_in_background } =
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
    let request = StartRequest {
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
    };
    Ok((request, run_in_background == Some(true)))
}

/// Leaves the subagent to its work. The call's own cancel does not concern it any more.
async fn left(
    background: &Background,
    config: &Config,
    request: StartRequest,
) -> Result<ToolOutput, ToolFailure> {
    let request = StartRequest { cancel: CancellationToken::new(), ..request };
    let given = background.start(&config.provider, request, config.background_mode.into()).await;
    let Given { child, degraded: notes, .. } =
        given.map_err(|refused| ToolFailure::new(refused.code, refused.message))?;
    let mut text =
        format!("Subagent `{child}` works in the background. You are told when it is done.");
    add_notes(&mut text, &notes);
    let value = json!({ "childSessionId": child, "state": "running" });
    Ok(ToolOutput { text, value, notes })
}

fn add_notes(text: &mut String, notes: &[String]) {
    for note in notes {
        text.push_str("\nNote: ");
        text.push_str(note);
        text.push('.');
    }
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
    add_notes(&mut text, &notes);
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
