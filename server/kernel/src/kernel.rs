//! Mounts rows, keeps the states of their plugins, unmounts them.

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;

use crate::context::{Context, Effects};
use crate::plugin::{Plugin, Row, StartError};
use crate::service::{Key, Services};

/// How long one effect may take to undo itself before the next one's turn comes.
const DISPOSE_DEADLINE: Duration = Duration::from_secs(5);

/// Where a row's plugin stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PluginState {
    /// It waits for services that no active plugin provides.
    Pending {
        /// The services.
        waiting_for: Vec<&'static str>,
    },
    /// It runs.
    Active,
    /// Its start failed and was undone.
    Failed {
        /// Why.
        error: String,
    },
}

/// A row and where its plugin stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginStatus {
    /// The row's id.
    pub id: String,
    /// The plugin's name.
    pub name: String,
    /// Where it stands.
    pub state: PluginState,
    /// The services that it provides now.
    pub provides: Vec<&'static str>,
}

struct Active {
    row: String,
    effects: Effects,
}

/// A mounted tree.
pub struct Kernel {
    services: Arc<Mutex<Services>>,
    /// In the order of activation, so that the reverse brings dependents down before their providers.
    active: Mutex<Vec<Active>>,
    statuses: Vec<PluginStatus>,
}

impl Kernel {
    /// Mounts rows: each plugin starts once its services are there, whatever the order of the rows.
    ///
    /// `host` is what the embedding program provides under the name of `key`, before any plugin starts.
    /// A plugin that fails or panics is undone and reported in [`Kernel::plugins`]; the others go on. Rows
    /// that name no known plugin fail; of two rows with one id the second fails.
    pub async fn mount<T: ?Sized + Send + Sync + 'static>(
        rows: Vec<Row>,
        plugins: &[Plugin],
        key: &Key<T>,
        host: Arc<T>,
    ) -> Self {
        let mut services = Services::default();
        // Cannot be taken: there is nothing else yet.
        let _ = services.provide("host", key, host);
        let services = Arc::new(Mutex::new(services));
        let mut active = Vec::new();
        let mut statuses = Vec::new();
        let (mut waiting, rejected) = resolve(rows, plugins);
        statuses.extend(rejected);
        while let Some(at) =
            waiting.iter().position(|(_, plugin)| missing(&services, plugin).is_empty())
        {
            let (row, plugin) = waiting.remove(at);
            let context = Context {
                row: row.id.clone(),
                inject: plugin.inject,
                services: Arc::clone(&services),
                effects: Effects::default(),
            };
            let state = start(&plugin, context.clone(), &row).await;
            match state {
                PluginState::Active => {
                    active.push(Active { row: row.id.clone(), effects: context.effects });
                }
                PluginState::Pending { .. } | PluginState::Failed { .. } => {
                    undo(&context.effects, &row.id).await;
                    lock(&services).withdraw(&row.id);
                }
            }
            let provides = lock(&services).owned_by(&row.id);
            statuses.push(PluginStatus { id: row.id, name: row.name, state, provides });
        }
        for (row, plugin) in waiting {
            let state = PluginState::Pending { waiting_for: missing(&services, &plugin) };
            statuses.push(PluginStatus { id: row.id, name: row.name, state, provides: Vec::new() });
        }
        Self { services, active: Mutex::new(active), statuses }
    }

    /// A service, if an active plugin provides it.
    pub fn get<T: ?Sized + Send + Sync + 'static>(&self, key: &Key<T>) -> Option<Arc<T>> {
        lock(&self.services).get(key)
    }

    /// Every row and where its plugin stands.
    pub fn plugins(&self) -> &[PluginStatus] {
        &self.statuses
    }

    /// Unmounts everything: the last plugin to start goes first, and in it the last effect. Calling it again
    /// does nothing.
    pub async fn dispose(&self) {
        loop {
            let next = self.active.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let Some(plugin) = next else { return };
            undo(&plugin.effects, &plugin.row).await;
            lock(&self.services).withdraw(&plugin.row);
        }
    }
}

/// Pairs rows with their plugins; what cannot be paired is reported.
fn resolve(rows: Vec<Row>, plugins: &[Plugin]) -> (Vec<(Row, Plugin)>, Vec<PluginStatus>) {
    let mut ids = BTreeSet::new();
    let mut paired = Vec::new();
    let mut rejected = Vec::new();
    for row in rows {
        let error = if ids.insert(row.id.clone()) {
            match plugins.iter().find(|plugin| plugin.name == row.name) {
                Some(plugin) => {
                    paired.push((row, *plugin));
                    continue;
                }
                None => format!("there is no plugin named `{}`", row.name),
            }
        } else {
            format!("the id `{}` is taken by an earlier row", row.id)
        };
        rejected.push(PluginStatus {
            id: row.id,
            name: row.name,
            state: PluginState::Failed { error },
            provides: Vec::new(),
        });
    }
    (paired, rejected)
}

fn missing(services: &Mutex<Services>, plugin: &Plugin) -> Vec<&'static str> {
    let services = lock(services);
    plugin.inject.iter().copied().filter(|name| !services.has(name)).collect()
}

async fn start(plugin: &Plugin, context: Context, row: &Row) -> PluginState {
    let started = AssertUnwindSafe(async { (plugin.start)(context, row.config.clone()).await });
    let outcome = match started.catch_unwind().await {
        Ok(outcome) => outcome,
        Err(_) => Err(StartError::Failed("the plugin panicked while it started".to_owned())),
    };
    match outcome {
        Ok(()) => PluginState::Active,
        Err(error) => {
            tracing::error!(row = %row.id, %error, "plugin did not start");
            PluginState::Failed { error: error.to_string() }
        }
    }
}

/// Undoes effects, last first. One that panics or hangs does not keep the others from being undone.
async fn undo(effects: &Effects, row: &str) {
    while let Some(dispose) = effects.pop() {
        let disposed = AssertUnwindSafe(async move { dispose().await }).catch_unwind();
        match tokio::time::timeout(DISPOSE_DEADLINE, disposed).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => tracing::error!(row, "an effect panicked while it was undone"),
            Err(_) => tracing::error!(row, "an effect took too long to undo"),
        }
    }
}

fn lock(services: &Mutex<Services>) -> std::sync::MutexGuard<'_, Services> {
    services.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
