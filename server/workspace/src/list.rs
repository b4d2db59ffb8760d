//! The file list: what walks have found in each folder, kept for the next walk.
//!
//! A walk is the same with and without it, folder by folder. Before a folder's entry is used the folder is
//! looked at: is it the one that was listed, unchanged since, and do the same rules hold in it? So an answer
//! never shows what a walk would not, whoever changed what by whatever means, and there is nothing that could
//! be late, overflow or run out, as with a watcher. What the look costs is one system call for each folder.

mod names;
mod stamp;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use crate::beneath::Root;
use crate::rules::Rules;
use crate::rules::sources::Sources;
pub(crate) use names::{Names, Span};
pub(crate) use stamp::{Stamp, are_trusted, look};

/// What an entry takes beside names and rules, about.
const ENTRY_BYTES: usize = 400;

/// An entry that so many walks have not come by is dropped by the next one through everything. Not by the first:
/// that passes by what is ignored and was named.
const UNSEEN_WALKS: u64 = 32;

/// What a folder holds under the rules of visibility.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    /// Visible files.
    pub(crate) files: Names,
    /// Visible folders.
    pub(crate) folders: Box<[OsString]>,
    /// Entries of every kind.
    pub(crate) entries: u64,
    pub(crate) ignored_files: u64,
    pub(crate) ignored_folders: u64,
    pub(crate) secrets: u64,
    pub(crate) links: u64,
}

/// One folder's entry.
#[derive(Debug)]
pub(crate) struct Kept {
    /// How the folder was when it was listed; nothing if it had changed too shortly before.
    stamp: Option<Stamp>,
    /// The rules from above the folder, by which `contents` came about.
    outer: Arc<Rules>,
    /// Those that hold in it.
    pub(crate) rules: Arc<Rules>,
    sources: Sources,
    /// Nothing if only the rules were asked for.
    pub(crate) contents: Option<Arc<Contents>>,
    /// The number of the last walk that came by.
    walk: AtomicU64,
}

impl Kept {
    fn weight(&self) -> usize {
        let contents = self.contents.as_ref().map_or(0, |contents| {
            let folders: usize = contents.folders.iter().map(|name| name.len() + 40).sum();
            contents.files.weight() + folders
        });
        ENTRY_BYTES + contents + self.sources.weight()
    }

    /// Whether the folder is as it was, and the rules from above it and its own are.
    pub(crate) fn holds(&self, root: &Root, path: &Path, now: &Stamp, outer: &Arc<Rules>) -> bool {
        self.stamp.as_ref() == Some(now)
            && Arc::ptr_eq(&self.outer, outer)
            && self.sources.are_unchanged(root, path)
    }
}

/// What is kept of one workspace folder.
#[derive(Debug)]
pub(crate) struct List {
    folders: RwLock<HashMap<PathBuf, Arc<Kept>>>,
    /// The rules above the workspace folder: none. One object, so that entries know them again.
    pub(crate) no_rules: Arc<Rules>,
    /// About how much memory the entries take, and may take.
    held: AtomicUsize,
    most: usize,
    walks: AtomicU64,
    is_full: AtomicBool,
    /// Some walk was on a file system whose times say too little.
    is_untrusted: AtomicBool,
    /// What had changed less than this before it was read is read again the next time.
    pub(crate) slack: Duration,
    /// How often a folder was read.
    #[cfg(test)]
    reads: AtomicU64,
}

impl List {
    /// A list that takes at most about `most` bytes.
    pub(crate) fn new(most: usize, slack: Duration) -> List {
        List {
            slack,
            #[cfg(test)]
            reads: AtomicU64::new(0),
            folders: RwLock::default(),
            no_rules: Arc::default(),
            held: AtomicUsize::new(0),
            most,
            walks: AtomicU64::new(0),
            is_full: AtomicBool::new(false),
            is_untrusted: AtomicBool::new(false),
        }
    }

    /// Why walks list folders anew that have not changed; nothing if they do not.
    pub(crate) fn trouble(&self) -> Option<&'static str> {
        if self.is_untrusted.load(Ordering::Relaxed) {
            return Some("the file system is not known to stamp every change");
        }
        self.is_full
            .load(Ordering::Relaxed)
            .then_some("there are more files than the list may hold")
    }

    /// Notes that a walk goes without the list.
    pub(crate) fn distrust(&self) {
        self.is_untrusted.store(true, Ordering::Relaxed);
    }

    /// The number of a walk that begins.
    pub(crate) fn begin(&self) -> u64 {
        self.walks.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(crate) fn get(&self, path: &Path, walk: u64) -> Option<Arc<Kept>> {
        let folders = self.folders.read().unwrap_or_else(PoisonError::into_inner);
        let kept = folders.get(path)?;
        kept.walk.fetch_max(walk, Ordering::Relaxed);
        Some(Arc::clone(kept))
    }

    /// The rules for a folder that was read anew: those that are kept, if nothing else is written in it now.
    pub(crate) fn rules(
        kept: Option<&Kept>,
        outer: &Arc<Rules>,
        path: &Path,
        sources: &Sources,
    ) -> Arc<Rules> {
        match kept {
            Some(kept) if Arc::ptr_eq(&kept.outer, outer) && kept.sources.are_like(sources) => {
                Arc::clone(&kept.rules)
            }
            Some(_) | None => Rules::within(outer, path, sources),
        }
    }

    /// Takes up what a folder is known to hold.
    pub(crate) fn put(&self, path: &Path, walk: u64, entry: Entry) {
        #[cfg(test)]
        self.reads.fetch_add(1, Ordering::Relaxed);
        let Entry { stamp, outer, rules, sources, contents } = entry;
        let kept = Kept { stamp, outer, rules, sources, contents, walk: AtomicU64::new(walk) };
        let weight = kept.weight() + path.as_os_str().len();
        let mut folders = self.folders.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(old) = folders.remove(path) {
            self.held.fetch_sub(old.weight() + path.as_os_str().len(), Ordering::Relaxed);
        }
        if self.held.load(Ordering::Relaxed) + weight > self.most {
            self.is_full.store(true, Ordering::Relaxed);
            return;
        }
        self.held.fetch_add(weight, Ordering::Relaxed);
        folders.insert(path.to_owned(), Arc::new(kept));
    }

    /// Ends a walk through everything: an entry that nothing came by for long is of a folder that is gone.
    pub(crate) fn end(&self, walk: u64) {
        let is_past = |kept: &Arc<Kept>| kept.walk.load(Ordering::Relaxed) + UNSEEN_WALKS < walk;
        let mut folders = self.folders.write().unwrap_or_else(PoisonError::into_inner);
        let mut freed = 0;
        folders.retain(|path, kept| {
            let is_kept = !is_past(kept);
            if !is_kept {
                freed += kept.weight() + path.as_os_str().len();
            }
            is_kept
        });
        self.held.fetch_sub(freed, Ordering::Relaxed);
        if freed > 0 {
            self.is_full.store(false, Ordering::Relaxed);
        }
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.folders.read().unwrap_or_else(PoisonError::into_inner).len()
    }
}

/// What [`List::put`] takes up.
pub(crate) struct Entry {
    pub(crate) stamp: Option<Stamp>,
    pub(crate) outer: Arc<Rules>,
    pub(crate) rules: Arc<Rules>,
    pub(crate) sources: Sources,
    pub(crate) contents: Option<Arc<Contents>>,
}
