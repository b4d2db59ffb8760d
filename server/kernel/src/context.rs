//! A plugin's view of the kernel.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::effects::{DISPOSE_DEADLINE, Effect, Effects, InactiveEffect, Unloading};
use crate::graph::{FiberId, Graph, HOST, Place};
use crate::hooks::Hooks;
use crate::plugin::{Plugin, StartError};
use crate::registration::Registration;
use crate::service::{Key, Provided};
use crate::shared::Shared;
use crate::status::{Missing, PluginState};
use crate::tree::Leaf;

/// A plugin's view of the kernel, for one run of its row. What is registered through it is undone when the
/// plugin unloads, last first. A context that is kept beyond that finds no services and registers nothing.
#[derive(Clone)]
pub struct Context {
    shared: Arc<Shared>,
    fiber: FiberId,
    leaf: Arc<Leaf>,
    plugin: Plugin,
    effects: Effects,
}

impl Context {
    pub(crate) fn new(
        shared: Arc<Shared>,
        fiber: FiberId,
        leaf: Arc<Leaf>,
        plugin: Plugin,
        effects: Effects,
    ) -> Self {
        Self { shared, fiber, leaf, plugin, effects }
    }

    /// The id of the plugin's row.
    pub fn row(&self) -> &str {
        &self.leaf.id
    }

    /// A service that the plugin or its row injects.
    pub fn get<T: ?Sized + Send + Sync + 'static>(
        &self,
        key: &Key<T>,
    ) -> Result<Arc<T>, StartError> {
        self.optional(key)?.ok_or(StartError::ServiceMissing(key.name()))
    }

    /// A service that the plugin uses when it is there. It stays the same as long as the plugin runs: a change
    /// reloads the plugin.
    pub fn optional<T: ?Sized + Send + Sync + 'static>(
        &self,
        key: &Key<T>,
    ) -> Result<Option<Arc<T>>, StartError> {
        let name = key.name();
        let declared = self.plugin.inject.contains(&name)
            || self.plugin.optional.contains(&name)
            || self.leaf.inject.iter().any(|injected| injected == name);
        if !declared {
            return Err(StartError::ServiceUndeclared(name));
        }
        let graph = self.shared.graph();
        let provided = graph.active_at(&self.place(name)).filter(|provided| {
            let fiber = self.current(&graph).and_then(|state| state.1);
            fiber.is_some_and(|epoch| epoch.contains(&Some(provided.owner)))
        });
        Ok(provided.and_then(Provided::value))
    }

    /// What the rows around this one add to the configuration of a service, for this consumer: the outermost
    /// first, mappings merged key by key. `null`: nothing.
    pub fn intercept<T: ?Sized>(&self, key: &Key<T>) -> Value {
        self.leaf.intercepts.get(key.name()).cloned().unwrap_or(Value::Null)
    }

    /// Provides a service for as long as the plugin is active. Others see it once the start is complete.
    pub fn provide<T: ?Sized + Send + Sync + 'static>(
        &self,
        key: &Key<T>,
        value: Arc<T>,
    ) -> Result<(), StartError> {
        self.provide_with_facts(key, value, Value::Null)
    }

    /// Provides a service and says of it what rows may refer to: a mapping of fields.
    pub fn provide_with_facts<T: ?Sized + Send + Sync + 'static>(
        &self,
        key: &Key<T>,
        value: Arc<T>,
        facts: Value,
    ) -> Result<(), StartError> {
        let service = key.name();
        if !self.plugin.provides.contains(&service) {
            return Err(StartError::ProvidesUndeclared(service));
        }
        let place = self.place(service);
        let mut graph = self.shared.graph();
        if self.current(&graph).is_none_or(|(state, _)| state != PluginState::Loading) {
            return Err(self.inactive().into());
        }
        if let Some(taken) = graph.services.get(&place) {
            let owner = graph.fibers.get(&taken.owner.slot).map(|fiber| fiber.leaf.id.clone());
            debug_assert!(owner.is_some() || taken.owner == HOST);
            let owner = owner.unwrap_or_else(|| "host".to_owned());
            return Err(StartError::ServiceTaken { service, owner });
        }
        let value = Box::new(value);
        graph.services.insert(place, Provided { owner: self.fiber, value, facts });
        Ok(())
    }

    /// Keeps a registration until the plugin unloads. Refused, and the registration undone, when it unloads
    /// already.
    pub fn keep(&self, registration: Registration) -> Result<(), InactiveEffect> {
        let label = registration.label().to_owned();
        self.on_dispose(&label, move |_| async move { drop(registration) })
    }

    /// Runs something when the plugin unloads; `label` says to people what is undone. It is awaited, five
    /// seconds at most, before the effect registered before it is undone.
    pub fn on_dispose<F, Fut>(&self, label: &str, dispose: F) -> Result<(), InactiveEffect>
    where
        F: FnOnce(Unloading) -> Fut + Send + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.on_dispose_within(label, DISPOSE_DEADLINE, dispose)
    }

    /// Like [`Context::on_dispose`] with a deadline of its own, for what has to wait for running work. Nothing
    /// that the plugin depends on goes away meanwhile, and no other change of the tree begins; what waits for
    /// long must give up when [`Unloading::shutdown`] says so.
    pub fn on_dispose_within<F, Fut>(
        &self,
        label: &str,
        deadline: Duration,
        dispose: F,
    ) -> Result<(), InactiveEffect>
    where
        F: FnOnce(Unloading) -> Fut + Send + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let effect = Effect {
            label: label.to_owned(),
            deadline,
            undo: Box::new(move |why| Box::pin(async move { dispose(why).await })),
        };
        self.effects.push(effect).map_err(|_refused| self.inactive())
    }

    /// Has the plugin say what it is without, whenever somebody looks at where it stands, for as long as it runs.
    /// What it names may come and go without a reload. Must answer at once, and may not ask this kernel.
    pub fn report_missing(&self, missing: impl Fn() -> Vec<Missing> + Send + Sync + 'static) {
        self.effects.ask_for_missing(Arc::new(missing));
    }

    /// Where this kernel's hooks are dispatched.
    pub fn hooks(&self) -> &Hooks {
        &self.shared.hooks
    }

    fn place(&self, service: &str) -> Place {
        (self.leaf.realm(service), service.to_owned())
    }

    /// The state and the epoch of the run that this context is of, unless that is over.
    fn current<'a>(
        &self,
        graph: &'a Graph,
    ) -> Option<(PluginState, Option<&'a crate::graph::Epoch>)> {
        let fiber = graph.fibers.get(&self.fiber.slot)?;
        (fiber.generation == self.fiber.generation).then_some((fiber.state, fiber.epoch.as_ref()))
    }

    fn inactive(&self) -> InactiveEffect {
        InactiveEffect { row: self.leaf.id.clone() }
    }
}
