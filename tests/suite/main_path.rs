//! A prompt's whole way: through a shell's pipe, through a client, and back.

use std::io::Write as _;
use std::process::Stdio;

use dsh_tests::check_log;
use dsh_tests::check_turn::check_turn;
use dsh_tests::script::Script;
use dsh_tests::world::{World, binary};
use expect_test::expect;
use serde_json::{Value, json};

/// What a shell script would pipe into the server: a session of a chosen id, a prompt, and then nothing.
const PIPED: &[&str] = &[
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#,
    r#"{"jsonrpc":"2.0","method":"initialized","params":{}}"#,
    r#"{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"sessionId":"piped"}}"#,
    r#"{"jsonrpc":"2.0","id":3,"method":"session/subscribe","params":{"sessionId":"piped","after":-1}}"#,
    r#"{"jsonrpc":"2.0","id":4,"method":"session/prompt","params":{"sessionId":"piped","text":"Hello?"}}"#,
    r#"{"jsonrpc":"2.0","id":5,"method":"session/wait","params":{"sessionId":"piped"}}"#,
];

fn frames_of(output: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(output).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_shell_that_pipes_a_whole_conversation_gets_the_whole_answer() {
    let world = World::new();
    world.file("a.txt", "needle\n");
    let script = Script::parse("call grep {\"pattern\":\"needle\"}\n---\nsay It is in a.txt.");
    let model = world.model(script);
    let line = format!(r#"printf '%s\n' "$@" | "{}" rpc --model "{model}""#, binary().display());
    let output = world.program("sh").args(["-c", &line, "sh"]).args(PIPED).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let frames = frames_of(&output.stdout);
    for id in 1..=5 {
        let answers: Vec<&Value> = frames.iter().filter(|frame| frame["id"] == id).collect();
        assert_eq!(answers.len(), 1, "id {id}: {answers:?}");
        assert!(answers[0].get("error").is_none(), "{answers:?}");
        if id == 5 {
            assert_eq!(answers[0]["result"]["text"], "It is in a.txt.");
            assert_eq!(answers[0]["result"]["outcome"], json!({ "kind": "completed" }));
        }
    }
    let events: Vec<Value> = frames
        .iter()
        .filter(|frame| frame["method"] == "session/event")
        .map(|frame| frame["params"]["event"].clone())
        .collect();
    assert_eq!(events, check_log::read(&world.log("piped")).events);
    let ends = events.iter().filter(|event| event["type"] == "turn/end").count();
    assert_eq!(ends, 1, "a turn has one end");
}

#[test]
fn blank_lines_crlf_and_a_last_line_without_an_end_are_taken() {
    let world = World::new();
    let model = world.model(Script::new().say("Hello."));
    let mut child = world
        .command(["rpc", "--model", &model])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(PIPED.join("\r\n\n").as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let answers =
        frames_of(&output.stdout).iter().filter(|frame| frame.get("id").is_some()).count();
    assert_eq!(answers, 5);
}

#[test]
fn a_client_sees_the_log_as_it_is_on_disk() {
    let world = World::new();
    world.file("src/lib.rs", "fn answer() -> u32 { 41 }\n");
    let mut client = world.play(Script::parse(
        "think Let me look.\ncall read {\"file_path\":\"src/lib.rs\"}\n---\nsay It returns 41.",
    ));
    client.session("s");
    let waited = client.complete("s", "What does answer() return?");
    assert_eq!(waited["text"], "It returns 41.");
    assert_eq!(waited["turn"], 1);
    let events = client.log("s");
    assert_eq!(events, check_log::read(&world.log("s")).events);
    client.event_of("s", "turn/end");
    assert_eq!(client.received("s"), events);
    let status = |wanted: &'static str| {
        client.notification("session/status", move |params| params["status"] == wanted);
    };
    status("running");
    status("idle");
    client.shut_down();
}

#[test]
fn a_tool_result_reaches_the_next_step() {
    check_turn(
        r#"
//- /src/lib.rs
fn answer() -> u32 { 41 }
//- model
call read {"file_path": "src/lib.rs"}
---
say It returns 41.
//- editor
prompt What does answer() return?
"#,
        &expect![[r#"
            turn
              step
                user    What does answer() return?
                call    read src/lib.rs
                result  <path>src/lib.rs</path>
                        <type>file</type>
                        <content>
                        … 4 more lines
              step
                say     It returns 41.
            done completed
        "#]],
    );
}
