//! Subscriptions: every event once and in order, from any cursor, however slowly the client reads.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use dsh_tests::check_log::assert_same;
use dsh_tests::client::Client;
use dsh_tests::script::Script;
use dsh_tests::world::{World, until};
use serde_json::{Value, json};

/// Subscribes; returns the answer's `lastSeq` and where its frame stands.
fn subscribe(client: &mut Client, params: Value) -> (i64, usize) {
    let id = client.ask("session/subscribe", params);
    let result = client.result(id);
    let is_answer = |frame: &Value| frame["id"] == id && frame.get("method").is_none();
    let at = client.frames().iter().position(is_answer).unwrap();
    (result["lastSeq"].as_i64().unwrap(), at)
}

/// The events of a session among some frames.
fn events_of(frames: &[Value]) -> Vec<Value> {
    let events = frames.iter().filter(|frame| frame["method"] == "session/event");
    events.map(|frame| frame["params"]["event"].clone()).collect()
}

/// Adds one event to a session that rests; returns its seq.
fn inject(client: &mut Client) -> i64 {
    let params = json!({ "sessionId": "s", "text": "By the way.", "delivery": "inject" });
    client.request("session/prompt", params);
    let got = client.request("session/get", json!({ "sessionId": "s" }));
    got["session"]["lastSeq"].as_i64().unwrap()
}

fn two_steps() -> Script {
    Script::parse("think Hm.\nsay I look.\ncall glob {\"pattern\":\"*\"}\n---\nsay It is here.")
}

#[test]
fn from_every_cursor_the_replay_and_what_follows_make_up_the_log() {
    let world = World::new();
    let mut client = world.play(two_steps());
    client.request("session/new", json!({ "sessionId": "s" }));
    client.complete("s", "Where?");
    let length = i64::try_from(client.log("s").len()).unwrap();
    for after in -1..length {
        let (last, at) = subscribe(&mut client, json!({ "sessionId": "s", "after": after }));
        let live = inject(&mut client);
        client.event("s", "the live event", |event| event["seq"] == live);
        let since = client.frames_since(at);
        let log = client.log("s");
        let behind = usize::try_from(after + 1).unwrap();
        assert_same(&events_of(&since), &log[behind..], &format!("after {after}"));
        let caught_up = since.iter().position(|frame| frame["method"] == "session/caughtUp");
        let (before, _) = since.split_at(caught_up.unwrap());
        assert_eq!(events_of(before).len(), usize::try_from(last - after).unwrap());
        let notice = &since[caught_up.unwrap()]["params"];
        assert_eq!(notice, &json!({ "sessionId": "s", "seq": last }));
        let notices = since.iter().filter(|frame| frame["method"] == "session/caughtUp").count();
        assert_eq!(notices, 1, "after {after}");
    }
}

#[test]
fn without_a_cursor_only_what_follows_is_sent() {
    let world = World::new();
    let mut client = world.play(two_steps());
    client.request("session/new", json!({ "sessionId": "s" }));
    client.complete("s", "Where?");
    let (last, at) = subscribe(&mut client, json!({ "sessionId": "s" }));
    let live = inject(&mut client);
    assert_eq!(live, last + 1);
    client.event("s", "the live event", |event| event["seq"] == live);
    assert_eq!(events_of(&client.frames_since(at)).len(), 1);
}

#[test]
fn a_cursor_outside_the_log_is_invalid() {
    let world = World::new();
    let mut client = world.play(two_steps());
    client.request("session/new", json!({ "sessionId": "s" }));
    for after in [0, -2, i64::MIN, i64::MAX] {
        for method in ["session/subscribe", "session/events"] {
            let error = client.refused(method, json!({ "sessionId": "s", "after": after }));
            assert_eq!(error["code"], -32803, "{method} {after}: {error}");
            assert_eq!(error["data"]["kind"], "cursorInvalid");
        }
    }
    client.request("session/subscribe", json!({ "sessionId": "s", "after": -1 }));
    let notice = client.notification("session/caughtUp", |_| true);
    assert_eq!(notice["seq"], -1, "an empty log is caught up with at once");
}

#[test]
fn chunks_can_be_left_out() {
    let world = World::new();
    let mut client = world.play(two_steps());
    client.request("session/new", json!({ "sessionId": "s" }));
    client.request("session/subscribe", json!({ "sessionId": "s", "chunks": false }));
    client.complete("s", "Where?");
    client.event_of("s", "turn/end");
    let mut log = client.log("s");
    log.retain(|event| event["type"] != "assistant/chunk");
    assert_same(&client.received("s"), &log, "all but the chunks");
}

