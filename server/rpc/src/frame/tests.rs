//! What is refused, with which code and which id.

use super::*;

fn verdict(frame: &str) -> String {
    match read(frame.as_bytes()) {
        Ok(Incoming::Request { id, method, .. }) => {
            format!("request {} {method}", serde_json::to_string(&id).unwrap())
        }
        Ok(Incoming::Notification { method, .. }) => format!("notification {method}"),
        Ok(Incoming::Response { .. }) => "response".to_owned(),
        Err(refused) => {
            format!("{} id {}", refused.error.code, serde_json::to_string(&refused.id).unwrap())
        }
    }
}

#[test]
fn frames_are_told_apart_and_ids_keep_their_type() {
    for (frame, expected) in [
        (r#"{"jsonrpc":"2.0","id":1,"method":"a"}"#, "request 1 a"),
        (r#"{"jsonrpc":"2.0","id":"1","method":"a","params":[1]}"#, r#"request "1" a"#),
        (r#"{"jsonrpc":"2.0","id":0,"method":"a"}"#, "request 0 a"),
        (r#"{"jsonrpc":"2.0","id":"","method":"a"}"#, r#"request "" a"#),
        (r#"{"jsonrpc":"2.0","id":-1,"method":"a"}"#, "request -1 a"),
        (r#"{"jsonrpc":"2.0","id":"a-π","method":"a"}"#, r#"request "a-π" a"#),
        (r#"{"jsonrpc":"2.0","method":"a"}"#, "notification a"),
        (r#"{"jsonrpc":"2.0","id":999,"result":1}"#, "response"),
        (r#"{"jsonrpc":"2.0","error":{}}"#, "response"),
    ] {
        assert_eq!(verdict(frame), expected, "{frame}");
    }
}

#[test]
fn bad_frames_are_refused_with_the_id_where_there_is_one() {
    let deep =
        format!(r#"{{"jsonrpc":"2.0","id":5,"method":"a","params":{}"#, "[".repeat(1_000_000));
    for (frame, expected) in [
        (r#"{"jsonrpc":"2.0","id":null,"method":"a"}"#, "-32600 id null"),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"a"}"#, "-32600 id null"),
        (r#"{"jsonrpc":"2.0","id":[1],"method":"a"}"#, "-32600 id null"),
        (r#"{"jsonrpc":"1.0","id":1,"method":"a"}"#, "-32600 id 1"),
        (r#"{"id":1,"method":"a"}"#, "-32600 id 1"),
        (r#"{"jsonrpc":"2.0","id":1}"#, "-32600 id 1"),
        (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, "-32600 id 1"),
        (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"a"}"#, "-32600 id null"),
        ("[]", "-32600 id null"),
        ("[1]", "-32600 id null"),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"x"}]"#, "-32600 id null"),
        ("7", "-32600 id null"),
        ("null", "-32600 id null"),
        (r#"{"jsonrpc":"2.0","id":"\ud800","method":"a"}"#, "-32700 id null"),
        ("\u{feff}{}", "-32700 id null"),
        ("nonsense", "-32700 id null"),
        (r#"{"jsonrpc":"2.0","id":3,"method":"a","params":{"n":NaN}}"#, "-32700 id 3"),
        (r#"{"params":{"id":9,"x":},"id":3}"#, "-32700 id null"),
        (r#"{"jsonrpc":"2.0","id":4,"method":"a",}"#, "-32700 id 4"),
        (deep.as_str(), "-32700 id 5"),
    ] {
        assert_eq!(verdict(frame), expected, "{}", &frame[..frame.len().min(80)]);
    }
}
