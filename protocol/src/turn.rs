//! How turns end and what became of a prompt.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::content::ModelFailure;

/// Why a turn ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum TurnEnd {
    /// The model was done.
    Completed,
    /// The answer was cut at the model's limit.
    MaxTokens,
    /// A hook refused the turn's input.
    Blocked,
    /// The turn was cancelled.
    Aborted {
        /// By whom.
        reason: AbortReason,
    },
    /// The turn failed.
    Error {
        /// How.
        error: ModelFailure,
    },
    /// The process died in mid-turn; written when the session is next loaded.
    Interrupted,
    /// A budget of the agent loop was used up.
    Limit {
        /// Which one.
        what: Budget,
    },
}

/// Who cancelled a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AbortReason {
    /// A person or a client.
    User,
    /// The agent that started this one.
    Parent,
    /// The session was closed or the server ended.
    Disposed,
}

/// A budget of the agent loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Budget {
    /// Model requests of one turn.
    Steps,
    /// Wall-clock time of one turn.
    Time,
    /// Input and output tokens of one turn.
    Tokens,
    /// How often a turn may be kept from stopping.
    StoppingRounds,
}

/// What became of a prompt or of a session's last turn: the answer of `session/wait`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Outcome {
    /// A turn ended.
    Turn(TurnEnd),
    /// No turn is behind it.
    NoTurn(NoTurn),
}

/// Why there is no turn to tell of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum NoTurn {
    /// The message was cancelled, or its session closed, before a turn took it.
    Discarded,
    /// A hook refused the message before its turn's first step.
    Rejected {
        /// Why.
        reason: String,
    },
    /// The turn could not be set up.
    Failed {
        /// Why.
        reason: String,
    },
    /// The session has never run a turn.
    Idle,
    /// The time to wait is over, or nothing will wake the message.
    Pending,
    /// Messages are queued behind a turn that did not complete.
    Parked,
}
