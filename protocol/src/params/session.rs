//! The `session/…` methods.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::content::{ContentBlock, Usage};
use crate::error::ErrorKind;
use crate::event::Event;
use crate::ids::{MessageId, ModelId, SessionId};
use crate::message::Message;
use crate::session::{Header, Queue, SessionInfo, Totals};
use crate::turn::Outcome;

/// A model as a client names it: `PROVIDER/MODEL` or the two parts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ModelChoice {
    /// `PROVIDER/MODEL`, split at the first `/`.
    Name(String),
    /// The two parts.
    Id(ModelId),
}

/// Params of `session/new`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionNewParams {
    /// The workspace folder; may be omitted when exactly one is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// Further open folders that the session's tools see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub additional_workspaces: Option<Vec<String>>,
    /// The model that its turns ask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelChoice>,
    /// Its title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Its id: 1 to 64 of `A-Z a-z 0-9 _ -`, unique without regard to case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
}

/// Result of `session/new`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionNewResult {
    /// The new session.
    pub session: SessionInfo,
}

/// Params of `session/list`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionListParams {
    /// Only sessions of this folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// Only sessions whose title or id has this text, without regard to case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// Also sessions that agents started. Default false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include_children: Option<bool>,
    /// `nextCursor` of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// How many to return. Default 50, at most 500.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// Result of `session/list`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionListResult {
    /// The sessions, last updated first.
    pub sessions: Vec<SessionInfo>,
    /// Where the next page begins, when there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// Sessions that cannot be read, with the first page: up to 500, by id. What asks for one of them is refused in
    /// the same words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<UnreadableSession>,
}

/// A session whose log cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnreadableSession {
    /// The session's id.
    pub session_id: SessionId,
    /// Its workspace folder as a `file:` URI.
    pub workspace: String,
    /// Its log file, absolute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// `logDamaged`, `logUnsupported` or `storageFailed`.
    pub kind: ErrorKind,
    /// What is wrong with it.
    pub message: String,
}

/// Params of methods that name a session only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionIdParams {
    /// The session.
    pub session_id: SessionId,
}

/// Result of `session/get`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionGetResult {
    /// The session.
    pub session: SessionInfo,
    /// Tokens of the last request; absent before the first that reported any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Tokens of all requests.
    pub totals: Totals,
    /// The messages that wait.
    pub queue: Queue,
    /// The approvals that wait for an answer.
    pub pending_approvals: Vec<Value>,
}

/// How a prompt joins a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Delivery {
    /// As a turn of its own, after what runs and waits.
    #[default]
    Followup,
    /// Before the running turn's next step; starts a turn on an idle session.
    Steer,
    /// With the next step of any turn; wakes nothing.
    Inject,
}

/// Params of `session/prompt`: exactly one of `text` and `content`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionPromptParams {
    /// The session.
    pub session_id: SessionId,
    /// The prompt as plain text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The prompt as blocks of text, images and resources.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Vec<ContentBlock>>,
    /// How it joins the session. Default `followup`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<Delivery>,
    /// The client's own name of this prompt: sending the same one again adds nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_message_id: Option<String>,
}

/// Result of `session/prompt`. The message is on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionPromptResult {
    /// Names the message in the log.
    pub message_id: MessageId,
    /// How it joined the session.
    pub delivery: Delivery,
}

/// Params of `session/wait`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionWaitParams {
    /// The session.
    pub session_id: SessionId,
    /// Waits for the turn that takes this message; absent: until the session is idle or parked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<MessageId>,
    /// How long to wait, in milliseconds; absent: as long as it takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

/// Result of `session/wait`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionWaitResult {
    /// The turn, when there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<u64>,
    /// What became of it.
    pub outcome: Outcome,
    /// The turn's last answer.
    pub text: String,
    /// Tokens of the turn's last request, where reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// Params of `session/rename`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionRenameParams {
    /// The session.
    pub session_id: SessionId,
    /// Its title; an empty one is refused.
    pub title: String,
}

/// Params of `session/setModel`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionSetModelParams {
    /// The session.
    pub session_id: SessionId,
    /// The model.
    pub model: ModelChoice,
}

