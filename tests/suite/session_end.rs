//! `session/close` and `session/delete`: what goes, what stays, and who is told.

use std::fs;

use dsh_mock_model::answer::Answer;
use dsh_mock_model::server::MockModel;
use dsh_tests::client::Client;
use dsh_tests::script::Script;
use dsh_tests::world::{World, until};
use serde_json::{Value, json};

/// A session `s` whose turn runs and behind which a message waits.
fn running(world: &World, model: &str) -> (Client, String) {
    let mut client = world.start(model);
    client.session("s");
    client.prompt("s", "Go.");
    client.text("s", "Half");
    let queued = client.prompt("s", "And then?");
    (client, queued)
}

fn half(world: &World) -> String {
    world.model(Script::parse("say Half\nwait 20000\nturn\nsay Again.\nturn\nsay More."))
}

fn loaded(client: &mut Client) -> u64 {
    client.request("server/status", json!({}))["sessions"].as_u64().unwrap()
}

#[test]
fn a_close_ends_the_turn_drops_the_queue_and_unloads_the_session() {
    let world = World::new();
    let model = half(&world);
    let (mut client, queued) = running(&world, &model);
    let waits = [json!({ "sessionId": "s" }), json!({ "sessionId": "s", "messageId": queued })]
        .map(|params| client.ask("session/wait", params));
    assert_eq!(client.request("session/close", json!({ "sessionId": "s" })), json!({}));
    assert_eq!(
        client.result(waits[0])["outcome"],
        json!({ "kind": "aborted", "reason": "disposed" })
    );
    assert_eq!(client.result(waits[1])["outcome"]["kind"], "discarded");
    let changed =
        client.notification("session/changed", |params| params["session"]["live"] == false);
    assert_eq!(changed["session"]["status"], "idle");
    // The subscription has everything up to the end, and is over.
    client.event_of("s", "turn/end");
    until("the session to be unloaded", || loaded(&mut client) == 0);
    let listed = client.request("session/list", json!({}))["sessions"][0].clone();
    assert_eq!((&listed["live"], &listed["status"]), (&json!(false), &json!("idle")));
    let at = client.frames().len();
    assert_eq!(client.complete("s", "Hello?")["text"], "Again.", "it comes back");
    let events = client.frames_since(at);
    let events = events.iter().filter(|frame| frame["method"] == "session/event");
    assert_eq!(events.count(), 0, "nobody subscribes to it any more");
}

#[test]
fn a_close_of_an_idle_session_keeps_what_waits() {
    let world = World::new();
    let mut client = world.play(Script::parse("say One."));
    client.request("session/new", json!({ "sessionId": "s" }));
    let note = json!({ "sessionId": "s", "text": "By the way.", "delivery": "inject" });
    let message = client.request("session/prompt", note)["messageId"].clone();
    client.request("session/close", json!({ "sessionId": "s" }));
    client.request("session/close", json!({ "sessionId": "s" }));
    let queue = client.request("session/get", json!({ "sessionId": "s" }))["queue"].clone();
    assert_eq!(queue, json!({ "nextStep": [message], "nextTurn": [] }));
    let error = client.refused("session/close", json!({ "sessionId": "nobody" }));
    assert_eq!(error["data"]["kind"], "sessionNotFound");
}

#[test]
fn a_deleted_session_is_gone_for_everybody() {
    let world = World::new();
    let model = half(&world);
    let (mut client, _) = running(&world, &model);
    let log = world.log("s");
    fs::write(log.with_extension("torn"), "half a line").unwrap();
    let id = client.ask("session/delete", json!({ "sessionId": "s" }));
    assert_eq!(client.result(id), json!({}));
    client.notification("session/changed", |params| params == &json!({ "removed": "s" }));
    let frames = client.frames();
    let at = |wanted: &dyn Fn(&Value) -> bool| frames.iter().position(wanted).unwrap();
    let answer = at(&|frame| frame["id"] == id);
    let end = at(&|frame| frame["params"]["event"]["type"] == "turn/end");
    let removed = at(&|frame| frame["params"]["removed"] == "s");
    assert!(end < removed && answer < removed, "{end} {answer} {removed}");
    let twice = frames.iter().filter(|frame| frame["params"]["removed"] == "s").count();
    assert_eq!(twice, 1, "told once");
    assert!(!log.exists() && !log.with_extension("torn").exists());
    for (method, params) in [
        ("session/get", json!({ "sessionId": "s" })),
        ("session/prompt", json!({ "sessionId": "s", "text": "Hello?" })),
        ("session/subscribe", json!({ "sessionId": "s" })),
        ("session/delete", json!({ "sessionId": "s" })),
        ("session/delete", json!({ "sessionId": "../s" })),
    ] {
        let error = client.refused(method, params);
        assert_eq!(error["data"]["kind"], "sessionNotFound", "{method}: {error}");
    }
    assert_eq!(client.request("session/list", json!({}))["sessions"], json!([]));
    assert_eq!(loaded(&mut client), 0);
    // Its name is free.
    client.session("s");
    assert_eq!(client.log("s"), Vec::<Value>::new());
}

