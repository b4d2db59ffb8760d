//! A session in a new process: it is as it was left.

use dsh_tests::check_log::assert_same;
use dsh_tests::script::Script;
use dsh_tests::world::World;
use serde_json::{Value, json};

#[test]
fn title_model_and_queue_survive_the_process() {
    let world = World::new();
    let model = world.model(Script::parse(
        "say One.\nturn\nsay Half\nwait 20000\nturn\nsay Two.\nturn\nsay Three.",
    ));
    let mut first = world.connect(&[]);
    first.initialize();
    first.request("session/new", json!({ "sessionId": "s", "model": model }));
    first.request("session/subscribe", json!({ "sessionId": "s" }));
    first.complete("s", "First.");
    first.request("session/rename", json!({ "sessionId": "s", "title": "My title" }));
    first.prompt("s", "Second.");
    first.text("s", "Half");
    let waiting = [first.prompt("s", "Third."), first.prompt("s", "Fourth.")];
    let cancel = json!({ "sessionId": "s", "keepQueue": true });
    first.request("session/cancel", cancel);
    first.rest("s");
    let note = json!({ "sessionId": "s", "text": "By the way.", "delivery": "inject" });
    let note = first.request("session/prompt", note)["messageId"].clone();
    let before = first.request("session/get", json!({ "sessionId": "s" }));
    let log = first.log("s");
    first.shut_down();

    let mut second = world.connect(&[]);
    second.initialize();
    let listed = second.request("session/list", json!({}))["sessions"][0].clone();
    assert_eq!((&listed["live"], &listed["status"]), (&json!(false), &json!("parked")));
    assert_eq!(listed["title"], "My title");
    let mut after = second.request("session/get", json!({ "sessionId": "s" }));
    assert_eq!(after["session"]["live"], false, "nobody had to load it");
    after["session"]["live"] = json!(true);
    assert_eq!(after, before, "summary, tokens and queue");
    assert_eq!(after["queue"], json!({ "nextStep": [note], "nextTurn": waiting }));
    let (provider, name) = model.split_once('/').unwrap();
    assert_eq!(after["session"]["model"], json!({ "provider": provider, "model": name }));
    assert_same(&second.log("s"), &log, "the log");
    // What waits runs, and the next prompt behind it.
    let last = second.prompt("s", "Fifth.");
    let params = json!({ "sessionId": "s", "messageId": waiting[0] });
    assert_eq!(second.request("session/wait", params)["text"], "Two.");
    second.request("session/wait", json!({ "sessionId": "s", "messageId": waiting[1] }));
    let params = json!({ "sessionId": "s", "messageId": last });
    assert_ne!(second.request("session/wait", params)["turn"], Value::Null);
    let said = second.conversation("s");
    let order: Vec<&String> = said.iter().filter(|line| line.starts_with("user: ")).collect();
    assert_eq!(
        order,
        [
            "user: First.",
            "user: Second.",
            "user: By the way.",
            "user: Third.",
            "user: Fourth.",
            "user: Fifth."
        ]
    );
}

#[test]
fn a_message_that_was_sent_before_is_known_in_the_next_process() {
    let world = World::new();
    let model = world.model(Script::parse("say One.\nturn\nsay Two."));
    let mut first = world.start(&model);
    first.request("session/new", json!({ "sessionId": "s" }));
    let prompt = json!({ "sessionId": "s", "text": "First.", "clientMessageId": "mine" });
    let sent = first.request("session/prompt", prompt.clone());
    first.rest("s");
    first.shut_down();
    let mut second = world.start(&model);
    assert_eq!(second.request("session/prompt", prompt), sent);
    assert_eq!(second.rest("s")["turn"], 1, "it ran once");
}
