//! Row `tool-subagent-controls`: lets the model work with children in the background: send one a message, stop one,
//! see what they do. Provides the service that starts them.

use std::sync::Arc;
use std::time::Duration;

use dsh_agent::agents::AGENTS;
use dsh_agent::background::error::Refused;
use dsh_agent::background::{BACKGROUND, Background};
use dsh_agent::hooks::{ACTIVATION_LEFT, SESSION_CLOSING};
use dsh_agent::host::HOST;
use dsh_agent::sessions::SESSIONS;
use dsh_agent::subagents::SUBAGENTS;
use dsh_agent::tool::{Caller, Tool, ToolContext, ToolFailure, ToolOutput, Typed, Viewer};
use dsh_agent::tools::TOOLS;
use dsh_kernel::Context;
use dsh_kernel::config::ConfigSpec;
use dsh_kernel::hooks::Position;
use dsh_kernel::plugin::{Plugin, StartError, read_config};
use dsh_protocol::tool::{ToolDefinition, ToolKind};
use dsh_protocol::workspace::ToolErrorCode;
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

mod interrupt;
mod list;
mod send;

use interrupt::Interrupt;
use list::ListAgents;
use send::Send;

pub(crate) const PLUGIN: Plugin = Plugin {
    inject: &["host", "agents", "sessions", "subagents", "tools"],
    provides: &["backgroundAgents"],
    config: ConfigSpec::of::<Config>(),
    ..Plugin::new("tool-subagent-controls", start)
};

#[derive(Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct Config {
    /// How many children of one session may work in the background at once. One more is refused with
    /// `SUBAGENT_LIMIT`.
    #[schemars(range(min = 1, max = 64))]
    max_running: usize,
    /// The tools are offered to agents less deep than this, counted from 0 for the agent of a session that a person
    /// began.
    #[schemars(range(min = 1))]
    max_depth: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self { max_running: 8, max_depth: 3 }
    }
}

fn start(context: Context, config: Value) -> BoxFuture<'static, Result<(), StartError>> {
    Box::pin(async move {
        let config: Config = read_config(config)?;
        let background = Background::new(
            context.get(&HOST)?,
            context.get(&AGENTS)?,
            context.get(&SESSIONS)?,
            context.get(&SUBAGENTS)?,
            config.max_running,
        );
        let own = Arc::clone(&background);
        ACTIVATION_LEFT.listen(&context, Position::Last, move |left| {
            let background = Arc::clone(&own);
            async move { Ok(background.adopt(&left).await) }
        })?;
        let own = Arc::clone(&background);
        SESSION_CLOSING.listen(&context, Position::Last, move |closing| {
            let background = Arc::clone(&own);
            async move { background.close(&closing.session_id).await }
        })?;
        let tools = context.get(&TOOLS)?;
        let max_depth = config.max_depth;
        let control = |tool: Arc<dyn Tool>| Arc::new(Control { tool, max_depth });
        let send = Typed::new(Send(Arc::clone(&background)));
        context.keep(tools.register(control(Arc::new(send)))?)?;
        let interrupt = Typed::new(Interrupt(Arc::clone(&background)));
        context.keep(tools.register(control(Arc::new(interrupt)))?)?;
        let list = Typed::new(ListAgents(Arc::clone(&background)));
        context.keep(tools.register(control(Arc::new(list)))?)?;
        context.provide(&BACKGROUND, background)
    })
}

/// A tool for those who may have children.
struct Control {
    tool: Arc<dyn Tool>,
    max_depth: u32,
}

impl Tool for Control {
    fn definition(&self) -> &ToolDefinition {
        self.tool.definition()
    }

    fn kind(&self) -> ToolKind {
        self.tool.kind()
    }

    fn is_offered(&self, to: Viewer) -> bool {
        to.depth < self.max_depth
    }

    fn has_effects(&self) -> bool {
        true
    }

    fn deadline(&self) -> Duration {
        self.tool.deadline()
    }

    fn run(
        &self,
        arguments: Value,
        cx: ToolContext,
    ) -> BoxFuture<'static, Result<ToolOutput, ToolFailure>> {
        self.tool.run(arguments, cx)
    }
}

/// Whose call it is; a person has no children in the background.
fn caller(cx: ToolContext, tool: &str) -> Result<Caller, ToolFailure> {
    cx.caller.ok_or_else(|| {
        ToolFailure::new(
            ToolErrorCode::SubagentFailed,
            format!("`{tool}` works on behalf of an agent only; ask one to use it"),
        )
    })
}

fn failed(refused: Refused) -> ToolFailure {
    ToolFailure::new(refused.code, refused.message)
}
