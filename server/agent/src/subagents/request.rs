//! What a child is asked to do, and with what.

use std::sync::Arc;

use dsh_protocol::content::ContentBlock;
use dsh_protocol::event::SubagentMode;
use dsh_protocol::ids::{ActivationId, CallId, SessionId};
use dsh_protocol::subagent::ToolFilter;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::provider::{Capabilities, Capability};
use crate::prompt::Section;
use crate::tool::Tool;

/// A child that is to be started.
#[derive(Clone)]
pub struct StartRequest {
    /// The session whose agent starts it.
    pub parent: SessionId,
    /// The name of its own session, which nobody may have; `None`: a new one. So a child can be found again whose
    /// start was all that was logged of it.
    pub session_id: Option<SessionId>,
    /// What it is asked: its first message.
    pub prompt: Vec<ContentBlock>,
    /// How much of the parent's session it knows; `None`: what its provider is for.
    pub history: Option<History>,
    /// Which model it asks.
    pub route: Route,
    /// Which of the parent's tools it may use; `None`: all of them.
    pub tool_filter: Option<ToolFilter>,
    /// Tools that only this child has. No filter hides them.
    pub extra_tools: Vec<Arc<dyn Tool>>,
    /// The shape of its answer; `None`: any text.
    pub output: Option<OutputContract>,
    /// Takes the place of the deployment's persona in its system prompt.
    pub persona: Option<String>,
    /// Further sections of its system prompt.
    pub sections: Vec<Section>,
    /// How deep a child may stand, counted from 1 for a child of a session that a person began; `None`: no
    /// limit. Absolute: it does not grow with the parent's depth.
    pub max_depth: Option<u32>,
    /// A short name for people.
    pub label: Option<String>,
    /// The tool call with which the parent asked for it.
    pub call_id: Option<CallId>,
    /// Whether it takes more work after its first.
    pub mode: SubagentMode,
    /// The work that it has in the background, where it has: its first message has this name, and a parent that a
    /// person began does not take it along when it closes.
    pub activation: Option<ActivationId>,
    /// Cancels the child.
    pub cancel: CancellationToken,
}

impl StartRequest {
    /// A child of `parent` with nothing special about it.
    pub fn new(parent: SessionId, prompt: Vec<ContentBlock>) -> Self {
        Self {
            parent,
            session_id: None,
            prompt,
            history: None,
            route: Route::default(),
            tool_filter: None,
            extra_tools: Vec::new(),
            output: None,
            persona: None,
            sections: Vec::new(),
            max_depth: None,
            label: None,
            call_id: None,
            mode: SubagentMode::OneShot,
            activation: None,
            cancel: CancellationToken::new(),
        }
    }

    /// What a provider with these capabilities cannot do, by its name.
    pub(super) fn unsupported(&self, can: Capabilities) -> Option<&'static str> {
        let own =
            self.persona.is_some() || !self.sections.is_empty() || !self.extra_tools.is_empty();
        let asked = [
            (self.output.is_some(), Capability::OutputSchema),
            (self.max_depth.is_some(), Capability::DepthLimit),
            (self.tool_filter.is_some(), Capability::ToolFilter),
            (own, Capability::Persona),
            (self.activation.is_some(), Capability::Background),
            (matches!(self.history, Some(History::MidFork(_))), Capability::Window),
        ];
        let missing = asked.into_iter().find(|(asked, what)| *asked && !can.can(*what));
        let history = match (self.history, can.inherits_parent_context) {
            (Some(History::Fresh), true) => Some("a fresh history"),
            (Some(History::Fork), false) => Some("the parent's history"),
            (_, _) => None,
        };
        missing.map(|(_, what)| what.name()).or(history)
    }
}

/// How much of its parent's session a child knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum History {
    /// Nothing.
    Fresh,
    /// All turns that have ended, as they are.
    Fork,
    /// The turns before a window as they are, and the window as text with a mask over it. Mask and caps are the
    /// provider's.
    MidFork(Window),
}

/// The part of a session that is shown as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// The last complete steps, across turns; fewer if there are not so many.
    RecentSteps(u32),
    /// The complete steps of the turn that is open.
    CurrentTurn,
    /// The complete steps of this turn, open or not.
    Turn(u64),
}

/// Which model a child asks. What is absent is the parent's, as its last request had it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Route {
    /// The provider of the model.
    pub provider: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The most tokens of an answer.
    pub max_tokens: Option<u64>,
}

/// Says what is wrong with a structured answer, for the child to correct; the shape fits already.
pub type OutputCheck = Arc<dyn Fn(&Value) -> Result<(), String> + Send + Sync>;

/// The shape of a child's answer. The child gets a tool `structured_output` whose arguments it is, and ends
/// its turn by calling it. Arguments that do not fit are refused with the reason, and the child may call again.
#[derive(Clone)]
pub struct OutputContract {
    /// JSON Schema of an object: `type properties required additionalProperties items enum const oneOf anyOf`.
    /// Other keywords tell the model and check nothing.
    pub schema: Value,
    /// What a schema cannot say.
    pub check: OutputCheck,
}
