//! `config/…`: the tree of rows that a workspace folder mounts, and the files that it is composed from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How bad a problem is.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The configuration cannot be used.
    Error,
    /// It can be used; something in it has no effect.
    Warning,
    /// Nothing is wrong, but a person may want to know.
    Information,
}

/// Something wrong in a configuration file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// The file's path, or the name of a layer that is part of the program.
    pub file: String,
    /// The line, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The column, counted from 1 in characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u64>,
    /// Where in the row, such as `config.budgets.steps`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong and what to do.
    pub message: String,
}

/// A row of the tree as it was composed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigRow {
    /// The row's id; ids of nested rows are joined with `:`.
    pub id: String,
    /// The plugin.
    pub name: String,
    /// Its configuration; an expression is a mapping like `{"!env": "NAME"}`. `null` for a group.
    pub config: Value,
    /// Whether it stays down by what it says itself.
    pub disabled: bool,
    /// The layer that it comes from.
    pub origin: String,
    /// The layers that changed it, in order.
    pub patched_by: Vec<String>,
}

/// Params of `config/dump`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigDumpParams {
    /// The workspace folder; all folders of a server have the same configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
}

/// Result of `config/dump`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigDumpResult {
    /// A patch document that boots the same tree with `--profile none`.
    pub yaml: String,
    /// The rows, in order.
    pub rows: Vec<ConfigRow>,
}

/// Params of `config/set`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigSetParams {
    /// The row's id.
    pub row: String,
    /// Where in its `config`: keys joined with `.`.
    pub path: String,
    /// The value; `null` removes the key.
    pub value: Value,
}

/// Result of `config/reload`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigReloadResult {
    /// Whether the configuration was taken; `false`: the last good one stays.
    pub ok: bool,
    /// What is wrong.
    pub problems: Vec<Problem>,
}
