//! Files of one workspace folder: `read`, `grep` and `glob`, confined to the folder, complete, and fast.
//!
//! Every file is opened beneath the folder's own descriptor and then judged by what was opened, never by
//! its name; nothing is resolved first and opened afterwards. What was left out of an answer is counted in
//! its notes. This crate knows neither models nor editors, and it spawns no thread that outlives a call.

pub mod glob;
pub mod grep;
pub mod read;
pub mod scan;
pub mod stop;

use std::path::{Path, PathBuf};

use dsh_protocol::workspace::ToolErrorCode;

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
    /// [`Folder::text`] returns at most this many bytes of decoded text.
    pub max_text_size: u64,
    /// A search gives up, with a note, after so many directory entries.
    pub max_entries: u64,
}

impl Default for Options {
    fn default() -> Options {
        let threads = std::thread::available_parallelism().map_or(2, usize::from).min(8);
        Options {
            deny_hardlinks: false,
            secrets: Vec::new(),
            force_portable_open: false,
            threads,
            max_file_size: 256 << 20,
            max_scan_size: 1 << 20,
            max_text_size: 16 << 20,
            max_entries: 5_000_000,
        }
    }
}

/// One workspace folder.
pub struct Folder {
    root: PathBuf,
    options: Options,
}

impl Folder {
    /// Opens `root`, which must be an existing folder; links above it and in its last component are followed.
    pub fn open(root: &Path, options: Options) -> Result<Folder, Failure> {
        let root = root.canonicalize().map_err(|error| {
            Failure::new(ToolErrorCode::FsNotFound, format!("{}: {error}", root.display()))
        })?;
        Ok(Folder { root, options })
    }

    /// The folder's canonical path.
    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn options(&self) -> &Options {
        &self.options
    }
}
