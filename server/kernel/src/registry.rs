//! Entries by name that undo themselves: what tools, adapters and prompt sections are kept in.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::registration::Registration;

/// Entries by name. Clones share them.
pub struct Registry<T> {
    entries: Arc<Mutex<BTreeMap<String, T>>>,
}

/// The name is taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is registered already")]
pub struct Taken(pub String);

impl<T> Clone for Registry<T> {
    fn clone(&self) -> Self {
        Self { entries: Arc::clone(&self.entries) }
    }
}

impl<T> Default for Registry<T> {
    fn default() -> Self {
        Self { entries: Arc::default() }
    }
}

impl<T: Clone + Send + 'static> Registry<T> {
    /// Adds an entry for as long as the registration is kept.
    pub fn register(&self, name: &str, entry: T) -> Result<Registration, Taken> {
        let mut entries = self.lock();
        if entries.contains_key(name) {
            return Err(Taken(name.to_owned()));
        }
        entries.insert(name.to_owned(), entry);
        drop(entries);
        let (registry, name) = (self.clone(), name.to_owned());
        Ok(Registration::new(move || {
            let removed = registry.lock().remove(&name);
            // Dropped outside the lock: an entry may do anything when it goes.
            drop(removed);
        }))
    }

    /// An entry.
    pub fn get(&self, name: &str) -> Option<T> {
        self.lock().get(name).cloned()
    }

    /// Every entry by name.
    pub fn all(&self) -> Vec<T> {
        self.lock().values().cloned().collect()
    }

    /// Every name, in order.
    pub fn names(&self) -> Vec<String> {
        self.lock().keys().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, T>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_stand_by_name_until_their_registration_is_dropped() {
        let registry = Registry::default();
        let b = registry.register("b", 2).unwrap();
        let a = registry.register("a", 1).unwrap();
        assert_eq!(registry.register("a", 3).err(), Some(Taken("a".to_owned())));
        assert_eq!(
            (registry.names(), registry.all()),
            (vec!["a".to_owned(), "b".to_owned()], vec![1, 2])
        );
        drop(a);
        assert_eq!((registry.get("a"), registry.get("b")), (None, Some(2)));
        drop(b);
        assert!(registry.all().is_empty());
    }
}
