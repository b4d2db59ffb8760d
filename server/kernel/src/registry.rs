//! Entries by name that undo themselves: what tools, adapters and prompt sections are kept in.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::registration::Registration;

/// Entries by name. Clones share them.
pub struct Registry<T> {
    entries: Arc<Mutex<Entries<T>>>,
}

/// Each name with its entries by scope.
type Entries<T> = BTreeMap<String, BTreeMap<Scope, T>>;

/// For whom an entry is. Lookups name the scopes that they are in, nearest first; everything is in the global
/// one, which is farthest.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// For everybody.
    Global,
    /// For whoever names it.
    Of(String),
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
    /// Adds an entry for everybody, for as long as the registration is kept.
    pub fn register(&self, name: &str, entry: T) -> Result<Registration, Taken> {
        self.register_in(Scope::Global, name, entry)
    }

    /// Adds an entry in a scope. In lookups from there it stands before one of the same name farther away.
    pub fn register_in(&self, scope: Scope, name: &str, entry: T) -> Result<Registration, Taken> {
        let mut entries = self.lock();
        let scopes = entries.entry(name.to_owned()).or_default();
        if scopes.contains_key(&scope) {
            return Err(Taken(name.to_owned()));
        }
        scopes.insert(scope.clone(), entry);
        drop(entries);
        let (registry, name) = (self.clone(), name.to_owned());
        Ok(Registration::named(format!("`{name}`"), move || {
            let removed = registry.remove(&scope, &name);
            // Dropped outside the lock: an entry may do anything when it goes.
            drop(removed);
        }))
    }

    /// The entries as they are now: what is registered or undone later leaves it unchanged.
    pub fn snapshot(&self) -> Self {
        Self { entries: Arc::new(Mutex::new(self.lock().clone())) }
    }

    /// An entry for everybody.
    pub fn get(&self, name: &str) -> Option<T> {
        self.get_from(&[], name)
    }

    /// The nearest entry, seen from some scopes, nearest first.
    pub fn get_from(&self, scopes: &[Scope], name: &str) -> Option<T> {
        nearest(self.lock().get(name)?, scopes).cloned()
    }

    /// Every entry for everybody, by name.
    pub fn all(&self) -> Vec<T> {
        self.all_from(&[])
    }

    /// The nearest entry of every name, seen from some scopes.
    pub fn all_from(&self, scopes: &[Scope]) -> Vec<T> {
        self.lock().values().filter_map(|of_name| nearest(of_name, scopes).cloned()).collect()
    }

    /// Every name that stands for everybody, in order.
    pub fn names(&self) -> Vec<String> {
        let entries = self.lock();
        let global = entries.iter().filter(|(_, of_name)| of_name.contains_key(&Scope::Global));
        global.map(|(name, _)| name.clone()).collect()
    }

    fn remove(&self, scope: &Scope, name: &str) -> Option<T> {
        let mut entries = self.lock();
        let of_name = entries.get_mut(name)?;
        let removed = of_name.remove(scope);
        if of_name.is_empty() {
            entries.remove(name);
        }
        removed
    }

    fn lock(&self) -> MutexGuard<'_, Entries<T>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn nearest<'a, T>(of_name: &'a BTreeMap<Scope, T>, scopes: &[Scope]) -> Option<&'a T> {
    scopes.iter().chain([&Scope::Global]).find_map(|scope| of_name.get(scope))
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
        let before = registry.snapshot();
        drop(b);
        assert!(registry.all().is_empty());
        assert_eq!(before.all(), [2]);
    }

    #[test]
    fn the_nearest_scope_shadows_those_farther_away() {
        let registry = Registry::default();
        let (agent, preset) = (Scope::Of("agent".to_owned()), Scope::Of("preset".to_owned()));
        let _global = registry.register("read", "global").unwrap();
        let _preset = registry.register_in(preset.clone(), "read", "preset").unwrap();
        let _only = registry.register_in(preset.clone(), "write", "preset's").unwrap();
        let own = registry.register_in(agent.clone(), "read", "agent").unwrap();
        assert!(registry.register_in(agent.clone(), "read", "again").is_err());
        let chain = [agent, preset];
        assert_eq!(registry.all_from(&chain), ["agent", "preset's"]);
        assert_eq!(registry.get_from(&chain[1..], "read"), Some("preset"));
        assert_eq!((registry.get("read"), registry.get("write")), (Some("global"), None));
        assert_eq!((registry.all(), registry.names()), (vec!["global"], vec!["read".to_owned()]));
        drop(own);
        assert_eq!(registry.get_from(&chain, "read"), Some("preset"));
    }
}
