//! What is sent, as a person can read it.

use std::sync::Arc;

use dsh_mock_model::strict::Rules;
use dsh_protocol::content::LineRange;
use dsh_protocol::tool::ToolDefinition;
use expect_test::{Expect, expect};

use super::*;
use crate::openai::dialect;

fn header() -> Header {
    Header {
        provider: "p".to_owned(),
        model: "m".to_owned(),
        reasoning_effort: None,
        max_tokens: None,
        system: None,
        tools: None,
    }
}

fn request(header: Header, messages: Vec<Message>) -> Request {
    Request {
        attempt: 1,
        session_id: "s".into(),
        turn: 1,
        step: 1,
        header: Arc::new(header),
        messages: messages.into_iter().map(Arc::new).collect(),
        body: None,
    }
}

fn message(role: Role, content: Vec<ContentBlock>) -> Message {
    let source = match role {
        Role::User => Source::User,
        Role::Assistant => Source::Model { provider: "p".to_owned(), model: "m".to_owned() },
        Role::Tool => Source::Tool { call_id: "a".into() },
    };
    Message { id: "1".into(), role, content, source, client_message_id: None }
}

fn user(text: &str) -> Message {
    message(Role::User, vec![ContentBlock::text(text)])
}

fn reasoning(text: &str) -> ContentBlock {
    ContentBlock::Reasoning { text: text.to_owned() }
}

fn call(id: &str, arguments: &str) -> ContentBlock {
    ContentBlock::ToolCall {
        id: id.into(),
        name: "read".to_owned(),
        arguments: arguments.to_owned(),
    }
}

fn result(id: &str, content: Vec<ContentBlock>) -> Message {
    let block = ContentBlock::ToolResult { tool_call_id: id.into(), content, is_error: None };
    message(Role::Tool, vec![block])
}

fn picture() -> ContentBlock {
    ContentBlock::Image {
        data: Some("AAAA".to_owned()),
        attachment: None,
        media_type: "image/png".to_owned(),
    }
}

fn body(dialect: &str, request: &Request, images: bool) -> Value {
    let dialect = dialect::named(dialect).unwrap();
    let bytes = bytes(request, dialect, images).unwrap();
    assert_eq!(bytes, super::bytes(&request.clone(), dialect, images).unwrap());
    serde_json::from_slice(&bytes).unwrap()
}

/// The messages, one a line.
fn check(dialect: &str, images: bool, messages: Vec<Message>, expected: &Expect) {
    let body = body(dialect, &request(header(), messages), images);
    let lines = body["messages"].as_array().unwrap().iter().map(|message| format!("{message}\n"));
    expected.assert_eq(&lines.collect::<String>());
}

