//! What an answer says of files is checked when its turn ends, and everybody hears what does not hold.

use std::collections::BTreeMap;
use std::fs;
use std::time::Instant;

use dsh_mock_model::answer::Answer;
use dsh_mock_model::server::MockModel;
use dsh_tests::answers::{Fault, MadeAnswer, SORTS, Tree, answers};
use dsh_tests::client::Client;
use dsh_tests::framing::Framing;
use dsh_tests::script::Script;
use dsh_tests::world::World;
use serde_json::{Value, json};

/// A file of a hundred numbered lines.
fn numbered(name: &str) -> String {
    let lines: Vec<String> = (1..=100).map(|line| format!("let {name}_{line} = {line};")).collect();
    lines.join("\n") + "\n"
}

/// The model says one text; what was checked of it.
fn checked(world: &World, text: &str) -> Value {
    let mut client = world.play(Script::new().say_chunks([text]));
    client.session("s");
    client.complete("s", "Go.");
    let log = client.log("s");
    let checked = log.iter().find(|event| event["type"] == "evidence/checked");
    let checked = checked.map_or(Value::Null, |event| event["data"].clone());
    client.shut_down();
    fs::remove_file(world.log("s")).unwrap();
    checked
}

#[test]
fn what_does_not_hold_is_logged_before_the_turn_ends_and_told_to_everybody() {
    let world = World::new();
    world.file("src/a.rs", &numbered("a"));
    let text =
        "`a_10` is in `src/a.rs:10`, see `src/a.rs:20`: `let a_30 = 30;` and `src/gone.rs:1`.";
    let mut client = world.play(Script::new().say(text));
    client.request("session/new", json!({ "sessionId": "s" }));
    client.prompt("s", "Go.");
    client.rest("s");
    let log = client.log("s");
    let at = |name: &str| log.iter().position(|event| event["type"] == name).unwrap();
    assert_eq!(at("evidence/checked") + 1, at("turn/end"));
    let event = &log[at("evidence/checked")];
    assert_eq!(event["ignorable"], true);
    assert_eq!(
        event["data"],
        json!({
            "turn": 1,
            "messageSeq": log[at("assistant/message")]["seq"],
            "checked": 3,
            "failures": [
                { "path": "src/a.rs", "line": 20, "quote": "let a_30 = 30;", "reason": "quote-moved", "now": 30 },
                { "path": "src/gone.rs", "line": 1, "reason": "missing-file" },
            ],
        })
    );
    let mut expected = event["data"].clone();
    expected["sessionId"] = json!("s");
    expected["seq"] = event["seq"].clone();
    // A connection that does not subscribe hears of it once.
    client.notification("evidence/checked", |params| *params == expected);
    let count = |client: &Client| {
        client.frames().iter().filter(|frame| frame["method"] == "evidence/checked").count()
    };
    assert_eq!(count(&client), 1);
    // One that replays gets it right behind its event.
    client.request("session/subscribe", json!({ "sessionId": "s", "after": -1 }));
    client.notification("session/caughtUp", |_| true);
    let frames = client.frames();
    assert_eq!(count(&client), 2);
    let place = frames
        .iter()
        .position(|frame| frame["params"]["event"]["type"] == "evidence/checked")
        .unwrap();
    assert_eq!(frames[place + 1]["method"], "evidence/checked");
    assert_eq!(frames[place + 1]["params"], expected);
    client.shut_down();
}

#[test]
fn a_subscriber_hears_of_a_live_check_once_and_right_behind_its_event() {
    let world = World::new();
    world.file("a.rs", &numbered("a"));
    let mut client = world.play(Script::new().say("See `a.rs:10`."));
    client.session("s");
    client.complete("s", "Go.");
    client.event_of("s", "turn/end");
    let frames = client.frames();
    let told = |frame: &Value| frame["method"] == "evidence/checked";
    let place = frames.iter().position(told).unwrap();
    assert_eq!(frames.iter().filter(|frame| told(frame)).count(), 1);
    assert_eq!(frames[place - 1]["params"]["event"]["type"], "evidence/checked");
    assert_eq!(frames[place]["params"]["checked"], 1);
    assert_eq!(frames[place]["params"]["failures"], json!([]));
    client.shut_down();
}

