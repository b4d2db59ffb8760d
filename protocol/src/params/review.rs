//! `review/start`, `review/list` and `review/setItem`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{ReviewId, SessionId};
use crate::review::{ReviewInfo, ReviewItemState};

/// Params of `review/start`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReviewStartParams {
    /// The session, which must be idle.
    pub session_id: SessionId,
    /// Whether an update joins the session's inbox as a notice, which wakes nobody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub publish: Option<bool>,
}

/// Result of `review/start`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReviewStartResult {
    /// Names the review. What it finds comes as `review/notice`.
    pub review_id: ReviewId,
}

/// Params of `review/list`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReviewListParams {
    /// The session.
    pub session_id: SessionId,
}

/// Result of `review/list`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewListResult {
    /// The reviews that came out, in the order in which they began.
    pub reviews: Vec<ReviewInfo>,
}

/// Params of `review/setItem`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReviewSetItemParams {
    /// The review.
    pub review_id: ReviewId,
    /// Which of its items, counted from 0.
    pub index: u64,
    /// Where the item stands from now on.
    pub state: ReviewItemState,
}