#[test]
fn everything_has_its_place() {
    let tool = ToolDefinition {
        name: "read".to_owned(),
        description: "reads".to_owned(),
        input_schema: json!({ "type": "object" }),
    };
    let header = Header {
        max_tokens: Some(9),
        system: Some("be brief".to_owned()),
        tools: Some(vec![tool]),
        ..header()
    };
    let request = request(header, vec![user("hi")]);
    let body = |dialect| body(dialect, &request, false).to_string();
    expect![[r#"{"model":"m","messages":[{"role":"system","content":"be brief"},{"role":"user","content":"hi"}],"stream":true,"stream_options":{"include_usage":true},"thinking":{"type":"enabled"},"reasoning_effort":"high","tools":[{"type":"function","function":{"name":"read","description":"reads","parameters":{"type":"object"}}}],"max_tokens":9}"#]]
    .assert_eq(&body("deepseek"));
    expect![[r#"{"model":"m","messages":[{"role":"system","content":"be brief"},{"role":"user","content":"hi"}],"stream":true,"stream_options":{"include_usage":true},"tools":[{"type":"function","function":{"name":"read","description":"reads","parameters":{"type":"object"}}}],"max_completion_tokens":9}"#]]
    .assert_eq(&body("openai"));
}

#[test]
fn an_effort_is_said_in_the_words_of_the_dialect_and_an_unknown_one_is_none() {
    let effort = |dialect: &str, effort: &str| {
        let header = Header { reasoning_effort: Some(effort.to_owned()), ..header() };
        effort_members(&header, dialect::named(dialect).unwrap())
            .map(|members| Value::Object(members).to_string())
    };
    let disabled = r#"{"thinking":{"type":"disabled"}}"#;
    assert_eq!(effort("deepseek", "off").as_deref(), Some(disabled));
    assert_eq!(effort("openai", "low").as_deref(), Some(r#"{"reasoning_effort":"low"}"#));
    assert_eq!(effort("deepseek", "extreme"), None);
    let none = request(Header { tools: Some(Vec::new()), ..header() }, vec![user("hi")]);
    assert_eq!(body("openai", &none, false).get("tools"), None);
}

#[test]
fn reasoning_goes_back_where_it_came_from() {
    let thought = || {
        vec![
            user("hi"),
            message(Role::Assistant, vec![reasoning("hm"), call("a", "{\"a\": 1}")]),
            result("a", vec![]),
            message(Role::Assistant, vec![reasoning("so"), ContentBlock::text("yes")]),
        ]
    };
    check(
        "deepseek",
        false,
        thought(),
        &expect![[r#"
        {"role":"user","content":"hi"}
        {"role":"assistant","content":"","reasoning_content":"hm","tool_calls":[{"id":"a","type":"function","function":{"name":"read","arguments":"{\"a\": 1}"}}]}
        {"role":"tool","tool_call_id":"a","content":"(no output)"}
        {"role":"assistant","content":"yes","reasoning_content":"so"}
    "#]],
    );
    check(
        "openai",
        false,
        thought(),
        &expect![[r#"
        {"role":"user","content":"hi"}
        {"role":"assistant","content":"","tool_calls":[{"id":"a","type":"function","function":{"name":"read","arguments":"{\"a\": 1}"}}]}
        {"role":"tool","tool_call_id":"a","content":"(no output)"}
        {"role":"assistant","content":"yes"}
    "#]],
    );
    let of_others = thought().into_iter().map(|mut message| {
        if message.role == Role::Assistant {
            message.source = Source::Model { provider: "other".to_owned(), model: "m".to_owned() };
        }
        message
    });
    check(
        "deepseek",
        false,
        of_others.collect(),
        &expect![[r#"
        {"role":"user","content":"hi"}
        {"role":"assistant","content":"","reasoning_content":"","tool_calls":[{"id":"a","type":"function","function":{"name":"read","arguments":"{\"a\": 1}"}}]}
        {"role":"tool","tool_call_id":"a","content":"(no output)"}
        {"role":"assistant","content":"yes"}
    "#]],
    );
}

#[test]
fn arguments_that_no_server_takes_are_wrapped() {
    for (arguments, sent) in [
        ("{\"a\" : 1}", "{\"a\" : 1}"),
        ("", "{}"),
        (" \n", "{}"),
        ("{\"pattern\":\"x\",", r#"{"malformed_arguments":"{\"pattern\":\"x\","}"#),
        ("[1]", r#"{"malformed_arguments":"[1]"}"#),
        ("null", r#"{"malformed_arguments":"null"}"#),
    ] {
        assert_eq!(acceptable(arguments), sent);
    }
}

#[test]
fn files_are_fenced_under_their_path() {
    let resource = |range, text: Option<&str>| ContentBlock::Resource {
        uri: "file:///w/a%20b.rs".to_owned(),
        range,
        text: text.map(str::to_owned),
    };
    let range = Some(LineRange { start_line: 3, end_line: 4 });
    let blocks = vec![
        ContentBlock::text("look"),
        resource(range, Some("let a;\n")),
        resource(None, Some("```\nx\n```")),
        resource(None, None),
    ];
    let request = request(header(), vec![message(Role::User, blocks)]);
    let body = body("openai", &request, false);
    expect![[r"
        look

        ```/w/a b.rs:3-4
        let a;
        ```

        ````/w/a b.rs
        ```
        x
        ```
        ````

        [file: /w/a b.rs]"]]
    .assert_eq(body["messages"][0]["content"].as_str().unwrap());
}

#[test]
fn pictures_are_shown_to_models_that_see() {
    let messages = || {
        vec![
            message(Role::User, vec![ContentBlock::text("see"), picture()]),
            message(Role::Assistant, vec![call("a", ""), call("b", "")]),
            result("a", vec![ContentBlock::text("shot"), picture()]),
            result("b", vec![picture()]),
            user("and?"),
        ]
    };
    check(
        "openai",
        true,
        messages(),
        &expect![[r#"
        {"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}
        {"role":"assistant","content":"","tool_calls":[{"id":"a","type":"function","function":{"name":"read","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"read","arguments":"{}"}}]}
        {"role":"tool","tool_call_id":"a","content":"shot"}
        {"role":"tool","tool_call_id":"b","content":"(no output)"}
        {"role":"user","content":[{"type":"text","text":"Attached image(s) from tool result:"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}
        {"role":"user","content":"and?"}
    "#]],
    );
    check(
        "openai",
        false,
        messages(),
        &expect![[r#"
        {"role":"user","content":"see\n\n[image left out: this model reads text only]"}
        {"role":"assistant","content":"","tool_calls":[{"id":"a","type":"function","function":{"name":"read","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"read","arguments":"{}"}}]}
        {"role":"tool","tool_call_id":"a","content":"shot\n\n[image left out: this model reads text only]"}
        {"role":"tool","tool_call_id":"b","content":"[image left out: this model reads text only]"}
        {"role":"user","content":"and?"}
    "#]],
    );
}

#[test]
fn a_strict_server_takes_even_a_history_of_mishaps() {
    let messages = vec![
        user(""),
        message(Role::Assistant, vec![call("a", "{\"x"), call("b", "7"), call("c", "")]),
        result("b", vec![]),
        result("a", vec![picture()]),
        result("c", vec![ContentBlock::text("\u{0}\u{feff}🙂")]),
        message(Role::Assistant, vec![reasoning("only thought")]),
        user("go on"),
    ];
    let rules = Rules { reasoning_after_calls: true };
    for images in [false, true] {
        let body = body("deepseek", &request(header(), messages.clone()), images);
        assert_eq!(rules.check(body.to_string().as_bytes()), Ok(()));
    }
}