#[test]
fn an_answer_without_claims_is_not_spoken_of() {
    let world = World::new();
    assert_eq!(
        checked(&world, "Hello! It is 12:30, version 1.2.3:4, on localhost:8080."),
        Value::Null
    );
}

#[test]
fn every_reason_is_told_with_where_the_line_is_now() {
    let world = World::new();
    world.file("src/a.rs", &numbered("a"));
    let reasons = |text: &str| -> Vec<Value> {
        let checked = checked(&world, text);
        checked["failures"].as_array().unwrap().clone()
    };
    let failures = reasons("Look at `src/b.rs:3`.");
    assert_eq!(failures, [json!({ "path": "src/b.rs", "line": 3, "reason": "missing-file" })]);
    let failures = reasons("Look at `src/a.rs:101`.");
    assert_eq!(
        failures,
        [json!({ "path": "src/a.rs", "line": 101, "reason": "line-out-of-range" })]
    );
    let failures = reasons("Look at src/a.rs#L90-L120.");
    assert_eq!(
        failures,
        [json!({ "path": "src/a.rs", "line": 90, "reason": "line-out-of-range" })]
    );
    let failures = reasons("`src/a.rs:5`: `let a_5 = 6;`");
    let expected = json!({ "path": "src/a.rs", "line": 5, "quote": "let a_5 = 6;", "reason": "quote-not-found" });
    assert_eq!(failures, [expected]);
    let failures = reasons("From `src/a.rs:5`:\n\n```rust\nlet a_7 = 7;\nlet a_8 = 8;\n```\n");
    let moved = json!({ "path": "src/a.rs", "line": 5, "quote": "let a_7 = 7;", "reason": "quote-moved", "now": 7 });
    assert_eq!(failures, [moved]);
    let failures = reasons("`a_9` is at `src/a.rs:5`.");
    let far = json!({ "path": "src/a.rs", "line": 5, "quote": "a_9", "reason": "identifier-not-near", "now": 9 });
    assert_eq!(failures, [far]);
    assert_eq!(
        reasons("`a_7` is at `src/a.rs:5`, and `a_3` (`src/a.rs:5`) too."),
        [json!(null); 0]
    );
}

#[test]
fn what_must_not_be_seen_is_neither_confirmed_nor_denied() {
    let world = World::new();
    world.file(".env", "SECRET=1\n");
    fs::write(world.root().join("outside.txt"), "SECRET\n").unwrap();
    for text in [
        "`.env:1`: `SECRET=1`",
        "`.env:9` and `config/.env:1`",
        "`../outside.txt:1`: `SECRET`",
        "`../nothing.txt:1`",
        "See `/etc/passwd:1`.",
    ] {
        let checked = checked(&world, text);
        let only_own = checked.is_null() || checked["failures"][0]["path"] == "config/.env";
        assert!(only_own, "{text}: {checked}");
    }
}

#[test]
fn an_answer_of_a_model_that_is_to_be_steered_is_corrected() {
    let world = World::new();
    world.file("src/a.rs", &numbered("a"));
    let config = world.home();
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("cordis.patch.yml"), "- id: evidence\n  merge:\n    steer: true\n")
        .unwrap();
    let script = Script::new().say("See `src/a.rs:500`.").step().say("See `src/a.rs:50`.");
    let mut client = world.play(script);
    client.session("s");
    let waited = client.complete("s", "Go.");
    assert_eq!(waited["text"], "See `src/a.rs:50`.");
    let log = client.log("s");
    let counts: Vec<usize> = log
        .iter()
        .filter(|event| event["type"] == "evidence/checked")
        .map(|event| event["data"]["failures"].as_array().unwrap().len())
        .collect();
    assert_eq!(counts, [1, 0]);
    let notices: Vec<&Value> = log
        .iter()
        .filter(|event| {
            event["type"] == "user/message" && event["data"]["source"]["kind"] == "plugin"
        })
        .collect();
    assert_eq!(notices.len(), 1);
    assert_eq!(notices[0]["data"]["source"]["plugin"], "evidence");
    assert!(notices[0]["data"]["content"][0]["text"].as_str().unwrap().contains("src/a.rs:500"));
    client.shut_down();
}

