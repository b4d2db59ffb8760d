//! The fibers of a kernel, the services between them, and what has to happen next. Pure state: nothing here
//! waits or runs a plugin's code.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::config::{ConfigProblem, KeyPath};
use crate::effects::Effects;
use crate::plugin::{Plugin, StartError};
use crate::service::Provided;
use crate::status::{PluginState, PluginStatus};
use crate::tree::{Leaf, Realm};

/// How often a plugin may start while the tree comes to rest. More means that plugins take turns in reloading
/// each other.
const MOST_STARTS: u32 = 10;

/// One run of one row's plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FiberId {
    /// The row; never used again for another one.
    pub(crate) slot: u64,
    /// Which of its runs.
    pub(crate) generation: u64,
}

/// The embedding program: provides what is there before any plugin, and always runs.
pub(crate) const HOST: FiberId = FiberId { slot: 0, generation: 0 };

/// The providers of everything that a plugin injects, in the order of its declarations. A plugin runs for
/// exactly one epoch.
pub(crate) type Epoch = Vec<Option<FiberId>>;

/// A service's name in its realm.
pub(crate) type Place = (Realm, String);

/// Something that only one row can have, and another has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Clash {
    /// A service.
    Service(Place),
    /// A name in some registry.
    Entry,
}

/// One row's plugin.
pub(crate) struct Fiber {
    pub(crate) leaf: Leaf,
    /// `None`: there is no such plugin.
    pub(crate) plugin: Option<Plugin>,
    /// Where the row stands among the others.
    pub(crate) position: usize,
    pub(crate) state: PluginState,
    pub(crate) generation: u64,
    /// The epoch of the run that is on, or of the start that failed.
    pub(crate) epoch: Option<Epoch>,
    /// When it became active, counted over all fibers.
    pub(crate) activated: u64,
    pub(crate) effects: Effects,
    /// Why it failed.
    pub(crate) error: Option<String>,
    /// What made it fail by being there first.
    pub(crate) clash: Option<Clash>,
    /// How often it started while the tree came to rest.
    pub(crate) starts: u32,
}

/// The fibers and services of one kernel.
#[derive(Default)]
pub(crate) struct Graph {
    pub(crate) fibers: BTreeMap<u64, Fiber>,
    pub(crate) services: BTreeMap<Place, Provided>,
    slots: u64,
    activations: u64,
    /// Rows whose id was taken when the tree was mounted.
    pub(crate) rejected: Vec<PluginStatus>,
}

/// What has to happen next for the tree to come to rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// This row's plugin must be unloaded.
    Unload(u64),
    /// This row's plugin can start.
    Start(u64),
    /// Nothing.
    Rest,
}

impl Graph {
    /// Adds a row. It starts when the tree is brought to rest.
    pub(crate) fn add(&mut self, leaf: Leaf, plugin: Option<Plugin>, position: usize) -> u64 {
        self.slots += 1;
        let mut fiber = Fiber {
            leaf: leaf.clone(),
            plugin: None,
            position,
            state: PluginState::Pending,
            generation: 0,
            epoch: None,
            activated: 0,
            effects: Effects::default(),
            error: None,
            clash: None,
            starts: 0,
        };
        fiber.become_row(leaf, plugin);
        self.fibers.insert(self.slots, fiber);
        self.slots
    }

    /// The row of an id.
    pub(crate) fn slot_of(&self, id: &str) -> Option<u64> {
        self.fibers.iter().find(|(_, fiber)| fiber.leaf.id == id).map(|(slot, _)| *slot)
    }

    /// Who provides a service to a row now.
    fn provider(&self, leaf: &Leaf, service: &str) -> Option<FiberId> {
        self.active_at(&(leaf.realm(service), service.to_owned())).map(|provided| provided.owner)
    }

    /// A service whose provider is active.
    pub(crate) fn active_at(&self, place: &Place) -> Option<&Provided> {
        let provided = self.services.get(place)?;
        let owner = provided.owner;
        let active = owner == HOST
            || self.fibers.get(&owner.slot).is_some_and(|fiber| {
                fiber.state == PluginState::Active && fiber.generation == owner.generation
            });
        active.then_some(provided)
    }

    /// The epoch that a row's plugin could run for now, or the services that it waits for.
    pub(crate) fn epoch(&self, fiber: &Fiber) -> Result<Epoch, Vec<String>> {
        let mut epoch = Epoch::new();
        let mut missing = Vec::new();
        for service in fiber.required() {
            let provider = self.provider(&fiber.leaf, &service);
            epoch.push(provider);
            if provider.is_none() {
                missing.push(service);
            }
        }
        for service in fiber.optional() {
            epoch.push(self.provider(&fiber.leaf, service));
        }
        if missing.is_empty() { Ok(epoch) } else { Err(missing) }
    }

