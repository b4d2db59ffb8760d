//! The bundles in this program: rows in the form of patches.

use std::sync::Arc;

use crate::source::Source;

const BUNDLES: [(&str, &str); 4] = [
    ("dsh-base", include_str!("../bundles/dsh-base.yml")),
    ("dsh-deliberation", include_str!("../bundles/dsh-deliberation.yml")),
    ("dsh-editor", include_str!("../bundles/dsh-editor.yml")),
    ("dsh-headless", include_str!("../bundles/dsh-headless.yml")),
];

/// Their names.
pub fn names() -> impl Iterator<Item = &'static str> {
    BUNDLES.iter().map(|(name, _)| *name)
}

/// The text of a bundle.
pub fn source(name: &str) -> Option<Arc<Source>> {
    let (name, text) = BUNDLES.iter().find(|(known, _)| *known == name)?;
    Some(Source::built_in(&format!("bundle {name}"), text))
}
