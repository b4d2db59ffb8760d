//! What a plugin and a row are.

use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::context::Context;
use crate::registry::Taken;

/// Why a plugin did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The plugin asked for a service that nobody provides or that it did not declare.
    #[error("service `{0}` is not available; declare it in `inject`")]
    ServiceMissing(&'static str),
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
    /// The plugin failed in its own way.
    #[error("{0}")]
    Failed(String),
}

/// A plugin: static facts and one function. There is a table of them and no dynamic code.
#[derive(Clone, Copy)]
pub struct Plugin {
    /// The name that rows use.
    pub name: &'static str,
    /// The services that it cannot do without.
    pub inject: &'static [&'static str],
    /// Starts it: reads the configuration, provides services, registers things with the context.
    ///
    /// A start that fails or panics is undone; the rest of the tree goes on.
    pub start: fn(Context, Value) -> BoxFuture<'static, Result<(), StartError>>,
}

/// One line of the tree.
#[derive(Clone, Debug)]
pub struct Row {
    /// Names the row; unique in the tree.
    pub id: String,
    /// The plugin.
    pub name: String,
    /// Its configuration; `null` means an empty one.
    pub config: Value,
}

impl Row {
    /// A row whose plugin has the same name as the row.
    pub fn new(id: &str, config: Value) -> Self {
        Self { id: id.to_owned(), name: id.to_owned(), config }
    }
}

/// Reads a row's configuration into the plugin's own type; `null` means an empty mapping.
pub fn read_config<T: serde::de::DeserializeOwned>(config: Value) -> Result<T, StartError> {
    let config = if config.is_null() { Value::Object(serde_json::Map::new()) } else { config };
    serde_json::from_value(config).map_err(|error| StartError::Config(error.to_string()))
}
