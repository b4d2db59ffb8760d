//! The documents that the editor has open, kept in step with it.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use dsh_rpc::Server;
use dsh_runtime::agent::files::Buffers;
use tower_lsp::LanguageServer;
use tower_lsp::jsonrpc::Result;
use tower_lsp::ls_types::{
    DidChangeConfigurationParams, DidChangeTextDocumentParams, DidChangeWatchedFilesParams,
    DidChangeWorkspaceFoldersParams, DidCloseTextDocumentParams, DidOpenTextDocumentParams,
    DidSaveTextDocumentParams, InitializeParams, InitializeResult, InitializedParams, OneOf,
    SaveOptions, ServerCapabilities, TextDocumentSyncCapability, TextDocumentSyncKind,
    TextDocumentSyncOptions, TextDocumentSyncSaveOptions, Uri, WorkspaceFoldersServerCapabilities,
    WorkspaceServerCapabilities,
};
use url::Url;

use crate::diagnostics::Diagnostics;
use crate::position::{Encoding, replaced};

/// LSP's own part of the server. Its methods are called one after another, in the order of the frames.
pub(crate) struct Documents {
    server: Arc<Server>,
    /// What is shown in the documents.
    diagnostics: Arc<Diagnostics>,
    encoding: OnceLock<Encoding>,
}

impl Documents {
    pub(crate) fn new(server: Arc<Server>, diagnostics: Arc<Diagnostics>) -> Self {
        Self { server, diagnostics, encoding: OnceLock::new() }
    }

    fn encoding(&self) -> Encoding {
        self.encoding.get().copied().unwrap_or_default()
    }

    fn set(&self, path: PathBuf, text: impl Into<Arc<str>>) {
        self.server.runtime.buffers().set(path.clone(), text.into());
        self.diagnostics.touched(path);
    }
}

/// The path of a document on this disk. Others, such as `untitled:` ones, are no files of a workspace.
fn file_path(uri: &Uri) -> Option<PathBuf> {
    Url::parse(uri.as_str()).ok().filter(|url| url.scheme() == "file")?.to_file_path().ok()
}

impl LanguageServer for Documents {
    async fn initialize(&self, params: InitializeParams) -> Result<InitializeResult> {
        let offered = params.capabilities.general.and_then(|general| general.position_encodings);
        let encoding = *self.encoding.get_or_init(|| Encoding::negotiate(offered.as_deref()));
        let sync = TextDocumentSyncOptions {
            open_close: Some(true),
            change: Some(TextDocumentSyncKind::INCREMENTAL),
            save: Some(TextDocumentSyncSaveOptions::SaveOptions(SaveOptions::default())),
            ..TextDocumentSyncOptions::default()
        };
        let folders = WorkspaceFoldersServerCapabilities {
            supported: Some(true),
            change_notifications: Some(OneOf::Left(true)),
        };
        Ok(InitializeResult {
            capabilities: ServerCapabilities {
                position_encoding: Some(encoding.kind()),
                text_document_sync: Some(TextDocumentSyncCapability::Options(sync)),
                workspace: Some(WorkspaceServerCapabilities {
                    workspace_folders: Some(folders),
                    ..WorkspaceServerCapabilities::default()
                }),
                ..ServerCapabilities::default()
            },
            ..InitializeResult::default()
        })
    }

    async fn initialized(&self, _: InitializedParams) {
        self.diagnostics.restore(None);
    }

    async fn shutdown(&self) -> Result<()> {
        Ok(())
    }

    async fn did_open(&self, params: DidOpenTextDocumentParams) {
        if let Some(path) = file_path(&params.text_document.uri) {
            self.set(path, params.text_document.text);
        }
    }

    async fn did_change(&self, params: DidChangeTextDocumentParams) {
        let Some(path) = file_path(&params.text_document.uri) else { return };
        let buffers = self.server.runtime.buffers();
        let mut text = buffers.text(&path);
        for change in params.content_changes {
            text = match (change.range, text) {
                (None, _) => Some(change.text.into()),
                (Some(range), Some(text)) => {
                    Some(replaced(&text, range, &change.text, self.encoding()).into())
                }
                (Some(_), None) => {
                    tracing::warn!(path = %path.display(), "change of a document that is not open");
                    return;
                }
            };
        }
        if let Some(text) = text {
            self.set(path, text);
        }
    }

    async fn did_close(&self, params: DidCloseTextDocumentParams) {
        if let Some(path) = file_path(&params.text_document.uri) {
            self.server.runtime.buffers().remove(&path);
            self.diagnostics.touched(path);
        }
    }

    /// The text is known already.
    async fn did_save(&self, _: DidSaveTextDocumentParams) {}

    /// Files are read when a tool wants them; what is shown in them is looked for again.
    async fn did_change_watched_files(&self, params: DidChangeWatchedFilesParams) {
        for path in params.changes.iter().filter_map(|change| file_path(&change.uri)) {
            self.diagnostics.touched(path);
        }
    }

    /// The configuration is in files of its own: an editor's settings, and so a folder's, change nothing.
    async fn did_change_configuration(&self, _: DidChangeConfigurationParams) {}

    async fn did_change_workspace_folders(&self, params: DidChangeWorkspaceFoldersParams) {
        let runtime = &self.server.runtime;
        for folder in params.event.added {
            match runtime.open_folder(folder.uri.as_str()) {
                Ok(()) => self.diagnostics.restore(Some(folder.uri.as_str().to_owned())),
                Err(error) => tracing::warn!(%error, "folder left out"),
            }
        }
        for folder in params.event.removed {
            // Not awaited: ending the folder's turns must not keep the reader.
            let server = Arc::clone(&self.server);
            let diagnostics = Arc::clone(&self.diagnostics);
            tokio::spawn(async move {
                if let Err(error) = server.runtime.close_folder(folder.uri.as_str()).await {
                    tracing::warn!(%error, "folder not closed");
                }
                diagnostics.folder_closed();
            });
        }
    }
}
