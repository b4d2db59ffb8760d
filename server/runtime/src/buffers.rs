//! The documents that editors have open, as the tools see them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dsh_agent::files::Buffers;

/// The texts of open documents by their absolute paths. Shared by all doors of the process.
#[derive(Debug, Default)]
pub struct OpenBuffers {
    texts: Mutex<BTreeMap<PathBuf, Arc<str>>>,
}

impl OpenBuffers {
    /// A document was opened or changed.
    pub fn set(&self, path: PathBuf, text: Arc<str>) {
        self.lock().insert(path, text);
    }

    /// A document was closed.
    pub fn remove(&self, path: &Path) {
        self.lock().remove(path);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Arc<str>>> {
        self.texts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Buffers for OpenBuffers {
    fn text(&self, path: &Path) -> Option<Arc<str>> {
        self.lock().get(path).cloned()
    }

    fn paths(&self) -> Vec<PathBuf> {
        self.lock().keys().cloned().collect()
    }
}
