//! The tool: reads a call, runs its round, says what came out.

use std::sync::Arc;
use std::time::Duration;

use dsh_agent::tool::{Tool, ToolContext, ToolFailure, ToolOutput, Viewer};
use dsh_protocol::tool::{ToolDefinition, ToolKind};
use dsh_protocol::workspace::ToolErrorCode;
use dsh_session::store::BoxFuture;
use serde_json::{Value, json};

use super::arguments::{self, Refusal};
use super::config::Config;
use super::definition;
use super::outcome::rendered;
use super::round::debug;
use super::rounds::Rounds;

/// How much longer than its branches a call may take before it is taken for hung. Branches keep their own time.
const MARGIN: Duration = Duration::from_mins(1);

/// The `deliberate` tool.
pub(super) struct Deliberate {
    definition: ToolDefinition,
    rounds: Arc<Rounds>,
}

impl Deliberate {
    pub(super) fn new(rounds: Arc<Rounds>) -> Self {
        Self { definition: definition::tool(&rounds.services.config), rounds }
    }

    fn config(&self) -> &Config {
        &self.rounds.services.config
    }
}

impl Tool for Deliberate {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Think
    }

    fn is_offered(&self, to: Viewer) -> bool {
        u64::from(to.depth) < self.config().max_depth
    }

    fn deadline(&self) -> Duration {
        Duration::from_millis(self.config().branch_timeout_ms) + MARGIN
    }

    fn run(
        &self,
        arguments: Value,
        cx: ToolContext,
    ) -> BoxFuture<'static, Result<ToolOutput, ToolFailure>> {
        let rounds = Arc::clone(&self.rounds);
        Box::pin(deliberate(rounds, arguments, cx))
    }
}

async fn deliberate(
    rounds: Arc<Rounds>,
    arguments: Value,
    cx: ToolContext,
) -> Result<ToolOutput, ToolFailure> {
    let config = &rounds.services.config;
    let refused = |message: String| ToolFailure::new(ToolErrorCode::InvalidArgs, message);
    let read = arguments::read(&arguments, config);
    if let Err(shape @ Refusal::Shape(_)) = read {
        return Err(refused(shape.into_message()));
    }
    let agent = cx.caller.as_ref().and_then(|it| rounds.services.agents.live(&it.at.session_id));
    let (Some(caller), Some(agent)) = (cx.caller, agent) else {
        return Err(refused(format!("{} requires a calling Agent", config.tool_name)));
    };
    debug(config, || {
        let branches = arguments["branches"].as_array().into_iter().flatten();
        let labels: Vec<&Value> = branches.map(|branch| &branch["label"]).collect();
        format!(
            "tool-call parent={} branches={} labels={}",
            agent.id(),
            labels.len(),
            json!(labels)
        )
    });
    let arguments = read.map_err(|refusal| refused(refusal.into_message()))?;
    let begun = rounds.begin(agent, Some(caller), arguments, false).await.map_err(|error| {
        ToolFailure::new(ToolErrorCode::Aborted, format!("the round could not begin: {error}"))
    })?;
    // A call that nobody waits for any more takes its round along.
    let _cancelled_when_dropped = begun.cancel.clone().drop_guard();
    let mut outcomes = begun.outcomes;
    let outcomes = tokio::select! {
        outcomes = &mut outcomes => outcomes,
        () = cx.cancel.cancelled() => {
            begun.cancel.cancel();
            outcomes.await
        }
    };
    if cx.cancel.is_cancelled() {
        return Err(ToolFailure::new(ToolErrorCode::Aborted, "deliberation aborted"));
    }
    let outcomes = outcomes.map_err(|error| {
        tracing::error!(%error, "a round broke");
        ToolFailure::new(ToolErrorCode::InvalidToolOutput, "the round broke; try again")
    })?;
    let value = json!({ "roundId": begun.id, "outcomes": outcomes });
    Ok(ToolOutput { text: rendered(&outcomes), value, notes: Vec::new() })
}
