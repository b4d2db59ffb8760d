//! Files of one workspace folder: `read`, `grep` and `glob`, confined to the folder, complete, and fast.
//!
//! Every file is opened beneath the folder's own descriptor and then judged by what was opened, never by
//! its name; nothing is resolved first and opened afterwards. What was left out of an answer is counted in
//! its notes. What is open and not saved, when somebody tells, is seen in the place of what is on disk. This
//! crate knows neither models nor editors, and it spawns no thread that outlives a call.

pub mod glob;
pub mod grep;
pub mod overlay;
pub mod read;
pub mod scan;
pub mod secrets;
pub mod stop;

mod access;
mod beneath;
mod content;
mod directory;
#[cfg(test)]
mod fixture;
mod list;
mod named;
mod rules;
mod similar;
mod spelling;
mod tally;
mod walk;
mod worktree;

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use dsh_protocol::workspace::ToolErrorCode;

use beneath::Root;
use list::List;
use overlay::Overlay;
use secrets::Secrets;
use spelling::Spelling;

/// Why a call has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    pub code: ToolErrorCode,
    /// Lower case; says what to do next.
    pub message: String,
}

impl Failure {
    pub(crate) fn new(code: ToolErrorCode, message: impl Into<String>) -> Failure {
        Failure { code, message: message.into() }
    }
}

/// The one answer to every path that leads out of the folder, whether or not anything is there.
pub(crate) fn outside() -> Failure {
    let message = "the path leads outside the workspace folder; use a path inside it";
    Failure::new(ToolErrorCode::FsSandboxDenied, message)
}

/// A value, and what its reader must know to judge it: what was skipped, cut or left unsearched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer<T> {
    pub value: T,
    pub notes: Vec<String>,
}

/// What holds for every call on a folder.
#[derive(Clone, Debug)]
pub struct Options {
    /// Refuses files with more than one hard link: such a file may have another name outside the folder.
    pub deny_hardlinks: bool,
    /// Globs on single names, without regard to case. The last one that matches decides; a leading `!`
    /// takes a name out again.
    pub secrets: Vec<String>,
    /// Opens files as on systems without openat2. For tests.
    pub force_portable_open: bool,
    /// Threads of one search.
    pub threads: usize,
    /// Larger files are skipped by searches.
    pub max_file_size: u64,
    /// Larger files are skipped by [`Folder::scan`].
    pub max_scan_size: u64,
    /// [`Folder::read`] looks, and counts lines, at most about so many bytes into a file.
    pub max_read_size: u64,
    /// [`Folder::text`] returns at most about this many bytes of decoded text.
    pub max_text_size: u64,
    /// A search gives up, with a note, after so many directory entries.
    pub max_entries: u64,
    /// What is found in folders is kept for the next search, in about so many bytes of memory at most; 0 keeps
    /// nothing.
    pub max_list_size: usize,
    /// What had changed less than this before it was read is read again by the next search: more than any
    /// clock that stamps files is late or coarse.
    pub list_slack: Duration,
    /// Other absolute paths of the folder, through links; they may change. A path that begins with one is inside.
    pub names: Arc<RwLock<Vec<PathBuf>>>,
    /// What is open and not saved, and seen in the place of the files on disk.
    pub overlay: Option<Arc<dyn Overlay>>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            deny_hardlinks: false,
            secrets: secrets::default_patterns(),
            force_portable_open: false,
            threads: std::thread::available_parallelism().map_or(2, usize::from).min(8),
            max_file_size: 256 << 20,
            max_scan_size: 1 << 20,
            max_read_size: 256 << 20,
            max_text_size: 16 << 20,
            max_entries: 5_000_000,
            max_list_size: 64 << 20,
            list_slack: Duration::from_secs(3),
            names: Arc::default(),
            overlay: None,
        }
    }
}

/// One workspace folder.
#[derive(Debug)]
pub struct Folder {
    /// Canonical.
    path: PathBuf,
    /// As it was given to `open`, made absolute.
    spelled: PathBuf,
    options: Options,
    secrets: Secrets,
    /// Replaced when the folder was removed and made again.
    root: RwLock<Arc<Root>>,
    /// What walks have found.
    list: Option<List>,
}

impl Folder {
    /// Opens an existing folder. Links above it and in its last component are followed, once, here.
    pub fn open(root: &Path, options: Options) -> Result<Folder, Failure> {
        let failed = |error| access::root_failure(root, &error);
        let path = std::fs::canonicalize(root).map_err(failed)?;
        let spelled = std::path::absolute(root).map_err(failed)?;
        let secrets = Secrets::new(&options.secrets)?;
        let names = vec![path.clone(), spelled.clone()];
        let opened =
            Root::open(path.clone(), names, options.force_portable_open).map_err(failed)?;
        let list = (options.max_list_size > 0)
            .then(|| List::new(options.max_list_size, options.list_slack));
        Ok(Folder { path, spelled, options, secrets, root: RwLock::new(Arc::new(opened)), list })
    }

    /// The folder's canonical path.
    pub fn root(&self) -> &Path {
        &self.path
    }

    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Why searches list folders anew that have not changed since the last one; nothing if they do not.
    pub fn list_trouble(&self) -> Option<&'static str> {
        self.list.as_ref()?.trouble()
    }

    /// How values show `path`: relative to the folder, without `.` and `..`, and `.` for the folder itself.
    /// Looks at the letters only; nothing needs to exist.
    pub fn relative(&self, path: &str) -> Result<String, Failure> {
        Ok(walk::display(&self.spelling(path)?.relative))
    }

    pub(crate) fn spelling(&self, path: &str) -> Result<Spelling, Failure> {
        Spelling::parse(path, &self.names())
    }

    /// Every absolute path of the folder that is known.
    pub(crate) fn names(&self) -> Vec<PathBuf> {
        let others = self.options.names.read().unwrap_or_else(PoisonError::into_inner);
        let own = [self.path.clone(), self.spelled.clone()];
        own.into_iter().chain(others.iter().cloned()).collect()
    }

    /// The open root. After a branch switch or a remount another folder may have its name: then that one.
    pub(crate) fn current(&self) -> Result<Arc<Root>, Failure> {
        let failed = |error| access::root_failure(&self.path, &error);
        let root = self.root.read().unwrap_or_else(PoisonError::into_inner).clone();
        let names = self.names();
        if root.is_current(&names).map_err(failed)? {
            return Ok(root);
        }
        let root = Root::open(self.path.clone(), names, self.options.force_portable_open);
        let root = Arc::new(root.map_err(failed)?);
        *self.root.write().unwrap_or_else(PoisonError::into_inner) = root.clone();
        Ok(root)
    }
}
