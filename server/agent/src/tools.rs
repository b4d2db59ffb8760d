//! The tools that are mounted, and the way that every call takes: the `tools` service.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use dsh_kernel::registration::Registration;
use dsh_kernel::registry::{Registry, Taken};
use dsh_kernel::service::Key;
use dsh_protocol::content::ContentBlock;
use dsh_protocol::ids::SessionId;
use dsh_protocol::subagent::ToolFilter;
use dsh_protocol::tool::{ToolDefinition, ToolError, ToolInfo};
use dsh_protocol::workspace::ToolErrorCode;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::setup::Setup;
use crate::tool::{Caller, Tool, ToolContext, ToolFailure, ToolOutput, Viewer};

/// The service's name.
pub const TOOLS: Key<Tools> = Key::new("tools");

/// How long a cancelled call may take to hand in what it has.
const CANCEL_GRACE: Duration = Duration::from_millis(400);

/// The tools by name, as far as whoever holds them may see.
#[derive(Clone, Default)]
pub struct Tools {
    registry: Registry<Arc<dyn Tool>>,
    /// The tools that only one agent has.
    own: Vec<Arc<dyn Tool>>,
    filter: ToolFilter,
    viewer: Viewer,
    /// Further folders that the agent's calls may see.
    folders: Arc<[PathBuf]>,
}

/// The session that a person's call is about.
#[derive(Clone, Debug, Default)]
pub struct About {
    /// Its id.
    pub session: Option<SessionId>,
    /// The further folders that its tools see.
    pub folders: Arc<[PathBuf]>,
}

/// How a call came out.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolOutcome {
    /// What the model reads.
    pub content: Vec<ContentBlock>,
    /// Which error, for a failed call; absent for one that broke in a way that has no code.
    pub error: Option<ToolError>,
    /// Whether the call failed.
    pub is_error: bool,
    /// The result in the tool's own shape.
    pub value: Option<Value>,
    /// What was left out and why.
    pub notes: Vec<String>,
}

impl ToolOutcome {
    /// A call that failed.
    pub fn failed(failure: &ToolFailure) -> Self {
        let error = ToolError { name: error_name(failure.code).to_owned(), code: failure.code };
        Self { error: Some(error), ..Self::broken(&failure.message) }
    }

    /// A call that was cancelled before it began.
    pub fn not_dispatched() -> Self {
        Self::failed(&ToolFailure::new(
            ToolErrorCode::AbortedBeforeDispatch,
            "tool call aborted before dispatch",
        ))
    }

    /// A call that was cancelled while it ran.
    pub(crate) fn aborted() -> Self {
        Self::failed(&ToolFailure::new(ToolErrorCode::Aborted, "the call was cancelled"))
    }

    /// A call that failed in a way that has no code.
    pub(crate) fn broken(message: &str) -> Self {
        Self {
            content: vec![ContentBlock::text(format!("Error: {message}"))],
            error: None,
            is_error: true,
            value: None,
            notes: Vec::new(),
        }
    }

    fn succeeded(output: ToolOutput) -> Self {
        Self {
            content: vec![ContentBlock::text(output.text)],
            error: None,
            is_error: false,
            value: Some(output.value),
            notes: output.notes,
        }
    }
}

impl Tools {
    /// The tools as they are now, for work that must not see them change.
    pub fn snapshot(&self) -> Self {
        Self { registry: self.registry.snapshot(), ..self.clone() }
    }

    /// The tools of one agent: those that it is offered and its filter lets through, and its own.
    pub(crate) fn for_agent(self, setup: &Setup) -> Self {
        Self {
            own: setup.extra_tools.clone(),
            filter: setup.tool_filter.clone(),
            viewer: setup.viewer(),
            folders: Arc::clone(&setup.folders),
            ..self
        }
    }

    /// A tool.
    fn get(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let own = self.own.iter().find(|tool| tool.definition().name == name).cloned();
        own.or_else(|| self.registry.get(name).filter(|tool| self.shows(tool)))
    }

