//! What a plugin and a row are.

use std::collections::BTreeMap;

use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::config::{ConfigProblem, ConfigSpec, KeyPath};
use crate::context::Context;
use crate::effects::InactiveEffect;
use crate::registry::Taken;

/// Why a plugin did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The plugin asked for a service that neither it nor its row declares.
    #[error("service `{0}` is not declared; name it in `inject` or `optional`")]
    ServiceUndeclared(&'static str),
    /// The plugin asked for a service that nobody provides now.
    #[error("service `{0}` is not available; enable a row that provides it")]
    ServiceMissing(&'static str),
    /// The plugin provides a service that it did not declare.
    #[error("service `{0}` is provided but not declared; name it in `provides`")]
    ProvidesUndeclared(&'static str),
    /// The plugin provides a service that another row provides already.
    #[error("service `{service}` is provided by row `{owner}` already; disable one of the two")]
    ServiceTaken {
        /// The service.
        service: &'static str,
        /// The row that has it.
        owner: String,
    },
    /// The row's configuration does not fit the plugin.
    #[error("config: {0}")]
    Config(String),
    /// The plugin registers something under a name that is taken.
    #[error(transparent)]
    Taken(#[from] Taken),
    /// The plugin registers something after it was told to unload.
    #[error(transparent)]
    Inactive(#[from] InactiveEffect),
    /// The plugin failed in its own way.
    #[error("{0}")]
    Failed(String),
}

impl From<ConfigProblem> for StartError {
    fn from(problem: ConfigProblem) -> Self {
        Self::Config(problem.to_string())
    }
}

/// Starts a plugin: reads the configuration, provides services, registers things with the context.
pub type Start = fn(Context, Value) -> BoxFuture<'static, Result<(), StartError>>;

/// A plugin: static facts and one function. There is a table of them and no dynamic code.
///
/// ```
/// use dsh_kernel::plugin::Plugin;
/// # use dsh_kernel::{Context, plugin::StartError};
/// # fn start(_: Context, _: serde_json::Value)
/// #     -> futures_util::future::BoxFuture<'static, Result<(), StartError>> { todo!() }
/// const PLUGIN: Plugin =
///     Plugin { inject: &["host"], provides: &["clock"], ..Plugin::new("clock", start) };
/// ```
#[derive(Clone, Copy)]
pub struct Plugin {
    /// The name that rows use.
    pub name: &'static str,
    /// The services that it cannot do without.
    pub inject: &'static [&'static str],
    /// The services that it uses when they are there. One that comes, goes or is replaced reloads the plugin,
    /// as a required one does.
    pub optional: &'static [&'static str],
    /// The services that it provides. Any other is refused.
    pub provides: &'static [&'static str],
    /// What its rows may say.
    pub config: ConfigSpec,
    /// Starts it.
    ///
    /// A start that fails, panics or takes too long is undone; the rest of the tree goes on.
    pub start: Start,
}

impl Plugin {
    /// A plugin that needs nothing, provides nothing and is not configured; the fields say otherwise.
    pub const fn new(name: &'static str, start: Start) -> Self {
        let config = ConfigSpec::NONE;
        Self { name, inject: &[], optional: &[], provides: &[], config, start }
    }
}

/// One line of the tree: a plugin and its configuration, or a group of lines.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Names the row among its siblings. In the whole tree a row is named by the ids on the way to it, joined
    /// with `:`.
    pub id: String,
    /// The plugin. Says nothing on a group.
    pub name: String,
    /// Its configuration; `null` means an empty one. What stands at the place of a reference is not looked at.
    pub config: Value,
    /// The places in the configuration that are filled from services when the plugin starts.
    pub references: Vec<Reference>,
    /// The rows of a group; `None`: the row is a plugin's.
    pub children: Option<Vec<Row>>,
    /// Whether it, and with a group everything in it, stays down.
    pub disabled: bool,
    /// Services that the plugin must wait for beside its own; on a group: each of its rows.
    pub inject: Vec<String>,
    /// Which services are looked up and provided in another realm, from here downwards.
    pub isolate: BTreeMap<String, Isolation>,
    /// More configuration for services, which their consumers read through their context; from here downwards.
    pub intercept: BTreeMap<String, Value>,
}

impl Row {
    /// An enabled row whose plugin has the same name as the row.
    pub fn new(id: &str, config: Value) -> Self {
        Self {
            id: id.to_owned(),
            name: id.to_owned(),
            config,
            references: Vec::new(),
            children: None,
            disabled: false,
            inject: Vec::new(),
            isolate: BTreeMap::new(),
            intercept: BTreeMap::new(),
        }
    }

    /// An enabled group.
    pub fn group(id: &str, children: Vec<Self>) -> Self {
        Self { children: Some(children), ..Self::new(id, Value::Null) }
    }
}

/// A place in a row's configuration that holds what another service's provider says of itself (`!service`).
/// The row waits for that service as if it injected it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The place. Everything above it must exist in the configuration.
    pub path: KeyPath,
    /// The service.
    pub service: String,
    /// Which of the facts that were provided with the service.
    pub field: String,
}

/// The realm of a service: consumers find the provider of their own realm only, and each has at most one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// A realm of the row's own, shared with everything below it.
    Private,
    /// The realm that all rows with the same label share.
    Label(String),
}

/// Reads a row's configuration into the plugin's own type; `null` means an empty mapping.
pub fn read_config<T: serde::de::DeserializeOwned>(config: Value) -> Result<T, StartError> {
    let config = if config.is_null() { Value::Object(serde_json::Map::new()) } else { config };
    serde_json::from_value(config).map_err(|error| StartError::Config(error.to_string()))
}
