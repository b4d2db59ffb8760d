//! `command/list` and `command/run`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::SessionId;

/// A command that a person can type into a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommandInfo {
    /// Its name, without the slash.
    pub name: String,
    /// What it does, for a person.
    pub description: String,
    /// What stands behind the name, such as `GOAL`; empty: nothing.
    pub arguments: String,
}

/// Params of `command/list`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommandListParams {
    /// The workspace folder; may be omitted when exactly one is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
}

/// Result of `command/list`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommandListResult {
    /// The commands by name.
    pub commands: Vec<CommandInfo>,
}

/// Params of `command/run`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandRunParams {
    /// The session.
    pub session_id: SessionId,
    /// What the person typed, from the slash on.
    pub line: String,
}

/// Result of `command/run`. Comes when the command is done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommandRunResult {
    /// Whether it did what it should.
    pub ok: bool,
    /// What it has to say, for a person.
    pub text: String,
}
