//! `model/list`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a model accepts as input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Modality {
    /// Text.
    Text,
    /// Pictures.
    Image,
}

/// A model that can be chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelInfo {
    /// The provider.
    pub provider: String,
    /// The provider's name of the model.
    pub model: String,
    /// The context window in tokens, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    /// What it accepts.
    pub input: Vec<Modality>,
    /// Whether it can be asked now.
    pub ready: bool,
    /// Why not, when it cannot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether new sessions use it.
    pub default: bool,
}

/// Params of `model/list`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelListParams {
    /// The workspace folder; may be omitted when exactly one is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
}

/// Result of `model/list`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelListResult {
    /// The models by provider, then model.
    pub models: Vec<ModelInfo>,
}
