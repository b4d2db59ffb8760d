//! Registrations undo themselves.

/// An entry in some registry. Dropping it removes the entry.
#[must_use = "dropping a registration undoes it; give it to `Context::keep`"]
pub struct Registration {
    undo: Option<Box<dyn FnOnce() + Send>>,
}

impl Registration {
    /// A registration that `undo` takes back.
    pub fn new(undo: impl FnOnce() + Send + 'static) -> Self {
        Self { undo: Some(Box::new(undo)) }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        if let Some(undo) = self.undo.take() {
            undo();
        }
    }
}
