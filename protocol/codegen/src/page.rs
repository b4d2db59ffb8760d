//! The text of a generated file, line by line.

/// A text that grows.
#[derive(Default)]
pub(crate) struct Page(String);

impl Page {
    /// Adds a line.
    pub(crate) fn line(&mut self, text: impl AsRef<str>) {
        self.part(text);
        self.0.push('\n');
    }

    /// Adds a part of a line.
    pub(crate) fn part(&mut self, text: impl AsRef<str>) {
        self.0.push_str(text.as_ref());
    }

    /// Adds an empty line.
    pub(crate) fn gap(&mut self) {
        self.0.push('\n');
    }

    /// The whole text.
    pub(crate) fn into_text(self) -> String {
        self.0
    }
}
