//! The items of a packet, within what packets may hold.

use dsh_protocol::deliberation::BranchRole;
use serde_json::{Value, json};

/// More items are counted, not told.
const MOST_ITEMS: usize = 12;
/// A packet's compact JSON has at most so many UTF-16 units.
const MOST_UNITS: usize = 10_000;
/// The references of one item.
const MOST_REFS: usize = 8;
/// A longer quote is told in part: what stands in a line is still a part of it.
const MOST_QUOTE: usize = 160;

/// A place in the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub path: String,
    /// Counted from 1.
    pub line: Option<u64>,
    /// What stands there.
    pub quote: Option<String>,
}

/// How a packet says what an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Observation,
    PossibleError,
    Suggestion,
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Certainty {
    Certain,
    Likely,
    Uncertain,
}

/// The items that are to be handed in.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Items {
    items: Vec<Value>,
    left_out: usize,
}

impl Items {
    /// Adds an item, unless it says what another one has said.
    pub(super) fn add(&mut self, kind: Kind, certainty: Certainty, content: &str, at: &[Place]) {
        let content = content.trim();
        let is_same = |item: &Value| {
            item["content"]
                .as_str()
                .is_some_and(|said| said.to_lowercase() == content.to_lowercase())
        };
        if content.is_empty() || self.items.iter().any(is_same) {
            return;
        }
        if self.items.len() >= MOST_ITEMS {
            self.left_out += 1;
            return;
        }
        let kind = match kind {
            Kind::Observation => "observation",
            Kind::PossibleError => "possible_error",
            Kind::Suggestion => "suggestion",
            Kind::Unknown => "unknown",
        };
        let certainty = match certainty {
            Certainty::Certain => "certain",
            Certainty::Likely => "likely",
            Certainty::Uncertain => "uncertain",
        };
        let mut item = json!({ "kind": kind, "certainty": certainty, "content": content });
        if !at.is_empty() {
            item["refs"] = at.iter().take(MOST_REFS).map(reference).collect();
        }
        self.items.push(item);
    }

    /// The packet: an update with the items, or that there is nothing to say.
    pub(super) fn packet(mut self, role: BranchRole) -> Value {
        loop {
            let packet = self.fitting(role);
            if self.items.is_empty() || packet.to_string().encode_utf16().count() <= MOST_UNITS {
                return packet;
            }
            self.items.pop();
            self.left_out += 1;
        }
    }

    fn fitting(&self, role: BranchRole) -> Value {
        let mut items = self.items.clone();
        if self.left_out > 0 {
            let content = format!("{} more findings of this sort are left out.", self.left_out);
            items
                .push(json!({ "kind": "observation", "certainty": "certain", "content": content }));
        }
        if items.is_empty() {
            json!({ "role": role.as_str(), "status": "no_update" })
        } else {
            json!({ "role": role.as_str(), "status": "update", "items": items })
        }
    }
}

fn reference(place: &Place) -> Value {
    let mut reference = json!({ "path": place.path });
    if let Some(line) = place.line.filter(|line| *line > 0) {
        reference["line"] = line.into();
    }
    let quote = place.quote.as_deref().map(|quote| beginning(quote.trim(), MOST_QUOTE));
    if let Some(quote) = quote.filter(|quote| !quote.is_empty()) {
        reference["quote"] = quote.into();
    }
    reference
}

/// At most so many characters of a text.
pub(super) fn beginning(text: &str, most: usize) -> &str {
    text.char_indices().nth(most).map_or(text, |(end, _)| text[..end].trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_stays_within_its_size_and_says_what_it_leaves_out() {
        let mut items = Items::default();
        for at in 0..8 {
            let content = format!("{at}{}", "\u{1f980}".repeat(1_000));
            items.add(Kind::Observation, Certainty::Certain, &content, &[]);
        }
        let packet = items.packet(BranchRole::MaskedReview);
        assert!(packet.to_string().encode_utf16().count() <= MOST_UNITS);
        let items = packet["items"].as_array().unwrap();
        assert_eq!(items.len(), 5);
        assert_eq!(items[4]["content"], "4 more findings of this sort are left out.");
    }

    #[test]
    fn nothing_is_said_twice_or_without_words() {
        let mut items = Items::default();
        for content in ["A fact.", " a FACT. ", " "] {
            items.add(Kind::Observation, Certainty::Certain, content, &[]);
        }
        let blank = Place { path: "a.rs".to_owned(), line: Some(0), quote: Some(" ".to_owned()) };
        items.add(Kind::Unknown, Certainty::Likely, "Another.", &vec![blank; 9]);
        let packet = items.packet(BranchRole::TrajectoryAudit);
        let items = packet["items"].as_array().unwrap();
        assert_eq!(items.len(), 2);
        assert_eq!(items[1]["refs"], Value::from(vec![json!({ "path": "a.rs" }); MOST_REFS]));
    }
}
