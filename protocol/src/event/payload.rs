//! What each type of event carries.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::content::{Chunk, ModelFailure, Usage};
use crate::deliberation::{BranchOutcome, BranchPlan, BranchState, PacketItem, RoundBy};
use crate::evidence::EvidenceFailure;
use crate::ids::{ActivationId, CallId, MessageId, ReviewId, RoundId, SessionId};
use crate::message::Message;
use crate::review::{ReleaseReason, ReviewBy, ReviewItemState, ReviewReason, ReviewStatus};
use crate::session::Header;
use crate::subagent::{StopReason, ToolFilter};
use crate::tool::ToolError;
use crate::turn::TurnEnd;

/// An empty payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Empty {}

/// Payload of `turn/start`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TurnStart {
    /// The turn's number, counted from 1.
    pub turn: u64,
}

/// Payload of `turn/end`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TurnEnded {
    /// The turn's number.
    pub turn: u64,
    /// Why it ended.
    pub reason: TurnEnd,
}

/// Payload of `step/start` and `step/end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// The turn's number.
    pub turn: u64,
    /// The step's number, counted from 1 in each turn.
    pub step: u64,
}

/// Payload of `assistant/chunk`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AssistantChunk {
    /// The turn's number.
    pub turn: u64,
    /// The step's number.
    pub step: u64,
    /// The piece.
    pub chunk: Chunk,
}

/// Payload of `assistant/message`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AssistantMessage {
    /// The turn's number.
    pub turn: u64,
    /// The step's number.
    pub step: u64,
    /// The message.
    pub message: Arc<Message>,
    /// What the request cost, where the provider said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// `true` when the answer was cut off by a cancel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupted: Option<bool>,
}

/// Payload of `tool/call`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// The turn's number.
    pub turn: u64,
    /// The step's number.
    pub step: u64,
    /// The call's id.
    pub call_id: CallId,
    /// The tool's name.
    pub name: String,
    /// The arguments exactly as the model wrote them.
    pub arguments: String,
}

/// Payload of `tool/result`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolResult {
    /// The turn's number.
    pub turn: u64,
    /// The step's number.
    pub step: u64,
    /// A message of exactly one `tool-result` block.
    pub message: Arc<Message>,
    /// Which error, for a failed call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ToolError>,
    /// What a client shows of the result beside its text: the typed value and notes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Value>,
}

/// Why a request header was logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HeaderReason {
    /// The session's first request.
    Initial,
    /// The first request after the session was loaded again.
    Resume,
    /// The header differs from the last one.
    Change,
}

/// Payload of `request/header`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RequestHeader {
    /// The header.
    pub header: Header,
    /// Why it was logged.
    pub reason: HeaderReason,
}

/// Payload of `request/context`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequestContext {
    /// The provider.
    pub provider: String,
    /// The model.
    pub model: String,
    /// The model's context window in tokens, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
}

/// Payload of `llm/request`: one attempt of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelRequest {
    /// The turn's number.
    pub turn: u64,
    /// The step's number.
    pub step: u64,
    /// The attempt, counted from 1 in each step.
    pub attempt: u64,
    /// SHA-256 of the body that was sent, in lower-case hexadecimal.
    pub sha256: String,
}

/// Payload of `llm/retry`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelRetry {
    /// The turn's number.
    pub turn: u64,
    /// The step's number.
    pub step: u64,
    /// The provider that is asked again.
    pub provider: String,
    /// Which retry of the step this is, counted from 1.
    pub retry: u64,
    /// How many there may be.
    pub max_retries: u64,
    /// The pause before it, in milliseconds.
    pub delay_ms: u64,
    /// What failed.
    pub failure: ModelFailure,
}

/// Payload of `llm/retry-started`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelRetryStarted {
    /// The turn's number.
    pub turn: u64,
    /// The step's number.
    pub step: u64,
    /// Which retry of the step this is, counted from 1.
    pub retry: u64,
}

/// How long a subagent works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SubagentMode {
    /// One turn.
    OneShot,
    /// Whatever its parent sends it.
    Continuable,
}

/// Payload of `subagent/descriptor`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubagentDescriptor {
    /// The version of this payload: 2.
    pub version: u32,
    /// How long it works.
    pub mode: SubagentMode,
    /// The subagent provider that started it.
    pub provider: String,
    /// A short name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The provider of the model that it was to ask.
    pub agent_provider: String,
    /// The model that it was to ask.
    pub agent_model: String,
    /// The most tokens of an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// What took the place of the deployment's persona.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persona: Option<String>,
    /// Which tools it may use; its parent's limits are part of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_filter: Option<ToolFilter>,
    /// Whether it was to answer through `structured_output`.
    #[serde(default)]
    pub structured: bool,
}

impl SubagentDescriptor {
    /// The only version of the payload.
    pub const VERSION: u32 = 2;
}

/// Payload of `subagent/activated`. It is in the log before the child hears of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubagentActivated {
    /// Names the work.
    pub activation_id: ActivationId,
    /// The child's session, which may be there only a moment later.
    pub child_session_id: SessionId,
    /// A short name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The tool call that gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<CallId>,
}