#[test]
fn nothing_comes_after_an_unsubscribe() {
    let world = World::new();
    let mut client = world.play(two_steps());
    client.session("s");
    client.complete("s", "Where?");
    let id = client.ask("session/unsubscribe", json!({ "sessionId": "s" }));
    client.result(id);
    inject(&mut client);
    let frames = client.frames();
    let at = frames.iter().position(|frame| frame["id"] == id).unwrap();
    assert_eq!(events_of(&frames[at..]), Vec::<Value>::new());
    client.request("session/unsubscribe", json!({ "sessionId": "s" }));
}

#[test]
fn two_sessions_are_told_apart() {
    let world = World::new();
    let mut client = world.play(two_steps());
    for id in ["a", "b"] {
        client.session(id);
    }
    let waits: Vec<u64> = ["a", "b"]
        .iter()
        .map(|id| {
            client.prompt(id, "Where?");
            client.ask("session/wait", json!({ "sessionId": id }))
        })
        .collect();
    for wait in waits {
        client.result(wait);
    }
    for id in ["a", "b"] {
        client.event_of(id, "turn/end");
        let log = client.log(id);
        assert_same(&client.received(id), &log, id);
    }
}

#[test]
fn subscribing_again_in_mid_stream_leaves_no_gap_and_no_double() {
    let world = World::new();
    let words: Vec<String> = (0..600).map(|number| format!("w{number} ")).collect();
    let mut script = Script::new();
    for piece in words.chunks(10) {
        script = script.say_chunks(piece.iter().map(String::as_str)).wait(4);
    }
    let mut client = world.play(script);
    client.session("s");
    let message = client.prompt("s", "Count.");
    let (mut at, mut after, mut segments) = (0, -1, 0);
    let is_end = |event: &Value| event["type"] == "turn/end";
    while !client.received("s").iter().any(is_end) {
        let received = events_of(&client.frames_since(at));
        for (expected, event) in (after + 1..).zip(&received) {
            assert_eq!(event["seq"], expected, "each segment is the log from its cursor on");
        }
        after = received.last().map_or(after, |event| event["seq"].as_i64().unwrap());
        (_, at) = subscribe(&mut client, json!({ "sessionId": "s", "after": after }));
        let next = after + 1;
        client.event("s", "progress", |event| event["seq"].as_i64() > Some(next) || is_end(event));
        segments += 1;
    }
    assert!(segments > 5, "{segments} segments");
    let params = json!({ "sessionId": "s", "messageId": message });
    client.request("session/wait", params);
    client.event_of("s", "turn/end");
    let log = client.log("s");
    let behind = usize::try_from(after + 1).unwrap();
    assert_same(&events_of(&client.frames_since(at)), &log[behind..], "the last segment");
}

/// The end of a file.
fn tail(path: &Path) -> String {
    let mut file = File::open(path).unwrap();
    let length = file.metadata().unwrap().len();
    file.seek(SeekFrom::Start(length.saturating_sub(200))).unwrap();
    let mut end = Vec::new();
    file.read_to_end(&mut end).unwrap();
    String::from_utf8_lossy(&end).into_owned()
}

#[test]
fn a_client_that_does_not_read_is_spared_chunks_and_told_which() {
    // Farther behind than a client may be, and not one event more than the test needs.
    const CHUNKS: usize = 56_000;
    let world = World::new();
    let model = world.model(Script::new().say_chunks(std::iter::repeat_n("word ", CHUNKS)));
    let mut client = world.start(&model);
    client.session("s");
    client.pause_reading(true);
    client.ask("session/prompt", json!({ "sessionId": "s", "text": "Talk." }));
    // The turn is not held up by a client that does not read.
    let log = world.log("s");
    until("the turn's end on disk", || tail(&log).contains("\"turn/end\""));
    client.pause_reading(false);
    client.event_of("s", "turn/end");
    let status = client.request("server/status", json!({}));
    let bytes = status["rssBytes"].as_u64().unwrap();
    assert!(bytes < 400 << 20, "{bytes} bytes for a log of {CHUNKS} chunks");
    let mut place = 0;
    let mut left_out = 0;
    for frame in client.frames() {
        let params = &frame["params"];
        if frame["method"] == "session/event" {
            assert_eq!(params["event"]["seq"], place, "neither sent nor announced");
            place += 1;
        }
        if frame["method"] == "session/lagged" {
            assert_eq!(params["from"], place, "the range begins where the last event ended");
            let behind = params["to"].as_u64().unwrap() + 1;
            left_out += behind - place;
            place = behind;
        }
    }
    assert!(left_out > 0, "nothing was left out");
    let events = dsh_tests::check_log::read(&log).events;
    assert_eq!(place, u64::try_from(events.len()).unwrap(), "up to the end of the log");
    let chunks = events.iter().filter(|event| event["type"] == "assistant/chunk");
    assert!(u64::try_from(chunks.count()).unwrap() > left_out, "only chunks are left out");
    // The checks of every log take a debug build too long with one of this size.
    world.leave_damaged();
}
