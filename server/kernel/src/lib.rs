//! Plugins, services and effects. Knows nothing of agents, editors or files.
//!
//! A tree of rows is mounted: each row names a plugin and carries its configuration. A plugin starts once
//! every service that it injects is provided by an active plugin, and whatever it registers is undone, in
//! reverse order, before anything that it depends on goes away.

pub mod config;
pub mod hooks;
pub mod plugin;
pub mod registration;
pub mod registry;
pub mod service;

mod context;
mod effects;
mod graph;
mod kernel;
mod lifecycle;
mod panics;
mod shared;
mod status;
mod tree;
mod update;

pub use context::Context;
pub use effects::{InactiveEffect, Unloading};
pub use kernel::Kernel;
pub use status::{Missing, PluginState, PluginStatus};
pub use update::{RowFailure, Stage, UpdateError};
