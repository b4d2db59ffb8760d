//! How tools are described to a model and to a person.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::workspace::ToolErrorCode;

/// A tool as the model sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolDefinition {
    /// The name that a call uses.
    pub name: String,
    /// What it does and when to use it, written for the model.
    pub description: String,
    /// JSON Schema of the arguments.
    pub input_schema: Value,
}

/// What sort of thing a tool does; editors choose an icon by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ToolKind {
    /// Reads a file.
    Read,
    /// Searches files or names.
    Search,
    /// Thinks, asks other agents.
    Think,
    /// Anything else.
    Other,
}

/// A tool as `tool/list` shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolInfo {
    /// Name, description and arguments.
    #[serde(flatten)]
    pub definition: ToolDefinition,
    /// What sort of thing it does.
    pub kind: ToolKind,
    /// Whether calls of it may run beside others.
    pub concurrency_safe: bool,
}

/// The error part of a tool's result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolError {
    /// The kind of error as a type name, such as `FsError`.
    pub name: String,
    /// The stable code.
    pub code: ToolErrorCode,
}
