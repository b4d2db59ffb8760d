//! A tree of rows and the way to change it.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::watch;

use crate::effects::Effects;
use crate::graph::{Graph, HOST};
use crate::hooks::Hooks;
use crate::lifecycle::Lifecycle;
use crate::plugin::{Plugin, Row};
use crate::service::{Key, Provided};
use crate::shared::Shared;
use crate::status::{PluginState, PluginStatus};
use crate::tree::{Realm, flatten};
use crate::update::{UpdateError, update};

/// A tree of rows whose plugins start and stop as their services come and go.
///
/// Changes of the tree are made one after the other, each in a task of its own: whoever asked for one may stop
/// waiting without leaving it half done. Dropping a kernel shuts it down in the background.
pub struct Kernel {
    shared: Arc<Shared>,
}

impl Kernel {
    /// A kernel without rows. `host` is what the embedding program provides under the name of `key`, before any
    /// plugin starts.
    pub fn new<T: ?Sized + Send + Sync + 'static>(
        plugins: &[Plugin],
        key: &Key<T>,
        host: Arc<T>,
    ) -> Self {
        let mut graph = Graph::default();
        let provided = Provided { owner: HOST, value: Box::new(host), facts: Value::Null };
        graph.services.insert((Realm::Common, key.name().to_owned()), provided);
        Self { shared: Arc::new(Shared::new(plugins, graph)) }
    }

    /// A kernel with rows; see [`Kernel::new`] and [`Kernel::load`].
    pub async fn mount<T: ?Sized + Send + Sync + 'static>(
        rows: Vec<Row>,
        plugins: &[Plugin],
        key: &Key<T>,
        host: Arc<T>,
    ) -> Self {
        let kernel = Self::new(plugins, key, host);
        kernel.load(rows).await;
        kernel
    }

    /// Adds rows: each plugin starts once its services are there, whatever the order of the rows.
    ///
    /// A plugin that fails or panics is undone and reported in [`Kernel::plugins`]; the others go on. Rows that
    /// name no known plugin fail; of two rows with one id the second fails. Returns when nothing moves any more,
    /// or soon after the kernel is disposed.
    pub async fn load(&self, rows: Vec<Row>) {
        self.in_turn(|shared| async move {
            if shared.closing.is_cancelled() {
                return;
            }
            shared.change(|graph| {
                for (position, leaf) in flatten(rows).into_iter().enumerate() {
                    if graph.slot_of(&leaf.id).is_none() {
                        let plugin = shared.plugins.get(leaf.name.as_str()).copied();
                        graph.add(leaf, plugin, position);
                        continue;
                    }
                    let error = format!("the id `{}` is taken by an earlier row", leaf.id);
                    graph.rejected.push(PluginStatus {
                        id: leaf.id,
                        name: leaf.name,
                        state: PluginState::Failed,
                        waiting_for: Vec::new(),
                        provides: Vec::new(),
                        error: Some(error),
                        effects: Vec::new(),
                        missing: Vec::new(),
                    });
                }
            });
            Lifecycle::new(&shared).settle().await;
        })
        .await;
    }

    /// Replaces the list of rows, or leaves everything as it was.
    ///
    /// Rows are compared by id. The configuration of every row that is new or changed is checked before
    /// anything is stopped. Then changed rows are replaced and new ones started; if any of them, or a row that
    /// depends on them, fails, the old rows are restored and all failures are returned. Rows that wait for a
    /// service are legal. Rows that vanished are removed last, unless a new row needs a name that one of them
    /// has.
    pub async fn update(&self, rows: Vec<Row>) -> Result<(), UpdateError> {
        let updated = self.in_turn(|shared| async move { update(&shared, flatten(rows)).await });
        updated.await.unwrap_or(Err(UpdateError::Closed))
    }

    /// A service that an active plugin, or the embedding program, provides outside of all isolated realms.
    pub fn get<T: ?Sized + Send + Sync + 'static>(&self, key: &Key<T>) -> Option<Arc<T>> {
        self.shared.graph().active_at(&(Realm::Common, key.name().to_owned()))?.value()
    }

    /// Every row and where its plugin stands now, in the order of the tree.
    pub fn plugins(&self) -> Vec<PluginStatus> {
        // Those who are asked may take their time, or locks of their own.
        let statuses = self.shared.graph().statuses();
        let asked = statuses.into_iter().map(|(mut status, effects)| {
            if status.state == PluginState::Active {
                status.missing = effects.missing();
            }
            status
        });
        asked.collect()
    }

    /// Whether a change of the tree is under way or waits: what is missing now may be there after it.
    pub fn is_changing(&self) -> bool {
        self.shared.transition.try_lock().is_err()
    }

    /// Counts the changes of [`Kernel::plugins`] and of [`Kernel::is_changing`].
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.shared.changes.subscribe()
    }

    /// Where hooks are dispatched.
    pub fn hooks(&self) -> &Hooks {
        &self.shared.hooks
    }

    /// Unmounts everything: the last plugin to start goes first, and in it the last effect. A start that is
    /// under way is interrupted. Whoever calls it, and however often, waits until everything is down.
    pub async fn dispose(&self) {
        self.shared.closing.cancel();
        self.in_turn(take_down).await;
    }

    /// Makes one change of the tree after those that are under way. `None`: our own code broke.
    async fn in_turn<R, Fut>(
        &self,
        change: impl FnOnce(Arc<Shared>) -> Fut + Send + 'static,
    ) -> Option<R>
    where
        R: Send + 'static,
        Fut: Future<Output = R> + Send + 'static,
    {
        let shared = Arc::clone(&self.shared);
        let changing = tokio::spawn(async move {
            let turn = shared.transition.lock().await;
            let result = change(Arc::clone(&shared)).await;
            drop(turn);
            shared.change(|_| ());
            result
        });
        changing
            .await
            .inspect_err(|error| tracing::error!(%error, "a change of the tree broke"))
            .ok()
    }
}

/// Takes everything down after the change that is under way.
async fn take_down(shared: Arc<Shared>) {
    let all: BTreeSet<u64> = shared.graph().fibers.keys().copied().collect();
    Lifecycle::new(&shared).bring_down(&all).await;
    shared.change(|graph| {
        graph.services.clear();
        graph.fibers.values_mut().for_each(|fiber| fiber.state = PluginState::Disposed);
    });
}

impl Drop for Kernel {
    fn drop(&mut self) {
        if self.shared.closing.is_cancelled() {
            return;
        }
        self.shared.closing.cancel();
        let shared = Arc::clone(&self.shared);
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            // Nobody is left who could wait.
            let effects = shared.graph().effects_by_age();
            effects.iter().rev().for_each(Effects::abandon);
            return;
        };
        runtime.spawn(async move {
            let _turn = shared.transition.lock().await;
            take_down(Arc::clone(&shared)).await;
        });
    }
}

#[cfg(test)]
mod tests;