#[test]
fn another_process_notices_that_a_session_was_deleted() {
    let world = World::new();
    let model = world.model(Script::parse("say One.\nturn\nsay Two."));
    let (mut first, mut second) = (world.start(&model), world.start(&model));
    first.session("s");
    first.complete("s", "First.");
    second.request("session/subscribe", json!({ "sessionId": "s", "after": -1 }));
    second.event_of("s", "turn/end");
    first.request("session/delete", json!({ "sessionId": "s" }));
    second.notification("session/changed", |params| params == &json!({ "removed": "s" }));
    until("the session to be unloaded", || loaded(&mut second) == 0);
    let error = second.refused("session/prompt", json!({ "sessionId": "s", "text": "Hello?" }));
    assert_eq!(error["data"]["kind"], "sessionNotFound");
}

#[test]
fn another_process_that_has_it_loaded_is_told_by_whatever_it_asks() {
    for (method, params) in [
        ("session/prompt", json!({ "sessionId": "s", "text": "Hello?" })),
        ("session/rename", json!({ "sessionId": "s", "title": "Gone" })),
        ("session/events", json!({ "sessionId": "s" })),
        ("session/get", json!({ "sessionId": "s" })),
    ] {
        let world = World::new();
        let (mut first, mut second) = (world.start("offline/x"), world.start("offline/x"));
        first.request("session/new", json!({ "sessionId": "s" }));
        second.request("session/get", json!({ "sessionId": "s" }));
        first.request("session/delete", json!({ "sessionId": "s" }));
        for _ in 0..2 {
            let error = second.refused(method, params.clone());
            assert_eq!(error["data"]["kind"], "sessionNotFound", "{method}: {error}");
        }
        assert!(world.logs().is_empty(), "{method} brought it back");
    }
}

#[test]
fn what_another_process_runs_is_not_deleted() {
    let world = World::new();
    let model = half(&world);
    let (mut first, _) = running(&world, &model);
    let mut second = world.start(&model);
    let error = second.refused("session/delete", json!({ "sessionId": "s" }));
    assert_eq!(error["data"]["kind"], "writerConflict");
    assert_eq!(error["data"]["retryable"], true);
    assert!(world.log("s").exists());
    first.request("session/cancel", json!({ "sessionId": "s" }));
    first.rest("s");
    second.request("session/delete", json!({ "sessionId": "s" }));
    assert!(world.logs().is_empty());
    first.notification("session/changed", |params| params == &json!({ "removed": "s" }));
}

#[test]
fn a_damaged_session_can_be_deleted() {
    let world = World::new();
    let mut client = world.play(Script::parse("say One."));
    client.session("s");
    client.complete("s", "First.");
    client.shut_down();
    let log = world.log("s");
    fs::write(&log, fs::read_to_string(&log).unwrap().replace("\"seq\":1,", "\"seq\":7,")).unwrap();
    let mut client = world.start("offline/x");
    let error = client.refused("session/get", json!({ "sessionId": "s" }));
    assert_eq!(error["data"]["kind"], "logDamaged");
    client.request("session/delete", json!({ "sessionId": "s" }));
    assert!(world.logs().is_empty());
}

#[test]
fn children_go_with_their_parent_running_or_not_and_forks_stay() {
    let answer = |text: &str| Answer::stream().delta(text).finish("stop").done();
    let call = |prompt: &str| {
        let arguments = json!({ "description": "a task", "prompt": prompt }).to_string();
        Answer::stream().tool_call(0, "call", "subagent", &arguments).finish("tool_calls").done()
    };
    let world = World::new();
    let mock = MockModel::start([
        call("Look."),
        answer("Seen."),
        answer("Done."),
        call("Look again."),
        Answer::stream().delta("Half").hold(),
    ]);
    let mut client = world.ask(&mock);
    client.session("s");
    client.complete("s", "First.");
    let forked = client.request("session/fork", json!({ "sessionId": "s" }))["session"].clone();
    client.prompt("s", "Second.");
    until("the second child", || world.logs().len() == 4);
    until("its request", || mock.requests().len() == 5);
    client.request("session/delete", json!({ "sessionId": "s" }));
    let listed =
        client.request("session/list", json!({ "includeChildren": true }))["sessions"].clone();
    let ids: Vec<&Value> = listed.as_array().unwrap().iter().map(|one| &one["sessionId"]).collect();
    assert_eq!(ids, [&forked["sessionId"]]);
    assert_eq!(world.logs().len(), 1);
    let removed =
        client.frames().iter().filter(|frame| frame["params"]["removed"].is_string()).count();
    assert!(removed <= 3, "{removed}");
    client.notification("session/changed", |params| params["removed"] == "s");
    let removed =
        client.frames().iter().filter(|frame| frame["params"]["removed"].is_string()).count();
    assert_eq!(removed, 3, "the session and its children");
}
