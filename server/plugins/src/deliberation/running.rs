//! What runs beside turns: whom it is for, and what cancels it.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use dsh_protocol::ids::SessionId;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Everything of one sort that runs, by its id.
pub(super) struct Running<K, V> {
    entries: Mutex<BTreeMap<K, Entry<V>>>,
    changes: watch::Sender<()>,
}

/// One thing that runs.
pub(super) struct Entry<V> {
    /// The session that it is for.
    pub(super) session: SessionId,
    /// Cancels all of it.
    pub(super) cancel: CancellationToken,
    /// What else is to be known of it.
    pub(super) of: V,
}

impl<K: Ord, V> Running<K, V> {
    pub(super) fn new() -> Self {
        Self { entries: Mutex::default(), changes: watch::Sender::new(()) }
    }

    pub(super) fn add(&self, id: K, entry: Entry<V>) {
        self.lock().insert(id, entry);
    }

    pub(super) fn remove(&self, id: &K) {
        self.lock().remove(id);
        self.changes.send_replace(());
    }

    pub(super) fn has(&self, id: &K) -> bool {
        self.lock().contains_key(id)
    }

    /// Looks at one; `None`: it does not run.
    pub(super) fn with<R>(&self, id: &K, look: impl FnOnce(&Entry<V>) -> R) -> Option<R> {
        self.lock().get(id).map(look)
    }

    /// Cancels what is for a session, or everything, and waits until it has come out.
    pub(super) async fn close(&self, session: Option<&SessionId>) {
        let mut changes = self.changes.subscribe();
        loop {
            changes.borrow_and_update();
            let is_meant =
                |entry: &&Entry<V>| session.is_none_or(|session| entry.session == *session);
            let cancels: Vec<CancellationToken> =
                self.lock().values().filter(is_meant).map(|entry| entry.cancel.clone()).collect();
            if cancels.is_empty() {
                return;
            }
            cancels.iter().for_each(CancellationToken::cancel);
            // The sender is ours: it cannot be gone.
            let _ = changes.changed().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<K, Entry<V>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
