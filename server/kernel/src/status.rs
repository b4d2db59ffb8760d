//! Where rows stand, for whoever asks.

use crate::config::KeyPath;
use std::fmt;

/// Where a row's plugin stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PluginState {
    /// It waits for services that no active plugin provides.
    Pending,
    /// It starts.
    Loading,
    /// It runs.
    Active,
    /// Its start failed and was undone.
    Failed,
    /// What it did is being undone.
    Unloading,
    /// It is disabled or shut down.
    Disposed,
}

impl fmt::Display for PluginState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pending => "pending",
            Self::Loading => "loading",
            Self::Active => "active",
            Self::Failed => "failed",
            Self::Unloading => "unloading",
            Self::Disposed => "disposed",
        })
    }
}

/// A row and where its plugin stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginStatus {
    /// The row's id, with those of its groups before it.
    pub id: String,
    /// The plugin's name.
    pub name: String,
    /// Where it stands.
    pub state: PluginState,
    /// The services that a pending one waits for.
    pub waiting_for: Vec<String>,
    /// The services that it provides now.
    pub provides: Vec<String>,
    /// Why a failed one failed.
    pub error: Option<String>,
    /// What it has registered, in order.
    pub effects: Vec<String>,
    /// What an active one is without.
    pub missing: Vec<Missing>,
}

/// A name in a plugin's configuration that nobody has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// Where in the configuration it stands.
    pub at: KeyPath,
    /// The name.
    pub name: String,
    /// What that means, for people.
    pub text: String,
}
