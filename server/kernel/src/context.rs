//! A plugin's view of the kernel while it starts.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;

use crate::plugin::StartError;
use crate::registration::Registration;
use crate::service::{Key, Services};

/// The plugin is not loading or active, so that nobody would undo what it registers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("row `{row}` is unloading or gone; it cannot register anything")]
pub struct InactiveEffect {
    /// The row.
    pub row: String,
}

/// Undoes one effect of a plugin.
pub(crate) type Disposer = Box<dyn FnOnce() -> BoxFuture<'static, ()> + Send>;

/// What a plugin has done so far, in order.
#[derive(Clone, Default)]
pub(crate) struct Effects(Arc<Mutex<Vec<Disposer>>>);

impl Effects {
    fn push(&self, disposer: Disposer) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(disposer);
    }

    /// The last effect, to be undone first.
    pub(crate) fn pop(&self) -> Option<Disposer> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }
}

/// A plugin's view of the kernel while it starts. What is registered through it is undone when the plugin
/// unloads, last first.
#[derive(Clone)]
pub struct Context {
    pub(crate) row: String,
    pub(crate) inject: &'static [&'static str],
    pub(crate) services: Arc<Mutex<Services>>,
    pub(crate) effects: Effects,
}

impl Context {
    /// The id of the plugin's row.
    pub fn row(&self) -> &str {
        &self.row
    }

    /// A service that the plugin injects.
    pub fn get<T: ?Sized + Send + Sync + 'static>(
        &self,
        key: &Key<T>,
    ) -> Result<Arc<T>, StartError> {
        if !self.inject.contains(&key.name()) {
            return Err(StartError::ServiceMissing(key.name()));
        }
        self.lock_services().get(key).ok_or(StartError::ServiceMissing(key.name()))
    }

    /// Provides a service for as long as the plugin is active.
    pub fn provide<T: ?Sized + Send + Sync + 'static>(
        &self,
        key: &Key<T>,
        value: Arc<T>,
    ) -> Result<(), StartError> {
        self.lock_services()
            .provide(&self.row, key, value)
            .map_err(|owner| StartError::ServiceTaken { service: key.name(), owner })
    }

    /// Keeps a registration until the plugin unloads.
    pub fn keep(&self, registration: Registration) {
        self.on_dispose(move || async move { drop(registration) });
    }

    /// Runs something when the plugin unloads. Awaited before the effect registered before it is undone.
    pub fn on_dispose<F, Fut>(&self, dispose: F)
    where
        F: FnOnce() -> Fut + Send + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.effects.push(Box::new(move || Box::pin(dispose())));
    }

    fn lock_services(&self) -> std::sync::MutexGuard<'_, Services> {
        self.services.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
