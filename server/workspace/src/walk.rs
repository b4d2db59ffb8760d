//! The parallel walk that every search shares: which files exist for a model.
//!
//! Hidden files are seen; ignored ones, secrets and the internals of version control are not. Links are
//! not followed, other file systems not entered. Folders are opened beneath the root one by one, so a
//! folder that is swapped for a link during the walk is an error of that folder and no way out.

mod files;
mod folders;
mod queue;
#[cfg(test)]
mod tests;

use std::ffi::OsStr;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crate::beneath::{Root, Want};
use crate::list::{self, List};
use crate::overlay::Buffers;
use crate::rules::Rules;
use crate::secrets::Secrets;
use crate::stop::Stop;
use crate::tally::Tally;
use crate::worktree::Worktrees;
use files::Batch;
pub(crate) use files::Found;
use queue::Queue;

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
    /// What is directly in `base` is never ignored: neither by rules from above nor by its own.
    pub(crate) is_lifted: bool,
    /// What earlier walks have found, and this one may.
    pub(crate) list: Option<&'w List>,
    pub(crate) secrets: &'w Secrets,
    pub(crate) threads: usize,
    pub(crate) max_entries: u64,
    /// How many folders deep below `base`; 0 is `base` alone.
    pub(crate) max_depth: Option<usize>,
    pub(crate) stop: &'w Stop,
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
    let (device, list) = ground(walk);
    let number = list.map_or(0, List::begin);
    let rules = folders::rules_above(walk, list, number);
    let queue = Queue::new(Job::Folder(Level { path: walk.base.to_owned(), depth: 0, rules }));
    let worktrees = Worktrees::of(walk.root);
    let shared =
        Shared { walk, queue: &queue, device, list, number, entries: AtomicU64::new(0), worktrees };
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
    let is_everything = walk.base.as_os_str().is_empty() && walk.max_depth.is_none();
    if let Some(list) = list
        && is_everything
        && !total.is_partial()
    {
        list.end(number);
    }
    (visitors, total)
}

struct Shared<'s> {
    walk: &'s Walk<'s>,
    queue: &'s Queue<Job<'s>>,
    /// The file system that the walk stays on.
    device: Option<u64>,
    list: Option<&'s List>,
    /// The walk's in the list.
    number: u64,
    /// Directory entries seen so far.
    entries: AtomicU64,
    worktrees: Worktrees,
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

/// The file system that a walk begins on, and the list, if it can be trusted there.
fn ground<'w>(walk: &Walk<'w>) -> (Option<u64>, Option<&'w List>) {
    let Ok(base) = walk.root.open_plain(walk.base, Want::Folder) else { return (None, None) };
    let device = base.metadata().ok().map(|metadata| device(&metadata));
    let list = walk.list.filter(|list| {
        let is_trusted = device == Some(walk.root.device()) && list::are_trusted(&base);
        if !is_trusted {
            list.distrust();
        }
        is_trusted
    });
    (device, list)
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
