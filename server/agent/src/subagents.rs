//! Subagents: agents that an agent starts for one task, in sessions of their own. The `subagents` service.
//!
//! A [`SubagentProvider`] starts children with one kind of history; rows register them by name. Whoever wants a
//! child asks [`Subagents::start`] and holds the [`Run`] until it is disposed.

use std::sync::Arc;

use dsh_kernel::hooks::Hooks;
use dsh_kernel::registration::Registration;
use dsh_kernel::registry::{Registry, Taken};
use dsh_kernel::service::Key;

use crate::host::Host;

mod changes;
pub mod error;
pub mod images;
pub mod in_process;
pub mod left;
pub mod outcome;
pub mod provider;
pub mod request;
pub mod run;
mod schema;
pub mod structured;

use changes::Changes;
use error::StartError;
use provider::{Registered, SubagentProvider};
use request::StartRequest;
use run::Run;

/// The service's name.
pub const SUBAGENTS: Key<Subagents> = Key::new("subagents");

/// The providers by name, and the way to start a child.
pub struct Subagents {
    providers: Registry<Registered>,
    changes: Changes,
    host: Arc<Host>,
}

impl Subagents {
    /// No providers yet. Must be called inside a runtime: providers that come and go are told of from a task.
    pub fn new(host: Arc<Host>, hooks: Hooks) -> Self {
        let providers = Registry::default();
        Self { changes: Changes::tell(providers.clone(), hooks), providers, host }
    }

    /// Adds a provider for as long as the registration is kept. Its going away ends no child that it started.
    pub fn register(&self, provider: Arc<dyn SubagentProvider>) -> Result<Registration, Taken> {
        let name = provider.name().to_owned();
        let entry = Registered { number: self.changes.number(), provider };
        let registration = self.providers.register(&name, entry)?;
        self.changes.happened();
        let told = self.changes.on_removal();
        Ok(Registration::named(format!("`{name}`"), move || {
            drop(registration);
            told();
        }))
    }

    /// A provider.
    pub fn provider(&self, name: &str) -> Option<Arc<dyn SubagentProvider>> {
        self.providers.get(name).map(|entry| entry.provider)
    }

    /// Every provider's name, in order.
    pub fn names(&self) -> Vec<String> {
        self.providers.names()
    }

    /// Starts a child. What the provider does not support is refused and never ignored. When the future is
    /// dropped, or fails, there is no child.
    pub async fn start(&self, provider: &str, request: StartRequest) -> Result<Run, StartError> {
        let found =
            self.provider(provider).ok_or_else(|| StartError::NoProvider(provider.to_owned()))?;
        if let Some(what) = request.unsupported(found.capabilities()) {
            return Err(StartError::Unsupported { provider: provider.to_owned(), what });
        }
        if request.cancel.is_cancelled() {
            return Err(StartError::Cancelled);
        }
        let parent = request.parent.clone();
        let about = (request.label.clone(), request.call_id.clone());
        // Of work in the background whoever gave it says how it came out.
        let told = request.activation.is_some();
        let child = found.start(request).await?;
        Ok(Run::new(Arc::clone(&self.host), parent, provider.to_owned(), about, child, told))
    }
}
