//! Packets as a person reads them.

use std::fmt::Write as _;

use dsh_protocol::deliberation::PacketItem;

/// Adds a line for each item.
pub(super) fn items<'a>(text: &mut String, items: impl Iterator<Item = &'a PacketItem>) {
    for item in items {
        let _ = write!(text, "- {}, {}: {}", word(&item.kind), word(&item.certainty), item.content);
        for reference in item.refs.iter().flatten() {
            let line = reference.line.map(|line| format!(":{line}")).unwrap_or_default();
            let _ = write!(text, " ({}{line})", reference.path);
        }
        text.push('\n');
    }
}

/// A word of the wire with blanks.
pub(super) fn word(value: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().replace('_', " ")
}
