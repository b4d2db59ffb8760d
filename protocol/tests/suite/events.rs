//! Events as bytes: the exact shape of each form of the envelope, and what is refused.

use dsh_protocol::content::FinishReason;
use dsh_protocol::content::{ContentBlock, Usage};
use dsh_protocol::error::{ErrorKind, RpcError};
use dsh_protocol::event::Event;
use dsh_protocol::notifications::{Notification, SessionChanged, SessionLagged};
use dsh_protocol::turn::{NoTurn, Outcome, TurnEnd};
use expect_test::{Expect, expect};
use serde_json::{Value, json};

/// Reads an event and writes it again: the same bytes.
#[track_caller]
fn check_same(text: &str) {
    let event: Event = serde_json::from_str(text).unwrap();
    assert_eq!(serde_json::to_string(&event).unwrap(), text);
}

#[track_caller]
fn check_refused(text: &str, expected: Expect) {
    let error = serde_json::from_str::<Event>(text).unwrap_err();
    expected.assert_eq(&error.to_string());
}

#[test]
fn a_log_only_event_has_the_four_fields_of_the_envelope() {
    check_same(r#"{"type":"turn/start","seq":0,"time":1,"data":{"turn":1}}"#);
    check_same(r#"{"type":"session/end-seed","seq":3,"time":1,"data":{}}"#);
}

#[test]
fn a_surface_event_says_how_it_changes_what_the_model_sees() {
    check_same(
        r#"{"type":"user/message","seq":2,"time":5,"data":{"id":"m1","role":"user","content":[{"type":"text","text":"hi"}],"source":{"kind":"user"}},"surfaceOp":"append"}"#,
    );
    check_same(
        r#"{"type":"user/message","seq":9,"time":5,"data":{"id":"m2","role":"user","content":[],"source":{"kind":"plugin","plugin":"p"}},"surfaceOp":{"op":"replace","start":2,"end":7},"sourceEventSeqs":[2,7]}"#,
    );
}

#[test]
fn an_empty_list_of_sources_is_not_the_same_as_none() {
    check_same(
        r#"{"type":"assistant/message","seq":4,"time":1,"data":{"turn":1,"step":1,"message":{"id":"m","role":"assistant","content":[],"source":{"kind":"model","provider":"p","model":"m"}}},"surfaceOp":"append","sourceEventSeqs":[]}"#,
    );
}

#[test]
fn an_unknown_type_is_carried_byte_for_byte() {
    check_same(
        r#"{"type":"weather/observed","seq":1,"time":1,"data":{ "degrees": 1.50e1, "z":null,"a":[ ] },"ignorable":true}"#,
    );
}

#[test]
fn an_envelope_with_other_keys_is_refused() {
    check_refused(
        r#"{"type":"turn/start","seq":0,"time":1,"data":{"turn":1},"id":7}"#,
        expect![
            "unknown field `id`, expected one of `type`, `seq`, `time`, `data`, `surfaceOp`, `sourceEventSeqs`, `ignorable` at line 1 column 60"
        ],
    );
}

#[test]
fn a_wrong_payload_names_the_type_and_the_field() {
    check_refused(
        r#"{"type":"turn/start","seq":0,"time":1,"data":{}}"#,
        expect!["data of `turn/start`: missing field `turn` at line 1 column 2"],
    );
}

#[track_caller]
fn check_json(value: &impl serde::Serialize, expected: &Value) {
    assert_eq!(serde_json::to_value(value).unwrap(), *expected);
}

#[test]
fn unions_are_tagged_and_words_are_kebab_case() {
    check_json(&TurnEnd::MaxTokens, &json!({ "kind": "max-tokens" }));
    check_json(
        &Outcome::NoTurn(NoTurn::Rejected { reason: "no".into() }),
        &json!({ "kind": "rejected", "reason": "no" }),
    );
    check_json(&FinishReason::ToolCalls, &json!("tool-calls"));
    check_json(
        &ContentBlock::Image {
            data: None,
            attachment: Some("a1".into()),
            media_type: "image/png".into(),
        },
        &json!({ "type": "image", "attachment": "a1", "mediaType": "image/png" }),
    );
}

#[test]
fn what_is_not_given_is_absent() {
    check_json(&Usage::default(), &json!({ "inputTokens": 0, "outputTokens": 0 }));
    check_json(&RpcError::invalid_params("no"), &json!({ "code": -32602, "message": "no" }));
}

#[test]
fn a_domain_failure_carries_its_kind_hint_and_facts() {
    let error = RpcError::domain(ErrorKind::Unsupported, "no common version")
        .with_hint("update the server")
        .with_fact("supported", json!(["1.0"]));
    check_json(
        &error,
        &json!({
            "code": -32803,
            "message": "no common version",
            "data": {
                "kind": "unsupported",
                "retryable": false,
                "hint": "update the server",
                "supported": ["1.0"],
            },
        }),
    );
}

#[test]
fn a_notification_is_a_method_with_params() {
    let lagged = SessionLagged { session_id: "s".into(), from: 3, to: 9 };
    check_json(
        &Notification::SessionLagged(lagged),
        &json!({ "method": "session/lagged", "params": { "sessionId": "s", "from": 3, "to": 9 } }),
    );
    check_json(
        &Notification::SessionChanged(SessionChanged::Removed { removed: "s".into() }),
        &json!({ "method": "session/changed", "params": { "removed": "s" } }),
    );
}
