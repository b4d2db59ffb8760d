//! Typed names of services.

use std::any::Any;
use std::marker::PhantomData;
use std::sync::Arc;

use serde_json::Value;

use crate::graph::FiberId;

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
pub(crate) struct Provided {
    /// Who provides it.
    pub(crate) owner: FiberId,
    /// An `Arc<T>` of the key's type.
    pub(crate) value: Box<dyn Any + Send + Sync>,
    /// What its provider says of it: the fields that rows may refer to.
    pub(crate) facts: Value,
}

impl Provided {
    /// The service itself, if the key is of its type.
    pub(crate) fn value<T: ?Sized + Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.value.downcast_ref::<Arc<T>>().cloned()
    }
}
