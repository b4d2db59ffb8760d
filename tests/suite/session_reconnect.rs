//! Clients whose connection breaks: what they had and what they get afterwards is the log.

use dsh_tests::check_log::{self, assert_same};
use dsh_tests::client::Client;
use dsh_tests::script::Script;
use dsh_tests::world::World;
use serde_json::{Value, json};

/// The events up to a seq that a new connection gets, which is then killed.
fn up_to(world: &World, model: &str, after: i64, last: i64) -> Vec<Value> {
    let mut client = world.start(model);
    let events = received(&mut client, after, last);
    client.kill();
    events
}

fn received(client: &mut Client, after: i64, last: i64) -> Vec<Value> {
    client.request("session/subscribe", json!({ "sessionId": "s", "after": after }));
    client.event("s", "the last event", |event| event["seq"] == last);
    let mut events = client.received("s");
    events.retain(|event| event["seq"].as_i64() <= Some(last));
    events
}

#[test]
fn a_connection_may_break_behind_every_event() {
    let world = World::new();
    world.file("a.txt", "alpha\n");
    let script = "say Let me look.\ncall read {\"file_path\":\"a.txt\"}\n---\nthink Alpha it is.\nsay It says alpha.";
    let model = world.model(Script::parse(script));
    let mut writer = world.start(&model);
    writer.session("s");
    writer.complete("s", "What is in a.txt?");
    let log = writer.log("s");
    writer.shut_down();
    let last = i64::try_from(log.len()).unwrap() - 1;
    assert!(last > 25, "{last}");
    // One client in the place of all those that come back: it subscribes anew for each.
    let mut back = world.start(&model);
    for broken in 0..last {
        let before = up_to(&world, &model, -1, broken);
        back.request("session/unsubscribe", json!({ "sessionId": "s" }));
        let at = back.frames().len();
        back.request("session/subscribe", json!({ "sessionId": "s", "after": broken }));
        back.wait_for("the end of the replay", |frames| {
            frames[at..].iter().any(|frame| frame["method"] == "session/caughtUp").then_some(())
        });
        let frames = back.frames_since(at);
        let events = frames.iter().filter(|frame| frame["method"] == "session/event");
        let after: Vec<Value> = events.map(|frame| frame["params"]["event"].clone()).collect();
        assert_same(&[before, after].concat(), &log, &format!("broken behind event {broken}"));
    }
}

#[test]
fn connections_break_in_the_middle_of_a_turn_that_another_process_runs() {
    let world = World::new();
    let words: Vec<String> = (0..300).map(|number| format!("w{number} ")).collect();
    let mut script = Script::new();
    for piece in words.chunks(10) {
        script = script.say_chunks(piece.iter().map(String::as_str)).wait(100);
    }
    let model = world.model(script);
    let mut writer = world.start(&model);
    writer.session("s");
    writer.prompt("s", "Count.");
    let (mut cursor, mut seen) = (-1, Vec::new());
    for step in [20, 60, 110] {
        let events = up_to(&world, &model, cursor, cursor + step);
        cursor += step;
        seen.extend(events);
    }
    writer.rest("s");
    let log = writer.log("s");
    let last = i64::try_from(log.len()).unwrap() - 1;
    seen.extend(up_to(&world, &model, cursor, last));
    assert_same(&seen, &log, "the pieces together");
    writer.shut_down();
    assert_same(&check_log::read(&world.log("s")).events, &log, "the file");
}

#[test]
fn several_clients_get_the_same_events() {
    let world = World::new();
    let words: Vec<String> = (0..200).map(|number| format!("w{number} ")).collect();
    let model = world.model(Script::new().say_chunks(words.iter().map(String::as_str)));
    let mut writer = world.start(&model);
    let mut readers: Vec<Client> = (0..3).map(|_| world.start(&model)).collect();
    writer.session("s");
    for reader in &mut readers {
        reader.request("session/subscribe", json!({ "sessionId": "s", "after": -1 }));
    }
    writer.complete("s", "Count.");
    let log = writer.log("s");
    for reader in &readers {
        reader.event_of("s", "turn/end");
        assert_same(&reader.received("s"), &log, "a reader");
    }
}