/// Payload of `subagent/settled`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubagentSettled {
    /// The work.
    pub activation_id: ActivationId,
    /// The child's session.
    pub child_session_id: SessionId,
    /// How it came out.
    pub stop_reason: StopReason,
}

/// Payload of `session/title`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionTitle {
    /// The title.
    pub title: String,
}

/// One of the two lists of an inbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InboxTarget {
    /// Joins the running turn before its next step.
    NextStep,
    /// Starts a turn of its own.
    NextTurn,
}

/// Why messages left an inbox without being claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SpliceOutcome {
    /// They were discarded.
    Canceled,
}

/// Payload of `agent/inbox/spliced`: at `start` of one list, some messages were removed and others inserted.
/// A removal without `outcome` is a claim by the turn that runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InboxSpliced {
    /// Which list.
    pub target: InboxTarget,
    /// Where in it, counted from 0.
    pub start: u64,
    /// How many messages were removed there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removed_count: Option<u64>,
    /// The messages that were put there.
    pub inserted: Vec<Arc<Message>>,
    /// Why the removed ones left, unless a turn claimed them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<SpliceOutcome>,
}

/// What became of a claimed message that never reached the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MessageOutcomeKind {
    /// A hook refused it.
    Rejected,
    /// The turn could not be set up.
    Failed,
}

/// Payload of `message/outcome`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MessageOutcome {
    /// The message.
    pub message_id: MessageId,
    /// What became of it.
    pub kind: MessageOutcomeKind,
    /// Why.
    pub reason: String,
}

/// Payload of `evidence/checked`. Logged before `turn/end`, only when there was something to check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EvidenceChecked {
    /// The turn's number.
    pub turn: u64,
    /// Seq of the `assistant/message` that was checked.
    pub message_seq: u64,
    /// How many claims were checked: citations, each with what stands beside it, and named files.
    pub checked: u64,
    /// The claims that do not hold, in the order of the answer.
    pub failures: Vec<EvidenceFailure>,
}

/// Payload of `evidence/item`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EvidenceItemChanged {
    /// Seq of the `evidence/checked` event.
    pub seq: u64,
    /// Which of its failures, counted from 0.
    pub index: u64,
    /// Where it stands from now on.
    pub state: ReviewItemState,
}

/// Payload of `deliberation/started`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeliberationStarted {
    /// Names the round.
    pub round_id: RoundId,
    /// The turn in which the model asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<u64>,
    /// The step in which the model asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<u64>,
    /// The tool call with which the model asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<CallId>,
    /// Who asked for it.
    pub by: RoundBy,
    /// What it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
    /// Whether its packets are queued for the session's model when it comes out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub publish: bool,
    /// Its branches.
    pub branches: Vec<BranchPlan>,
}

/// Payload of `deliberation/branch`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeliberationBranch {
    /// The round.
    pub round_id: RoundId,
    /// The branch.
    pub label: String,
    /// Where it stands.
    pub state: BranchState,
    /// Its child agent's session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_session_id: Option<SessionId>,
    /// Why it ended, once it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
}

/// Payload of `deliberation/settled`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeliberationSettled {
    /// The round.
    pub round_id: RoundId,
    /// The tool call with which the model asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<CallId>,
    /// How each branch came out, in the order in which they were asked for.
    pub outcomes: Vec<BranchOutcome>,
}

/// Payload of `review/claimed`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReviewClaimed {
    /// Names the review.
    pub review_id: ReviewId,
    /// The turn that is reviewed.
    pub turn: u64,
    /// Who asked for it.
    pub by: ReviewBy,
    /// Names the configuration that it runs with: the same one has the same hash.
    pub config_hash: String,
    /// Of a person's review: whether the session's model is told of an update.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub publish: Option<bool>,
    /// Seq of the `assistant/message` that it looks at: a draft until the review has come out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draft_seq: Option<u64>,
}

/// Payload of `review/child`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReviewChild {
    /// The review.
    pub review_id: ReviewId,
    /// Its child agent's session.
    pub child_session_id: SessionId,
}

/// Payload of `review/released`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReviewReleased {
    /// The review.
    pub review_id: ReviewId,
    /// The turn that it was to review.
    pub turn: u64,
    /// Why it does not count.
    pub reason: ReleaseReason,
}

/// Payload of `review/settled`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReviewSettled {
    /// The review.
    pub review_id: ReviewId,
    /// The turn that was reviewed.
    pub turn: u64,
    /// How it came out.
    pub status: ReviewStatus,
    /// Whether the session's model is told.
    pub published: bool,
    /// Why there is no packet, or why it was not taken in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<ReviewReason>,
    /// What was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<Vec<PacketItem>>,
    /// Seq of the `assistant/message` that was reviewed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draft_seq: Option<u64>,
}

/// Payload of `review/item`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReviewItemChanged {
    /// The review.
    pub review_id: ReviewId,
    /// Which of its items, counted from 0.
    pub index: u64,
    /// Where it stands from now on.
    pub state: ReviewItemState,
}
