//! Editors that write before they read, or do not read for a long time: nothing is lost, and nothing piles up.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::time::{Duration, Instant};

use dsh_mock_model::answer::Answer;
use dsh_mock_model::server::MockModel;
use dsh_tests::world::{World, until};
use serde_json::{Value, json};

fn count_answers(frames: &[Value]) -> usize {
    frames.iter().filter(|frame| frame.get("method").is_none()).count()
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
fn three_hundred_requests_under_way_are_answered_once_the_client_reads() {
    let world = World::new();
    let mock = MockModel::start([Answer::stream().delta("Half").hold()]);
    let mut client = world.edit(&mock);
    client.session("s");
    client.prompt("s", "Go.");
    client.text("s", "Half");
    client.pause_reading(true);
    let mut asked = Vec::new();
    for number in 0..100 {
        asked.push(client.ask("session/wait", json!({ "sessionId": "s" })));
        asked.push(client.ask("session/wait", json!({ "sessionId": "s", "timeoutMs": number })));
        asked.push(client.ask("session/messages", json!({ "sessionId": "s" })));
    }
    asked.push(client.ask("session/cancel", json!({ "sessionId": "s" })));
    // The turn ends although nobody reads.
    mock.wait_until_closed();
    client.pause_reading(false);
    let begun = Instant::now();
    for id in asked {
        client.result(id);
    }
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}

#[test]
fn twenty_thousand_requests_can_be_written_before_the_first_answer_is_read() {
    const REQUESTS: usize = 20_000;
    let world = World::new();
    let mock = MockModel::start([]);
    let mut client = world.edit(&mock);
    client.request("session/new", json!({ "sessionId": "s" }));
    client.pause_reading(true);
    let before = count_answers(&client.frames());
    let mut frames = Vec::new();
    for number in 0..REQUESTS {
        let (method, params) = match number % 3 {
            0 => ("session/unsubscribe", json!({ "sessionId": "s" })),
            1 => ("no/such", json!({})),
            _ => ("session/get", json!({})),
        };
        frames.push(client.frame(method, params).1);
    }
    client.send_together(&frames);
    client.pause_reading(false);
    client.wait_for("all answers", |frames| {
        (count_answers(frames) == before + REQUESTS).then_some(())
    });
    for answer in client.frames().iter().filter(|frame| frame.get("method").is_none()).skip(before)
    {
        let number = answer["id"].as_u64().unwrap();
        let code = answer["error"]["code"].as_i64();
        assert!(matches!(code, None | Some(-32601 | -32602)), "{number}: {answer}");
    }
    assert!(client.memory("VmHWM") < 96 << 20, "{} bytes", client.memory("VmHWM"));
}

#[test]
fn a_client_that_stops_reading_in_a_fast_stream_misses_nothing_but_announced_chunks() {
    const DELTAS: usize = 60_000;
    let world = World::new();
    let delta = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word \"}}]}\n\n";
    let mock = MockModel::start([Answer::stream().raw(delta.repeat(DELTAS)).finish("stop").done()]);
    let mut client = world.edit(&mock);
    client.session("s");
    client.pause_reading(true);
    let mut asked =
        vec![client.ask("session/prompt", json!({ "sessionId": "s", "text": "Talk." }))];
    let log = world.log("s");
    until("the turn's end on disk", || {
        if asked.len() < 200 {
            asked.push(client.ask("session/get", json!({ "sessionId": "s" })));
        }
        tail(&log).contains("\"turn/end\"")
    });
    client.pause_reading(false);
    client.event_of("s", "turn/end");
    for id in asked {
        client.result(id);
    }
    let (mut place, mut left_out) = (0, 0);
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
    assert!(left_out > 0 && place > DELTAS as u64, "{left_out} of {place} left out");
    let answer = client.event_of("s", "assistant/message");
    let text = answer["data"]["message"]["content"][0]["text"].as_str().unwrap();
    assert_eq!(text.len(), "word ".len() * DELTAS, "the message has it all");
    let peak = client.memory("VmHWM");
    assert!(peak < 64 << 20, "{peak} bytes at most");
    client.shut_down();
    // The checks of every log take a debug build too long with one of this size.
    world.leave_damaged();
}
