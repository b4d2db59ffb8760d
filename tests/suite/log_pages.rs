//! Pages of big logs: what a page costs depends on the page.

use std::fmt::Write as _;
use std::fs;

use dsh_tests::check_log::{self, assert_same};
use dsh_tests::client::Client;
use dsh_tests::script::Script;
use dsh_tests::world::World;
use serde_json::{Value, json};

/// Lays a log of many turns; each has a step with `deltas` deltas, packed or not. Returns its events.
fn lay(world: &World, id: &str, turns: u64, deltas: u64, packed: bool) -> Vec<Value> {
    let mut text = check_log::read(&world.logs()[0]).header.to_string();
    text.push('\n');
    let mut events: Vec<Value> = Vec::new();
    for turn in 1..=turns {
        let at = json!({ "turn": turn, "step": 1 });
        let mut push = |text: &mut String, kind: &str, data: Value, more: &[(&str, Value)]| {
            let seq = events.len();
            let mut event = json!({ "type": kind, "seq": seq, "time": 1_000 + seq, "data": data });
            for (key, value) in more {
                event[key] = value.clone();
            }
            if !packed || kind != "assistant/chunk" {
                writeln!(text, "{event}").unwrap();
            }
            events.push(event);
        };
        push(&mut text, "turn/start", json!({ "turn": turn }), &[]);
        push(&mut text, "step/start", at.clone(), &[]);
        for delta in 0..deltas {
            let said = format!("{turn}:{delta} ü ");
            let chunk = json!({ "type": "text-delta", "index": 0, "text": said });
            push(
                &mut text,
                "assistant/chunk",
                json!({ "turn": turn, "step": 1, "chunk": chunk }),
                &[],
            );
        }
        push(&mut text, "step/end", at.clone(), &[]);
        push(
            &mut text,
            "turn/end",
            json!({ "turn": turn, "reason": { "kind": "completed" } }),
            &[],
        );
        if packed {
            let first = events.len() as u64 - 2 - deltas;
            pack(&mut text, &events[usize::try_from(first).unwrap()..], deltas);
        }
    }
    world.lay_log(id, text.as_bytes());
    events
}

/// Puts the row of a turn's deltas in front of the two lines that follow them.
fn pack(text: &mut String, events: &[Value], deltas: u64) {
    let said = |event: &Value| event["data"]["chunk"]["text"].clone();
    let texts: Vec<Value> =
        events.iter().take(usize::try_from(deltas).unwrap()).map(said).collect();
    let (seq, time, data) = (&events[0]["seq"], &events[0]["time"], &events[0]["data"]);
    let gaps = vec![1; texts.len() - 1];
    let row = json!({
        "type": "text-chunks", "seq0": seq, "time0": time,
        "data": { "turn": data["turn"], "step": 1, "index": 0, "dt": gaps, "texts": texts },
    });
    let behind = text[..text.len() - 1].rfind('\n').unwrap();
    let behind = text[..behind].rfind('\n').unwrap() + 1;
    text.insert_str(behind, &format!("{row}\n"));
}

fn signed(seq: usize) -> i64 {
    i64::try_from(seq).unwrap()
}

fn started(world: &World) -> Client {
    let mut client = world.play(Script::parse("say Hello."));
    if world.logs().is_empty() {
        client.request("session/new", json!({ "sessionId": "first" }));
    }
    client
}

fn is_live(client: &mut Client, id: &str) -> bool {
    let listed = client.request("session/list", json!({}));
    let sessions = listed["sessions"].as_array().unwrap();
    sessions.iter().any(|session| session["sessionId"] == id && session["live"] == true)
}

#[test]
fn any_page_of_a_big_log_is_read_without_loading_it() {
    for packed in [true, false] {
        let world = World::new();
        world.leave_damaged();
        let mut client = started(&world);
        let events = lay(&world, "big", 400, 150, packed);
        let size = fs::metadata(world.log("big")).unwrap().len();
        assert!(size > 1024 * 1024, "{size} bytes");
        let last = events.len() - 1;
        let afters = (0..events.len()).step_by(4_999).map(signed);
        for after in [-1, 0, 1, 2, 150, 151, 152, 153].into_iter().chain(afters) {
            for limit in [1, 7, 400] {
                let params = json!({ "sessionId": "big", "after": after, "limit": limit });
                let page = client.request("session/events", params);
                let start = usize::try_from(after + 1).unwrap();
                let end = (start + limit).min(events.len());
                let what = format!("packed: {packed}, after {after}, limit {limit}");
                assert_same(page["events"].as_array().unwrap(), &events[start..end], &what);
                assert_eq!(page["lastSeq"], last, "{what}");
                assert_eq!(page["more"], end < events.len(), "{what}");
            }
        }
        for (after, count) in [(signed(last) - 1, 1), (signed(last), 0)] {
            let params = json!({ "sessionId": "big", "after": after });
            let page = client.request("session/events", params);
            assert_eq!(page["events"].as_array().unwrap().len(), count);
            assert_eq!(page["more"], false);
        }
        for after in [-2, signed(last) + 1] {
            let params = json!({ "sessionId": "big", "after": after });
            let error = client.refused("session/events", params);
            assert_eq!(error["data"]["kind"], "cursorInvalid");
        }
        let types = json!(["turn/end", "nonsense"]);
        let params = json!({ "sessionId": "big", "after": 10, "limit": 5, "types": types });
        let page = client.request("session/events", params);
        let ends = events.iter().filter(|event| event["type"] == "turn/end").take(5).cloned();
        assert_same(page["events"].as_array().unwrap(), &ends.collect::<Vec<_>>(), "by type");
        assert_eq!(page["more"], true);
        assert!(!is_live(&mut client, "big"), "nothing was loaded");

        client.request("session/subscribe", json!({ "sessionId": "big" }));
        assert_same(&client.log("big"), &events, "once it is loaded");
    }
}

#[test]
fn a_torn_end_and_damage_far_away_do_not_keep_a_page_from_being_read() {
    let world = World::new();
    world.leave_damaged();
    let mut client = started(&world);
    let events = lay(&world, "big", 400, 150, false);
    let text = fs::read_to_string(world.log("big")).unwrap();
    let torn = format!("{text}{{\"type\":\"turn/start\",\"seq\":");
    world.lay_log("torn", torn.as_bytes());
    let page = client.request("session/events", json!({ "sessionId": "torn", "limit": 3 }));
    assert_eq!(page["lastSeq"], events.len() - 1);

    let lines: Vec<&str> = text.lines().collect();
    let middle = lines.len() / 2;
    let mut damaged = lines.clone();
    damaged[middle] = "nonsense";
    world.lay_log("damaged", format!("{}\n", damaged.join("\n")).as_bytes());
    let params = json!({ "sessionId": "damaged", "limit": 100 });
    let page = client.request("session/events", params);
    assert_same(page["events"].as_array().unwrap(), &events[..100], "far in front of the damage");
    for method in ["session/get", "session/subscribe"] {
        let error = client.refused(method, json!({ "sessionId": "damaged" }));
        assert_eq!(error["data"]["line"], middle + 1, "{method}: {error}");
    }
    let params = json!({ "sessionId": "damaged", "after": middle - 20, "limit": 100 });
    let error = client.refused("session/events", params);
    assert_eq!(error["data"]["line"], middle + 1, "{error}");
}
