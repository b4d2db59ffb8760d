//! Masked reviews: who asks for one, how it comes out, and where its items stand.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::deliberation::{Certainty, FileRef, ItemKind, PacketItem};
use crate::ids::{ReviewId, SessionId};

/// Who asked for a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReviewBy {
    /// The runtime, at the end of a turn.
    Auto,
    /// A person.
    User,
}

/// How a review came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReviewStatus {
    /// It found something that matters.
    Update,
    /// It found nothing that matters.
    NoUpdate,
    /// It has no packet; its reason says why.
    Failed,
    /// It was cancelled, with its turn or by whoever asked for it.
    Cancelled,
}

/// Why an attempt to review a turn does not count, so that the turn may be claimed again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReleaseReason {
    /// The provider of the reviewing child is gone, or cannot do what a review needs.
    ProviderNotReady,
    /// The steps are longer than the configured budget.
    ProjectionOverBudget,
    /// The steps hold more images than the configured limit.
    ProjectionImageLimit,
    /// No step is complete.
    NoCompletedStep,
    /// There is no such turn to look at.
    NoOpenTurn,
    /// The child's model does not take what it would be shown.
    UnsupportedContent,
}

/// Why a review has no packet, or its packet was not taken in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReviewReason {
    /// The child was cancelled.
    Aborted,
    /// The child ended in an error.
    Error,
    /// The child's answer was cut at its model's limit.
    MaxTokens,
    /// The child refused.
    Refusal,
    /// The child did not answer in time.
    Timeout,
    /// The child could not be started.
    StartupError,
    /// What runs the child broke.
    InfrastructureError,
    /// No step was complete.
    NoCompletedStep,
    /// The child's model does not take what it would be shown.
    UnsupportedContent,
    /// The steps hold more images than the configured limit.
    ProjectionImageLimit,
    /// The steps are longer than the configured budget.
    ProjectionOverBudget,
    /// There was no such turn to look at.
    InvalidHistoryWindow,
    /// The child ended without a packet.
    MissingStructuredResult,
    /// What the child handed in is no packet of its role.
    InvalidStructuredResult,
    /// The server stopped before the review came out.
    Interrupted,
    /// The packet was found, and the step that was to take it in failed: the answer before it stands.
    NoticeStepFailed,
}

/// Where an item of a review stands with the person who reads it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReviewItemState {
    /// Nobody has said anything about it.
    #[default]
    Open,
    /// It was taken for right.
    Accepted,
    /// It was set aside.
    Dismissed,
}

/// An item of a review, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewItem {
    /// What it contributes.
    pub kind: ItemKind,
    /// How sure the child says that it is.
    pub certainty: Certainty,
    /// The statement.
    pub content: String,
    /// Where it stands in the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refs: Option<Vec<FileRef>>,
    /// Where it stands with the person who reads it.
    pub state: ReviewItemState,
}

impl ReviewItem {
    /// An item of a packet in a state.
    pub fn new(item: PacketItem, state: ReviewItemState) -> Self {
        let PacketItem { kind, certainty, content, refs } = item;
        Self { kind, certainty, content, refs, state }
    }
}

/// A review that came out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReviewInfo {
    /// Names the review.
    pub review_id: ReviewId,
    /// The turn that was reviewed.
    pub turn: u64,
    /// Who asked for it.
    pub by: ReviewBy,
    /// How it came out.
    pub status: ReviewStatus,
    /// Whether the session's model was told.
    pub published: bool,
    /// What it found.
    pub items: Vec<ReviewItem>,
    /// Its child agent's session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_session_id: Option<SessionId>,
    /// When it came out, in epoch milliseconds.
    pub settled_at: u64,
}