/// Params of `session/cancel`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionCancelParams {
    /// The session.
    pub session_id: SessionId,
    /// Only if this turn runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<u64>,
    /// Whether queued messages stay. Default false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_queue: Option<bool>,
}

/// Result of `session/cancel`. The turn's end is its `turn/end` event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionCancelResult {
    /// Whether a running turn was told to stop.
    pub cancelled: bool,
    /// The queued messages that were dropped.
    pub discarded: Vec<MessageId>,
}

/// Params of `session/subscribe`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionSubscribeParams {
    /// The session.
    pub session_id: SessionId,
    /// Replays events with a greater seq first; −1: all; absent: only new ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<i64>,
    /// Whether `assistant/chunk` events are sent. Default true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunks: Option<bool>,
    /// Whether the events of the sessions that the session's agent starts, and theirs, are sent as well, without
    /// those that they inherited: of the ones that run and that start later; with `after` also of those that
    /// began since that event and have ended. Default false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub children: Option<bool>,
}

/// Result of `session/subscribe`; comes before the first event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionSubscribeResult {
    /// Seq of the last event at this moment; −1 when there is none.
    pub last_seq: i64,
}

/// Params of `session/events`. A turn that a crash left open is shown as it stands in the log: `session/get`,
/// `session/subscribe` and `session/prompt` close it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionEventsParams {
    /// The session.
    pub session_id: SessionId,
    /// Events with a greater seq. Default −1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<i64>,
    /// How many to return. Default 500, at most 5000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Only these types.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub types: Option<Vec<String>>,
}

/// Result of `session/events`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionEventsResult {
    /// The events by seq.
    pub events: Vec<Event>,
    /// Seq of the log's last event; −1 when there is none.
    pub last_seq: i64,
    /// Whether there are more behind the last one returned.
    pub more: bool,
}

/// Params of `session/messages`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionMessagesParams {
    /// The session.
    pub session_id: SessionId,
    /// The last event that counts. Default: the last one there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<i64>,
}

/// Result of `session/messages`: what the model sees, derived from the log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionMessagesResult {
    /// What is sent beside the messages; absent before the first request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<Header>,
    /// The messages in order.
    pub messages: Vec<Message>,
}

/// Params of `session/request`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionRequestParams {
    /// The session.
    pub session_id: SessionId,
    /// The turn, counted from 1.
    pub turn: u64,
    /// The step, counted from 1 in each turn.
    pub step: u64,
    /// The attempt, counted from 1 in each step. Default: the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u64>,
}

/// Result of `session/request`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionRequestResult {
    /// The provider that was asked.
    pub provider: String,
    /// The model that was asked.
    pub model: String,
    /// The provider's JSON as it was sent, made again from the log.
    pub body: String,
    /// Whether these are the very bytes that were sent, by their logged digest.
    pub exact: bool,
}

/// Params of `session/fork`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionForkParams {
    /// The session whose events the new one begins with.
    pub session_id: SessionId,
    /// Seq of the last event that both share. Default: the last one there is. Must not lie inside a turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boundary: Option<i64>,
    /// The new session's title. Default: that of the session it is forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

/// Result of `session/fork`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionForkResult {
    /// The new session.
    pub session: SessionInfo,
}

/// How a session is exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ExportFormat {
    /// A log file: its header, then one event to a line, none of them packed.
    Jsonl,
    /// What people read: the transcript in a document of its own.
    Markdown,
}

/// Params of `session/export`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionExportParams {
    /// The session.
    pub session_id: SessionId,
    /// As what.
    pub format: ExportFormat,
}

/// Result of `session/export`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionExportResult {
    /// The session.
    pub text: String,
}

/// Params of `session/search`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionSearchParams {
    /// Words that must all occur, in any order; the last one may be the beginning of a word. Words in double
    /// quotes must follow one another. Nothing has another meaning.
    pub query: String,
    /// Only sessions of this folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// How many hits to return. Default 50, at most 500.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// Result of `session/search`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionSearchResult {
    /// The hits, best first.
    pub hits: Vec<SearchHit>,
}

/// A place where something was said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchHit {
    /// The session.
    pub session_id: SessionId,
    /// Seq of the event that says it: a `user/message`, an `assistant/message` or a `session/title`.
    pub seq: u64,
    /// The text around the first word that was found, on one line.
    pub snippet: String,
}