    /// Every tool, by name.
    fn all(&self) -> Vec<Arc<dyn Tool>> {
        let mut all: Vec<Arc<dyn Tool>> = self.registry.all();
        all.retain(|tool| self.shows(tool));
        let own = |tool: &Arc<dyn Tool>| {
            self.own.iter().any(|own| own.definition().name == tool.definition().name)
        };
        all.retain(|tool| !own(tool));
        all.extend(self.own.iter().cloned());
        all.sort_by(|a, b| a.definition().name.cmp(&b.definition().name));
        all
    }

    fn shows(&self, tool: &Arc<dyn Tool>) -> bool {
        self.filter.lets(&tool.definition().name) && tool.is_offered(self.viewer)
    }

    /// Whether there is a tool of this name.
    pub fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Whether a call of a tool leaves something behind.
    pub(crate) fn has_effects(&self, name: &str) -> bool {
        self.get(name).is_some_and(|tool| tool.has_effects())
    }

    /// Tells a tool of a call that failed; says whether the turn ends with it.
    pub(crate) fn has_failed(&self, name: &str) -> bool {
        self.get(name).is_some_and(|tool| tool.has_failed())
    }

    /// Whether a call of a tool ends the turn when it succeeds.
    pub(crate) fn ends_turn(&self, name: &str) -> bool {
        self.get(name).is_some_and(|tool| tool.ends_turn())
    }

    /// Adds a tool for as long as the registration is kept.
    pub fn register(&self, tool: Arc<dyn Tool>) -> Result<Registration, Taken> {
        let name = tool.definition().name.clone();
        self.registry.register(&name, tool)
    }

    /// The definitions that a model is sent, by name.
    pub fn definitions(&self) -> Vec<ToolDefinition> {
        self.all().iter().map(|tool| tool.definition().clone()).collect()
    }

    /// The tools as a person sees them, by name.
    pub fn list(&self) -> Vec<ToolInfo> {
        self.all()
            .iter()
            .map(|tool| ToolInfo {
                definition: tool.definition().clone(),
                kind: tool.kind(),
                concurrency_safe: tool.concurrency_safe(),
            })
            .collect()
    }

    /// Whether calls of a tool may run beside others. A tool that does not exist does no harm.
    pub fn is_concurrency_safe(&self, name: &str) -> bool {
        self.get(name).is_none_or(|tool| tool.concurrency_safe())
    }

    /// Calls a tool on behalf of a person, in a session if one is named. Whatever happens in it, there is an outcome: arguments that do not
    /// fit, a deadline, a cancel and a panic each have theirs.
    pub async fn call(
        &self,
        about: About,
        name: &str,
        arguments: Value,
        cancel: &CancellationToken,
    ) -> ToolOutcome {
        self.run(None, about, name, arguments, cancel).await
    }

    /// Calls a tool on behalf of an agent.
    pub(crate) async fn call_as(
        &self,
        caller: Caller,
        name: &str,
        arguments: Value,
        cancel: &CancellationToken,
    ) -> ToolOutcome {
        let session = Some(caller.at.session_id.clone());
        let about = About { session, folders: Arc::clone(&self.folders) };
        self.run(Some(caller), about, name, arguments, cancel).await
    }

    async fn run(
        &self,
        caller: Option<Caller>,
        about: About,
        name: &str,
        arguments: Value,
        cancel: &CancellationToken,
    ) -> ToolOutcome {
        if cancel.is_cancelled() {
            return ToolOutcome::not_dispatched();
        }
        let Some(tool) = self.get(name) else {
            return ToolOutcome::failed(&self.unknown(name));
        };
        let arguments = match arguments {
            Value::Null => Value::Object(Map::new()),
            Value::Object(_) => arguments,
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                return ToolOutcome::failed(&ToolFailure::new(
                    ToolErrorCode::InvalidArgs,
                    "invalid arguments: expected a JSON object",
                ));
            }
        };
        run(tool, arguments, (caller, about), cancel).await
    }

    fn unknown(&self, name: &str) -> ToolFailure {
        let known: Vec<_> =
            self.all().iter().map(|tool| format!("`{}`", tool.definition().name)).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        ToolFailure::new(
            ToolErrorCode::UnknownTool,
            format!("there is no tool named `{name}`; the tools are: {known}"),
        )
    }
}

