//! The files of a folder that a walk hands to its visitors.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use super::{Part, Shared, Visit};
use crate::beneath::{Root, Want};
use crate::directory;
use crate::list::{Contents, Span};
use crate::overlay::{Document, Open};

/// A visible file, not yet opened.
pub(crate) struct Found<'f> {
    /// Relative to the root, with `/` between components.
    pub(crate) path: &'f str,
    pub(crate) name: &'f OsStr,
    /// What is open under that name; then there may be no file yet.
    pub(crate) document: Option<&'f Document>,
    directory: &'f Directory<'f>,
}

impl Found<'_> {
    /// Opens the file. Whether it is still a regular one is for the caller to look at.
    pub(crate) fn open(&self) -> io::Result<(File, Metadata)> {
        let file = directory::open_file(self.directory.file()?, self.name)?;
        let metadata = file.metadata()?;
        Ok((file, metadata))
    }

    pub(crate) fn modified(&self) -> io::Result<i128> {
        directory::modified(self.directory.file()?, self.name)
    }
}

/// A folder that is opened when a file in it is.
pub(super) struct Directory<'w> {
    root: &'w Root,
    path: PathBuf,
    /// It is in editors only.
    is_missing: bool,
    file: OnceLock<File>,
}

impl<'w> Directory<'w> {
    pub(super) fn new(root: &'w Root, path: PathBuf) -> Directory<'w> {
        Directory { root, path, is_missing: false, file: OnceLock::new() }
    }

    pub(super) fn missing(root: &'w Root) -> Directory<'w> {
        Directory { root, path: PathBuf::new(), is_missing: true, file: OnceLock::new() }
    }

    pub(super) fn opened(root: &'w Root, path: PathBuf, file: File) -> Directory<'w> {
        Directory { root, path, is_missing: false, file: OnceLock::from(file) }
    }

    fn file(&self) -> io::Result<&File> {
        if let Some(file) = self.file.get() {
            return Ok(file);
        }
        if self.is_missing {
            return Err(io::ErrorKind::NotFound.into());
        }
        let file = self.root.open_plain(&self.path, Want::Folder)?;
        Ok(self.file.get_or_init(|| file))
    }
}

/// Some of a folder's files, all visible.
pub(super) struct Batch<'w> {
    pub(super) directory: Arc<Directory<'w>>,
    /// The folder's path with a `/` behind it.
    pub(super) prefix: Arc<str>,
    pub(super) open: Option<&'w Open>,
    pub(super) contents: Arc<Contents>,
    pub(super) span: Span,
}

impl Shared<'_> {
    pub(super) fn files<V: Visit>(&self, batch: &Batch<'_>, part: &mut Part<V>) {
        let mut path = batch.prefix.to_string();
        for name in batch.contents.files.iter(batch.span) {
            if self.walk.stop.reason().is_some() {
                part.tally.stopped = true;
                return;
            }
            path.truncate(batch.prefix.len());
            path.push_str(&name.to_string_lossy());
            part.tally.visible += 1;
            let document = batch.open.and_then(|open| open.document(name));
            let found = Found { path: &path, name, document, directory: &batch.directory };
            part.visitor.file(&found, &mut part.tally);
        }
    }
}
