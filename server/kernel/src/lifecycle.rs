//! Starts and unloads plugins, one step at a time, until the tree is at rest.

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use serde_json::Value;

use crate::config::ConfigProblem;
use crate::context::Context;
use crate::effects::{Effects, Unloading};
use crate::graph::{FiberId, Next};
use crate::panics;
use crate::plugin::{Plugin, StartError};
use crate::shared::Shared;
use crate::status::PluginState;
use crate::tree::Leaf;
use crate::update::{RowFailure, Stage};

/// How long a start may take. Longer work belongs into a task of the plugin's own.
pub(crate) const START_DEADLINE: Duration = Duration::from_secs(30);

/// One change of the tree. Whoever has it holds the right to change.
pub(crate) struct Lifecycle<'a> {
    pub(crate) shared: &'a Arc<Shared>,
    /// What could not be undone as it should.
    pub(crate) troubles: Vec<RowFailure>,
}

/// A start that can be made.
struct Prepared {
    context: Context,
    plugin: Plugin,
    config: Result<Value, Vec<ConfigProblem>>,
}

/// How a start ended.
enum Started {
    Active,
    Failed(StartError),
    /// Everything is shut down meanwhile.
    Interrupted,
}

impl<'a> Lifecycle<'a> {
    pub(crate) fn new(shared: &'a Arc<Shared>) -> Self {
        Self { shared, troubles: Vec::new() }
    }

    /// Unloads whatever runs for an epoch that is over and starts whatever can start, until there is nothing
    /// of either. Stops early when everything is shut down.
    pub(crate) async fn settle(&mut self) {
        self.shared.graph().fibers.values_mut().for_each(|fiber| fiber.starts = 0);
        while !self.shared.closing.is_cancelled() {
            let next = self.shared.graph().next();
            match next {
                Next::Unload(slot) => self.unload(slot).await,
                Next::Start(slot) => self.start(slot).await,
                Next::Rest => return,
            }
        }
    }

    /// Unloads rows, and before each of them whatever depends on it.
    pub(crate) async fn bring_down(&mut self, rows: &BTreeSet<u64>) {
        loop {
            let next = self.shared.graph().last_dependent(rows);
            let Some(slot) = next else { return };
            self.unload(slot).await;
        }
    }

    /// Unloads one row. Nothing that runs depends on it.
    async fn unload(&mut self, slot: u64) {
        self.undo(slot).await;
        let shared = self.shared;
        shared.change(|graph| {
            graph.withdraw(slot);
            if let Some(fiber) = graph.fibers.get_mut(&slot) {
                fiber.retry();
            }
        });
    }

    async fn undo(&mut self, slot: u64) {
        let undoing = self.shared.change(|graph| {
            let fiber = graph.fibers.get_mut(&slot)?;
            fiber.state = PluginState::Unloading;
            Some((fiber.effects.clone(), fiber.leaf.id.clone(), fiber.leaf.name.clone()))
        });
        let Some((effects, id, name)) = undoing else { return };
        let why = Unloading { shutdown: self.shared.closing.clone() };
        for message in effects.undo(&id, &why).await {
            let (id, name) = (id.clone(), name.clone());
            let problems = Vec::new();
            self.troubles.push(RowFailure { id, name, stage: Stage::Dispose, message, problems });
        }
    }

    async fn start(&mut self, slot: u64) {
        let Some(Prepared { context, plugin, config }) = self.prepare(slot) else { return };
        let row = context.row().to_owned();
        let started = self.run(context, plugin, config).await;
        let error = match started {
            Started::Active => return self.shared.change(|graph| graph.activate(slot)),
            Started::Failed(error) => Some(error),
            Started::Interrupted => None,
        };
        if let Some(error) = &error {
            tracing::error!(row, %error, "plugin did not start");
        }
        self.undo(slot).await;
        self.shared.change(|graph| {
            graph.withdraw(slot);
            let Some(fiber) = graph.fibers.get_mut(&slot) else { return };
            match error {
                Some(error) => fiber.fail(&error),
                None => fiber.retry(),
            }
        });
    }

    fn prepare(&self, slot: u64) -> Option<Prepared> {
        let shared = Arc::clone(self.shared);
        self.shared.change(|graph| {
            let fiber = graph.fibers.get(&slot)?;
            let plugin = fiber.plugin?;
            let epoch = graph.epoch(fiber).ok()?;
            let leaf: Arc<Leaf> = Arc::new(fiber.leaf.clone());
            let config = graph.filled_config(&leaf);
            let fiber = graph.fibers.get_mut(&slot)?;
            fiber.state = PluginState::Loading;
            fiber.epoch = Some(epoch);
            fiber.effects = Effects::default();
            let id = FiberId { slot, generation: fiber.generation };
            let context = Context::new(shared, id, leaf, plugin, fiber.effects.clone());
            Some(Prepared { context, plugin, config })
        })
    }

    /// Runs a plugin's start. Its code may fail, panic or hang.
    async fn run(
        &self,
        context: Context,
        plugin: Plugin,
        config: Result<Value, Vec<ConfigProblem>>,
    ) -> Started {
        let config = config.and_then(|config| {
            let problems = plugin.config.problems(&config);
            if problems.is_empty() { Ok(config) } else { Err(problems) }
        });
        let config = match config {
            Ok(config) => config,
            Err(problems) => return Started::Failed(StartError::Config(joined(&problems))),
        };
        let starting =
            AssertUnwindSafe(async move { (plugin.start)(context, config).await }).catch_unwind();
        let outcome = tokio::select! {
            biased;
            () = self.shared.closing.cancelled() => return Started::Interrupted,
            outcome = tokio::time::timeout(START_DEADLINE, starting) => outcome,
        };
        let failed = |text: String| Started::Failed(StartError::Failed(text));
        match outcome {
            Ok(Ok(Ok(()))) => Started::Active,
            Ok(Ok(Err(error))) => Started::Failed(error),
            Ok(Err(panic)) => {
                let text = panics::message(&*panic);
                failed(format!("the plugin panicked while it started: {text}"))
            }
            Err(_) => failed(format!("the plugin did not start within {START_DEADLINE:?}")),
        }
    }
}

/// Several problems in one line.
pub(crate) fn joined(problems: &[ConfigProblem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
