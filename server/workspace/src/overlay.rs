//! What editors have open and not saved, in the place of what is on disk.
//!
//! A document is found by the name, without links, of the file that it would be saved to, and stands under
//! every rule that holds for that file. Only its text is another: files of ignore rules count as they are
//! on disk, and no file is reached because a document names it.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::fmt::Debug;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::beneath::Root;
use crate::content::{Buffer, Loaded};
use crate::directory::{Entry, Kind};
use crate::stop::Stop;
use crate::tally::Tally;
use crate::{Failure, Folder, Options, spelling};

/// What editors have open and not saved. Every call on a folder asks for the paths once, and for a text
/// when it gets to it; documents may be opened, changed and closed meanwhile.
pub trait Overlay: Send + Sync + Debug {
    /// The text of an open document, by its absolute path as the editor names it: links are not resolved.
    fn text(&self, path: &Path) -> Option<Arc<str>>;
    /// The paths of all open documents, in any folder. One that is as it was saved may be among them or
    /// not: no note is made of it.
    fn paths(&self) -> Vec<PathBuf>;
}

/// One open document.
#[derive(Debug)]
pub(crate) struct Document {
    overlay: Arc<dyn Overlay>,
    /// As the editor names it.
    path: PathBuf,
}

impl Document {
    /// Nothing if it was closed meanwhile.
    pub(crate) fn text(&self) -> Option<Arc<str>> {
        self.overlay.text(&self.path)
    }
}

/// The open documents of one folder, and the folders on the way to those further down.
#[derive(Debug, Default)]
pub(crate) struct Open {
    documents: BTreeMap<OsString, Document>,
    folders: BTreeSet<OsString>,
}

impl Open {
    pub(crate) fn document(&self, name: &OsStr) -> Option<&Document> {
        self.documents.get(name)
    }

    /// Adds to a folder's entries, which are in order, what is not among them because it is not on disk.
    pub(crate) fn complete(&self, entries: &mut Vec<Entry>) {
        let is_there = |name: &OsString| entries.binary_search_by(|it| it.name.cmp(name)).is_ok();
        let documents = self.documents.keys().map(|name| (name, Kind::File));
        let folders = self.folders.iter().map(|name| (name, Kind::Folder));
        let missing: Vec<Entry> = documents
            .chain(folders)
            .filter(|(name, _)| !is_there(name))
            .map(|(name, kind)| Entry { name: name.clone(), kind })
            .collect();
        if !missing.is_empty() {
            entries.extend(missing);
            entries.sort_by(|a, b| a.name.cmp(&b.name));
            // Two documents can disagree on whether a name is a folder's.
            entries.dedup_by(|a, b| a.name == b.name);
        }
    }
}

/// The open documents of a workspace folder, by folders without links and relative to it.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    folders: HashMap<PathBuf, Open>,
}

impl Buffers {
    pub(crate) fn is_empty(&self) -> bool {
        self.folders.is_empty()
    }

    /// What is open in or below a folder.
    pub(crate) fn within(&self, folder: &Path) -> Option<&Open> {
        self.folders.get(folder)
    }

    pub(crate) fn document(&self, path: &Path) -> Option<&Document> {
        self.within(path.parent()?)?.document(path.file_name()?)
    }

    /// The first document of a file is the one that counts.
    fn add(&mut self, path: &Path, document: Document) {
        let (Some(mut folder), Some(name)) = (path.parent(), path.file_name()) else {
            return;
        };
        let open = self.folders.entry(folder.to_owned()).or_default();
        open.documents.entry(name.to_owned()).or_insert(document);
        while let (Some(outer), Some(name)) = (folder.parent(), folder.file_name()) {
            if !self.folders.entry(outer.to_owned()).or_default().folders.insert(name.to_owned()) {
                return;
            }
            folder = outer;
        }
    }
}

/// What a call looks at.
#[derive(Debug)]
pub(crate) struct View {
    pub(crate) root: Arc<Root>,
    pub(crate) buffers: Buffers,
}

