//! The hooks of the agent loop: where plugins take part in turns, steps and tool calls.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dsh_kernel::hooks::{Declaration, Observe, Serial, Waterfall};
use dsh_protocol::event::{DeliberationSettled, EventData, ReviewSettled, SubagentSettled};
use dsh_protocol::ids::{CallId, ModelId, SessionId};
use dsh_protocol::message::Message;
use dsh_session::activations::Activation;
use dsh_session::reviews::Review;
use dsh_session::rounds::OpenRound;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::agent::Notice;
use crate::subagents::provider::{PROVIDER_ADDED, PROVIDER_REMOVED};
use crate::tools::ToolOutcome;

/// Asked before each step, with the messages that it takes in.
pub const PRE_STEP: Serial<PreStep, Rejection> = Serial::new(
    "agent/pre-step",
    "Before each step, after its messages were taken from the inbox and before anything is put together. A \
     decision rejects the step: its messages are recorded as rejected and the turn ends as `blocked`. A \
     listener that fails ends the turn as an error, and the messages are recorded as failed.",
);

/// Asked when a turn is about to end.
pub const TURN_STOPPING: Serial<TurnStopping, GoOn> = Serial::new(
    "agent/turn-stopping",
    "When the model owes nothing and nobody has steered, before the turn is closed. A decision is a message \
     with which the turn goes on, as often as the budget `stoppingRounds` allows. What listeners note is \
     logged first. A listener that fails is logged and the turn ends.",
);

/// Asked what became of a review that its process has left.
pub const REVIEW_LEFT: Serial<ReviewLeft, Adopted> = Serial::new(
    "agent/review-left",
    "When a session is taken over and its log holds a review that has not come out: after a crash, and where \
     another process may still be at it. A decision settles it; without one, or when a listener fails, it is \
     left as it is. Nobody may ask the session's agent for anything meanwhile.",
);

/// Asked what became of a person's round that its process has left.
pub const ROUND_LEFT: Serial<RoundLeft, RoundAdopted> = Serial::new(
    "agent/round-left",
    "When a session is taken over and its log holds a person's round of deliberation that has not come out. \
     Everything said of `agent/review-left` holds.",
);

/// Asked what came of work that a child had in the background when its process was left.
pub const ACTIVATION_LEFT: Serial<ActivationLeft, ActivationAdopted> = Serial::new(
    "agent/activation-left",
    "When a session is taken over and its log holds work of a child in the background that has not come out. \
     Everything said of `agent/review-left` holds.",
);

/// Told of each session that is closed or deleted.
pub const SESSION_CLOSING: Observe<SessionClosing> = Observe::new(
    "agent/session-closing",
    "When a client closes or deletes a session; before it is closed its turn was cancelled. Whoever works for \
     it beside its turns ends that and logs how it came out; the session's agent goes when all have.",
);

/// Stands around each model's tool call that runs.
pub const EXECUTE: Waterfall<ToolCalled, ToolOutcome> = Waterfall::new(
    "tools/execute",
    "Around a model's tool call that nobody refused. A listener may change the call on its way in and the \
     outcome on its way out, or answer by itself. One that panics makes the call fail; after a cancel one that \
     does not return is left behind.",
);

/// Asked before a model's tool call runs.
pub const PRE_EXECUTE: Serial<ToolCalled, Refusal> = Serial::new(
    "tools/pre-execute",
    "After a model's tool call was logged and before the tool runs; calls of one answer are asked about side by \
     side. A decision refuses the call, and the model reads why. A call that a listener fails at is refused.",
);

/// Told of each result of a model's tool call.
pub const RESULT: Observe<ToolAnswered> = Observe::new(
    "tools/result",
    "After the result of a model's tool call was logged, in the model's order. The step goes on when all have \
     heard of it.",
);

/// Every hook of the agent loop, by name.
pub const HOOKS: &[Declaration] = &[
    PRE_STEP.declaration(),
    TURN_STOPPING.declaration(),
    REVIEW_LEFT.declaration(),
    ROUND_LEFT.declaration(),
    ACTIVATION_LEFT.declaration(),
    SESSION_CLOSING.declaration(),
    EXECUTE.declaration(),
    PRE_EXECUTE.declaration(),
    RESULT.declaration(),
    PROVIDER_ADDED.declaration(),
    PROVIDER_REMOVED.declaration(),
];

/// Where in a session something happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct At {
    /// The session.
    pub session_id: SessionId,
    /// The turn.
    pub turn: u64,
    /// The step.
    pub step: u64,
}

/// A session that a client closes or deletes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionClosing {
    /// The session.
    pub session_id: SessionId,
}