    /// The next step towards rest: whatever runs for an epoch that is over goes down, dependents first; then
    /// whatever can start does.
    pub(crate) fn next(&mut self) -> Next {
        let stale: BTreeSet<u64> = self
            .fibers
            .iter()
            .filter(|(_, fiber)| fiber.state == PluginState::Active)
            .filter(|(_, fiber)| self.epoch(fiber).ok() != fiber.epoch)
            .map(|(slot, _)| *slot)
            .collect();
        if let Some(slot) = self.last_dependent(&stale) {
            return Next::Unload(slot);
        }
        self.retry_failed();
        self.startable().map_or(Next::Rest, Next::Start)
    }

    /// Of some rows and everything that depends on them: the active one to be unloaded first. What depends on
    /// another became active after it.
    pub(crate) fn last_dependent(&self, targets: &BTreeSet<u64>) -> Option<u64> {
        let mut reached = targets.clone();
        loop {
            let more: Vec<u64> = self
                .fibers
                .iter()
                .filter(|(slot, fiber)| {
                    fiber.state == PluginState::Active && !reached.contains(slot)
                })
                .filter(|(_, fiber)| {
                    fiber
                        .epoch
                        .iter()
                        .flatten()
                        .flatten()
                        .any(|provider| reached.contains(&provider.slot))
                })
                .map(|(slot, _)| *slot)
                .collect();
            if more.is_empty() {
                break;
            }
            reached.extend(more);
        }
        let active = reached.into_iter().filter_map(|slot| {
            let fiber = self.fibers.get(&slot)?;
            (fiber.state == PluginState::Active).then_some((fiber.activated, slot))
        });
        active.max().map(|(_, slot)| slot)
    }

    /// Failed starts get another chance when their providers are others than before.
    fn retry_failed(&mut self) {
        let retried: Vec<u64> = self
            .fibers
            .iter()
            .filter(|(_, fiber)| fiber.state == PluginState::Failed && fiber.epoch.is_some())
            .filter(|(_, fiber)| {
                let free = |place: &Place| !self.services.contains_key(place);
                self.epoch(fiber).ok() != fiber.epoch
                    || matches!(&fiber.clash, Some(Clash::Service(place)) if free(place))
            })
            .map(|(slot, _)| *slot)
            .collect();
        for slot in retried {
            if let Some(fiber) = self.fibers.get_mut(&slot) {
                fiber.retry();
            }
        }
    }

    /// The first row that can start. One whose optional service may still come lets others go first, so that
    /// it need not start twice.
    fn startable(&mut self) -> Option<u64> {
        let mut ready: Vec<(usize, u64)> = Vec::new();
        for (slot, fiber) in &self.fibers {
            if fiber.state == PluginState::Pending && self.epoch(fiber).is_ok() {
                ready.push((fiber.position, *slot));
            }
        }
        ready.sort_unstable();
        let waits = |slot: u64| {
            let Some(fiber) = self.fibers.get(&slot) else { return false };
            let mut absent = fiber
                .optional()
                .iter()
                .filter(|service| self.provider(&fiber.leaf, service).is_none());
            absent.any(|service| {
                self.fibers.iter().any(|(other, candidate)| {
                    *other != slot
                        && candidate.state == PluginState::Pending
                        && candidate.provides(service)
                        && candidate.leaf.realm(service) == fiber.leaf.realm(service)
                })
            })
        };
        let at = ready.iter().position(|(_, slot)| !waits(*slot)).unwrap_or(0);
        let slot = ready.get(at)?.1;
        let fiber = self.fibers.get_mut(&slot)?;
        fiber.starts += 1;
        if fiber.starts > MOST_STARTS {
            fiber.state = PluginState::Failed;
            fiber.error = Some(format!(
                "it started {MOST_STARTS} times and did not come to rest: it and a row that uses its \
                 service, or whose service it uses, reload each other"
            ));
            return self.startable();
        }
        Some(slot)
    }

    /// Notes that a start is complete: what it provides is visible from now on.
    pub(crate) fn activate(&mut self, slot: u64) {
        self.activations += 1;
        if let Some(fiber) = self.fibers.get_mut(&slot) {
            fiber.state = PluginState::Active;
            fiber.activated = self.activations;
        }
    }

    /// Takes back every service of a row.
    pub(crate) fn withdraw(&mut self, slot: u64) {
        self.services.retain(|_, provided| provided.owner.slot != slot);
    }

    /// A row's configuration with its references filled, or what is wrong with them.
    pub(crate) fn filled_config(&self, leaf: &Leaf) -> Result<Value, Vec<ConfigProblem>> {
        let mut config = leaf.config.clone();
        let mut problems = Vec::new();
        for reference in &leaf.references {
            let place = (leaf.realm(&reference.service), reference.service.clone());
            let fact =
                self.active_at(&place).and_then(|it| it.facts.get(&reference.field)).cloned();
            let message = match fact.map(|fact| reference.path.set(&mut config, fact)) {
                Some(true) => continue,
                Some(false) => "there is no such place to fill".to_owned(),
                None => {
                    format!("service `{}` says nothing of `{}`", reference.service, reference.field)
                }
            };
            problems.push(ConfigProblem { path: reference.path.clone(), message });
        }
        if problems.is_empty() { Ok(config) } else { Err(problems) }
    }

