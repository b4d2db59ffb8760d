//! Typed names of services.

use std::any::Any;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::Arc;

/// The name of a service and the type behind it. Declared once, beside the service's definition:
///
/// ```
/// use dsh_kernel::service::Key;
/// trait Clock: Send + Sync {}
/// const CLOCK: Key<dyn Clock> = Key::new("clock");
/// ```
pub struct Key<T: ?Sized> {
    name: &'static str,
    value: PhantomData<fn() -> Arc<T>>,
}

impl<T: ?Sized> Key<T> {
    /// Declares a service.
    pub const fn new(name: &'static str) -> Self {
        Self { name, value: PhantomData }
    }

    /// The name that rows and plugins use.
    pub const fn name(&self) -> &'static str {
        self.name
    }
}

/// One service that is provided.
struct Entry {
    /// The row that provides it.
    owner: String,
    /// An `Arc<T>` of the key's type.
    value: Box<dyn Any + Send + Sync>,
}

/// The services of one kernel.
#[derive(Default)]
pub(crate) struct Services {
    entries: BTreeMap<&'static str, Entry>,
}

impl Services {
    pub(crate) fn get<T: ?Sized + Send + Sync + 'static>(&self, key: &Key<T>) -> Option<Arc<T>> {
        self.entries.get(key.name)?.value.downcast_ref::<Arc<T>>().cloned()
    }

    /// Provides a service; the owner of the name when it is taken.
    pub(crate) fn provide<T: ?Sized + Send + Sync + 'static>(
        &mut self,
        owner: &str,
        key: &Key<T>,
        value: Arc<T>,
    ) -> Result<(), String> {
        if let Some(taken) = self.entries.get(key.name) {
            return Err(taken.owner.clone());
        }
        self.entries.insert(key.name, Entry { owner: owner.to_owned(), value: Box::new(value) });
        Ok(())
    }

    pub(crate) fn withdraw(&mut self, owner: &str) {
        self.entries.retain(|_, entry| entry.owner != owner);
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.entries.contains_key(name)
    }

    pub(crate) fn owned_by(&self, owner: &str) -> Vec<&'static str> {
        self.entries
            .iter()
            .filter(|(_, entry)| entry.owner == owner)
            .map(|(name, _)| *name)
            .collect()
    }
}
