//! `evidence/setItem`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::SessionId;
use crate::review::ReviewItemState;

/// Params of `evidence/setItem`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EvidenceSetItemParams {
    /// The session whose answer was checked.
    pub session_id: SessionId,
    /// Seq of the `evidence/checked` event.
    pub seq: u64,
    /// Which of its failures, counted from 0.
    pub index: u64,
    /// Where it stands from now on.
    pub state: ReviewItemState,
}