impl Folder {
    pub(crate) fn view(&self) -> Result<View, Failure> {
        let root = self.current()?;
        let buffers = self.buffers(&root);
        Ok(View { root, buffers })
    }

    fn buffers(&self, root: &Root) -> Buffers {
        let mut buffers = Buffers::default();
        let Some(overlay) = &self.options.overlay else {
            return buffers;
        };
        let names = self.names();
        let locate = |path: PathBuf| {
            let real = self.document_name(root, &names, &path)?;
            Some((real.is_other, path, real.path))
        };
        let mut located: Vec<_> = overlay.paths().into_iter().filter_map(locate).collect();
        // When a file is open by several names, its own counts, or else the first.
        located.sort();
        for (_, path, real) in located {
            buffers.add(&real, Document { overlay: overlay.clone(), path });
        }
        buffers
    }

    /// Which file of the folder a document is; nothing if none, or none that may be known by that name.
    fn document_name(&self, root: &Root, names: &[PathBuf], path: &Path) -> Option<Real> {
        if !path.is_absolute() {
            return None;
        }
        let relative = spelling::normalize(path, names).ok()?;
        let real = root.resolve(&relative).ok()?;
        let is_other = real != relative;
        // A secret that is open by its own name is left in, to be refused and counted like the file.
        (!is_other || !self.secrets.holds(&relative)).then_some(Real { path: real, is_other })
    }
}

struct Real {
    path: PathBuf,
    /// The document was opened by another name.
    is_other: bool,
}

/// What the open of a name on disk came to.
#[derive(Debug)]
pub(crate) enum Saved {
    Open(File),
    /// It is there, and may not be read.
    Unreadable,
    Missing,
}

impl Saved {
    /// What a failed open means for a document of that name; nothing if it must not be shown either.
    pub(crate) fn failed(error: &io::Error, options: &Options) -> Option<Saved> {
        let kind = error.kind();
        if kind == io::ErrorKind::NotFound {
            return Some(Saved::Missing);
        }
        // How many links a file has cannot be seen before it is open.
        let is_unreadable = kind == io::ErrorKind::PermissionDenied && !options.deny_hardlinks;
        is_unreadable.then_some(Saved::Unreadable)
    }
}

/// Where the text of a file comes from.
#[derive(Debug)]
pub(crate) enum Source {
    Disk(File),
    Unsaved(Unsaved),
}

impl Source {
    pub(crate) fn new(text: Option<Arc<str>>, file: File) -> Source {
        match text {
            Some(text) => Source::Unsaved(Unsaved { text, saved: Saved::Open(file) }),
            None => Source::Disk(file),
        }
    }

    /// Notes that what was seen of the file at `path` is not what is on disk, if that is so.
    pub(crate) fn note(&self, path: &str, buffer: &mut Buffer, stop: &Stop, tally: &mut Tally) {
        match self {
            Source::Disk(_) => {}
            Source::Unsaved(Unsaved { saved: Saved::Missing, .. }) => tally.new.add(path),
            Source::Unsaved(unsaved) if unsaved.is_as_saved(buffer, stop) => {}
            Source::Unsaved(_) => tally.unsaved.add(path),
        }
    }
}

/// A document's text, and the file that it stands for.
#[derive(Debug)]
pub(crate) struct Unsaved {
    pub(crate) text: Arc<str>,
    pub(crate) saved: Saved,
}

impl Unsaved {
    /// The text without byte order mark, which some editors leave in.
    pub(crate) fn text(&self) -> &str {
        self.text.strip_prefix('\u{feff}').unwrap_or(&self.text)
    }

    /// Whether the file has the same text. Whatever its encoding, it is then at most twice as long.
    fn is_as_saved(&self, buffer: &mut Buffer, stop: &Stop) -> bool {
        let Saved::Open(file) = &self.saved else {
            return false;
        };
        let text = self.text().as_bytes();
        let limit = text.len().saturating_mul(2).saturating_add(4);
        matches!(buffer.load(file, limit, stop), Ok(Loaded::Whole(bytes)) if bytes == text)
    }
}
