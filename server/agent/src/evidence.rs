//! The `evidence` service: whether what a text says of the workspace's files holds.

use dsh_kernel::service::Key;
use dsh_protocol::evidence::EvidenceFailure;
use dsh_session::store::BoxFuture;
use tokio_util::sync::CancellationToken;

/// Checks claims about files, without any model.
pub const EVIDENCE: Key<dyn Evidence> = Key::new("evidence");

/// What a check came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// How many claims were checked: citations, each with what stands beside it, and named files.
    pub checked: u64,
    /// Those that do not hold, in the order of the text.
    pub failures: Vec<EvidenceFailure>,
}

/// A place in the workspace that somebody refers to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ref {
    /// The file: relative to the workspace folder, or absolute inside it.
    pub path: String,
    /// The line, counted from 1.
    pub line: Option<u64>,
    /// What stands there: on that line, or anywhere in the file when no line is given.
    pub quote: Option<String>,
}

/// Checks claims about files of the workspace folder as the tools see them: unsaved buffers included, secrets
/// and what lies outside left alone.
pub trait Evidence: Send + Sync {
    /// Checks the citations, quotes and named files of a text in Markdown. What cannot be judged (no access, out
    /// of time, more claims than are allowed) is not counted and not a failure.
    fn check(&self, text: String, cancel: CancellationToken) -> BoxFuture<'static, Checked>;

    /// Checks references, each for itself, in their order. Stricter than [`Evidence::check`]: a path is taken as
    /// it is written, and a file that may not be read is missing.
    fn check_refs(
        &self,
        refs: Vec<Ref>,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Vec<Result<(), EvidenceFailure>>>;
}
