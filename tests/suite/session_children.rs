//! Subscriptions that include the agents that a session's agent starts; and lists that do, or do not.

use dsh_mock_model::answer::Answer;
use dsh_mock_model::server::MockModel;
use dsh_tests::check_log::assert_same;
use dsh_tests::client::Client;
use dsh_tests::world::{World, until};
use serde_json::{Value, json};

fn say(text: &str) -> Answer {
    Answer::stream().delta(text).finish("stop").done()
}

fn delegate(prompt: &str) -> Answer {
    let arguments = json!({ "description": prompt, "prompt": prompt }).to_string();
    Answer::stream().tool_call(0, "call", "subagent", &arguments).finish("tool_calls").done()
}

/// Everything that is said of a child until its events are all there.
fn whole(client: &mut Client, child: &str) -> Vec<Value> {
    let log = client.log(child);
    let last = log.last().unwrap()["seq"].clone();
    client.event(child, "the child's last event", |event| event["seq"] == last);
    log
}

fn child_of(client: &Client, at: usize) -> String {
    let mut seen = 0;
    client.wait_for("the child", |frames| {
        let started: Vec<_> =
            frames.iter().filter(|frame| frame["method"] == "subagent/started").collect();
        seen = seen.max(started.len());
        started.get(at).map(|frame| frame["params"]["childSessionId"].as_str().unwrap().to_owned())
    })
}

#[test]
fn the_events_of_children_come_along_live_and_whole() {
    let world = World::new();
    let mock = MockModel::start([delegate("Look."), say("Seen."), say("Done.")]);
    let mut client = world.ask(&mock);
    client.request("session/new", json!({ "sessionId": "s" }));
    let params = json!({ "sessionId": "s", "children": true });
    client.request("session/subscribe", params);
    client.complete("s", "First.");
    let child = child_of(&client, 0);
    let log = whole(&mut client, &child);
    assert_same(&client.received(&child), &log, "the child");
    client.event_of("s", "turn/end");
    assert_same(&client.received("s"), &client.log("s"), "its parent");
    let loaded =
        |client: &mut Client| client.request("server/status", json!({}))["sessions"].as_u64();
    client.request("session/unsubscribe", json!({ "sessionId": "s" }));
    let at = client.frames().len();
    client.request("session/rename", json!({ "sessionId": child, "title": "x" }));
    let events = client.frames_since(at);
    assert!(events.iter().all(|frame| frame["method"] != "session/event"), "nothing more comes");
    assert!(loaded(&mut client).is_some());
}

#[test]
fn the_events_of_children_that_another_process_starts_come_along() {
    let world = World::new();
    let mock = MockModel::start([
        delegate("Look."),
        Answer::stream().delta("Half").pause().delta(" and half").finish("stop").done(),
        say("Done."),
        delegate("Look again."),
        say("Seen."),
        say("Done again."),
    ]);
    let (mut writer, mut reader) = (world.ask(&mock), world.ask(&mock));
    writer.request("session/new", json!({ "sessionId": "s" }));
    reader.request("session/subscribe", json!({ "sessionId": "s", "children": true }));
    writer.prompt("s", "First.");
    let first = child_of(&writer, 0);
    reader.text(&first, "Half");
    mock.release();
    writer.rest("s");
    let log = whole(&mut reader, &first);
    assert_same(&reader.received(&first), &log, "one that runs for a while");
    writer.complete("s", "Second.");
    let second = child_of(&writer, 1);
    let log = whole(&mut reader, &second);
    assert_same(&reader.received(&second), &log, "one that has ended when it is found");
    let last = writer.log("s").last().unwrap()["seq"].clone();
    reader.event("s", "the parent's end", |event| event["seq"] == last);
    assert_same(&reader.received("s"), &writer.log("s"), "their parent");
}

#[test]
fn without_being_asked_for_they_do_not_come() {
    let world = World::new();
    let mock = MockModel::start([delegate("Look."), say("Seen."), say("Done.")]);
    let mut client = world.ask(&mock);
    client.session("s");
    client.complete("s", "First.");
    client.event_of("s", "turn/end");
    let child = child_of(&client, 0);
    assert_eq!(client.received(&child), Vec::<Value>::new());
}

