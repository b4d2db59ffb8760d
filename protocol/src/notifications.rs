//! The notifications that the server sends: one row each.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use crate::deliberation::{BranchOutcome, BranchPlan, BranchState, PacketItem};
use crate::event::Event;
use crate::evidence::EvidenceFailure;
use crate::ids::{CallId, ReviewId, RoundId, SessionId};
use crate::params::config::Problem;
use crate::review::{ReviewReason, ReviewStatus};
use crate::session::{SessionInfo, SessionStatus};
use crate::subagent::{SubagentFinished, SubagentStarted};

mod derived;

/// One row of the table, for generators.
pub struct NotificationSchema {
    /// The notification's name.
    pub name: &'static str,
    /// When it is sent.
    pub doc: &'static str,
    /// Name of the params' Rust type, the same in TypeScript and Lua.
    pub params_type: String,
    /// JSON Schema of the params.
    pub params: Schema,
}

macro_rules! notifications {
    ($($(#[doc = $doc:literal])* $name:literal $variant:ident($params:ty);)*) => {
        /// A notification of the server.
        #[derive(Clone, Debug, PartialEq, Serialize)]
        #[serde(tag = "method", content = "params")]
        pub enum Notification {
            $($(#[doc = $doc])* #[serde(rename = $name)] $variant($params),)*
        }

        impl Notification {
            /// Every notification's name, in the order of the table.
            pub const NAMES: &[&str] = &[$($name),*];
        }

        /// The table with its schemas.
        pub fn notification_schemas(generator: &mut SchemaGenerator) -> Vec<NotificationSchema> {
            vec![$(NotificationSchema {
                name: $name,
                doc: concat!($($doc),*).trim(),
                params_type: <$params as JsonSchema>::schema_name().into_owned(),
                params: generator.subschema_for::<$params>(),
            }),*]
        }
    };
}

notifications! {
    /// The configuration of a workspace folder was read again: it applies, or the last good one stays.
    "config/changed" ConfigChanged(ConfigChanged);
    /// A branch of a round began, does something else, or came out. Not in the log.
    "deliberate/branch" DeliberateBranch(DeliberateBranch);
    /// A round came out. A subscriber gets it right after its event.
    "deliberate/result" DeliberateResult(DeliberateResult);
    /// A round began. A subscriber gets it right after its event.
    "deliberate/started" DeliberateStarted(DeliberateStarted);
    /// The claims of an answer were checked against the workspace. A subscriber gets it right after its event.
    "evidence/checked" EvidenceChecked(EvidenceNotice);
    /// A review came out, unless it was cancelled. A subscriber gets it right after its event.
    "review/notice" ReviewNotice(ReviewNotice);
    /// A review of a turn began. A subscriber gets it right after its event.
    "review/started" ReviewStarted(ReviewStarted);
    /// To subscribers: the replay is over, what follows is live.
    "session/caughtUp" SessionCaughtUp(SessionCaughtUp);
    /// A session was created, changed its summary, or was removed.
    "session/changed" SessionChanged(SessionChanged);
    /// To subscribers: one event of the log.
    "session/event" SessionEvent(SessionEvent);
    /// To subscribers that read slowly: chunk events of a range were left out.
    "session/lagged" SessionLagged(SessionLagged);
    /// A session began to run, or came to rest.
    "session/status" SessionStatus(SessionStatusChanged);
    /// A subagent is over. Its session stays.
    "subagent/finished" SubagentFinished(SubagentFinished);
    /// An agent started another one.
    "subagent/started" SubagentStarted(SubagentStarted);
}

/// Params of `config/changed`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigChanged {
    /// The folder as a `file:` URI.
    pub workspace: String,
    /// Whether the configuration applies.
    pub ok: bool,
    /// What is wrong.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Problem>,
}

/// Params of `evidence/checked`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EvidenceNotice {
    /// The session.
    pub session_id: SessionId,
    /// Seq of the event that says so.
    pub seq: u64,
    /// The turn's number.
    pub turn: u64,
    /// Seq of the `assistant/message` that was checked.
    pub message_seq: u64,
    /// How many claims were checked.
    pub checked: u64,
    /// The claims that do not hold, in the order of the answer.
    pub failures: Vec<EvidenceFailure>,
}

/// Params of `session/event`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionEvent {
    /// The session.
    pub session_id: SessionId,
    /// The event.
    pub event: Event,
}

/// Params of `session/caughtUp`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionCaughtUp {
    /// The session.
    pub session_id: SessionId,
    /// Seq of the last event that was replayed; −1 when there is none.
    pub seq: i64,
}

/// Params of `session/lagged`. The events are in the log, and the committed message follows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionLagged {
    /// The session.
    pub session_id: SessionId,
    /// Seq of the first event of the range.
    pub from: u64,
    /// Seq of the last event of the range.
    pub to: u64,
}

/// Params of `session/status`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionStatusChanged {
    /// The session.
    pub session_id: SessionId,
    /// What it is doing now.
    pub status: SessionStatus,
}

/// Params of `session/changed`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum SessionChanged {
    /// The session as it is now.
    Changed {
        /// Its summary.
        session: SessionInfo,
    },
    /// The session is gone.
    Removed {
        /// Its id.
        removed: SessionId,
    },
}

/// Params of `deliberate/started`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeliberateStarted {
    /// The session.
    pub session_id: SessionId,
    /// Seq of the event that says so.
    pub seq: u64,
    /// Names the round.
    pub round_id: RoundId,
    /// The tool call with which the model asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<CallId>,
    /// Its branches.
    pub branches: Vec<BranchPlan>,
}

/// Params of `deliberate/branch`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeliberateBranch {
    /// The session.
    pub session_id: SessionId,
    /// The round.
    pub round_id: RoundId,
    /// The branch.
    pub label: String,
    /// Where it stands.
    pub state: BranchState,
    /// Its child agent's session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_session_id: Option<SessionId>,
    /// What the child does now: the name of the tool that it called last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activity: Option<String>,
    /// How long it has run, in milliseconds.
    pub elapsed_ms: u64,
    /// How long it may go on, in milliseconds.
    pub remaining_ms: u64,
}

/// Params of `deliberate/result`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeliberateResult {
    /// The session.
    pub session_id: SessionId,
    /// Seq of the event that says so.
    pub seq: u64,
    /// The round.
    pub round_id: RoundId,
    /// The tool call with which the model asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<CallId>,
    /// How each branch came out, in the order in which they were asked for.
    pub outcomes: Vec<BranchOutcome>,
}

/// Params of `review/started`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReviewStarted {
    /// The session.
    pub session_id: SessionId,
    /// Seq of the event that says so.
    pub seq: u64,
    /// Names the review.
    pub review_id: ReviewId,
    /// The turn that is reviewed.
    pub turn: u64,
}

/// Params of `review/notice`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReviewNotice {
    /// The session.
    pub session_id: SessionId,
    /// Seq of the event that says so.
    pub seq: u64,
    /// The review.
    pub review_id: ReviewId,
    /// The turn that was reviewed.
    pub turn: u64,
    /// How it came out.
    pub status: ReviewStatus,
    /// Whether the session's model is told.
    pub published: bool,
    /// What it found: claims of a child agent that nobody has verified.
    pub items: Vec<PacketItem>,
    /// Why there is no packet, or why it was not taken in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<ReviewReason>,
}