#[test]
fn without_steering_the_model_is_never_told() {
    let world = World::new();
    world.file("src/a.rs", &numbered("a"));
    let mock = MockModel::start([
        Answer::stream().delta("See `src/a.rs:500`.").finish("stop").done(),
        Answer::stream().delta("Good.").finish("stop").done(),
    ]);
    let mut client = world.edit(&mock);
    client.session("s");
    client.complete("s", "One.");
    client.complete("s", "Two.");
    let body = mock.requests()[1].json().to_string();
    assert!(!body.contains("out-of-range") && !body.contains("does not hold"), "{body}");
    assert_eq!(mock.requests().len(), 2);
}

/// An editor that has the tree's edited files open.
fn editor(world: &World, tree: &Tree, script: Script) -> Client {
    let model = world.model(script);
    let mut client =
        Client::spawn_framed(world.command(["lsp", "--model", &model]), Framing::Lengths);
    client.initialize_as(world.editor());
    for (_, now) in &tree.edited {
        let uri = format!("file://{}/{}", world.work().display(), now.path);
        let document =
            json!({ "uri": uri, "languageId": "plaintext", "version": 1, "text": now.text() });
        client.notify("textDocument/didOpen", json!({ "textDocument": document }));
    }
    client
}

fn is_found(fault: &Fault, failure: &Value) -> bool {
    let reason = failure["reason"].as_str().unwrap();
    failure["path"] == fault.path.as_str()
        && fault.reasons.contains(&reason)
        && fault.now.is_none_or(|now| failure["now"] == now)
}

#[test]
fn faults_of_ten_sorts_are_found_and_right_answers_are_left_alone() {
    const EACH: usize = 200;
    let world = World::new();
    let tree = Tree::new(7);
    let on_disk = tree.files.iter().chain(tree.edited.iter().map(|(disk, _)| disk));
    for file in on_disk.chain(tree.moved.iter().map(|(_, disk)| disk)) {
        world.file(&file.path, &file.text());
    }
    let made = answers(&tree, 11, EACH);
    let script = made.iter().fold(None, |script: Option<Script>, answer| {
        let script = script.map_or_else(Script::new, Script::turn);
        Some(script.say_chunks([answer.text.as_str()]))
    });
    let mut client = editor(&world, &tree, script.unwrap());
    client.session("s");
    for _ in &made {
        client.complete("s", "Go on.");
    }
    let mut by_turn: BTreeMap<u64, Vec<Value>> = BTreeMap::new();
    for event in client.log("s").iter().filter(|event| event["type"] == "evidence/checked") {
        let turn = event["data"]["turn"].as_u64().unwrap();
        by_turn.insert(turn, event["data"]["failures"].as_array().unwrap().clone());
    }
    client.shut_down();
    let (mut found, mut alarms, mut right_alarms) = (0, 0, 0);
    let mut by_sort = BTreeMap::new();
    for (turn, MadeAnswer { text, fault }) in (1..).zip(&made) {
        let failures = by_turn.remove(&turn).unwrap_or_default();
        let right =
            failures.iter().filter(|one| fault.as_ref().is_some_and(|fault| is_found(fault, one)));
        let right = right.count();
        alarms += failures.len();
        right_alarms += right;
        if right < failures.len() || fault.is_some() && right == 0 {
            eprintln!("--- {fault:?}\n{text}\n{failures:#?}");
        }
        if let Some(fault) = fault {
            let (all, seen) = by_sort.entry(fault.sort).or_insert((0, 0));
            *all += 1;
            *seen += usize::from(right > 0);
            found += usize::from(right > 0);
        }
    }
    for (sort, (all, seen)) in &by_sort {
        eprintln!("{sort:?}: {seen} of {all}");
    }
    let (precision, recall) = (share(right_alarms, alarms), share(found, EACH));
    eprintln!("precision {precision:.3}, recall {recall:.3} over {} answers", made.len());
    assert_eq!(by_sort.len(), SORTS.len());
    assert!(precision >= 0.98, "precision {precision}");
    assert!(recall >= 0.98, "recall {recall}");
}

