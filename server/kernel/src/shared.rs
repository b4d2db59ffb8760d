//! What a kernel's tasks and its plugins' contexts share.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::graph::Graph;
use crate::hooks::Hooks;
use crate::plugin::Plugin;

/// The state of a kernel.
pub(crate) struct Shared {
    /// Never held while a plugin's code runs.
    graph: Mutex<Graph>,
    /// Counts the changes of statuses.
    pub(crate) changes: watch::Sender<u64>,
    /// Cancelled when everything is shut down.
    pub(crate) closing: CancellationToken,
    pub(crate) hooks: Hooks,
    /// The table of plugins.
    pub(crate) plugins: BTreeMap<&'static str, Plugin>,
    /// Held by whoever changes the graph, from the first step to the last.
    pub(crate) transition: tokio::sync::Mutex<()>,
}

impl Shared {
    pub(crate) fn new(plugins: &[Plugin], graph: Graph) -> Self {
        Self {
            graph: Mutex::new(graph),
            changes: watch::Sender::new(0),
            closing: CancellationToken::new(),
            hooks: Hooks::default(),
            plugins: plugins.iter().map(|plugin| (plugin.name, *plugin)).collect(),
            transition: tokio::sync::Mutex::default(),
        }
    }

    /// The graph, to look at.
    pub(crate) fn graph(&self) -> MutexGuard<'_, Graph> {
        self.graph.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the graph and says so to whoever watches.
    pub(crate) fn change<R>(&self, change: impl FnOnce(&mut Graph) -> R) -> R {
        let result = change(&mut self.graph());
        self.changes.send_modify(|generation| *generation += 1);
        result
    }
}
