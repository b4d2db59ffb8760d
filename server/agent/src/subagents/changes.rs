//! Tells of providers that come and go, in order, from a task of its own: a registration must not wait for
//! those who hear of it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use dsh_kernel::hooks::Hooks;
use dsh_kernel::registry::Registry;
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use super::provider::{PROVIDER_ADDED, PROVIDER_REMOVED, ProviderChanged, Registered};

/// The task that tells.
pub(super) struct Changes {
    looks: Arc<Notify>,
    registered: AtomicU64,
    task: AbortHandle,
}

impl Changes {
    pub(super) fn tell(providers: Registry<Registered>, hooks: Hooks) -> Self {
        let looks = Arc::new(Notify::new());
        let task = tokio::spawn(watch(providers, hooks, Arc::clone(&looks))).abort_handle();
        Self { looks, registered: AtomicU64::new(0), task }
    }

    /// Tells this registration from others of the same name.
    pub(super) fn number(&self) -> u64 {
        self.registered.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn happened(&self) {
        self.looks.notify_one();
    }

    pub(super) fn on_removal(&self) -> impl FnOnce() + Send + 'static {
        let looks = Arc::clone(&self.looks);
        move || looks.notify_one()
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn watch(providers: Registry<Registered>, hooks: Hooks, looks: Arc<Notify>) {
    let mut known: BTreeMap<String, u64> = BTreeMap::new();
    loop {
        looks.notified().await;
        let now: BTreeMap<String, u64> = providers
            .all()
            .into_iter()
            .map(|entry| (entry.provider.name().to_owned(), entry.number))
            .collect();
        for name in changed(&known, &now) {
            PROVIDER_REMOVED.dispatch(&hooks, ProviderChanged { name }).await;
        }
        for name in changed(&now, &known) {
            PROVIDER_ADDED.dispatch(&hooks, ProviderChanged { name }).await;
        }
        known = now;
    }
}

/// The names that stand in one and not, or as another registration, in the other.
fn changed(of: &BTreeMap<String, u64>, other: &BTreeMap<String, u64>) -> Vec<String> {
    let missing = of.iter().filter(|(name, number)| other.get(*name) != Some(*number));
    missing.map(|(name, _)| name.clone()).collect()
}
