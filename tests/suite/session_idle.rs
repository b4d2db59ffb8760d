//! Sessions that nobody uses leave the memory, and come back as if they had never left.

use dsh_mock_model::answer::Answer;
use dsh_mock_model::server::MockModel;
use dsh_tests::check_log::assert_same;
use dsh_tests::client::Client;
use dsh_tests::script::Script;
use dsh_tests::world::{World, until};
use serde_json::{Value, json};

/// Nothing stays that is not used.
const NONE: &str = "- id: sessions\n  config:\n    maxIdle: 0\n";

fn loaded(client: &mut Client) -> u64 {
    client.request("server/status", json!({}))["sessions"].as_u64().unwrap()
}

fn unloaded(client: &mut Client) {
    until("the sessions to be unloaded", || loaded(client) == 0);
}

#[test]
fn an_unused_session_is_unloaded_and_comes_back_with_whatever_names_it() {
    let world = World::new();
    world.patch(NONE);
    let mut client = world.play(Script::parse("say One.\nturn\nsay Two."));
    client.request("session/new", json!({ "sessionId": "s", "title": "Mine" }));
    client.complete("s", "First.");
    let got = client.request("session/get", json!({ "sessionId": "s" }));
    let log = client.log("s");
    for (method, params) in [
        ("session/get", json!({})),
        ("session/events", json!({ "limit": 5000 })),
        ("session/messages", json!({})),
        ("session/wait", json!({})),
        ("session/cancel", json!({})),
        ("session/setModel", json!({ "model": "offline/retrieval" })),
        ("session/export", json!({ "format": "jsonl" })),
        ("session/fork", json!({})),
        ("review/list", json!({})),
        ("command/run", json!({ "line": "/model" })),
    ] {
        unloaded(&mut client);
        let mut params = params;
        params["sessionId"] = json!("s");
        client.request(method, params);
    }
    unloaded(&mut client);
    let listed = client.request("session/list", json!({ "query": "mine" }))["sessions"].clone();
    assert_eq!(listed.as_array().unwrap().len(), 2, "the session and its fork: {listed}");
    assert_same(&client.log("s")[..log.len()], &log, "the log");
    unloaded(&mut client);
    let again = client.request("session/get", json!({ "sessionId": "s" }));
    assert_eq!(again["queue"], got["queue"]);
    unloaded(&mut client);
    assert_eq!(client.complete("s", "Second.")["turn"], 2);
}

#[test]
fn what_is_subscribed_to_runs_or_waits_stays() {
    let world = World::new();
    world.patch(NONE);
    let mut client = world.play(Script::parse("say Half\nwait 20000"));
    for id in ["subscribed", "waiting", "running", "unused"] {
        client.request("session/new", json!({ "sessionId": id }));
    }
    client.request("session/subscribe", json!({ "sessionId": "subscribed" }));
    let note = json!({ "sessionId": "waiting", "text": "By the way.", "delivery": "inject" });
    client.request("session/prompt", note);
    client.prompt("running", "Go.");
    until("the unused one to go", || loaded(&mut client) == 3);
    let listed = client.request("session/list", json!({}))["sessions"].clone();
    for session in listed.as_array().unwrap() {
        assert_eq!(session["live"], session["sessionId"] != "unused", "{session}");
    }
    client.request("session/unsubscribe", json!({ "sessionId": "subscribed" }));
    client.request("session/cancel", json!({ "sessionId": "running" }));
    client.request("session/cancel", json!({ "sessionId": "waiting" }));
    unloaded(&mut client);
}

#[test]
fn the_ones_that_were_used_last_stay() {
    let world = World::new();
    world.patch("- id: sessions\n  config:\n    maxIdle: 2\n");
    let mut client = world.start("offline/retrieval");
    for number in 0..6 {
        client.request("session/new", json!({ "sessionId": format!("s{number}") }));
    }
    client.request("session/get", json!({ "sessionId": "s0" }));
    until("the others to go", || loaded(&mut client) == 2);
    let listed = client.request("session/list", json!({}))["sessions"].clone();
    let live: Vec<&Value> =
        listed.as_array().unwrap().iter().filter(|one| one["live"] == true).collect();
    let mut live: Vec<&str> = live.iter().map(|one| one["sessionId"].as_str().unwrap()).collect();
    live.sort_unstable();
    assert_eq!(live, ["s0", "s5"]);
}

#[test]
fn a_session_is_unloaded_after_its_time() {
    let world = World::new();
    world.patch("- id: sessions\n  config:\n    unloadAfterMs: 100\n");
    let mut client = world.start("offline/retrieval");
    client.request("session/new", json!({ "sessionId": "s" }));
    unloaded(&mut client);
}

#[test]
fn a_server_that_goes_through_many_sessions_does_not_grow() {
    let world = World::new();
    world.patch("- id: sessions\n  config:\n    maxIdle: 1\n");
    let text = "x".repeat(400_000);
    let mut client = world.start("offline/retrieval");
    let fill = |client: &mut Client, from: u32, to: u32| {
        for number in from..to {
            let id = format!("s{number}");
            client.request("session/new", json!({ "sessionId": id }));
            let note = json!({ "sessionId": id, "text": text, "delivery": "inject" });
            client.request("session/prompt", note);
            client.request("session/cancel", json!({ "sessionId": id }));
        }
        until("all but one to go", || loaded(client) <= 1);
        client.request("server/status", json!({}))["rssBytes"].as_u64().unwrap()
    };
    let few = fill(&mut client, 0, 10);
    let many = fill(&mut client, 10, 110);
    // A hundred sessions hold eighty megabytes of text.
    assert!(many < few + (30 << 20), "{few} bytes, then {many}");
}

#[test]
fn agents_and_rounds_leave_nothing_that_keeps_their_sessions() {
    let answer = |text: &str| Answer::stream().delta(text).finish("stop").done();
    let arguments = json!({ "description": "a task", "prompt": "Look." }).to_string();
    let call =
        Answer::stream().tool_call(0, "call", "subagent", &arguments).finish("tool_calls").done();
    let world = World::new();
    world.patch(NONE);
    let mock = MockModel::start([call, answer("Seen."), answer("Done.")]);
    let mut client = world.ask(&mock);
    client.request("session/new", json!({ "sessionId": "s" }));
    client.complete("s", "First.");
    unloaded(&mut client);
    let run = client.request("command/run", json!({ "sessionId": "s", "line": "/deliberate x" }));
    assert!(run["text"].is_string());
    unloaded(&mut client);
}
