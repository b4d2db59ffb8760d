//! Registrations undo themselves.

/// An entry in some registry. Dropping it removes the entry.
#[must_use = "dropping a registration undoes it; give it to `Context::keep`"]
pub struct Registration {
    label: String,
    undo: Option<Box<dyn FnOnce() + Send>>,
}

impl Registration {
    /// A registration that `undo` takes back.
    pub fn new(undo: impl FnOnce() + Send + 'static) -> Self {
        Self::named("a registration", undo)
    }

    /// A registration with a name for people who ask what a plugin has done.
    pub fn named(label: impl Into<String>, undo: impl FnOnce() + Send + 'static) -> Self {
        Self { label: label.into(), undo: Some(Box::new(undo)) }
    }

    /// Its name.
    pub fn label(&self) -> &str {
        &self.label
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        if let Some(undo) = self.undo.take() {
            undo();
        }
    }
}
