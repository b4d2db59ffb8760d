//! The parallel walk that every search shares: which files exist for a model.
//!
//! Hidden files are seen; ignored ones, secrets and the internals of version control are not. Links are
//! not followed, other file systems not entered. Folders are opened beneath the root one by one, so a
//! folder that is swapped for a link during the walk is an error of that folder and no way out.

mod queue;
#[cfg(test)]
mod tests;

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::beneath::{Root, Want};
use crate::directory::{self, Entry, Kind};
use crate::overlay::{Buffers, Document, Open};
use crate::rules::Rules;
use crate::secrets::Secrets;
use crate::stop::Stop;
use crate::tally::Tally;
use crate::worktree::Worktrees;
use queue::Queue;

/// A folder with more files is split, so that one flat folder keeps all threads busy.
const BATCH_FILES: usize = 128;

/// Names that belong to version control, be they folders or files.
const INTERNALS: [&str; 6] = [".git", ".svn", ".hg", ".bzr", ".jj", ".sl"];

/// Whether a single name is one of version control's own.
pub(crate) fn is_internal(name: &OsStr) -> bool {
    INTERNALS.iter().any(|internal| name.eq_ignore_ascii_case(internal))
}

/// What to walk.
pub(crate) struct Walk<'w> {
    pub(crate) root: &'w Root,
    pub(crate) buffers: &'w Buffers,
    /// The folder to begin with, without links, relative to the root.
    pub(crate) base: &'w Path,
    /// The rules from above `base`; nothing if what is directly in `base` is never ignored.
    pub(crate) rules: Option<Arc<Rules>>,
    pub(crate) secrets: &'w Secrets,
    pub(crate) threads: usize,
    pub(crate) max_entries: u64,
    /// How many folders deep below `base`; 0 is `base` alone.
    pub(crate) max_depth: Option<usize>,
    pub(crate) stop: &'w Stop,
}

/// A visible file, not yet opened.
pub(crate) struct Found<'f> {
    /// Relative to the root, with `/` between components.
    pub(crate) path: &'f str,
    pub(crate) name: &'f OsStr,
    /// What is open under that name; then there may be no file yet.
    pub(crate) document: Option<&'f Document>,
    directory: Option<&'f File>,
}

