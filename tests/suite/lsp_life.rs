//! How an editor's server begins and ends, and what the editor shows of a running turn.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use dsh_mock_model::answer::Answer;
use dsh_mock_model::server::MockModel;
use dsh_tests::client::Client;
use dsh_tests::framing::Framing;
use dsh_tests::world::World;
use serde_json::{Value, json};

/// How soon a server is gone once its input has ended.
const SOON: Duration = Duration::from_millis(300);

fn answer(text: &str) -> Answer {
    Answer::stream().delta(text).finish("stop").done()
}

#[test]
fn exit_ends_the_process_although_its_input_stays_open() {
    for (shutdown, code) in [(true, 0), (false, 1)] {
        let world = World::new();
        let mock = MockModel::start([Answer::stream().delta("Half").hold()]);
        let mut client = world.edit(&mock);
        client.session("s");
        client.prompt("s", "Go.");
        client.text("s", "Half");
        if shutdown {
            client.request("shutdown", Value::Null);
            let error = client.refused("tool/list", json!({}));
            assert_eq!(error["code"], -32600);
        }
        client.notify("exit", Value::Null);
        assert_eq!(client.exit_status().code(), Some(code));
        client.close_input();
        mock.wait_until_closed();
        let events = dsh_tests::check_log::read(&world.log("s")).events;
        let end = &events.last().unwrap()["data"]["reason"];
        assert_eq!(end, &json!({ "kind": "aborted", "reason": "disposed" }));
    }
}

#[test]
fn exit_before_initialize_ends_it_too() {
    let world = World::new();
    let mock = MockModel::start([]);
    let mut client = Client::spawn_framed(world.door("lsp", &mock), Framing::Lengths);
    client.notify("exit", Value::Null);
    assert_eq!(client.exit_status().code(), Some(1));
}

#[test]
fn an_editor_that_says_nothing_of_itself_is_served_all_the_same() {
    let world = World::new();
    let mock = MockModel::start([]);
    for params in [json!({}), json!({ "capabilities": null, "workspaceFolders": null })] {
        let mut client = Client::spawn_framed(world.door("lsp", &mock), Framing::Lengths);
        let result = client.initialize_as(params);
        assert_eq!(result["capabilities"]["positionEncoding"], "utf-16");
        let error = client.refused("session/new", json!({}));
        assert_eq!(error["data"]["kind"], "workspaceNotFound", "{error}");
    }
}

/// Ends the input in the middle of a turn; returns how long the process stayed.
fn leave_in_mid_turn(reads: bool) -> Duration {
    let world = World::new();
    let chatter =
        "data: {\"choices\":[{\"delta\":{\"content\":\"more words \"}}]}\n\n".repeat(5_000);
    let mock =
        MockModel::start([Answer::stream().delta("Half").raw(chatter).hold(), answer("Again.")]);
    let mut client = world.edit(&mock);
    client.session("s");
    client.prompt("s", "Go.");
    client.text("s", "Half");
    client.pause_reading(!reads);
    let left = Instant::now();
    client.close_input();
    let status = client.status_unread();
    let stayed = left.elapsed();
    client.pause_reading(false);
    assert_eq!(status.code(), Some(1), "no `shutdown` came before");
    drop(client);
    mock.wait_until_closed();

    let mut client = world.edit(&mock);
    client.request("session/subscribe", json!({ "sessionId": "s", "after": -1 }));
    let end = client.event_of("s", "turn/end");
    let kind = end["data"]["reason"]["kind"].as_str().unwrap().to_owned();
    assert!(["aborted", "interrupted"].contains(&kind.as_str()), "{end}");
    assert_eq!(client.complete("s", "Go on.")["text"], "Again.");
    client.shut_down();
    world.leave_damaged();
    stayed
}

#[test]
fn a_server_whose_input_ends_is_gone_at_once_and_its_turn_is_closed() {
    // Others use this machine too: a late process must be the exception, and never a late one for long.
    for reads in [true, false] {
        let stays: Vec<Duration> = (0..2).map(|_| leave_in_mid_turn(reads)).collect();
        assert!(stays.iter().any(|stay| *stay < SOON), "reads: {reads}, {stays:?}");
        assert!(stays.iter().all(|stay| *stay < SOON * 10), "reads: {reads}, {stays:?}");
    }
}

#[test]
fn the_end_of_the_input_after_shutdown_is_a_good_end() {
    let world = World::new();
    let mock = MockModel::start([]);
    let mut client = world.edit(&mock);
    client.request("shutdown", Value::Null);
    client.close_input();
    assert_eq!(client.exit_status().code(), Some(0));
}

#[test]
fn a_server_whose_editor_was_killed_ends_although_its_input_stays_open() {
    let world = World::new();
    let mock = MockModel::start([Answer::stream().delta("Half").hold()]);
    let mut parent = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
    let mut client = Client::spawn_framed(world.door("lsp", &mock), Framing::Lengths);
    let mut params = world.editor();
    params["processId"] = json!(parent.id());
    client.initialize_as(params);
    client.session("s");
    client.prompt("s", "Go.");
    client.text("s", "Half");
    parent.kill().unwrap();
    assert_eq!(client.exit_status().code(), Some(1), "before anybody collects the editor");
    parent.wait().unwrap();
    mock.wait_until_closed();
    let events = dsh_tests::check_log::read(&world.log("s")).events;
    assert_eq!(events.last().unwrap()["type"], "turn/end");
}

