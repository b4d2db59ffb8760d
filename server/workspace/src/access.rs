//! Getting at one named path: the checks that stand before and after its open, and the words for every refusal.

use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dsh_protocol::workspace::ToolErrorCode;

use crate::beneath::{Refusal, Root, Want};
use crate::overlay::{Document, Saved, Source, Unsaved, View};
use crate::spelling::Spelling;
use crate::stop::{Stop, StopReason};
use crate::tally::Tally;
use crate::walk::{Found, display};
use crate::{Failure, Folder, Options, outside};

/// What a path turned out to name.
#[derive(Debug)]
pub(crate) enum Place {
    File(NamedFile),
    /// A folder, by its path without links.
    Folder(PathBuf),
}

/// A regular file, open for reading, or a document of that name.
#[derive(Debug)]
pub(crate) struct NamedFile {
    pub(crate) source: Source,
    pub(crate) size: u64,
    /// Without links, relative to the root.
    pub(crate) real: PathBuf,
    /// As values show it.
    pub(crate) shown: String,
}

/// What the open of an allowed path came to.
struct Reached {
    saved: Saved,
    /// Without links, relative to the root.
    real: PathBuf,
}

impl Folder {
    /// Opens a path that must be a regular file.
    pub(crate) fn file(&self, view: &View, path: &str) -> Result<NamedFile, Failure> {
        match self.place(view, path)? {
            Place::File(file) => Ok(file),
            Place::Folder(real) => {
                let shown = display(&real);
                let all = if shown == "." { "*".to_owned() } else { format!("{shown}/*") };
                let message =
                    format!("{shown} is a folder; list it with glob, for example `{all}`");
                Err(Failure::new(ToolErrorCode::FsNotRegularFile, message))
            }
        }
    }

    /// Opens a path that must be a regular file or a folder.
    pub(crate) fn place(&self, view: &View, path: &str) -> Result<Place, Failure> {
        let spelling = self.spelling(path)?;
        let relative = &spelling.relative;
        let shown = display(relative);
        let Reached { saved, real } = self.open_allowed(view, relative, Want::File)?;
        let document = view.buffers.document(&real);
        let mut size = 0;
        if let Saved::Open(file) = &saved {
            let metadata = file.metadata().map_err(|error| io_failure(&shown, &error))?;
            if is_process_table(file) {
                return Err(outside());
            }
            if metadata.is_dir() {
                return Ok(Place::Folder(real));
            }
            self.ensure_readable(&metadata, &shown)?;
            size = metadata.len();
        } else if document.is_none() {
            return Ok(Place::Folder(real));
        }
        if spelling.is_folder {
            let message = format!("{shown} is a file, not a folder; leave out the `/` at its end");
            return Err(Failure::new(ToolErrorCode::FsNotDirectory, message));
        }
        let text = document.and_then(Document::text);
        size = text.as_ref().map_or(size, |text| text.len() as u64);
        let source = match (text, saved) {
            (text, Saved::Open(file)) => Source::new(text, file),
            (Some(text), saved) => Source::Unsaved(Unsaved { text, saved }),
            // Closed a moment ago.
            (None, Saved::Unreadable) => {
                return Err(io_failure(&shown, &io::ErrorKind::PermissionDenied.into()));
            }
            (None, Saved::Missing) => return Err(self.missing(&view.root, relative)),
        };
        Ok(Place::File(NamedFile { source, size, real, shown }))
    }

    fn ensure_readable(&self, metadata: &Metadata, shown: &str) -> Result<(), Failure> {
        if !metadata.is_file() {
            return Err(special(shown));
        }
        if self.options.deny_hardlinks && has_other_names(metadata) {
            let message = format!("{shown} has more than one hard link, and denyHardlinks is on");
            return Err(Failure::new(ToolErrorCode::FsSandboxDenied, message));
        }
        Ok(())
    }

    /// Opens a path that must be a folder and returns its path without links.
    pub(crate) fn folder(&self, view: &View, spelling: &Spelling) -> Result<PathBuf, Failure> {
        let Reached { saved, real } = self.open_allowed(view, &spelling.relative, Want::Folder)?;
        if !matches!(saved, Saved::Open(_)) && view.buffers.document(&real).is_some() {
            return Err(no_folder(&display(&spelling.relative)));
        }
        Ok(real)
    }

