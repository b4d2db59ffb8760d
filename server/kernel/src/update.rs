//! Replaces the list of rows, all or nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use crate::config::ConfigProblem;
use crate::graph::{Graph, unknown_plugin, without_references};
use crate::lifecycle::{Lifecycle, joined};
use crate::shared::Shared;
use crate::status::PluginState;
use crate::tree::Leaf;

/// Why a list of rows was not taken over. Everything is as it was before.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UpdateError {
    /// The kernel is shut down.
    #[error("the plugins are being shut down")]
    Closed,
    /// Rows are wrong or failed.
    #[error("{}", listed(.0))]
    Rows(Vec<RowFailure>),
}

fn listed(failures: &[RowFailure]) -> String {
    failures.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// How far a row came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Its plugin was looked up.
    Import,
    /// What its plugin did was undone.
    Dispose,
    /// Its configuration was checked and its plugin started.
    Apply,
    /// The row as it was before was restored.
    Rollback,
}

/// What went wrong with one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowFailure {
    /// The row.
    pub id: String,
    /// Its plugin.
    pub name: String,
    /// How far it came.
    pub stage: Stage,
    /// What went wrong.
    pub message: String,
    /// What is wrong with its configuration, if that is the reason.
    pub problems: Vec<ConfigProblem>,
}

impl fmt::Display for RowFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, name, message, .. } = self;
        let stage = match self.stage {
            Stage::Import => "cannot be found",
            Stage::Dispose => "did not stop as it should",
            Stage::Apply => "did not start",
            Stage::Rollback => "could not be restored",
        };
        write!(f, "row `{id}` ({name}) {stage}: {message}")
    }
}

/// How the list differs from what is mounted.
#[derive(Default)]
struct Difference {
    added: Vec<(usize, Leaf)>,
    changed: Vec<(u64, Leaf)>,
    vanished: BTreeSet<u64>,
    positions: BTreeMap<u64, usize>,
}

/// What has been done for an update, and how it was before.
struct Attempt<'a> {
    lifecycle: Lifecycle<'a>,
    /// New rows.
    added: BTreeSet<u64>,
    /// Changed rows, as they were.
    replaced: BTreeMap<u64, Leaf>,
    /// Rows that are in the list no more.
    vanished: BTreeSet<u64>,
    /// Rows that had failed before.
    failed_before: BTreeSet<u64>,
    /// Where all rows stood.
    positions: BTreeMap<u64, usize>,
}

/// Replaces the list of rows. Whoever calls it holds the right to change the tree.
pub(crate) async fn update(shared: &Arc<Shared>, leaves: Vec<Leaf>) -> Result<(), UpdateError> {
    let difference = difference(&shared.graph(), leaves).map_err(UpdateError::Rows)?;
    let wrong = wrong(shared, &difference);
    if !wrong.is_empty() {
        return Err(UpdateError::Rows(wrong));
    }
    let mut attempt = Attempt::new(shared, &difference);
    let failures = attempt.apply(difference).await;
    if shared.closing.is_cancelled() {
        return Err(UpdateError::Closed);
    }
    if failures.is_empty() {
        shared.change(|graph| {
            graph.rejected.clear();
            attempt.vanished.iter().for_each(|slot| drop(graph.fibers.remove(slot)));
        });
        return Ok(());
    }
    Err(UpdateError::Rows(attempt.roll_back(failures).await))
}

/// Compares by id. Ids that stand twice are an error.
fn difference(graph: &Graph, leaves: Vec<Leaf>) -> Result<Difference, Vec<RowFailure>> {
    let mut difference =
        Difference { vanished: graph.fibers.keys().copied().collect(), ..Difference::default() };
    let mut ids = BTreeSet::new();
    let mut twice = Vec::new();
    for (position, leaf) in leaves.into_iter().enumerate() {
        if !ids.insert(leaf.id.clone()) {
            let message = format!("the id `{}` stands twice in the list", leaf.id);
            twice.push(failure(&leaf, Stage::Import, message, Vec::new()));
            continue;
        }
        let Some(slot) = graph.slot_of(&leaf.id) else {
            difference.added.push((position, leaf));
            continue;
        };
        difference.vanished.remove(&slot);
        difference.positions.insert(slot, position);
        if graph.fibers.get(&slot).is_some_and(|fiber| fiber.leaf != leaf) {
            difference.changed.push((slot, leaf));
        }
    }
    if twice.is_empty() { Ok(difference) } else { Err(twice) }
}

/// What can be said of new and changed rows before anything is stopped.
fn wrong(shared: &Shared, difference: &Difference) -> Vec<RowFailure> {
    let mut wrong = Vec::new();
    let changed = difference.changed.iter().map(|(_, leaf)| leaf);
    let rows = difference.added.iter().map(|(_, leaf)| leaf).chain(changed);
    for leaf in rows.filter(|leaf| !leaf.disabled) {
        let Some(plugin) = shared.plugins.get(leaf.name.as_str()) else {
            wrong.push(failure(leaf, Stage::Import, unknown_plugin(&leaf.name), Vec::new()));
            continue;
        };
        let problems = plugin.config.problems(&leaf.config);
        let problems: Vec<_> = without_references(problems, leaf).collect();
        if !problems.is_empty() {
            wrong.push(failure(leaf, Stage::Apply, joined(&problems), problems));
        }
    }
    wrong
}

fn failure(leaf: &Leaf, stage: Stage, message: String, problems: Vec<ConfigProblem>) -> RowFailure {
    RowFailure { id: leaf.id.clone(), name: leaf.name.clone(), stage, message, problems }
}