/// Runs a call in a task of its own, so that a panic or a hang stays there.
async fn run(
    tool: Arc<dyn Tool>,
    arguments: Value,
    (caller, about): (Option<Caller>, About),
    cancel: &CancellationToken,
) -> ToolOutcome {
    let call = cancel.child_token();
    let deadline = tool.deadline();
    let cx = ToolContext {
        caller,
        session: about.session,
        folders: about.folders,
        cancel: call.clone(),
    };
    let mut body = tokio::spawn(async move { tool.run(arguments, cx).await });
    let (finished, stopped) = tokio::select! {
        finished = &mut body => (Some(finished), None),
        () = cancel.cancelled() => (None, Some(ToolErrorCode::Aborted)),
        () = tokio::time::sleep(deadline) => (None, Some(ToolErrorCode::ToolTimeout)),
    };
    call.cancel();
    let finished = match finished {
        Some(finished) => Some(finished),
        None => tokio::time::timeout(CANCEL_GRACE, &mut body).await.ok(),
    };
    match (finished, stopped) {
        (Some(Ok(Ok(output))), None | Some(ToolErrorCode::ToolTimeout)) => {
            ToolOutcome::succeeded(output)
        }
        (Some(Ok(Err(failure))), None) => ToolOutcome::failed(&failure),
        (Some(Err(error)), None) => {
            tracing::error!(%error, "a tool broke");
            ToolOutcome::broken("the tool failed unexpectedly; try another way")
        }
        (_, Some(ToolErrorCode::ToolTimeout)) => {
            body.abort();
            let message = format!("no result within {} s; narrow the call", deadline.as_secs());
            ToolOutcome::failed(&ToolFailure::new(ToolErrorCode::ToolTimeout, message))
        }
        // A tool that has something of its own to say of the cancel says it.
        (Some(Ok(Err(failure))), Some(ToolErrorCode::Aborted))
            if failure.code == ToolErrorCode::Aborted =>
        {
            ToolOutcome::failed(&failure)
        }
        (_, _) => {
            body.abort();
            ToolOutcome::aborted()
        }
    }
}

/// The arguments of a call as the model wrote them: nothing means none, and what is not JSON stays a string,
/// so that it is refused and never guessed at.
pub fn parse_arguments(text: &str) -> Result<Value, ToolFailure> {
    if text.trim().is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    serde_json::from_str(text).map_err(|error| {
        ToolFailure::new(
            ToolErrorCode::InvalidArgs,
            format!("invalid arguments: not valid JSON: {error}"),
        )
    })
}

/// The type name that stands beside a code.
fn error_name(code: ToolErrorCode) -> &'static str {
    match code {
        ToolErrorCode::FsNotFound
        | ToolErrorCode::FsNotDirectory
        | ToolErrorCode::FsNotText
        | ToolErrorCode::FsNotRegularFile
        | ToolErrorCode::FsTooLarge
        | ToolErrorCode::FsPermissionDenied
        | ToolErrorCode::FsSandboxDenied
        | ToolErrorCode::FsSecretDenied
        | ToolErrorCode::FsIoError => "FsError",
        ToolErrorCode::SubagentFailed
        | ToolErrorCode::ContinuationUnavailable
        | ToolErrorCode::PersistenceUnavailable
        | ToolErrorCode::Unauthorized
        | ToolErrorCode::NotResumable
        | ToolErrorCode::SubagentLimit => "SubagentError",
        ToolErrorCode::SearchInvalidPattern | ToolErrorCode::SearchFailed => "SearchError",
        ToolErrorCode::ToolTimeout
        | ToolErrorCode::Aborted
        | ToolErrorCode::AbortedBeforeDispatch
        | ToolErrorCode::InvalidArgs
        | ToolErrorCode::InvalidToolOutput
        | ToolErrorCode::UnknownTool
        | ToolErrorCode::ToolNotStarted
        | ToolErrorCode::ToolOutcomeUnknown => "ToolError",
    }
}

#[cfg(test)]
mod tests;
