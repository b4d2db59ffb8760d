//! What the session's model is told of a review, and when.

use dsh_agent::agent::Notice;
use dsh_protocol::content::ContentBlock;
use dsh_protocol::deliberation::{Packet, PacketStatus};
use dsh_protocol::ids::ReviewId;
use dsh_protocol::review::{ReviewReason, ReviewStatus};
use serde_json::Value;

use crate::deliberation::config::{NAME, Publish};

/// What the line for people begins with.
pub(super) const CHECKPOINT: &str = "masked review checkpoint";

/// The sort of text that a notice is.
pub(super) const FORM: &str = "notice";

/// The notice of a packet: its compact JSON and nothing else. The session takes it once.
pub(super) fn of(review: &ReviewId, packet: &Packet) -> Notice {
    let text = serde_json::to_string(packet).unwrap_or_default();
    Notice {
        plugin: NAME.to_owned(),
        form: Some(FORM.to_owned()),
        summary: Some(summary(packet)),
        content: vec![ContentBlock::Text { text }],
        once: Some(review.to_string()),
    }
}

fn summary(packet: &Packet) -> String {
    let status = match packet.status {
        PacketStatus::Update => "update",
        PacketStatus::NoUpdate => "no_update",
    };
    let items = packet.items.as_ref().map_or(0, Vec::len);
    format!("{CHECKPOINT} · {status} · {items} items")
}

/// Whether the model is told of a packet.
pub(super) fn is_published(publish: Publish, packet: &Packet) -> bool {
    match (publish, packet.status) {
        (Publish::UpdatesOnly, PacketStatus::Update) | (Publish::All, _) => true,
        (Publish::UpdatesOnly, PacketStatus::NoUpdate) | (Publish::ObserveOnly, _) => false,
    }
}

pub(super) fn status(packet: &Packet) -> ReviewStatus {
    match packet.status {
        PacketStatus::Update => ReviewStatus::Update,
        PacketStatus::NoUpdate => ReviewStatus::NoUpdate,
    }
}

/// A child's stop reason as the reason of a review that has no packet. Words of other backends are broken
/// infrastructure.
pub(super) fn reason(stop_reason: &str) -> ReviewReason {
    let word = Value::String(stop_reason.to_owned());
    serde_json::from_value(word).unwrap_or(ReviewReason::InfrastructureError)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn packet(items: usize) -> Packet {
        let item =
            |n| json!({ "kind": "unknown", "certainty": "likely", "content": format!("{n}") });
        let items: Vec<Value> = (0..items).map(item).collect();
        let mut packet = json!({ "role": "masked-review", "status": "no_update" });
        if !items.is_empty() {
            packet["status"] = "update".into();
            packet["items"] = items.into();
        }
        serde_json::from_value(packet).unwrap()
    }

    #[test]
    fn the_line_for_people_says_how_it_came_out() {
        let update = summary(&packet(3));
        assert_eq!(update, "masked review checkpoint · update · 3 items");
        assert_eq!(update.chars().count(), 43);
        let nothing = summary(&packet(0));
        assert_eq!(nothing, "masked review checkpoint · no_update · 0 items");
        assert_eq!(nothing.chars().count(), 46);
    }

    #[test]
    fn s6_4_what_is_published() {
        let (update, nothing) = (packet(1), packet(0));
        for (publish, of_update, of_nothing) in [
            (Publish::UpdatesOnly, true, false),
            (Publish::All, true, true),
            (Publish::ObserveOnly, false, false),
        ] {
            assert_eq!(is_published(publish, &update), of_update, "{publish:?}");
            assert_eq!(is_published(publish, &nothing), of_nothing, "{publish:?}");
        }
    }

    #[test]
    fn a_notice_is_the_packet_and_nothing_else() {
        let notice = of(&"r1".into(), &packet(1));
        let [ContentBlock::Text { text }] = notice.content.as_slice() else { panic!() };
        let read: Packet = serde_json::from_str(text).unwrap();
        assert_eq!(read, packet(1));
        assert!(!text.contains("r1"));
    }

    #[test]
    fn every_stop_reason_has_its_word_and_foreign_ones_are_broken_infrastructure() {
        assert_eq!(reason("timeout"), ReviewReason::Timeout);
        assert_eq!(reason("max-tokens"), ReviewReason::MaxTokens);
        assert_eq!(reason("missing-structured-result"), ReviewReason::MissingStructuredResult);
        assert_eq!(reason("completed"), ReviewReason::InfrastructureError);
        assert_eq!(reason("of another backend"), ReviewReason::InfrastructureError);
    }
}
