//! Further folders that a session's tools see while clients have them open. Paths in them are absolute.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use dsh_agent::files::{Answer, FileText};
use dsh_protocol::workspace::{GlobValue, GrepValue, ReadValue};
use dsh_workspace::{Folder, Options};

/// The further folders of one session, each confined as the workspace is.
#[derive(Clone)]
pub(super) struct Others {
    pub(super) options: Options,
    /// What clients have open, as they name it.
    pub(super) open: Arc<RwLock<Vec<PathBuf>>>,
    /// Those of the session.
    pub(super) folders: Arc<[PathBuf]>,
    /// Those of any session that were used, so that what is known of their files stays.
    pub(super) seen: Arc<Mutex<BTreeMap<PathBuf, Arc<Folder>>>>,
}

impl Others {
    /// The folder that `path` is in, if that is not `own`. Looks at the disk for the names of folders that are
    /// open, never for the path.
    pub(super) fn holding(&self, own: &Folder, path: &str) -> Option<Arc<Folder>> {
        if self.folders.is_empty() || own.relative(path).is_ok() {
            return None;
        }
        let open = self.open.read().unwrap_or_else(PoisonError::into_inner).clone();
        let open: Vec<PathBuf> =
            open.iter().filter_map(|named| std::fs::canonicalize(named).ok()).collect();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.retain(|root, _| open.contains(root));
        let usable = self.folders.iter().filter(|root| open.contains(root));
        usable
            .filter_map(|root| self.opened(&mut seen, root))
            .find(|folder| folder.relative(path).is_ok())
    }

    fn opened(
        &self,
        seen: &mut BTreeMap<PathBuf, Arc<Folder>>,
        root: &Path,
    ) -> Option<Arc<Folder>> {
        if let Some(folder) = seen.get(root) {
            return Some(Arc::clone(folder));
        }
        let folder = Arc::new(Folder::open(root, self.options.clone()).ok()?);
        seen.insert(root.to_owned(), Arc::clone(&folder));
        Some(folder)
    }
}

/// An answer whose paths can be made absolute.
pub(super) trait Placed {
    fn put_below(&mut self, root: &str);
}

fn put(path: &mut String, root: &str) {
    *path = match path.as_str() {
        "." => root.to_owned(),
        path => format!("{}/{path}", root.trim_end_matches('/')),
    };
}

impl Placed for Answer<ReadValue> {
    fn put_below(&mut self, root: &str) {
        put(&mut self.value.path, root);
    }
}

impl Placed for Answer<GlobValue> {
    fn put_below(&mut self, root: &str) {
        self.value.paths.iter_mut().for_each(|path| put(path, root));
    }
}

impl Placed for Answer<GrepValue> {
    fn put_below(&mut self, root: &str) {
        let value = &mut self.value;
        value.matches.iter_mut().flatten().for_each(|found| put(&mut found.path, root));
        value.files.iter_mut().flatten().for_each(|path| put(path, root));
        value.counts.iter_mut().flatten().for_each(|count| put(&mut count.path, root));
    }
}

impl Placed for FileText {
    fn put_below(&mut self, root: &str) {
        put(&mut self.path, root);
    }
}

impl Placed for () {
    fn put_below(&mut self, _root: &str) {}
}
