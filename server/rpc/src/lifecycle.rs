//! The `initialize` handshake.

use dsh_protocol::error::{ErrorKind, RpcError};
use dsh_protocol::methods::Request;
use dsh_protocol::notifications::Notification;
use dsh_protocol::params::lifecycle::{
    DshCapabilities, ExperimentalCapabilities, InitializeParams, InitializeResult, Limits,
    ServerCapabilities, ServerInfo,
};
use dsh_protocol::{MAX_FRAME_BYTES, OUTBOX_BYTES, PROTOCOL_VERSION, schema};
use serde_json::json;

use crate::cx::Server;

/// Answers `initialize`. Remembers the folders' names and touches nothing else.
pub(crate) fn initialize(
    server: &Server,
    params: &InitializeParams,
) -> Result<InitializeResult, RpcError> {
    let versions = params
        .initialization_options
        .as_ref()
        .and_then(|options| options.protocol_versions.as_ref());
    if let Some(versions) = versions
        && !versions.iter().any(|version| version == PROTOCOL_VERSION)
    {
        let message = format!("this server speaks version {PROTOCOL_VERSION} of the protocol");
        return Err(RpcError::domain(ErrorKind::Unsupported, message)
            .with_hint("update the editor's extension or the server, whichever is older")
            .with_fact("supported", json!([PROTOCOL_VERSION])));
    }
    open_folders(server, params);
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    Ok(InitializeResult {
        server_info: ServerInfo { name: "dsh-ls".to_owned(), version: server.version.to_owned() },
        capabilities: ServerCapabilities {
            lsp: serde_json::Map::new(),
            experimental: ExperimentalCapabilities {
                dsh: DshCapabilities {
                    protocol_version: PROTOCOL_VERSION.to_owned(),
                    schema_hash: schema::HASH.trim().to_owned(),
                    methods: names(Request::NAMES),
                    notifications: names(Notification::NAMES),
                    limits: Limits {
                        max_frame_bytes: MAX_FRAME_BYTES as u64,
                        outbox_bytes: OUTBOX_BYTES as u64,
                    },
                },
            },
        },
    })
}

/// Folders that are not on this disk are no workspaces of ours: an editor may have both.
fn open_folders(server: &Server, params: &InitializeParams) {
    let folders = params.workspace_folders.iter().flatten().map(|folder| folder.uri.as_str());
    let root = params.root_uri.as_deref().filter(|_| params.workspace_folders.is_none());
    for name in folders.chain(root) {
        if let Err(error) = server.runtime.open_folder(name) {
            tracing::warn!(%error, "folder left out");
        }
    }
}
