//! Plugins that write down what happens to them and misbehave as their rows say.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::config::{ConfigProblem, ConfigSpec};
use crate::context::Context;
use crate::kernel::Kernel;
use crate::plugin::{Plugin, Row, StartError, read_config};
use crate::registration::Registration;
use crate::registry::Registry;
use crate::service::Key;
use crate::status::{PluginState, PluginStatus};

/// What the tests and their plugins share.
#[derive(Default)]
pub(super) struct World {
    journal: Mutex<Vec<String>>,
    gates: Mutex<BTreeMap<String, Arc<Gate>>>,
    pub(super) names: Registry<String>,
}

pub(super) const WORLD: Key<World> = Key::new("world");
pub(super) const STORE: Key<String> = Key::new("store");

/// Holds whoever comes until it is opened.
pub(super) struct Gate {
    reached: Semaphore,
    open: Semaphore,
}

impl Gate {
    async fn pass(&self) {
        self.reached.add_permits(1);
        self.open.acquire().await.unwrap().forget();
    }

    /// Waits until somebody stands before it.
    pub(super) async fn reached(&self) {
        self.reached.acquire().await.unwrap().forget();
    }

    /// Lets one through.
    pub(super) fn open(&self) {
        self.open.add_permits(1);
    }
}

impl World {
    pub(super) fn gate(&self, name: &str) -> Arc<Gate> {
        let new = || Arc::new(Gate { reached: Semaphore::new(0), open: Semaphore::new(0) });
        Arc::clone(self.gates.lock().unwrap().entry(name.to_owned()).or_insert_with(new))
    }

    pub(super) fn note(&self, line: impl Into<String>) {
        self.journal.lock().unwrap().push(line.into());
    }

    /// What happened since this was last asked.
    pub(super) fn journal(&self) -> Vec<String> {
        std::mem::take(&mut *self.journal.lock().unwrap())
    }
}

#[derive(Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct Config {
    /// Part of what it provides.
    value: u32,
    /// A name that it takes.
    takes: Option<String>,
    /// Fails with this text.
    fail: Option<String>,
    /// Fails when the store that it finds is this one.
    refuse: Option<String>,
    panic: bool,
    hang: bool,
    /// Stops in the middle of its start.
    gate: Option<String>,
    /// Stops in the middle of its undoing.
    undo_gate: Option<String>,
    undo: Undo,
    /// How long its undoing may take.
    patience_seconds: Option<u64>,
    /// The store's facts or another plugin's.
    path: Option<String>,
}

/// What undoing it does.
#[derive(Clone, Copy, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Undo {
    #[default]
    Works,
    Panics,
    Hangs,
    /// Tries to register something.
    Registers,
}

fn behave(
    context: Context,
    config: Value,
    provides: &'static [&'static str],
) -> BoxFuture<'static, Result<(), StartError>> {
    Box::pin(async move {
        let config: Config = read_config(config)?;
        let world = context.get(&WORLD)?;
        let row = context.row().to_owned();
        let store = context.optional(&STORE).ok().flatten();
        let finds = store.as_ref().map(|store| format!(" with {store}")).unwrap_or_default();
        let path = config.path.as_ref().map(|path| format!(" at {path}")).unwrap_or_default();
        world.note(format!("{row} starts{finds}{path}"));
        let noted = Arc::clone(&world);
        let undone = format!("{row} undone");
        context.keep(Registration::new(move || noted.note(undone)))?;
        let name = config.takes.clone().unwrap_or_else(|| row.clone());
        context.keep(world.names.register(&name, format!("{row}{finds}"))?)?;
        undo_as_told(&context, &config, &world)?;
        for service in provides {
            let facts = json!({ "path": format!("/{row}/{}", config.value) });
            let value = Arc::new(format!("{row}#{}", config.value));
            context.provide_with_facts(&Key::<String>::new(service), value, facts)?;
        }
        if let Some(gate) = &config.gate {
            world.gate(gate).pass().await;
        }
        assert!(!config.panic, "told to panic");
        if config.hang {
            std::future::pending::<()>().await;
        }
        if let Some(text) = config.fail {
            return Err(StartError::Failed(text));
        }
        if store.is_some_and(|store| Some(store.as_str()) == config.refuse.as_deref()) {
            return Err(StartError::Failed("told to refuse this store".to_owned()));
        }
        Ok(())
    })
}

