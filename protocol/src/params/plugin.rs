//! `plugin/list`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where a row's plugin stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PluginState {
    /// It waits for services that no active plugin provides.
    Pending,
    /// It is starting.
    Loading,
    /// It runs.
    Active,
    /// Its start failed and was undone.
    Failed,
    /// It is being taken down.
    Unloading,
    /// It is disabled, or gone.
    Disposed,
}

/// A row and where its plugin stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginInfo {
    /// The row's id; ids of nested rows are joined with `:`.
    pub id: String,
    /// The plugin.
    pub name: String,
    /// Where it stands.
    pub state: PluginState,
    /// The services that it waits for.
    pub waiting_for: Vec<String>,
    /// The services that it provides now.
    pub provides: Vec<String>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Params of `plugin/list`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PluginListParams {
    /// The workspace folder; may be omitted when exactly one is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
}

/// Result of `plugin/list`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PluginListResult {
    /// The rows in the order of the tree.
    pub plugins: Vec<PluginInfo>,
}
