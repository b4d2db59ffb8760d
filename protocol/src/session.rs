//! Sessions as clients see them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::content::Usage;
use crate::ids::{MessageId, ModelId, SessionId};
use crate::tool::ToolDefinition;

/// What a session is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SessionStatus {
    /// No turn runs and nothing is queued.
    Idle,
    /// A turn runs.
    Running,
    /// Messages are queued behind a turn that did not complete; the next prompt runs behind them.
    Parked,
}

/// Why a session exists, when no person began it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SessionOrigin {
    /// An agent started it as its child.
    Subagent,
}

/// Where a fork left its parent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ForkPoint {
    /// The parent.
    pub session_id: SessionId,
    /// Seq of the last event that both share; −1 when the parent had none.
    pub seq: i64,
}

/// Who else writes a session now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Writer {
    /// Another process.
    Other,
}

/// A session's summary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionInfo {
    /// The session's id.
    pub session_id: SessionId,
    /// Its workspace folder as a `file:` URI.
    pub workspace: String,
    /// Its title, once it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// When it was created, in epoch milliseconds.
    pub created_at: u64,
    /// When its last event was appended, in epoch milliseconds.
    pub updated_at: u64,
    /// Seq of the last event; −1 when there is none.
    pub last_seq: i64,
    /// What it is doing.
    pub status: SessionStatus,
    /// The model that its next turn asks.
    pub model: ModelId,
    /// Why it exists, when no person began it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<SessionOrigin>,
    /// The session whose agent started this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_session_id: Option<SessionId>,
    /// Where it was forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<ForkPoint>,
    /// Whether it is loaded in this process.
    pub live: bool,
    /// `other` while another process runs a turn in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writer: Option<Writer>,
}

/// What the model is sent beside the messages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Header {
    /// The provider that is asked.
    pub provider: String,
    /// The model that is asked.
    pub model: String,
    /// How much the model is to think, where it can be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<String>,
    /// The most tokens of an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// The system prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// The tools, in the order in which they are sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<ToolDefinition>>,
}

/// Tokens of all requests of a session together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Totals {
    /// The sums.
    #[serde(flatten)]
    pub usage: Usage,
    /// How many requests were made.
    pub requests: u64,
}

/// The messages that wait, by list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Queue {
    /// Join the running turn before its next step.
    pub next_step: Vec<MessageId>,
    /// Each starts a turn of its own.
    pub next_turn: Vec<MessageId>,
}

/// The first line of a log file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileHeader {
    /// Always `session`.
    pub r#type: String,
    /// The version of the log format: 0.
    pub version: u64,
    /// The session's id.
    pub id: SessionId,
    /// When it was created, in epoch milliseconds.
    pub created_at: u64,
    /// Its workspace folder as an absolute path.
    pub cwd: String,
    /// The session that it was forked from or whose agent started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_session: Option<SessionId>,
    /// How many of its first events were inherited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed_length: Option<u64>,
    /// Why it exists, when no person began it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<SessionOrigin>,
    /// How deep it stands below a session that a person began; absent: 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delegation_depth: Option<u32>,
    /// Further folders that its tools see, as absolute paths.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub additional_workspaces: Vec<String>,
    /// Fields of other writers, kept as they are.
    #[serde(flatten)]
    pub other: BTreeMap<String, serde_json::Value>,
}

impl FileHeader {
    /// The only version of the log format that this server reads and writes.
    pub const VERSION: u64 = 0;
}
