//! Tools in a turn and by a person's hand: what runs, what is refused, and in which order it is logged.

use dsh_tests::TOOLS;
use dsh_tests::check_turn::check_turn;
use dsh_tests::client::Client;
use dsh_tests::script::Script;
use dsh_tests::world::World;
use expect_test::expect;
use serde_json::{Value, json};

fn types(events: &[Value], wanted: &[&str]) -> Vec<String> {
    let types = events.iter().map(|event| event["type"].as_str().unwrap().to_owned());
    types.filter(|name| wanted.contains(&name.as_str())).collect()
}

#[test]
fn two_calls_of_one_answer_run_side_by_side() {
    let world = World::new();
    world.file("a.txt", "alpha\n");
    for number in 0..300 {
        world.file(&format!("many/{number}.txt"), &"some text without it\n".repeat(50));
    }
    let mut client = world.play(Script::parse(
        "call grep {\"pattern\":\"(never)+ (seen)*$\"}\ncall read {\"file_path\":\"a.txt\"}\n---\nsay Done.",
    ));
    client.session("s");
    client.complete("s", "Look.");
    let events = client.log("s");
    let order = types(&events, &["tool/call", "tool/result"]);
    assert_eq!(order, ["tool/call", "tool/call", "tool/result", "tool/result"]);
    let results = events.iter().filter(|event| event["type"] == "tool/result");
    let ids: Vec<&str> = results
        .map(|result| result["data"]["message"]["source"]["callId"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["call-1", "call-2"], "the slow one was asked for first");
}

#[test]
fn what_cannot_run_is_told_to_the_model_and_the_turn_goes_on() {
    check_turn(
        r#"
//- /a.txt
alpha
//- model
call nope {"file_path": "x"}
call read {"file_path": "a.txt",
call read [1]
call read {"path": "a.txt"}
call read {"file_path": 7}
call read {"file_path": "missing.txt"}
call read
call glob {"pattern": "*"}
---
say One of eight.
//- editor
prompt Try everything.
"#,
        &expect![[r#"
            turn
              step
                user    Try everything.
                call    nope x
                call    read {"file_path": "a.txt",
                call    read [1]
                call    read {"path": "a.txt"}
                call    read {"file_path": 7}
                call    read missing.txt
                call    read
                call    glob *
                error   UNKNOWN_TOOL Error: there is no tool named `nope`; the tools are: `deliberate`, `glob`, `grep`, `interrupt_agent`, `list_agents`, `read`, `send_message`, `subagent`, `subagent_fork`
                error   INVALID_ARGS Error: invalid arguments: not valid JSON: EOF while parsing a value at line 1 column 22
                error   INVALID_ARGS Error: invalid arguments: expected a JSON object
                error   INVALID_ARGS Error: invalid arguments: unknown field `path`, expected one of `file_path`, `offset`, `limit`
                error   INVALID_ARGS Error: invalid arguments: invalid type: integer `7`, expected a string
                error   FS_NOT_FOUND Error: there is no missing.txt; find its path with glob
                error   INVALID_ARGS Error: invalid arguments: missing field `file_path`
                result  a.txt
              step
                say     One of eight.
            done completed
        "#]],
    );
}

#[test]
fn two_calls_under_one_id_both_get_their_result() {
    let world = World::new();
    world.file("a.txt", "alpha\n");
    world.file("b.txt", "beta\n");
    let script = Script::new()
        .call_as("same", "read", r#"{"file_path":"a.txt"}"#)
        .call_as("same", "read", r#"{"file_path":"b.txt"}"#)
        .call_as("", "read", r#"{"file_path":"b.txt"}"#)
        .step()
        .say("Both.")
        .turn()
        .call_as("same", "read", r#"{"file_path":"a.txt"}"#)
        .step()
        .say("Again.");
    let mut client = world.play(script);
    client.session("s");
    assert_eq!(client.complete("s", "Read both.")["text"], "Both.");
    assert_eq!(client.complete("s", "And again.")["text"], "Again.");
}

#[test]
fn a_call_that_was_cut_off_at_the_limit_does_not_run() {
    check_turn(
        r#"
//- /a.txt
alpha
//- model
say Let me read it.
call read {"file_path": "a.
finish max-tokens
turn
say Never mind.
//- editor
prompt Read it.
rest
prompt Go on.
"#,
        &expect![[r#"
            turn
              step
                user    Read it.
                say     Let me read it.
            done max-tokens
            turn
              step
                user    Go on.
                say     Never mind.
            done completed
        "#]],
    );
}

#[test]
fn a_model_that_fails_ends_its_turn_and_the_next_one_works() {
    check_turn(
        r#"
//- model
say I was about
finish error QUOTA
turn
call glob {"pattern": "*"}
---
finish error AUTH
turn
say Well.
//- editor
prompt First.
rest
prompt Second.
rest
prompt Third.
"#,
        &expect![[r#"
            turn
              step
                user    First.
                say     I was about
                interrupted
            done error QUOTA told to fail
            turn
              step
                user    Second.
                call    glob *
                result  No files found
                        Note: nothing matches: `*` stays within one folder, `**` crosses folders, a glob without `/` is a file name at any depth, and folders themselves are not listed.
              step
            done error AUTH told to fail
            turn
              step
                user    Third.
                say     Well.
            done completed
        "#]],
    );
}

/// Calls a tool by hand; returns its error's code and its text.
fn call(client: &mut Client, name: &str, arguments: &Value) -> (String, String) {
    let params = json!({ "name": name, "arguments": arguments });
    let result = client.request("tool/call", params);
    assert_eq!(result["isError"] == true, result["error"].is_object(), "{result}");
    let code = result["error"]["code"].as_str().unwrap_or_default().to_owned();
    (code, result["content"][0]["text"].as_str().unwrap_or_default().to_owned())
}

#[test]
fn an_unknown_tool_is_answered_with_the_known_ones() {
    let world = World::new();
    let mut client = world.start("offline/retrieval");
    let (code, text) = call(&mut client, "nope", &json!({}));
    assert_eq!(code, "UNKNOWN_TOOL");
    for name in ["`nope`", "`glob`", "`grep`", "`read`"] {
        assert!(text.contains(name), "{text}");
    }
    let listed = client.request("tool/list", json!({}));
    let names: Vec<&str> = listed["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, TOOLS);
}

#[test]
fn paths_outside_are_denied_with_one_text_whether_or_not_they_exist() {
    let world = World::new();
    world.file("a.txt", "alpha\n");
    std::fs::write(world.root().join("secret"), "SECRET").unwrap();
    std::os::unix::fs::symlink(world.root().join("secret"), world.work().join("there")).unwrap();
    std::os::unix::fs::symlink(world.root().join("later"), world.work().join("gone")).unwrap();
    let mut client = world.start("offline/retrieval");
    let root = world.root().display().to_string();
    for (existing, missing) in [
        ("../secret".to_owned(), "../nobody".to_owned()),
        ("nope/../../secret".to_owned(), "nope/../../nobody".to_owned()),
        (format!("{root}/secret"), format!("{root}/nobody")),
        ("there".to_owned(), "gone".to_owned()),
        ("/etc/passwd".to_owned(), "/etc/nobody".to_owned()),
    ] {
        let (code, text) = call(&mut client, "read", &json!({ "file_path": existing }));
        assert_eq!(code, "FS_SANDBOX_DENIED", "{existing}: {text}");
        assert!(!text.contains("SECRET"), "{text}");
        let (code, other) = call(&mut client, "read", &json!({ "file_path": missing }));
        assert_eq!(code, "FS_SANDBOX_DENIED", "{missing}: {other}");
        let name = |path: &str| path.rsplit('/').next().unwrap().to_owned();
        let neutral = text.replace(&name(&existing), "X");
        assert_eq!(neutral, other.replace(&name(&missing), "X"));
    }
    for name in ["grep", "glob"] {
        let (code, text) = call(&mut client, name, &json!({ "pattern": ".", "path": ".." }));
        assert_eq!(code, "FS_SANDBOX_DENIED", "{name}: {text}");
    }
    let all: String = client.frames().iter().map(Value::to_string).collect();
    assert!(!all.contains("SECRET"), "what lies outside was shown");
}

#[test]
fn secrets_are_denied_to_every_tool() {
    let world = World::new();
    world.file(".env", "API_KEY=SENTINEL\n");
    world.file("deploy/server.pem", "SENTINEL\n");
    world.file("plain.txt", "API_KEY is set elsewhere\n");
    let mut client = world.start("offline/retrieval");
    for path in [".env", "./.env", "deploy/../.env", "deploy/server.pem"] {
        let (code, text) = call(&mut client, "read", &json!({ "file_path": path }));
        assert_eq!(code, "FS_SECRET_DENIED", "{path}: {text}");
    }
    for arguments in [
        json!({ "pattern": "SENTINEL" }),
        json!({ "pattern": "API_KEY", "path": ".env" }),
        json!({ "pattern": "API_KEY", "include": ".env*" }),
        json!({ "pattern": "SENT", "mode": "files" }),
    ] {
        call(&mut client, "grep", &arguments);
    }
    let all: String = client.frames().iter().map(Value::to_string).collect();
    assert!(!all.contains("=SENTINEL") && !all.contains("SENTINEL\\n"), "a secret was shown");
}

#[test]
fn a_call_by_hand_logs_nothing_in_the_session() {
    let world = World::new();
    world.file("a.txt", "alpha\n");
    let mut client = world.start("offline/retrieval");
    client.session("s");
    let params = json!({ "sessionId": "s", "name": "read", "arguments": { "file_path": "a.txt" } });
    let result = client.request("tool/call", params);
    assert_eq!(result["value"]["lines"][0]["text"], "alpha");
    assert_eq!(client.log("s"), Vec::<Value>::new());
}