    /// Opens a path unless its name, as written or as resolved, is a secret's.
    fn open_allowed(&self, view: &View, relative: &Path, want: Want) -> Result<Reached, Failure> {
        let shown = display(relative);
        if self.secrets.holds(relative) {
            return Err(secret(&shown));
        }
        let reached = match view.root.open_following(relative, want) {
            Ok(opened) => Reached { saved: Saved::Open(opened.file), real: opened.real },
            Err(refusal) => match self.unopened(view, relative, &refusal) {
                Some(reached) => reached,
                None => return Err(self.refused(&view.root, relative, want, refusal)),
            },
        };
        if self.secrets.holds(&reached.real) {
            return Err(secret(&shown));
        }
        Ok(reached)
    }

    /// A document, or a folder of documents, whose name on disk cannot be opened.
    fn unopened(&self, view: &View, relative: &Path, refusal: &Refusal) -> Option<Reached> {
        let Refusal::Io(error) = refusal else {
            return None;
        };
        if view.buffers.is_empty() {
            return None;
        }
        let saved = Saved::failed(error, &self.options)?;
        let real = view.root.resolve(relative).ok()?;
        let is_new_folder = matches!(saved, Saved::Missing) && view.buffers.within(&real).is_some();
        (is_new_folder || view.buffers.document(&real).is_some()).then_some(Reached { saved, real })
    }

    fn refused(&self, root: &Root, relative: &Path, want: Want, refusal: Refusal) -> Failure {
        let shown = display(relative);
        let error = match refusal {
            Refusal::Outside => return outside(),
            Refusal::Links => {
                let message = format!("{shown} goes through too many links; name the file itself");
                return Failure::new(ToolErrorCode::FsNotFound, message);
            }
            Refusal::Io(error) => error,
        };
        let is_there = || root.open_following(relative, Want::File).is_ok();
        let kind = error.kind();
        if kind == io::ErrorKind::NotADirectory && want == Want::Folder && is_there() {
            return no_folder(&shown);
        }
        if kind == io::ErrorKind::NotFound || kind == io::ErrorKind::NotADirectory {
            return self.missing(root, relative);
        }
        if is_unconnected(&error) { special(&shown) } else { io_failure(&shown, &error) }
    }

    fn missing(&self, root: &Root, relative: &Path) -> Failure {
        let near = self.similar_name(root, relative);
        let hint = near.map_or_else(
            || "find its path with glob".to_owned(),
            |near| format!("there is {near}"),
        );
        let message = format!("there is no {}; {hint}", display(relative));
        Failure::new(ToolErrorCode::FsNotFound, message)
    }
}

/// Opens a file of a walk, or the document in its place, unless it is not to be searched after all; `tally`
/// then says why.
pub(crate) fn open_found(
    found: &Found<'_>,
    options: &Options,
    max_size: u64,
    tally: &mut Tally,
) -> Option<Source> {
    let text = found.document.and_then(Document::text);
    let (file, metadata) = match found.open() {
        Ok(opened) => opened,
        Err(error)
            if let Some(text) = &text
                && let Some(saved) = Saved::failed(&error, options) =>
        {
            let is_fitting = fits(text.len() as u64, max_size, found, tally);
            let text = Arc::clone(text);
            return is_fitting.then_some(Source::Unsaved(Unsaved { text, saved }));
        }
        // Removed or replaced since it was listed: it is no regular file of this folder any more.
        Err(error)
            if error.kind() == io::ErrorKind::NotFound
                || is_link(&error)
                || is_unconnected(&error) =>
        {
            return None;
        }
        Err(_) => {
            tally.unreadable.add(found.path);
            return None;
        }
    };
    if !metadata.is_file() {
        return None;
    }
    if options.deny_hardlinks && has_other_names(&metadata) {
        tally.hard_linked.add(found.path);
        return None;
    }
    let size = text.as_ref().map_or(metadata.len(), |text| text.len() as u64);
    fits(size, max_size, found, tally).then(|| Source::new(text, file))
}

fn fits(size: u64, max_size: u64, found: &Found<'_>, tally: &mut Tally) -> bool {
    let fits = size <= max_size;
    if !fits {
        tally.too_large.add(found.path);
    }
    fits
}

