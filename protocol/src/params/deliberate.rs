//! `deliberate/start` and `deliberate/cancel`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::deliberation::{BranchRequest, DeliberationContext};
use crate::ids::{RoundId, SessionId};

/// Params of `deliberate/start`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeliberateStartParams {
    /// The session, which must be idle.
    pub session_id: SessionId,
    /// The question to decide, without an answer to it.
    pub goal: String,
    /// The present answer. Only an audit is told.
    pub incumbent: String,
    /// What all branches are told.
    pub context: DeliberationContext,
    /// The branches.
    pub branches: Vec<BranchRequest>,
    /// Whether the packets join the session's inbox as one notice, which wakes nobody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub publish: Option<bool>,
}

/// Result of `deliberate/start`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeliberateStartResult {
    /// Names the round. Its outcomes come as `deliberate/result`.
    pub round_id: RoundId,
}

/// Params of `deliberate/cancel`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeliberateCancelParams {
    /// The round.
    pub round_id: RoundId,
    /// Only this branch; the others go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}