impl<'a> Attempt<'a> {
    fn new(shared: &'a Arc<Shared>, difference: &Difference) -> Self {
        let graph = shared.graph();
        let replaced = difference.changed.iter().filter_map(|(slot, _)| {
            let fiber = graph.fibers.get(slot)?;
            Some((*slot, fiber.leaf.clone()))
        });
        Self {
            lifecycle: Lifecycle::new(shared),
            added: BTreeSet::new(),
            replaced: replaced.collect(),
            vanished: difference.vanished.clone(),
            failed_before: failed(&graph),
            positions: graph.fibers.iter().map(|(slot, fiber)| (*slot, fiber.position)).collect(),
        }
    }

    /// Replaces and adds rows, then stops those that vanished. The failures of the first step that has some.
    async fn apply(&mut self, difference: Difference) -> Vec<RowFailure> {
        let shared = self.lifecycle.shared;
        let changed: BTreeSet<u64> = self.replaced.keys().copied().collect();
        self.lifecycle.bring_down(&changed).await;
        shared.change(|graph| {
            for (slot, position) in &difference.positions {
                if let Some(fiber) = graph.fibers.get_mut(slot) {
                    fiber.position = *position;
                }
            }
            for (slot, leaf) in difference.changed {
                become_row(shared, graph, slot, leaf);
            }
            for (position, leaf) in difference.added {
                let plugin = shared.plugins.get(leaf.name.as_str()).copied();
                self.added.insert(graph.add(leaf, plugin, position));
            }
        });
        self.lifecycle.settle().await;
        let clashing = self.clashing();
        if clashing.is_empty() && !self.failures(Stage::Apply).is_empty() {
            return self.failures(Stage::Apply);
        }
        // What vanished may have what a new row needs.
        let vanished = self.vanished.clone();
        self.lifecycle.bring_down(&vanished).await;
        shared.change(|graph| {
            for (slot, fiber) in &mut graph.fibers {
                if vanished.contains(slot) {
                    fiber.state = PluginState::Disposed;
                } else if clashing.contains(slot) {
                    fiber.retry();
                }
            }
        });
        self.lifecycle.settle().await;
        self.failures(Stage::Apply)
    }

    /// Failed rows that found a name taken, if nothing else failed and a vanished row may have that name.
    fn clashing(&self) -> BTreeSet<u64> {
        if self.vanished.is_empty() {
            return BTreeSet::new();
        }
        let graph = self.lifecycle.shared.graph();
        let new = self.newly_failed(&graph);
        let clashes = |slot: &u64| graph.fibers.get(slot).is_some_and(|it| it.clash.is_some());
        if new.iter().all(clashes) { new } else { BTreeSet::new() }
    }

    /// Rows that failed in this update: those that it touched, and others that had not failed before.
    fn newly_failed(&self, graph: &Graph) -> BTreeSet<u64> {
        let mut failed = failed(graph);
        failed.retain(|slot| {
            let touched = self.replaced.contains_key(slot) || self.added.contains(slot);
            (touched || !self.failed_before.contains(slot)) && !self.vanished.contains(slot)
        });
        failed
    }

    fn failures(&self, stage: Stage) -> Vec<RowFailure> {
        let graph = self.lifecycle.shared.graph();
        let fibers = self.newly_failed(&graph).into_iter().filter_map(|it| graph.fibers.get(&it));
        fibers
            .map(|fiber| {
                let message = fiber.error.clone().unwrap_or_default();
                failure(&fiber.leaf, stage, message, Vec::new())
            })
            .collect()
    }

    /// Makes everything as it was and adds to the failures what could not be.
    async fn roll_back(mut self, mut failures: Vec<RowFailure>) -> Vec<RowFailure> {
        let shared = self.lifecycle.shared;
        let touched = self.replaced.keys().chain(&self.added).copied().collect();
        self.lifecycle.bring_down(&touched).await;
        shared.change(|graph| {
            for slot in self.newly_failed(graph) {
                if let Some(fiber) = graph.fibers.get_mut(&slot) {
                    fiber.retry();
                }
            }
            for slot in std::mem::take(&mut self.added) {
                graph.fibers.remove(&slot);
            }
            for (slot, leaf) in std::mem::take(&mut self.replaced) {
                become_row(shared, graph, slot, leaf);
            }
            for slot in std::mem::take(&mut self.vanished) {
                let stopped = graph.fibers.get(&slot);
                let stopped = stopped.filter(|fiber| fiber.state == PluginState::Disposed);
                if let Some(leaf) = stopped.map(|fiber| fiber.leaf.clone()) {
                    become_row(shared, graph, slot, leaf);
                }
            }
            for (slot, position) in &self.positions {
                if let Some(fiber) = graph.fibers.get_mut(slot) {
                    fiber.position = *position;
                }
            }
        });
        self.lifecycle.settle().await;
        failures.extend(self.failures(Stage::Rollback));
        failures.append(&mut self.lifecycle.troubles);
        failures
    }
}

fn failed(graph: &Graph) -> BTreeSet<u64> {
    let failed = graph.fibers.iter().filter(|(_, fiber)| fiber.state == PluginState::Failed);
    failed.map(|(slot, _)| *slot).collect()
}

fn become_row(shared: &Shared, graph: &mut Graph, slot: u64, leaf: Leaf) {
    let plugin = shared.plugins.get(leaf.name.as_str()).copied();
    if let Some(fiber) = graph.fibers.get_mut(&slot) {
        fiber.become_row(leaf, plugin);
    }
}