#[test]
fn who_comes_later_gets_those_that_ran_and_the_one_that_runs() {
    let world = World::new();
    let mock = MockModel::start([
        delegate("One."),
        say("Seen."),
        say("Done."),
        delegate("Two."),
        Answer::stream().delta("Half").hold(),
    ]);
    let mut client = world.ask(&mock);
    client.request("session/new", json!({ "sessionId": "s" }));
    client.complete("s", "First.");
    client.prompt("s", "Second.");
    until("the second child's request", || mock.requests().len() == 5);
    let (first, second) = (child_of(&client, 0), child_of(&client, 1));
    let params = json!({ "sessionId": "s", "after": -1, "children": true });
    client.request("session/subscribe", params);
    client.text(&second, "Half");
    let log = whole(&mut client, &first);
    assert_same(&client.received(&first), &log, "the one that has ended");
    client.request("session/cancel", json!({ "sessionId": "s" }));
    client.event_of(&second, "turn/end");
    let log = whole(&mut client, &second);
    assert_same(&client.received(&second), &log, "the one that ran");
    client.event_of("s", "turn/end");
}

#[test]
fn a_fork_of_a_child_is_not_followed_and_what_a_child_inherited_does_not_come() {
    let world = World::new();
    world.patch(
        "- insert:\n    - id: tool-fork\n      name: tool-subagent\n      config:\n        provider: fork\n        toolName: subagent_with_context\n",
    );
    let arguments = json!({ "description": "x", "prompt": "Look." }).to_string();
    let call = Answer::stream()
        .tool_call(0, "call", "subagent_with_context", &arguments)
        .finish("tool_calls")
        .done();
    let mock = MockModel::start([say("One."), call, say("Seen."), say("Done.")]);
    let mut client = world.ask(&mock);
    client.request("session/new", json!({ "sessionId": "s" }));
    client.complete("s", "First.");
    client.request("session/subscribe", json!({ "sessionId": "s", "children": true }));
    client.complete("s", "Second.");
    let child = child_of(&client, 0);
    let log = whole(&mut client, &child);
    let own = log.iter().position(|event| event["type"] == "session/end-seed").unwrap();
    assert!(own > 3, "it inherited the first turn");
    assert_same(&client.received(&child), &log[own..], "its own events");
}

#[test]
fn a_list_has_children_on_demand_and_is_searched_by_title_and_id() {
    let world = World::new();
    let mock = MockModel::start([delegate("Look."), say("Seen."), say("Done.")]);
    let mut client = world.ask(&mock);
    client.request("session/new", json!({ "sessionId": "Alpha", "title": "Über Größe" }));
    client.request("session/new", json!({ "sessionId": "beta" }));
    client.complete("Alpha", "First.");
    let mut list = |params: Value| -> Vec<String> {
        let listed = client.request("session/list", params);
        let all = listed["sessions"].as_array().unwrap().iter();
        all.map(|one| one["title"].as_str().or(one["sessionId"].as_str()).unwrap().to_owned())
            .collect()
    };
    assert_eq!(list(json!({})), ["Über Größe", "beta"]);
    assert_eq!(list(json!({ "query": "ÜBER" })), ["Über Größe"]);
    assert_eq!(list(json!({ "query": "BET" })), ["beta"]);
    assert!(list(json!({ "query": "look" })).is_empty());
    assert_eq!(list(json!({ "query": "look", "includeChildren": true })), ["Look."]);
    assert_eq!(list(json!({ "includeChildren": true })).len(), 3);
    let page = client.request("session/list", json!({ "includeChildren": true, "limit": 2 }));
    let rest = json!({ "includeChildren": true, "limit": 2, "cursor": page["nextCursor"] });
    assert_eq!(client.request("session/list", rest)["sessions"].as_array().unwrap().len(), 1);
}