fn share(part: usize, whole: usize) -> f64 {
    f64::from(u32::try_from(part).unwrap()) / f64::from(u32::try_from(whole.max(1)).unwrap())
}

#[test]
fn the_offline_models_citations_hold() {
    let world = World::new();
    let tree = Tree::new(3);
    for file in &tree.files {
        world.file(&file.path, &file.text());
    }
    world.file(
        "README.md",
        "# Parcels\n\nRetries are delayed by the server in `src/net`, see `old.rs:10`.\n",
    );
    let name = &tree.files[0].definitions[0].1;
    let mut client = world.start("offline/retrieval");
    client.session("s");
    let questions = [
        format!("where is {name} defined?"),
        format!("who calls {name}?"),
        "how are retries delayed?".to_owned(),
        "what is this project?".to_owned(),
        "what is in NOTHING.md?".to_owned(),
    ];
    for question in &questions {
        client.complete("s", question);
    }
    let log = client.log("s");
    let checks: Vec<&Value> =
        log.iter().filter(|event| event["type"] == "evidence/checked").collect();
    assert!(checks.len() >= 4, "{checks:?}");
    for check in checks {
        assert_eq!(check["data"]["failures"], json!([]), "{check}");
    }
    client.shut_down();
}

#[test]
fn a_hostile_answer_costs_little() {
    let world = World::new();
    world.file("a.rs", &numbered("a"));
    let texts = [
        "`".repeat(200_000),
        "](".repeat(100_000),
        "`a.rs:1` ".repeat(50_000),
        "\u{201c}\"".repeat(60_000),
        "a/".repeat(100_000) + "b.rs:1",
        "`` ` ``` ".repeat(40_000),
        "a.rs:1,".repeat(60_000),
        "\u{2026}/".repeat(60_000),
    ];
    for text in texts {
        let begun = Instant::now();
        checked(&world, &text);
        assert!(begun.elapsed().as_secs() < 20, "{}: {:?}", &text[..8], begun.elapsed());
    }
}

#[test]
fn a_question_of_the_command_line_says_what_does_not_hold() {
    let world = World::new();
    world.file("a.rs", &numbered("a"));
    let text = "`a.rs:20`: `let a_30 = 30;`, and `gone.rs:1`.";
    let model = world.model(Script::new().say(text));
    let output = world.run(["run", "--model", &model, "Where?"]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{text}\n"));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("quote-moved: a.rs:20 `let a_30 = 30;`, now line 30\n"), "{said}");
    assert!(said.contains("missing-file: gone.rs:1\n"), "{said}");
    let quiet = world.run(["run", "--quiet", "--model", &model, "Where?"]);
    assert_eq!(String::from_utf8_lossy(&quiet.stderr), "");
}

#[test]
fn the_last_line_of_an_answer_that_was_cut_is_not_judged() {
    let world = World::new();
    world.file("a.rs", &numbered("a"));
    let script =
        Script::new().say("See `a.rs:10`.\nAnd `a.rs:999`, `gone.rs:1").finish("max-tokens", "");
    let mut client = world.play(script);
    client.session("s");
    client.prompt("s", "Go.");
    client.rest("s");
    let log = client.log("s");
    let checked = log.iter().find(|event| event["type"] == "evidence/checked").unwrap();
    assert_eq!(checked["data"]["checked"], 1, "{checked}");
    assert_eq!(checked["data"]["failures"], json!([]));
    client.shut_down();
}
