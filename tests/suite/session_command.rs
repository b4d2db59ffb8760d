//! `dsh-ls sessions …`, beside a server that runs.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Output;
use std::time::{SystemTime, UNIX_EPOCH};

use dsh_tests::client::Client;
use dsh_tests::script::Script;
use dsh_tests::world::{World, until};
use serde_json::{Value, json};

fn sessions(world: &World, arguments: &[&str]) -> Output {
    world.run(["sessions"].iter().chain(arguments))
}

#[track_caller]
fn text(output: &Output, code: i32) -> String {
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{err}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// A server that runs, with two sessions.
fn server(world: &World) -> Client {
    let mut client = world.play(Script::parse("say It is alpha.\nturn\nsay Half\nwait 20000"));
    client.request("session/new", json!({ "sessionId": "one", "title": "The first\u{1b}[31m" }));
    client.complete("one", "What is it?");
    let one = client.request("session/get", json!({ "sessionId": "one" }));
    let updated = u128::from(one["session"]["updatedAt"].as_u64().unwrap());
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
    until("the clock to go on, so that one of them is newer", || now() > updated);
    client.session("two");
    client
}

#[test]
fn a_list_is_a_table_or_json() {
    let world = World::new();
    let mut client = server(&world);
    let table = text(&sessions(&world, &["list"]), 0);
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 3, "{table}");
    assert!(lines[0].starts_with("ID   UPDATED"), "{table}");
    assert!(lines[1].starts_with("two  20"), "last updated first: {table}");
    assert!(lines[2].contains("idle") && lines[2].contains("The first"), "{table}");
    assert!(!table.contains('\u{1b}'), "a title commands no terminal");
    let listed: Value =
        serde_json::from_str(&text(&sessions(&world, &["list", "--json"]), 0)).unwrap();
    let asked = client.request("session/list", json!({}));
    let ids = |listed: &Value| -> Vec<Value> {
        let all = listed["sessions"].as_array().unwrap().iter();
        all.map(|session| json!([session["sessionId"], session["lastSeq"], session["title"]]))
            .collect()
    };
    assert_eq!(ids(&listed), ids(&asked));
    let found = text(&sessions(&world, &["list", "--query", "FIRST", "--limit", "5"]), 0);
    assert_eq!(found.lines().count(), 2, "{found}");
    let none = sessions(&world, &["list", "--query", "nothing"]);
    assert_eq!(text(&none, 0), "");
    assert!(String::from_utf8_lossy(&none.stderr).contains("no sessions in file://"));
    let nowhere = sessions(&world, &["list", "--workspace", "/nope"]);
    assert_eq!(text(&nowhere, 2), "");
    assert!(String::from_utf8_lossy(&nowhere.stderr).contains("there is no folder `/nope`"));
}

#[test]
fn a_session_is_shown_and_exported_without_a_change() {
    let world = World::new();
    let mut client = server(&world);
    let before = std::fs::read(world.log("one")).unwrap();
    let shown = text(&sessions(&world, &["show", "one"]), 0);
    assert!(shown.starts_with("session one\ntitle   The first"), "{shown}");
    assert!(shown.contains("say     It is alpha.") && !shown.contains('\u{1b}'), "{shown}");
    let summary: Value =
        serde_json::from_str(&text(&sessions(&world, &["show", "--json", "one"]), 0)).unwrap();
    assert_eq!(summary["session"]["sessionId"], "one");
    assert_eq!(summary["totals"]["requests"], 1);
    for format in ["jsonl", "markdown"] {
        let exported = text(&sessions(&world, &["export", "one", "--format", format]), 0);
        let params = json!({ "sessionId": "one", "format": format });
        assert_eq!(exported, client.request("session/export", params)["text"].as_str().unwrap());
        let file = world.root().join(format);
        let path = file.to_str().unwrap();
        let quiet = sessions(&world, &["export", "one", "--format", format, "--output", path]);
        assert_eq!(text(&quiet, 0), "");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), exported);
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
    assert_eq!(std::fs::read(world.log("one")).unwrap(), before);
    let nowhere = sessions(&world, &["export", "one", "--output", "/nowhere/at/all"]);
    assert!(text(&nowhere, 1).is_empty());
}

#[test]
fn of_a_damaged_session_what_stands_before_the_damage_is_shown() {
    let world = World::new();
    world.leave_damaged();
    let mut client = world.play(Script::parse("say It is alpha.\nturn\nsay And beta."));
    client.session("one");
    client.complete("one", "What is it?");
    client.complete("one", "What else?");
    client.shut_down();
    let log = std::fs::read_to_string(world.log("one")).unwrap();
    let second = log.find("What else?").unwrap();
    let start = log[..second].rfind('\n').unwrap() + 1;
    let line = log[..start].lines().count() + 1;
    let damaged = format!("{}{{broken\n{}", &log[..start], &log[start..]);
    std::fs::write(world.log("one"), &damaged).unwrap();
    let output = sessions(&world, &["show", "one"]);
    let shown = text(&output, 1);
    assert!(shown.contains("It is alpha.") && !shown.contains("And beta."), "{shown}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains(&format!("line {line}")) && said.contains("left as it is"), "{said}");
    assert_eq!(std::fs::read_to_string(world.log("one")).unwrap(), damaged);
}

#[test]
fn a_session_is_deleted_beside_a_server_which_notices() {
    let world = World::new();
    let client = server(&world);
    let output = sessions(&world, &["delete", "nobody", "two", "../one"]);
    assert_eq!(text(&output, 1), "deleted two\n");
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(err.contains("there is no session `nobody`") && err.contains("`../one`"), "{err}");
    client.notification("session/changed", |params| params == &json!({ "removed": "two" }));
    assert_eq!(world.logs().len(), 1);
    assert_eq!(text(&sessions(&world, &["delete", "one"]), 0), "deleted one\n");
}

#[test]
fn what_a_server_runs_is_refused_and_stays() {
    let world = World::new();
    let mut client = server(&world);
    client.request("session/subscribe", json!({ "sessionId": "one" }));
    client.prompt("one", "And now?");
    client.text("one", "Half");
    let listed = text(&sessions(&world, &["list"]), 0);
    assert!(listed.lines().nth(1).unwrap().contains("running"), "{listed}");
    let refused = sessions(&world, &["delete", "one"]);
    assert_eq!(text(&refused, 1), "");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("another process runs a turn"));
    let shown = text(&sessions(&world, &["show", "one"]), 0);
    assert!(shown.contains("user    And now?"), "{shown}");
    client.request("session/cancel", json!({ "sessionId": "one" }));
    client.rest("one");
}

#[test]
fn bad_usage_and_bad_configuration_exit_with_2() {
    let world = World::new();
    for arguments in [
        &[][..],
        &["delete"],
        &["show"],
        &["export", "x", "--format", "pdf"],
        &["list", "--limit", "x"],
        &["list", "--workspace", "/nowhere/at/all"],
    ] {
        assert_eq!(sessions(&world, arguments).status.code(), Some(2), "{arguments:?}");
    }
    world.patch("- id: tools\n  disabled: maybe\n");
    assert_eq!(sessions(&world, &["list"]).status.code(), Some(2));
}