impl Found<'_> {
    /// Opens the file. Whether it is still a regular one is for the caller to look at.
    pub(crate) fn open(&self) -> io::Result<(File, Metadata)> {
        let file = directory::open_file(self.directory()?, self.name)?;
        let metadata = file.metadata()?;
        Ok((file, metadata))
    }

    pub(crate) fn modified(&self) -> io::Result<i128> {
        directory::modified(self.directory()?, self.name)
    }

    fn directory(&self) -> io::Result<&File> {
        self.directory.ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// One thread's part in a walk.
pub(crate) trait Visit: Send {
    fn file(&mut self, found: &Found<'_>, tally: &mut Tally);
}

/// A folder to list.
struct Level {
    path: PathBuf,
    /// How far below the walk's base.
    depth: usize,
    /// The rules from above it.
    rules: Arc<Rules>,
}

/// Some of a folder's files, all visible.
struct Batch<'w> {
    /// Nothing if the folder is not on disk.
    directory: Option<Arc<File>>,
    /// The folder's path with a `/` behind it.
    prefix: Arc<str>,
    open: Option<&'w Open>,
    names: Vec<OsString>,
}

enum Job<'w> {
    Folder(Level),
    Files(Batch<'w>),
}

/// What one thread has made of its share.
struct Part<V> {
    visitor: V,
    tally: Tally,
}

/// Walks with one visitor per thread and returns them with everything that was left out.
pub(crate) fn walk<V: Visit>(walk: &Walk<'_>, visitor: impl Fn() -> V + Sync) -> (Vec<V>, Tally) {
    let rules = walk.rules.clone().unwrap_or_default();
    let queue = Queue::new(Job::Folder(Level { path: walk.base.to_owned(), depth: 0, rules }));
    let worktrees = Worktrees::of(walk.root);
    let shared = Shared {
        walk,
        queue: &queue,
        device: device_of(walk),
        entries: AtomicU64::new(0),
        worktrees,
    };
    let run = || {
        let mut part = Part { visitor: visitor(), tally: Tally::default() };
        while let Some((job, _running)) = queue.next() {
            if walk.stop.reason().is_some() {
                part.tally.stopped = true;
                queue.clear();
                continue;
            }
            shared.run(job, &mut part);
        }
        part
    };
    let mut visitors = Vec::new();
    let mut total = Tally::default();
    std::thread::scope(|scope| {
        // When the system has no more threads to give, fewer will do.
        let spawn = || {
            std::thread::Builder::new().name("dsh-walk".to_owned()).spawn_scoped(scope, run).ok()
        };
        let others: Vec<_> = (1..walk.threads).filter_map(|_| spawn()).collect();
        let mut parts = vec![run()];
        for other in others {
            match other.join() {
                Ok(part) => parts.push(part),
                // A visitor's panic is the caller's to see.
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        for part in parts {
            visitors.push(part.visitor);
            total.merge(part.tally);
        }
    });
    (visitors, total)
}

struct Shared<'s> {
    walk: &'s Walk<'s>,
    queue: &'s Queue<Job<'s>>,
    /// The file system that the walk stays on.
    device: Option<u64>,
    /// Directory entries seen so far.
    entries: AtomicU64,
    worktrees: Worktrees,
}

impl<'s> Shared<'s> {
    fn run<V: Visit>(&self, job: Job<'s>, part: &mut Part<V>) {
        match job {
            Job::Folder(level) => {
                let shown = display(&level.path);
                match self.folder(level, part) {
                    Ok(()) => {}
                    // Removed since it was listed.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(_) => part.tally.unreadable.add(&shown),
                }
            }
            Job::Files(batch) => self.files(&batch, part),
        }
    }

    fn folder<V: Visit>(&self, mut level: Level, part: &mut Part<V>) -> io::Result<()> {
        let open = self.walk.buffers.within(&level.path);
        let folder = match self.walk.root.open_plain(&level.path, Want::Folder) {
            Ok(folder) => folder,
            Err(error) if error.kind() == io::ErrorKind::NotFound && open.is_some() => {
                self.enter(&level, None, Vec::new(), part);
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        if Some(device(&folder.metadata()?)) != self.device {
            part.tally.mounts.add(&display(&level.path));
            return Ok(());
        }
        let entries = directory::entries(&folder, self.walk.stop)?;
        if level.depth > 0 && self.worktrees.is_linked(&level.path, &folder, &entries) {
            part.tally.worktrees.add(&display(&level.path));
            return Ok(());
        }
        if level.depth > 0 || self.walk.rules.is_some() {
            level.rules =
                Rules::within(level.rules, self.walk.root, &level.path, &folder, &entries);
        }
        self.enter(&level, Some(folder), entries, part);
        Ok(())
    }

    /// Takes up what is in a folder: its entries on disk, and what only editors have in it.
    fn enter<V: Visit>(
        &self,
        level: &Level,
        directory: Option<File>,
        mut entries: Vec<Entry>,
        part: &mut Part<V>,
    ) {
        let open = self.walk.buffers.within(&level.path);
        if let Some(open) = open {
            open.complete(&mut entries);
        }
        let prefix = if level.path.as_os_str().is_empty() {
            String::new()
        } else {
            display(&level.path) + "/"
        };
        let (mut files, mut jobs) = self.sift(level, &prefix, entries, &mut part.tally);
        let directory = directory.map(Arc::new);
        let prefix: Arc<str> = prefix.into();
        let batch =
            |names| Batch { directory: directory.clone(), prefix: prefix.clone(), open, names };
        // Last in, first out: reversed, what comes first by name is also searched first.
        jobs.reverse();
        while files.len() > BATCH_FILES {
            let names = files.split_off(files.len().saturating_sub(BATCH_FILES));
            jobs.push(Job::Files(batch(names)));
        }
        self.queue.add(jobs);
        self.files(&batch(files), part);
    }

    /// Parts a folder's entries into the files to visit and the folders to walk.
    fn sift(
        &self,
        level: &Level,
        prefix: &str,
        entries: Vec<Entry>,
        tally: &mut Tally,
    ) -> (Vec<OsString>, Vec<Job<'s>>) {
        let mut files = Vec::new();
        let mut folders = Vec::new();
        let mut relative = prefix.to_owned();
        for entry in entries {
            tally.stopped |= self.walk.stop.reason().is_some();
            if self.is_exhausted(tally) || tally.stopped {
                break;
            }
            let is_folder = match entry.kind {
                _ if is_internal(&entry.name) => continue,
                Kind::File => false,
                Kind::Folder => true,
                Kind::Link => {
                    tally.links += 1;
                    continue;
                }
                Kind::Special => continue,
            };
            relative.truncate(prefix.len());
            relative.push_str(&entry.name.to_string_lossy());
            if self.walk.secrets.is_secret(Path::new(&entry.name)) {
                tally.secrets += 1;
            } else if level.rules.ignores(Path::new(&relative), is_folder) {
                tally.ignored_files += u64::from(!is_folder);
                tally.ignored_folders += u64::from(is_folder);
            } else if !is_folder {
                files.push(entry.name);
            } else if self.walk.max_depth.is_none_or(|max| level.depth < max) {
                let (path, rules) = (level.path.join(&entry.name), level.rules.clone());
                folders.push(Job::Folder(Level { path, depth: level.depth + 1, rules }));
            }
        }
        (files, folders)
    }

    fn files<V: Visit>(&self, batch: &Batch<'_>, part: &mut Part<V>) {
        let mut path = batch.prefix.to_string();
        for name in &batch.names {
            if self.walk.stop.reason().is_some() {
                part.tally.stopped = true;
                return;
            }
            path.truncate(batch.prefix.len());
            path.push_str(&name.to_string_lossy());
            part.tally.visible += 1;
            let document = batch.open.and_then(|open| open.document(name));
            let directory = batch.directory.as_deref();
            let found = Found { path: &path, name, document, directory };
            part.visitor.file(&found, &mut part.tally);
        }
    }

    fn is_exhausted(&self, tally: &mut Tally) -> bool {
        let exhausted = self.entries.fetch_add(1, Ordering::Relaxed) >= self.walk.max_entries;
        tally.exhausted |= exhausted;
        exhausted
    }
}

/// A path as values show it.
pub(crate) fn display(path: &Path) -> String {
    let text = path.to_string_lossy().into_owned();
    if text.is_empty() {
        return ".".to_owned();
    }
    if cfg!(windows) { text.replace('\\', "/") } else { text }
}

/// How much of a path in a walk of `base` is before the part below `base`.
pub(crate) fn prefix_length(base: &Path) -> usize {
    if base.as_os_str().is_empty() { 0 } else { display(base).len() + 1 }
}

fn device_of(walk: &Walk<'_>) -> Option<u64> {
    let base = walk.root.open_plain(walk.base, Want::Folder).ok()?;
    base.metadata().ok().map(|metadata| device(&metadata))
}

#[cfg(unix)]
fn device(metadata: &Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt;
    metadata.dev()
}

/// Without device numbers every folder passes for one of the same file system.
#[cfg(not(unix))]
fn device(_metadata: &Metadata) -> u64 {
    0
}