    /// The effects of all rows, those of the first to start first.
    pub(crate) fn effects_by_age(&self) -> Vec<Effects> {
        let mut fibers: Vec<&Fiber> = self.fibers.values().collect();
        fibers.sort_by_key(|fiber| fiber.activated);
        fibers.into_iter().map(|fiber| fiber.effects.clone()).collect()
    }

    /// Every row and where its plugin stands, in the order of the tree, with whom to ask what it is without.
    pub(crate) fn statuses(&self) -> Vec<(PluginStatus, Effects)> {
        let mut fibers: Vec<(&u64, &Fiber)> = self.fibers.iter().collect();
        fibers.sort_by_key(|(slot, fiber)| (fiber.position, **slot));
        let statuses = fibers.into_iter().map(|(slot, fiber)| {
            let waits = fiber.state == PluginState::Pending;
            let active = fiber.state == PluginState::Active;
            let provides = self.services.iter().filter(|(_, it)| active && it.owner.slot == *slot);
            let status = PluginStatus {
                id: fiber.leaf.id.clone(),
                name: fiber.leaf.name.clone(),
                state: fiber.state,
                waiting_for: if waits { self.epoch(fiber).err() } else { None }.unwrap_or_default(),
                provides: provides.map(|((_, name), _)| name.clone()).collect(),
                error: fiber.error.clone(),
                effects: fiber.effects.labels(),
                missing: Vec::new(),
            };
            (status, fiber.effects.clone())
        });
        let rejected = self.rejected.iter().map(|status| (status.clone(), Effects::default()));
        statuses.chain(rejected).collect()
    }
}

impl Fiber {
    /// Becomes another row, or the same one anew. It must not run.
    pub(crate) fn become_row(&mut self, leaf: Leaf, plugin: Option<Plugin>) {
        self.retry();
        if leaf.disabled {
            self.state = PluginState::Disposed;
        } else if plugin.is_none() {
            self.state = PluginState::Failed;
            self.error = Some(unknown_plugin(&leaf.name));
        }
        self.leaf = leaf;
        self.plugin = plugin;
    }

    /// Notes that its start failed and was undone.
    pub(crate) fn fail(&mut self, error: &StartError) {
        self.state = PluginState::Failed;
        self.error = Some(error.to_string());
        self.clash = match error {
            StartError::ServiceTaken { service, .. } => {
                Some(Clash::Service((self.leaf.realm(service), (*service).to_owned())))
            }
            StartError::Taken(_) => Some(Clash::Entry),
            StartError::ServiceUndeclared(_)
            | StartError::ServiceMissing(_)
            | StartError::ProvidesUndeclared(_)
            | StartError::Config(_)
            | StartError::Inactive(_)
            | StartError::Failed(_) => None,
        };
    }

    /// Goes back to where it waits for its services.
    pub(crate) fn retry(&mut self) {
        self.state = PluginState::Pending;
        self.generation += 1;
        self.epoch = None;
        self.error = None;
        self.clash = None;
    }

    /// Every service that it cannot do without.
    pub(crate) fn required(&self) -> Vec<String> {
        let own = self.plugin.map_or(&[][..], |plugin| plugin.inject);
        let mut required: Vec<String> = Vec::new();
        let of_row = self.leaf.inject.iter().map(String::as_str);
        let referred = self.leaf.references.iter().map(|reference| reference.service.as_str());
        for service in own.iter().copied().chain(of_row).chain(referred) {
            if !required.iter().any(|known| known == service) {
                required.push(service.to_owned());
            }
        }
        required
    }

    pub(crate) fn optional(&self) -> &'static [&'static str] {
        self.plugin.map_or(&[], |plugin| plugin.optional)
    }

    fn provides(&self, service: &str) -> bool {
        self.plugin.is_some_and(|plugin| plugin.provides.contains(&service))
    }
}

/// What is said of a row whose plugin does not exist.
pub(crate) fn unknown_plugin(name: &str) -> String {
    format!("there is no plugin named `{name}`")
}

/// Leaves out what is wrong at places that are filled only when the plugin starts.
pub(crate) fn without_references(
    problems: Vec<ConfigProblem>,
    leaf: &Leaf,
) -> impl Iterator<Item = ConfigProblem> {
    let filled: Vec<KeyPath> =
        leaf.references.iter().map(|reference| reference.path.clone()).collect();
    problems.into_iter().filter(move |problem| {
        !filled.iter().any(|path| problem.path.is_within(path) || path.is_within(&problem.path))
    })
}
