//! `initialize` and `shutdown`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A folder that the client has open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkspaceFolder {
    /// The folder as a `file:` URI or an absolute path.
    pub uri: String,
    /// The name that the client shows for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// Who the client is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClientInfo {
    /// The client's name.
    pub name: String,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// What a client of ours tells beside LSP's own params.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InitializationOptions {
    /// The versions of this wire that the client speaks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol_versions: Option<Vec<String>>,
}

/// Params of `initialize`: LSP's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InitializeParams {
    /// The client's process; the server ends when it is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process_id: Option<i64>,
    /// Who the client is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_info: Option<ClientInfo>,
    /// The one open folder, for clients without `workspaceFolders`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_uri: Option<String>,
    /// The open folders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_folders: Option<Vec<WorkspaceFolder>>,
    /// What the client can do, as in LSP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Value>,
    /// What a client of ours tells beside LSP's own params.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initialization_options: Option<InitializationOptions>,
}

/// Who the server is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServerInfo {
    /// Always `dsh-ls`.
    pub name: String,
    /// The server's version.
    pub version: String,
}

/// Bounds that a client can rely on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    /// The largest frame that the server accepts, in bytes.
    pub max_frame_bytes: u64,
    /// The undelivered responses, in bytes, past which the server stops reading.
    pub outbox_bytes: u64,
}

/// What this server speaks beside LSP.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DshCapabilities {
    /// The version of this wire.
    pub protocol_version: String,
    /// SHA-256 of the wire's JSON Schema: equal hashes mean equal wires.
    pub schema_hash: String,
    /// The methods that this door serves.
    pub methods: Vec<String>,
    /// The notifications that this server sends.
    pub notifications: Vec<String>,
    /// Its bounds.
    pub limits: Limits,
}

/// The `experimental` part of LSP's server capabilities.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExperimentalCapabilities {
    /// Ours.
    pub dsh: DshCapabilities,
}

/// LSP's server capabilities, as far as this server has them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServerCapabilities {
    /// What stands outside LSP.
    pub experimental: ExperimentalCapabilities,
    /// LSP's own, on a door that speaks it.
    #[serde(flatten)]
    pub lsp: Map<String, Value>,
}

/// Result of `initialize`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InitializeResult {
    /// Who the server is.
    pub server_info: ServerInfo,
    /// What it can do.
    pub capabilities: ServerCapabilities,
}

/// Params of methods that take none; `null` and absence are accepted as well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NoParams {}
