//! `server/status`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Result of `server/status`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServerStatusResult {
    /// The server's version.
    pub version: String,
    /// Its process id.
    pub pid: u32,
    /// How long it has run, in milliseconds.
    pub uptime_ms: u64,
    /// Its resident memory in bytes; 0 where the system does not tell.
    pub rss_bytes: u64,
    /// The open workspace folders as `file:` URIs.
    pub workspaces: Vec<String>,
    /// How many sessions are loaded.
    pub sessions: u64,
    /// How many clients are connected.
    pub connections: u64,
}