/// The frames about progress, in order: a token and what happens to it.
fn progress(client: &Client) -> Vec<(String, String)> {
    let about = |frame: &Value| {
        let token = frame["params"]["token"].as_str().map(str::to_owned);
        match frame["method"].as_str() {
            Some("window/workDoneProgress/create") => Some((token.unwrap(), "create".to_owned())),
            Some("$/progress") => {
                let kind = frame["params"]["value"]["kind"].as_str().unwrap();
                Some((token.unwrap(), kind.to_owned()))
            }
            Some(_) | None => None,
        }
    };
    client.frames().iter().filter_map(about).collect()
}

/// Waits for a progress to begin or to end.
fn await_progress(client: &Client, kind: &str, count: usize) -> String {
    client.wait_for(&format!("progress {count} to {kind}"), |frames| {
        let mut of_kind = frames.iter().filter(|frame| {
            frame["method"] == "$/progress" && frame["params"]["value"]["kind"] == kind
        });
        of_kind.nth(count - 1).map(|frame| frame["params"]["token"].as_str().unwrap().to_owned())
    })
}

/// Answers the request for the `count`th token.
fn take_token(client: &mut Client, count: usize, answer: &Value) {
    let id = client.wait_for("a token", |frames| {
        let is_asked = |frame: &&Value| frame["method"] == "window/workDoneProgress/create";
        frames.iter().filter(is_asked).nth(count - 1).map(|frame| frame["id"].clone())
    });
    let mut frame = json!({ "jsonrpc": "2.0", "id": id });
    frame.as_object_mut().unwrap().extend(answer.as_object().unwrap().clone());
    client.send(&frame);
}

#[test]
fn a_progress_begins_when_the_editor_has_taken_its_token_and_not_at_all_when_it_refuses() {
    let world = World::new();
    let mock = MockModel::start([answer("One."), answer("Two."), answer("Three.")]);
    let mut client = world.edit(&mock);
    client.session("s");
    client.complete("s", "Go.");
    take_token(&mut client, 1, &json!({ "error": { "code": 1, "message": "no" } }));
    client.complete("s", "Go.");
    let kinds: Vec<String> = progress(&client).into_iter().map(|(_, kind)| kind).collect();
    assert_eq!(kinds, ["create", "create"]);
    // The answer comes when the turn is over: what was promised is shown whole.
    take_token(&mut client, 2, &json!({ "result": null }));
    await_progress(&client, "end", 1);
    let kinds: Vec<String> = progress(&client).into_iter().map(|(_, kind)| kind).collect();
    assert_eq!(kinds, ["create", "create", "begin", "end"]);
    client.complete("s", "Go.");
    client.shut_down();
}

#[test]
fn each_turn_is_a_progress_with_a_token_of_its_own() {
    let world = World::new();
    let mock = MockModel::start([answer("One."), Answer::status(401).raw("no"), answer("Three.")]);
    let mut client = world.edit(&mock);
    client.session("s");
    for turn in 1..=3 {
        client.prompt("s", "Go.");
        take_token(&mut client, turn, &json!({ "result": null }));
        client.rest("s");
        await_progress(&client, "end", turn);
    }
    let seen = progress(&client);
    let kinds: Vec<&str> = seen.iter().map(|(_, kind)| kind.as_str()).collect();
    assert_eq!(kinds, ["create", "begin", "end"].repeat(3));
    let tokens: Vec<&String> = seen.iter().step_by(3).map(|(token, _)| token).collect();
    for (at, (token, _)) in seen.iter().enumerate() {
        assert_eq!(token, tokens[at / 3]);
    }
    assert!(tokens[0] != tokens[1] && tokens[1] != tokens[2], "{tokens:?}");
}

#[test]
fn a_progress_that_the_person_cancels_cancels_its_turn_and_no_other() {
    let world = World::new();
    let mock = MockModel::start([
        Answer::stream().delta("Half").hold(),
        Answer::stream().delta("Other").pause().finish("stop").done(),
    ]);
    let mut client = world.edit(&mock);
    client.session("s");
    client.session("other");
    client.prompt("s", "Go.");
    client.text("s", "Half");
    take_token(&mut client, 1, &json!({ "result": null }));
    let token = await_progress(&client, "begin", 1);
    client.prompt("other", "Go.");
    client.text("other", "Other");
    for strange in [json!({ "token": "unknown" }), json!({ "token": 1 }), json!({}), Value::Null] {
        client.notify("window/workDoneProgress/cancel", strange);
    }
    client.notify("window/workDoneProgress/cancel", json!({ "token": token }));
    assert_eq!(client.rest("s")["outcome"], json!({ "kind": "aborted", "reason": "user" }));
    assert_eq!(await_progress(&client, "end", 1), token);
    client.notify("window/workDoneProgress/cancel", json!({ "token": token }));
    mock.release();
    assert_eq!(client.rest("other")["outcome"]["kind"], "completed");
}

#[test]
fn an_editor_that_shows_no_progress_is_not_told_of_any() {
    let world = World::new();
    let mock = MockModel::start([answer("One.")]);
    let mut client = Client::spawn_framed(world.door("lsp", &mock), Framing::Lengths);
    let mut params = world.editor();
    params["capabilities"] = json!({});
    client.initialize_as(params);
    client.session("s");
    client.complete("s", "Go.");
    client.request("tool/list", json!({}));
    assert_eq!(progress(&client), []);
}
