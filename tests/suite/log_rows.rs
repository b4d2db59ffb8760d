//! Runs of deltas as rows of a log file: packed on disk, one by one for everybody else.

use std::fmt::Write as _;
use std::fs;

use dsh_tests::check_log::{self, assert_same};
use dsh_tests::client::Client;
use dsh_tests::script::Script;
use dsh_tests::world::World;
use serde_json::{Value, json};

const WORDS: &str =
    "Every word is a delta, \"quoted\" words\\ \u{1f642} and \u{2028} too, as many as there are. ";

/// A session whose answer has long runs of each kind of delta.
fn talked() -> (World, Client) {
    let world = World::new();
    world.file("a.txt", "alpha\n");
    let script = Script::new()
        .think(&WORDS.repeat(20))
        .say(&WORDS.repeat(40))
        .call("read", r#"{ "file_path": "a.txt", "offset": 1 , "limit": 5 }"#)
        .step()
        .say_chunks(["Only ", "two."])
        .turn();
    let mut client = world.play(script);
    client.session("s");
    client.complete("s", "Talk.");
    (world, client)
}

fn rows_of<'a>(text: &'a str, kind: &str) -> Vec<(usize, &'a str)> {
    let start = format!("{{\"type\":\"{kind}\"");
    text.lines().enumerate().filter(|(_, line)| line.starts_with(&start)).collect()
}

#[test]
fn runs_are_packed_on_disk_and_served_one_by_one() {
    let (world, mut client) = talked();
    let text = fs::read_to_string(world.log("s")).unwrap();
    for kind in ["text-chunks", "reasoning-chunks"] {
        assert!(!rows_of(&text, kind).is_empty(), "no {kind}");
    }
    let served = client.log("s");
    assert!(text.lines().count() * 5 < served.len(), "{} lines", text.lines().count());
    assert_same(&served, &check_log::read(&world.log("s")).events, "the file");
    let received = client.received("s");
    assert_same(&received, &served, "what was sent while it streamed");
    let two = text.lines().filter(|line| line.contains("\"two.\"")).count();
    assert_eq!(two, 1, "two deltas are no row");
}

#[test]
fn a_log_without_rows_is_the_same_log() {
    let (world, mut client) = talked();
    let log = check_log::read(&world.log("s"));
    let mut text = format!("{}\n", log.header);
    for event in &log.events {
        writeln!(text, "{event}").unwrap();
    }
    world.lay_log("plain", text.as_bytes());
    assert_same(&client.log("plain"), &client.log("s"), "its events");
    let [plain, packed] = ["plain", "s"].map(|id| client.conversation(id));
    assert_eq!(plain, packed);
}

#[test]
fn a_run_goes_on_from_the_middle_of_a_row() {
    let (world, mut client) = talked();
    let all = client.log("s");
    client.shut_down();
    let mut client = world.start("offline/x");
    for after in (0..all.len()).step_by(7) {
        let params = json!({ "sessionId": "s", "after": after, "limit": 9 });
        let page = client.request("session/events", params);
        let end = (after + 10).min(all.len());
        assert_same(page["events"].as_array().unwrap(), &all[after + 1..end], "a page");
    }
}

/// Rows that are nearly right.
fn malformed(row: &Value) -> Vec<(&'static str, Value)> {
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut row = row.clone();
        change(&mut row);
        row
    };
    let list = |row: &Value, key: &str| row["data"][key].as_array().unwrap().clone();
    vec![
        ("gap-missing", changed(&|row| row["data"]["dt"] = json!(list(row, "dt")[1..]))),
        ("text-missing", changed(&|row| row["data"]["texts"] = json!(list(row, "texts")[1..]))),
        (
            "nothing",
            changed(&|row| {
                row["data"]["texts"] = json!([]);
                row["data"]["dt"] = json!([]);
            }),
        ),
        ("number", changed(&|row| row["data"]["texts"][1] = json!(7))),
        ("no-list", changed(&|row| row["data"]["texts"] = json!("all"))),
        (
            "args",
            changed(&|row| {
                row["data"]["args"] = row["data"]["texts"].take();
                row["data"].as_object_mut().unwrap().remove("texts");
            }),
        ),
        ("both", changed(&|row| row["data"]["args"] = row["data"]["texts"].clone())),
        ("more", changed(&|row| row["data"]["more"] = json!(1))),
        ("envelope", changed(&|row| row["ignorable"] = json!(true))),
        ("time", changed(&|row| row["time0"] = json!(-1))),
        ("early", changed(&|row| row["data"]["dt"][0] = json!(i64::MIN))),
        ("fraction", changed(&|row| row["data"]["dt"][0] = json!(0.5))),
        (
            "index",
            changed(&|row| {
                row["data"].as_object_mut().unwrap().remove("index");
            }),
        ),
        ("ahead", changed(&|row| row["seq0"] = json!(row["seq0"].as_u64().unwrap() + 1))),
        ("behind", changed(&|row| row["seq0"] = json!(0))),
        ("end", changed(&|row| row["seq0"] = json!(u64::MAX))),
        ("step", changed(&|row| row["data"]["step"] = json!(9))),
        ("kind", changed(&|row| row["type"] = json!("text-chunk"))),
    ]
}

#[test]
fn a_malformed_row_is_refused_by_its_line_and_left_alone() {
    let (world, mut client) = talked();
    world.leave_damaged();
    let text = fs::read_to_string(world.log("s")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let (at, row) = rows_of(&text, "text-chunks")[0];
    for (name, damaged) in malformed(&serde_json::from_str(row).unwrap()) {
        let damaged = damaged.to_string();
        let mut lines = lines.clone();
        lines[at] = &damaged;
        let path = world.lay_log(name, format!("{}\n", lines.join("\n")).as_bytes());
        let before = fs::read(&path).unwrap();
        for method in ["session/get", "session/events", "session/subscribe"] {
            let error = client.refused(method, json!({ "sessionId": name }));
            let kind = &error["data"]["kind"];
            assert!(kind == "logDamaged" || kind == "logUnsupported", "{name}: {error}");
            let line = format!("line {}", at + 1);
            assert!(error["message"].as_str().unwrap().contains(&line), "{name}: {error}");
        }
        assert_eq!(fs::read(&path).unwrap(), before, "{name}");
    }
}

#[test]
fn rows_of_other_writers_are_read_however_they_are_spelled() {
    let (world, mut client) = talked();
    let text = fs::read_to_string(world.log("s")).unwrap();
    let (at, row) = rows_of(&text, "text-chunks")[0];
    let row: Value = serde_json::from_str(row).unwrap();
    let mut texts = row["data"]["texts"].to_string();
    texts = texts.replace("word", "\\u0077ord");
    let spelled = format!(
        "{{ \"data\": {{ \"texts\": {texts}, \"dt\": {}, \"index\": {}, \"step\": 1, \"turn\": 1 }}, \"time0\": {}, \"seq0\": {}, \"type\": \"text-chunks\" }}",
        row["data"]["dt"], row["data"]["index"], row["time0"], row["seq0"]
    );
    let mut lines: Vec<&str> = text.lines().collect();
    lines[at] = &spelled;
    world.lay_log("spelled", format!("{}\n", lines.join("\n")).as_bytes());
    assert_same(&client.log("spelled"), &client.log("s"), "its events");
}
