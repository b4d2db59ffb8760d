//! Processes that die and files that are cut: what is on disk always opens, is closed by appending, and goes on.

use std::fs;
use std::time::Duration;

use dsh_tests::check_log::{self, assert_same};
use dsh_tests::client::Client;
use dsh_tests::script::Script;
use dsh_tests::seed::Seed;
use dsh_tests::world::World;
use serde_json::{Value, json};

/// A model that asks for two tools and answers, in every turn.
fn two_tools(turns: u32) -> Script {
    let mut script = Script::new();
    for _ in 0..turns {
        script = script
            .say_chunks(["I read ", "both."])
            .call("read", r#"{"file_path":"a.txt"}"#)
            .call("grep", r#"{"pattern":"alpha"}"#)
            .step()
            .say_chunks(["Done", "."])
            .turn();
    }
    script
}

/// The log of one whole turn, as text.
fn recorded(world: &World, model: &str) -> String {
    world.file("a.txt", "alpha\n");
    let mut client = world.start(model);
    client.session("whole");
    client.complete("whole", "Read both.");
    client.shut_down();
    fs::read_to_string(world.log("whole")).unwrap()
}

/// The codes of the results that stand for calls without one.
pub(crate) fn repaired(events: &[Value]) -> Vec<String> {
    let codes = events.iter().filter_map(|event| event["data"]["error"]["code"].as_str());
    codes.map(str::to_owned).collect()
}

#[test]
fn a_log_that_ends_after_any_event_is_closed_once_and_goes_on() {
    let world = World::new();
    let model = world.model(two_tools(3));
    let whole = recorded(&world, &model);
    let lines: Vec<&str> = whole.lines().collect();
    let ids: Vec<(usize, String)> =
        (1..=lines.len()).map(|count| (count, format!("cut-{count}"))).collect();
    for (count, id) in &ids {
        world.lay_log(id, format!("{}\n", lines[..*count].join("\n")).as_bytes());
    }
    let mut client = world.start(&model);
    let mut closed = Vec::new();
    for (count, id) in &ids {
        let kept: Vec<Value> =
            lines[1..*count].iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_same(&client.log(id), &kept, "whoever only reads sees the log as it stands");
        client.request("session/get", json!({ "sessionId": id }));
        let events = client.log(id);
        assert_same(&events[..kept.len()], &kept, "what was there stays");
        assert_eq!(repaired(&events[kept.len()..]), expected_codes(&kept), "after {count} lines");
        let ends = |events: &[Value], name: &str| {
            events.iter().filter(|event| event["type"] == name).count()
        };
        assert_eq!(ends(&events, "turn/start"), ends(&events, "turn/end"), "after {count} lines");
        if events.len() > kept.len() {
            let reason = &events.last().unwrap()["data"]["reason"];
            assert_eq!(reason, &json!({ "kind": "interrupted" }));
        }
        closed.push(events);
    }
    client.shut_down();

    let mut client = world.start(&model);
    for ((count, id), events) in ids.iter().zip(&closed) {
        client.request("session/get", json!({ "sessionId": id }));
        assert_same(&client.log(id), events, &format!("closed twice, after {count} lines"));
        client.complete(id, "Go on.");
    }
}

/// What a repair must say of the calls that a log leaves open, in the model's order.
pub(crate) fn expected_codes(events: &[Value]) -> Vec<String> {
    let of_type = |name: &'static str| events.iter().filter(move |event| event["type"] == name);
    let answered: Vec<&Value> =
        of_type("tool/result").map(|event| &event["data"]["message"]["source"]["callId"]).collect();
    let started: Vec<&Value> = of_type("tool/call").map(|event| &event["data"]["callId"]).collect();
    let mut codes = Vec::new();
    for answer in of_type("assistant/message") {
        for block in answer["data"]["message"]["content"].as_array().unwrap() {
            let id = &block["id"];
            if block["type"] == "tool-call" && !answered.contains(&id) {
                let has_begun = started.contains(&id);
                codes.push(if has_begun { "TOOL_OUTCOME_UNKNOWN" } else { "TOOL_NOT_STARTED" });
            }
        }
    }
    codes.into_iter().map(str::to_owned).collect()
}

#[test]
fn a_log_that_is_cut_at_any_byte_opens_and_its_torn_end_is_kept() {
    let world = World::new();
    let model = world.model(two_tools(3));
    let whole = recorded(&world, &model);
    let last_two: usize = whole.lines().rev().take(2).map(|line| line.len() + 1).sum();
    let mut client = world.start(&model);
    for cut in whole.len() - last_two..whole.len() {
        let id = format!("torn-{cut}");
        let path = world.lay_log(&id, &whole.as_bytes()[..cut]);
        let on_disk = fs::read_to_string(&path).unwrap();
        client.request("session/events", json!({ "sessionId": id }));
        assert_eq!(fs::read_to_string(&path).unwrap(), on_disk, "reading changes nothing");
        let inject = json!({ "sessionId": id, "text": "By the way.", "delivery": "inject" });
        client.request("session/prompt", inject);
        let torn = &on_disk[on_disk.rfind('\n').unwrap() + 1..];
        let aside = fs::read_to_string(path.with_extension("torn")).unwrap_or_default();
        assert_eq!(aside, torn, "cut at {cut}");
        // Whole turns take their time; that the log goes on is seen at any of the cuts.
        if cut % 16 == 0 {
            client.complete(&id, "Go on.");
        }
        let kept = on_disk.rfind('\n').unwrap();
        let now = fs::read_to_string(&path).unwrap();
        assert_eq!(now[..=kept], on_disk[..=kept], "only appended to");
    }
}

#[test]
fn damage_in_the_middle_is_named_by_its_line_and_the_file_is_left_alone() {
    let world = World::new();
    let model = world.model(two_tools(3));
    let whole = recorded(&world, &model);
    let lines: Vec<String> = whole.lines().map(str::to_owned).collect();
    let seq = |line: &str, by: i64| {
        let mut event: Value = serde_json::from_str(line).unwrap();
        event["seq"] = json!(event["seq"].as_i64().unwrap() + by);
        event.to_string()
    };
    let damages: Vec<(&str, Vec<String>)> = vec![
        ("garbage", vec!["nonsense".to_owned()]),
        ("half", vec![lines[7][..20].to_owned()]),
        ("empty", vec![String::new()]),
        ("array", vec!["[]".to_owned()]),
        ("nul", vec!["\0".repeat(40)]),
        ("bom", vec![format!("\u{feff}{}", lines[7])]),
        ("gap", Vec::new()),
        ("double", vec![lines[6].clone(), lines[7].clone()]),
        ("ahead", vec![seq(&lines[7], 1)]),
        ("field", vec![lines[7].replacen("\"time\"", "\"when\"", 1)]),
        ("rule", vec![seq(&lines[lines.len() - 1], 7 - i64::try_from(lines.len()).unwrap() + 1)]),
    ];
    world.leave_damaged();
    let mut files = Vec::new();
    for (name, replacement) in damages {
        let mut changed = lines.clone();
        changed.splice(7..8, replacement);
        files.push((name, world.lay_log(name, format!("{}\n", changed.join("\n")).as_bytes())));
    }
    let mut client = world.start(&model);
    for (name, path) in &files {
        let before = fs::read(path).unwrap();
        for (method, more) in [
            ("session/get", json!({})),
            ("session/subscribe", json!({})),
            ("session/events", json!({})),
            ("session/prompt", json!({ "text": "Go on." })),
            ("session/get", json!({})),
        ] {
            let mut params = more;
            params["sessionId"] = json!(name);
            let error = client.refused(method, params);
            assert_eq!(error["data"]["kind"], "logDamaged", "{name}: {error}");
            assert_eq!(error["data"]["line"], 8, "{name}: {error}");
            assert!(error["message"].as_str().unwrap().contains("line 8"), "{name}: {error}");
        }
        assert_eq!(fs::read(path).unwrap(), before, "{name}");
    }
    let listed = client.request("session/list", json!({}));
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1, "the others are listed");
    let unreadable = listed["unreadable"].as_array().unwrap();
    assert_eq!(unreadable.len(), files.len(), "and those are told of: {unreadable:?}");
    for (name, path) in &files {
        let told = unreadable.iter().find(|told| told["sessionId"] == *name).unwrap();
        assert_eq!((&told["kind"], &told["path"]), (&json!("logDamaged"), &json!(path)), "{told}");
        assert!(told["message"].as_str().unwrap().contains("line 8"), "{told}");
    }
    let page = json!({ "limit": 0, "query": "GAR" });
    let listed = client.request("session/list", page);
    assert_eq!(listed["sessions"], json!([]), "none were asked for");
    assert_eq!(listed["unreadable"][0]["sessionId"], "garbage");
    let said = world.run(["sessions", "list"]);
    assert!(said.status.success());
    let said = String::from_utf8(said.stderr).unwrap();
    assert!(said.contains("garbage cannot be read: line 8 of the log is damaged"), "{said}");
    client.complete("whole", "Go on.");
}

#[test]
fn a_log_of_a_newer_version_is_called_unsupported_and_left_alone() {
    let world = World::new();
    let model = world.model(two_tools(3));
    let whole = recorded(&world, &model);
    let seq = whole.lines().count() - 1;
    let event = |more: &str| {
        format!(
            "{whole}{{\"type\":\"later/event\",\"seq\":{seq},\"time\":1,\"data\":{{\"a\":1}}{more}}}\n"
        )
    };
    world.leave_damaged();
    let mut client = world.start(&model);
    for (id, text, hint) in [
        ("later-event", event(""), "later/event"),
        ("later-header", whole.replacen("\"version\":0", "\"version\":99", 1), "99"),
    ] {
        let path = world.lay_log(id, text.as_bytes());
        let before = fs::read(&path).unwrap();
        for _ in 0..2 {
            let error = client.refused("session/prompt", json!({ "sessionId": id, "text": "x" }));
            assert_eq!(error["data"]["kind"], "logUnsupported", "{error}");
            assert!(error["message"].as_str().unwrap().contains(hint), "{error}");
        }
        assert_eq!(fs::read(&path).unwrap(), before);
    }
    let path = world.lay_log("ignorable", event(r#","ignorable":true"#).as_bytes());
    let before = fs::read_to_string(&path).unwrap();
    client.complete("ignorable", "Go on.");
    assert!(fs::read_to_string(path).unwrap().starts_with(&before), "kept as it was");
    let events = client.log("ignorable");
    assert_eq!(events[seq]["data"], json!({ "a": 1 }), "and served as it was");
}

/// Prompts and kills the process some time later; returns the message's id if the prompt was answered.
fn prompt_and_kill(client: &mut Client, text: &str, seed: u64) -> Option<Value> {
    let id = client.ask("session/prompt", json!({ "sessionId": "s", "text": text }));
    // From "not even queued" to "the turn is over": a turn takes some ten milliseconds.
    Seed::new(seed).spin(Duration::from_millis(seed * 6));
    client.kill();
    let is_answer = |frame: &&Value| frame["id"] == id && frame.get("method").is_none();
    client.frames().iter().find(is_answer).map(|frame| frame["result"]["messageId"].clone())
}

#[test]
fn a_process_that_is_killed_at_any_moment_loses_no_prompt_that_it_answered() {
    let world = World::new();
    world.file("a.txt", "alpha\n");
    let model = world.model(two_tools(40));
    let mut client = world.start(&model);
    client.session("s");
    client.shut_down();
    for seed in 0..12 {
        let mut client = world.start(&model);
        let text = format!("prompt {seed}");
        let answered = prompt_and_kill(&mut client, &text, seed);

        let mut client = world.start(&model);
        client.request("session/get", json!({ "sessionId": "s" }));
        let events = client.log("s");
        client.shut_down();
        if let Some(message) = answered {
            let queued = |event: &Value| event["data"]["inserted"][0]["id"] == message;
            assert!(events.iter().any(queued), "seed {seed}: an answered prompt is on disk");
        }
        let mut client = world.start(&model);
        client.request("session/get", json!({ "sessionId": "s" }));
        assert_same(&client.log("s"), &events, &format!("seed {seed}: closed twice"));
        client.complete("s", "Go on.");
        client.shut_down();
        assert_eq!(check_log::files(&world.home()).len(), 1);
    }
}

#[test]
fn a_log_that_changes_under_an_open_session_is_followed_or_refused_but_never_lost() {
    let world = World::new();
    let model = world.model(two_tools(6));
    let whole = recorded(&world, &model);
    let mut client = world.start(&model);
    let mut open = |id: &str| {
        let path = world.lay_log(id, whole.as_bytes());
        client.request("session/subscribe", json!({ "sessionId": id }));
        path
    };
    let (copied, removed, shortened) = (open("copied"), open("removed"), open("shortened"));

    // As a restored backup does it.
    let other = copied.with_extension("copy");
    fs::copy(&copied, &other).unwrap();
    fs::rename(&other, &copied).unwrap();
    client.complete("copied", "Go on.");
    assert_same(&client.log("copied"), &check_log::read(&copied).events, "the copy is the log");

    fs::rename(&removed, removed.with_extension("gone")).unwrap();
    let text = fs::read_to_string(&shortened).unwrap();
    let cut: String = text.split_inclusive('\n').take(12).collect();
    fs::write(&shortened, &cut).unwrap();
    // One that is not there was deleted; one that is too short may be whole again.
    for (id, kind, retryable) in
        [("removed", "sessionNotFound", false), ("shortened", "storageFailed", true)]
    {
        let params = json!({ "sessionId": id, "text": "Go on." });
        let error = client.refused("session/prompt", params);
        assert_eq!(error["data"]["kind"], kind, "{id}: {error}");
        assert_eq!(error["data"]["retryable"], retryable);
    }
    assert_eq!(fs::read_to_string(&shortened).unwrap(), cut, "nothing is written behind a gap");
    fs::rename(removed.with_extension("gone"), &removed).unwrap();
    fs::write(&shortened, &text).unwrap();
    for id in ["removed", "shortened"] {
        client.complete(id, "Go on.");
    }
}
