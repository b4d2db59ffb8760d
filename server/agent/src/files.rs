//! The `fs` and `search` services: how an agent sees the workspace.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use dsh_kernel::service::Key;
use dsh_protocol::workspace::{
    GlobArguments, GlobValue, GrepArguments, GrepValue, ReadArguments, ReadValue,
};
use dsh_session::store::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::tool::ToolFailure;

/// Reads files.
pub const FS: Key<dyn FileSystem> = Key::new("fs");

/// Finds text and names.
pub const SEARCH: Key<dyn Search> = Key::new("search");

/// A value and what was left out of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer<T> {
    /// The value.
    pub value: T,
    /// What was left out and why, a sentence each.
    pub notes: Vec<String>,
}

/// The text of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileText {
    /// The file, relative to the workspace folder.
    pub path: String,
    /// Its decoded text.
    pub text: String,
    /// Whether the file ends where `text` ends; otherwise it is longer than what is read at once.
    pub is_complete: bool,
}

/// Reads files of the workspace folder and of nothing else.
pub trait FileSystem: Send + Sync {
    /// The same with further folders, whose files have absolute paths; nothing if it has the one folder only.
    fn beside(&self, folders: &Arc<[PathBuf]>) -> Option<Arc<dyn FileSystem>> {
        let _ = folders;
        None
    }

    /// A window of a text file.
    fn read(
        &self,
        arguments: ReadArguments,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<Answer<ReadValue>, ToolFailure>>;

    /// The whole text of a text file, for callers inside the server.
    fn text(
        &self,
        path: String,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<FileText, ToolFailure>>;
}

/// Is shown each visible text file: its path relative to the workspace folder, and its text. May be called
/// from several threads at once.
pub type Visit = Arc<dyn Fn(&str, &str) + Send + Sync>;

/// Searches the workspace folder and nothing else.
pub trait Search: Send + Sync {
    /// The same with further folders, of which `path` may name one; nothing if it has the one folder only.
    fn beside(&self, folders: &Arc<[PathBuf]>) -> Option<Arc<dyn Search>> {
        let _ = folders;
        None
    }

    /// Lines that match a regular expression.
    fn grep(
        &self,
        arguments: GrepArguments,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<Answer<GrepValue>, ToolFailure>>;

    /// Files whose path matches a glob.
    fn glob(
        &self,
        arguments: GlobArguments,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<Answer<GlobValue>, ToolFailure>>;

    /// Shows every file that `grep` would search to `visit`. For ranking that a pattern cannot express.
    fn scan(
        &self,
        visit: Visit,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<(), ToolFailure>>;
}

/// What editors have open and not saved: the tools see it instead of what is on disk.
pub trait Buffers: Send + Sync + std::fmt::Debug {
    /// The text of an open document, by its absolute path as the editor names it.
    fn text(&self, path: &Path) -> Option<Arc<str>>;

    /// The paths of all open documents.
    fn paths(&self) -> Vec<PathBuf>;
}