/// Fails when nobody waits for the result any more.
pub(crate) fn ensure_wanted(stop: &Stop) -> Result<(), Failure> {
    match stop.reason() {
        Some(StopReason::Cancelled) => Err(stopped(StopReason::Cancelled)),
        Some(StopReason::Deadline) | None => Ok(()),
    }
}

pub(crate) fn stopped(reason: StopReason) -> Failure {
    match reason {
        StopReason::Cancelled => Failure::new(ToolErrorCode::Aborted, "the call was cancelled"),
        StopReason::Deadline => {
            let message = "the deadline passed before there was a result; ask for less";
            Failure::new(ToolErrorCode::ToolTimeout, message)
        }
    }
}

pub(crate) fn io_failure(shown: &str, error: &io::Error) -> Failure {
    let kind = error.kind();
    let (code, what) = if kind == io::ErrorKind::PermissionDenied {
        (ToolErrorCode::FsPermissionDenied, "may not be read by this user; leave it out".to_owned())
    } else if kind == io::ErrorKind::InvalidFilename || kind == io::ErrorKind::InvalidInput {
        (ToolErrorCode::FsNotFound, "is not a name that a file can have; correct it".to_owned())
    } else if kind == io::ErrorKind::ResourceBusy {
        (ToolErrorCode::FsIoError, "keeps being replaced; try again".to_owned())
    } else {
        (ToolErrorCode::FsIoError, format!("could not be read: {error}; try again"))
    };
    Failure::new(code, format!("{shown} {what}"))
}

/// The workspace folder itself cannot be opened.
pub(crate) fn root_failure(root: &Path, error: &io::Error) -> Failure {
    let kind = error.kind();
    let (code, what) = if kind == io::ErrorKind::NotFound {
        (ToolErrorCode::FsNotFound, "does not exist at the moment".to_owned())
    } else if kind == io::ErrorKind::NotADirectory {
        (ToolErrorCode::FsNotDirectory, "is not a folder".to_owned())
    } else if kind == io::ErrorKind::PermissionDenied {
        (ToolErrorCode::FsPermissionDenied, "may not be read by this user".to_owned())
    } else {
        (ToolErrorCode::FsIoError, format!("could not be opened: {error}"))
    };
    let message =
        format!("the workspace folder {} {what}; restore it or open another", root.display());
    Failure::new(code, message)
}

fn secret(shown: &str) -> Failure {
    let message =
        format!("the name of {shown} looks like a secret's, which tools do not read; ask the user");
    Failure::new(ToolErrorCode::FsSecretDenied, message)
}

fn no_folder(shown: &str) -> Failure {
    let message = format!("{shown} is a file, not a folder; give the folder that holds it");
    Failure::new(ToolErrorCode::FsNotDirectory, message)
}

fn special(shown: &str) -> Failure {
    let message = format!("{shown} is a device, socket or pipe; name a regular file");
    Failure::new(ToolErrorCode::FsNotRegularFile, message)
}

/// What the open of a socket, or of a device without a driver, is answered with.
#[cfg(unix)]
fn is_unconnected(error: &io::Error) -> bool {
    use rustix::io::Errno;
    matches!(Errno::from_io_error(error), Some(Errno::NXIO | Errno::NODEV | Errno::OPNOTSUPP))
}

#[cfg(unix)]
fn is_link(error: &io::Error) -> bool {
    rustix::io::Errno::from_io_error(error) == Some(rustix::io::Errno::LOOP)
}

#[cfg(not(unix))]
fn is_unconnected(_error: &io::Error) -> bool {
    false
}

#[cfg(not(unix))]
fn is_link(_error: &io::Error) -> bool {
    false
}

#[cfg(unix)]
fn has_other_names(metadata: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    metadata.nlink() > 1
}

#[cfg(not(unix))]
fn has_other_names(_metadata: &Metadata) -> bool {
    false
}

/// Whether the file or folder belongs to `/proc`, where the environment of this very process, with its keys,
/// can be read. It is reachable only when the workspace folder is `/` or holds such a mount.
#[cfg(target_os = "linux")]
fn is_process_table(file: &File) -> bool {
    rustix::fs::fstatfs(file).is_ok_and(|it| it.f_type == rustix::fs::PROC_SUPER_MAGIC)
}

#[cfg(not(target_os = "linux"))]
fn is_process_table(_file: &File) -> bool {
    false
}
