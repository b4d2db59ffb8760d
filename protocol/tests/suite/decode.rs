//! What a request with wrong params is told.

use dsh_protocol::methods::{DecodeError, Request};
use dsh_protocol::params::session::{Delivery, SessionListParams};
use serde_json::value::RawValue;

fn decode(method: &str, params: &str) -> Result<Request, DecodeError> {
    let params: Box<RawValue> = serde_json::from_str(params).unwrap();
    Request::decode(method, Some(&params))
}

#[track_caller]
fn check_refused(method: &str, params: &str, expected: &str) {
    match decode(method, params) {
        Err(DecodeError::InvalidParams(message)) => {
            assert!(message.contains(expected), "`{message}` does not say `{expected}`");
        }
        other => panic!("expected invalid params, got {other:?}"),
    }
}

#[test]
fn an_unknown_method_is_named_as_such() {
    assert_eq!(decode("session/promt", "{}"), Err(DecodeError::UnknownMethod));
    assert_eq!(decode("", "{}"), Err(DecodeError::UnknownMethod));
    assert_eq!(decode("Session/Prompt", "{}"), Err(DecodeError::UnknownMethod));
}

#[test]
fn params_that_are_no_object_are_refused() {
    check_refused("session/list", "[1]", "params must be an object");
    check_refused("session/prompt", r#"["s", "hello"]"#, "params must be an object");
    check_refused("session/list", "\"x\"", "params must be an object");
    check_refused("session/list", "7", "params must be an object");
}

#[test]
fn a_missing_field_is_named() {
    check_refused("session/prompt", r#"{"text": "hello"}"#, "missing field `sessionId`");
    check_refused("session/get", "{}", "missing field `sessionId`");
    check_refused("tool/call", r#"{"arguments": {}}"#, "missing field `name`");
}

#[test]
fn a_field_of_the_wrong_type_says_what_was_expected() {
    check_refused("session/get", r#"{"sessionId": 7}"#, "expected a string");
    check_refused("session/wait", r#"{"sessionId": "s", "timeoutMs": -1}"#, "expected u64");
    check_refused("session/prompt", r#"{"sessionId": "s", "delivery": "later"}"#, "`followup`");
    check_refused(
        "session/prompt",
        r#"{"sessionId": "s", "content": [{"type": "txt", "text": "a"}]}"#,
        "unknown variant `txt`",
    );
}

#[test]
fn absent_params_null_params_and_null_fields_mean_not_given() {
    let expected = Request::SessionList(SessionListParams::default());
    assert_eq!(Request::decode("session/list", None), Ok(expected.clone()));
    assert_eq!(decode("session/list", "null"), Ok(expected.clone()));
    assert_eq!(decode("session/list", "{}"), Ok(expected.clone()));
    assert_eq!(decode("session/list", r#"{"workspace": null, "limit": null}"#), Ok(expected));
}

#[test]
fn unknown_fields_are_passed_over() {
    let request = decode(
        "session/prompt",
        r#"{"sessionId": "s", "text": "hi", "delivery": "steer", "newer": [1]}"#,
    );
    let Ok(Request::SessionPrompt(params)) = request else { panic!("got {request:?}") };
    assert_eq!(params.delivery, Some(Delivery::Steer));
}

#[test]
fn requests_of_one_session_are_ordered_by_it() {
    let ordered_by = |method, params| {
        decode(method, params).unwrap().ordered_by().map(std::string::ToString::to_string)
    };
    assert_eq!(ordered_by("session/get", r#"{"sessionId": "s"}"#).as_deref(), Some("s"));
    assert_eq!(ordered_by("session/new", r#"{"sessionId": "s"}"#).as_deref(), Some("s"));
    assert_eq!(ordered_by("session/new", "{}"), None);
    assert_eq!(ordered_by("session/list", "{}"), None);
}
