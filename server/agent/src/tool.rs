//! What a tool is.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use dsh_protocol::ids::{CallId, SessionId};
use dsh_protocol::tool::{ToolDefinition, ToolKind};
use dsh_protocol::workspace::ToolErrorCode;
use dsh_session::store::BoxFuture;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::hooks::At;

mod schema;

/// How long a call may take unless its tool says otherwise.
const DEADLINE: Duration = Duration::from_secs(30);

/// A tool call as the tool sees it.
#[derive(Clone, Debug)]
pub struct ToolContext {
    /// The agent's call that this is; absent for a call on behalf of a person.
    pub caller: Option<Caller>,
    /// The session that it is about: the agent's, or the one that the person named.
    pub session: Option<SessionId>,
    /// Further folders that may be seen on its behalf, while they are open.
    pub folders: Arc<[PathBuf]>,
    /// Fires when the call is to stop, also at its deadline. A partial result is welcome then.
    pub cancel: CancellationToken,
}

/// Whose call of a tool it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The step whose answer asked for it.
    pub at: At,
    /// The call.
    pub call_id: CallId,
}

/// An agent, as far as it decides which tools it is offered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Viewer {
    /// 0 for the agent of a session that a person began, 1 for its children, and so on.
    pub depth: u32,
}

/// What a tool answers: facts, of which the text for the model is one.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolOutput {
    /// What the model reads.
    pub text: String,
    /// The result in the tool's own shape, for clients.
    pub value: Value,
    /// What was left out and why, a sentence each. The text holds them too.
    pub notes: Vec<String>,
}

/// A call that failed in a way that the model can read and act on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ToolFailure {
    /// Which failure.
    pub code: ToolErrorCode,
    /// What happened and what to do, without a leading `Error:`.
    pub message: String,
}

impl ToolFailure {
    /// A failure.
    pub fn new(code: ToolErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

/// A tool with arguments of any shape.
pub trait Tool: Send + Sync {
    /// Name, description and arguments, as the model is told.
    fn definition(&self) -> &ToolDefinition;

    /// What sort of thing it does.
    fn kind(&self) -> ToolKind;

    /// Whether calls of it may run beside others.
    fn concurrency_safe(&self) -> bool {
        true
    }

    /// Whether an agent is offered it. To others it does not exist.
    fn is_offered(&self, to: Viewer) -> bool {
        let _ = to;
        true
    }

    /// Whether a call that succeeds ends the turn: what stands behind it in the same answer is refused, and the
    /// model is not asked again.
    fn ends_turn(&self) -> bool {
        false
    }

    /// Told of each call that failed, of one that ends the turn when it succeeds. Whether the turn ends with it all the
    /// same.
    fn has_failed(&self) -> bool {
        false
    }

    /// Whether a call leaves something behind. What led to it is then on disk before it runs.
    fn has_effects(&self) -> bool {
        false
    }

    /// How long a call may take.
    fn deadline(&self) -> Duration {
        DEADLINE
    }

    /// Runs a call.
    fn run(
        &self,
        arguments: Value,
        cx: ToolContext,
    ) -> BoxFuture<'static, Result<ToolOutput, ToolFailure>>;
}

/// The body of a tool whose arguments are a Rust type.
pub trait TypedTool: Send + Sync + 'static {
    /// The arguments. The schema's descriptions are what the model reads.
    type Input: DeserializeOwned + JsonSchema + Send;

    /// The name that a call uses.
    const NAME: &'static str;

    /// What it does and when to use it, written for the model.
    const DESCRIPTION: &'static str;

    /// What sort of thing it does.
    const KIND: ToolKind;

    /// Runs a call.
    fn run(
        &self,
        input: Self::Input,
        cx: ToolContext,
    ) -> BoxFuture<'static, Result<ToolOutput, ToolFailure>>;
}

/// Makes a [`Tool`] of a [`TypedTool`].
pub struct Typed<T> {
    definition: ToolDefinition,
    body: T,
}

impl<T: TypedTool> Typed<T> {
    /// Wraps a body and derives its schema.
    pub fn new(body: T) -> Self {
        let definition = ToolDefinition {
            name: T::NAME.to_owned(),
            description: T::DESCRIPTION.trim().to_owned(),
            input_schema: schema::of::<T::Input>(),
        };
        Self { definition, body }
    }
}

impl<T: TypedTool> Tool for Typed<T> {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn kind(&self) -> ToolKind {
        T::KIND
    }

    fn run(
        &self,
        arguments: Value,
        cx: ToolContext,
    ) -> BoxFuture<'static, Result<ToolOutput, ToolFailure>> {
        match serde_json::from_value(arguments) {
            Ok(input) => self.body.run(input, cx),
            Err(error) => {
                let message = format!("invalid arguments: {error}");
                Box::pin(async { Err(ToolFailure::new(ToolErrorCode::InvalidArgs, message)) })
            }
        }
    }
}

/// A path as text for a model or a person: control characters are escaped, so that a file's name is one line
/// and cannot command a terminal.
pub fn shown_path(path: &str) -> String {
    if !path.chars().any(char::is_control) {
        return path.to_owned();
    }
    path.chars().fold(String::new(), |mut shown, char| {
        if char.is_control() {
            shown.extend(char.escape_default());
        } else {
            shown.push(char);
        }
        shown
    })
}