fn undo_as_told(context: &Context, config: &Config, world: &Arc<World>) -> Result<(), StartError> {
    let (world, again, config) = (Arc::clone(world), context.clone(), config.clone());
    let patience = Duration::from_secs(config.patience_seconds.unwrap_or(5));
    context.on_dispose_within("told", patience, move |why| async move {
        if config.undo == Undo::Registers {
            let row = again.row().to_owned();
            let late = Arc::clone(&world);
            let kept = again.keep(Registration::new(move || late.note("late one undone")));
            world.note(format!("{row} registers late: {:?}", kept.map_err(|error| error.row)));
        }
        if let Some(gate) = &config.undo_gate {
            let gate = world.gate(gate);
            tokio::select! {
                () = gate.pass() => {}
                () = why.shutdown() => world.note("gives up waiting"),
            }
        }
        assert!(config.undo != Undo::Panics, "told to panic");
        if config.undo == Undo::Hangs {
            std::future::pending::<()>().await;
        }
    })?;
    Ok(())
}

/// Refuses a value that no schema would.
fn no_thirteen(config: &Value) -> Vec<ConfigProblem> {
    let unlucky = config.get("value") == Some(&json!(13));
    unlucky.then(|| ConfigProblem::new("value", "13 is unlucky")).into_iter().collect()
}

const CONFIG: ConfigSpec = ConfigSpec::of::<Config>().and(no_thirteen);

const fn plugin(
    name: &'static str,
    inject: &'static [&'static str],
    start: crate::plugin::Start,
) -> Plugin {
    Plugin { inject, config: CONFIG, ..Plugin::new(name, start) }
}

pub(super) const PLUGINS: &[Plugin] = &[
    // Provides `cache` out of `store`.
    Plugin {
        provides: &["cache"],
        ..plugin("cache", &["world", "store"], |context, config| {
            behave(context, config, &["cache"])
        })
    },
    // Two that would like to have each other.
    Plugin {
        optional: &["cache"],
        provides: &["store"],
        ..plugin("courting", &["world"], |context, config| behave(context, config, &["store"]))
    },
    // Says what its rows intercept.
    plugin("curious", &["world"], |context, _| {
        Box::pin(async move {
            let world = context.get(&WORLD)?;
            world.note(format!("{} {}", context.row(), context.intercept(&STORE)));
            Ok(())
        })
    }),
    // Uses `store` if it is there.
    Plugin {
        optional: &["store"],
        ..plugin("hopeful", &["world"], |context, config| behave(context, config, &[]))
    },
    plugin("page", &["world", "cache"], |context, config| behave(context, config, &[])),
    plugin("plain", &["world"], |context, config| behave(context, config, &[])),
    plugin("reader", &["world", "store"], |context, config| behave(context, config, &[])),
    // Asks for what it did not declare.
    plugin("sneaky", &["world"], |context, _| {
        Box::pin(async move { context.get(&STORE).map(|_| ()) })
    }),
    Plugin {
        provides: &["store"],
        ..plugin("store", &["world"], |context, config| behave(context, config, &["store"]))
    },
    // Provides what it did not declare.
    plugin("stray", &["world"], |context, config| behave(context, config, &["store"])),
    // Takes no configuration.
    Plugin::new("unconfigured", |_, _| Box::pin(async { Ok(()) })),
];

/// A row of a plugin.
pub(super) fn row(id: &str, name: &str, config: Value) -> Row {
    Row { name: name.to_owned(), ..Row::new(id, config) }
}

/// A row without configuration.
pub(super) fn plain(id: &str, name: &str) -> Row {
    row(id, name, Value::Null)
}

pub(super) async fn mounted(rows: Vec<Row>) -> (Kernel, Arc<World>) {
    let world = Arc::new(World::default());
    (Kernel::mount(rows, PLUGINS, &WORLD, Arc::clone(&world)).await, world)
}

pub(super) fn status(kernel: &Kernel, id: &str) -> PluginStatus {
    kernel.plugins().into_iter().find(|plugin| plugin.id == id).unwrap()
}

pub(super) fn state(kernel: &Kernel, id: &str) -> PluginState {
    status(kernel, id).state
}

/// All states: `id state`, in the order of the tree.
pub(super) fn states(kernel: &Kernel) -> Vec<String> {
    kernel.plugins().iter().map(|plugin| format!("{} {}", plugin.id, plugin.state)).collect()
}