/// A step that is about to begin.
pub struct PreStep {
    /// Which one.
    pub at: At,
    /// The model that it would ask.
    pub model: ModelId,
    /// The messages that it would take in.
    pub claimed: Vec<Arc<Message>>,
}

/// Why a step must not begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// What is recorded with its messages; people read it.
    pub reason: String,
}

/// A turn that is about to end.
pub struct TurnStopping {
    /// Its last step.
    pub at: At,
    /// Whether an answer of the turn was cut at the model's limit.
    pub cut: bool,
    /// How often the turn went on already because a listener said so.
    pub rounds: u64,
    /// Whether a decision would make the turn go on: no budget is used up.
    pub may_go_on: bool,
    /// What the model said last in the turn, once it said something.
    pub answer: Option<Answered>,
    /// Whether a person began the session: it is no agent's child.
    pub is_root: bool,
    /// Takes what a listener has to log.
    pub notes: Notes,
    /// Cancelled with the turn. The listener is dropped then as well.
    pub cancel: CancellationToken,
}

/// An answer in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    /// Seq of its `assistant/message`.
    pub seq: u64,
    /// Its visible text.
    pub text: String,
}

/// Events for the log that the model never sees, from a hook's listeners: the turn appends them when all
/// listeners were asked. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Notes(Arc<Mutex<Vec<EventData>>>);

impl Notes {
    /// Adds an event. One of a type that a reader must know is left out: the log is no plugin's.
    pub fn add(&self, data: EventData) {
        if data.is_ignorable() {
            self.lock().push(data);
        } else {
            tracing::error!(event = data.name(), "a plugin may not log events of this type");
        }
    }

    /// Takes them, in the order in which they were added.
    pub(crate) fn take(&self) -> Vec<EventData> {
        std::mem::take(&mut self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<EventData>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The message with which a turn goes on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GoOn {
    /// The message.
    pub notice: Notice,
    /// What is logged right behind it, so that neither is there without the other for long.
    pub then: Vec<EventData>,
    /// What is logged when the step that takes it in fails or is refused. The turn ends then as it would have
    /// without the message, unless that step took in something else as well.
    pub if_failed: Option<EventData>,
}

impl From<Notice> for GoOn {
    fn from(notice: Notice) -> Self {
        Self { notice, ..Self::default() }
    }
}

/// A review that has not come out, in a session that was just taken over.
pub struct ReviewLeft {
    /// The session.
    pub session_id: SessionId,
    /// The review.
    pub review: Review,
    /// Whether its notice has reached the session already.
    pub is_told: bool,
}

/// What became of a review that was left.
#[derive(Clone, Debug, PartialEq)]
pub struct Adopted {
    /// How it comes out.
    pub settled: ReviewSettled,
    /// What the model is told of it, with its next turn.
    pub notice: Option<Notice>,
}

/// A person's round that has not come out, in a session that was just taken over.
pub struct RoundLeft {
    /// The session.
    pub session_id: SessionId,
    /// The round.
    pub round: OpenRound,
}

/// What became of a round that was left.
#[derive(Clone, Debug, PartialEq)]
pub struct RoundAdopted {
    /// How it comes out.
    pub settled: DeliberationSettled,
    /// What the model is told of it, with its next turn.
    pub notice: Option<Notice>,
}

/// Work of a child that has not come out, in a session that was just taken over.
pub struct ActivationLeft {
    /// The session.
    pub session_id: SessionId,
    /// The work.
    pub activation: Activation,
    /// What the child is called.
    pub label: Option<String>,
}

/// What came of work that was left.
#[derive(Clone, Debug, PartialEq)]
pub struct ActivationAdopted {
    /// How it comes out.
    pub settled: SubagentSettled,
    /// What the model is told of it, with its next turn.
    pub notice: Option<Notice>,
}

/// A tool call that is about to run.
pub struct ToolCalled {
    /// The step whose answer asked for it.
    pub at: At,
    /// The call.
    pub call_id: CallId,
    /// The tool, which may not exist.
    pub name: String,
    /// The arguments, which may not fit.
    pub arguments: Value,
    /// Cancelled with the turn. The listener is dropped then as well.
    pub cancel: CancellationToken,
}

/// Why a tool call must not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What the model reads.
    pub message: String,
}

/// A tool call that came out.
pub struct ToolAnswered {
    /// The step whose answer asked for it.
    pub at: At,
    /// The call.
    pub call_id: CallId,
    /// The tool.
    pub name: String,
    /// How it came out.
    pub outcome: ToolOutcome,
}
