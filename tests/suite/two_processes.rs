//! Two processes with one home: they take turns in one session and never write at once.

use dsh_tests::check_log::{self, assert_same};
use dsh_tests::client::Client;
use dsh_tests::script::Script;
use dsh_tests::seed::Seed;
use dsh_tests::thorough;
use dsh_tests::world::World;
use serde_json::{Value, json};

#[test]
fn two_processes_prompt_one_session_in_turn() {
    let world = World::new();
    world.file("a.txt", "alpha\n");
    let mut script = Script::new();
    for number in 1..=10 {
        script = script.call("read", r#"{"file_path":"a.txt"}"#).step();
        script = script.say(&format!("answer {number}")).turn();
    }
    let model = world.model(script);
    let mut clients = [world.start(&model), world.start(&model)];
    clients[0].request("session/new", json!({ "sessionId": "s" }));
    for number in 1..=10 {
        let client = &mut clients[number % 2];
        let waited = client.complete("s", &format!("prompt {number}"));
        assert_eq!(waited["turn"], number);
        assert_eq!(waited["text"], format!("answer {number}"), "the other's turns were read");
    }
    let [first, second] = clients;
    first.shut_down();
    second.shut_down();
    let events = check_log::read(&world.log("s")).events;
    let resumed = events.iter().filter(|event| event["data"]["reason"] == "resume").count();
    assert_eq!(resumed, 1, "the second process logs once that it goes on");
}

#[test]
fn what_one_process_writes_the_other_reads_and_lists() {
    let world = World::new();
    let model = world.model(Script::parse("say One.\nturn\nsay Two."));
    let (mut writer, mut reader) = (world.start(&model), world.start(&model));
    writer.session("s");
    writer.complete("s", "First.");
    assert_same(&reader.log("s"), &writer.log("s"), "when it is loaded");
    writer.complete("s", "Second.");
    let log = writer.log("s");
    let last = log.last().unwrap()["seq"].clone();
    let listed = reader.request("session/list", json!({}));
    assert_eq!(listed["sessions"][0]["lastSeq"], last, "session/list");
    let got = reader.request("session/get", json!({ "sessionId": "s" }));
    assert_eq!(got["session"]["lastSeq"], last, "session/get");
    assert_same(&reader.log("s"), &log, "session/events");
    let messages = reader.request("session/messages", json!({ "sessionId": "s" }));
    assert_eq!(messages["messages"].as_array().unwrap().len(), 4, "session/messages");
}

#[test]
fn what_one_process_writes_the_other_tails() {
    let world = World::new();
    let model = world.model(Script::parse("say One.\nturn\nsay Two."));
    let (mut writer, mut reader) = (world.start(&model), world.start(&model));
    writer.session("s");
    writer.complete("s", "First.");
    reader.request("session/subscribe", json!({ "sessionId": "s", "after": -1 }));
    reader.event_of("s", "turn/end");
    writer.complete("s", "Second.");
    let log = writer.log("s");
    let last = log.last().unwrap()["seq"].clone();
    reader.event("s", "the second turn's end", |event| event["seq"] == last);
    assert_same(&reader.received("s"), &log, "the subscription of the other process");
}

#[test]
fn only_while_one_process_runs_a_turn_the_other_is_refused() {
    let world = World::new();
    let model = world.model(Script::parse("say Half\nwait 10000\nturn\nsay Here.\nturn\nsay Bye."));
    let (mut first, mut second) = (world.start(&model), world.start(&model));
    first.session("s");
    second.request("session/get", json!({ "sessionId": "s" }));
    first.prompt("s", "First.");
    first.text("s", "Half");
    for (method, params) in [
        ("session/prompt", json!({ "sessionId": "s", "text": "Me, too." })),
        ("session/prompt", json!({ "sessionId": "s", "text": "Me, too.", "delivery": "inject" })),
        ("session/cancel", json!({ "sessionId": "s" })),
        ("session/cancel", json!({ "sessionId": "s", "keepQueue": true })),
    ] {
        let error = second.refused(method, params);
        assert_eq!(error["data"]["kind"], "writerConflict", "{method}: {error}");
        assert_eq!(error["data"]["retryable"], true);
    }
    second.request("session/events", json!({ "sessionId": "s" }));
    first.request("session/cancel", json!({ "sessionId": "s" }));
    first.rest("s");
    assert_eq!(second.complete("s", "And now?")["text"], "Here.");
    assert_eq!(first.complete("s", "And I?")["text"], "Bye.");
    assert_eq!(
        first.conversation("s"),
        [
            "user: First.",
            "assistant: Half",
            "user: And now?",
            "assistant: Here.",
            "user: And I?",
            "assistant: Bye.",
        ]
    );
}

#[test]
fn a_list_says_which_sessions_another_process_writes() {
    let world = World::new();
    let model = world.model(Script::parse("say Half\nwait 10000"));
    let (mut first, mut second) = (world.start(&model), world.start(&model));
    first.session("s");
    first.prompt("s", "First.");
    first.text("s", "Half");
    let listed = second.request("session/list", json!({}))["sessions"][0].clone();
    assert_eq!((&listed["writer"], &listed["status"]), (&json!("other"), &json!("running")));
    first.request("session/cancel", json!({ "sessionId": "s" }));
    first.rest("s");
    let listed = second.request("session/list", json!({}))["sessions"][0].clone();
    assert_eq!((&listed["writer"], &listed["status"]), (&Value::Null, &json!("idle")));
}

#[test]
fn a_wait_in_one_process_ends_with_the_turn_that_the_other_runs() {
    let world = World::new();
    let model = world.model(Script::parse("say Half\nwait 10000"));
    let (mut first, mut second) = (world.start(&model), world.start(&model));
    first.session("s");
    second.request("session/get", json!({ "sessionId": "s" }));
    let message = first.prompt("s", "First.");
    first.text("s", "Half");
    let early = json!({ "sessionId": "s", "messageId": message, "timeoutMs": 1 });
    assert_eq!(second.request("session/wait", early)["outcome"]["kind"], "pending");
    let waits = [json!({ "sessionId": "s" }), json!({ "sessionId": "s", "messageId": message })]
        .map(|params| second.ask("session/wait", params));
    first.request("session/cancel", json!({ "sessionId": "s" }));
    for wait in waits {
        let waited = second.result(wait);
        assert_eq!(waited["outcome"]["kind"], "aborted", "{waited}");
    }
}

#[test]
fn a_queue_that_one_process_left_is_emptied_by_a_cancel_from_the_other() {
    let world = World::new();
    let model = world.model(Script::new().say("Here."));
    let (mut first, mut second) = (world.start(&model), world.start(&model));
    first.session("s");
    second.request("session/get", json!({ "sessionId": "s" }));
    let params = json!({ "sessionId": "s", "text": "By the way.", "delivery": "inject" });
    let message = first.request("session/prompt", params)["messageId"].clone();
    let cancelled = second.request("session/cancel", json!({ "sessionId": "s" }));
    assert_eq!(cancelled, json!({ "cancelled": false, "discarded": [message] }));
    first.complete("s", "Hello?");
    assert_eq!(first.conversation("s"), ["user: Hello?", "assistant: Here."]);
}

#[test]
fn an_id_is_taken_for_every_process_and_without_regard_to_case() {
    let world = World::new();
    let (mut first, mut second) = (world.start("offline/x"), world.start("offline/x"));
    first.request("session/new", json!({ "sessionId": "Mine" }));
    for id in ["Mine", "mine", "MINE"] {
        for client in [&mut first, &mut second] {
            let error = client.refused("session/new", json!({ "sessionId": id }));
            assert_eq!(error["code"], -32602, "{id}: {error}");
        }
    }
}

/// A client whose process may be started anew.
struct Side<'a> {
    world: &'a World,
    model: &'a str,
    client: Option<Client>,
}

impl Side<'_> {
    fn client(&mut self) -> &mut Client {
        self.client.get_or_insert_with(|| self.world.start(self.model))
    }

    fn kill(&mut self) {
        if let Some(mut client) = self.client.take() {
            client.kill();
        }
    }
}

fn rest(sides: &mut [Side<'_>]) {
    for side in sides {
        side.client().rest("s");
    }
}

#[test]
fn processes_that_alternate_collide_and_die_keep_one_log() {
    let turns = u32::try_from(thorough(24, 100)).unwrap();
    let world = World::new();
    world.file("a.txt", "alpha\n");
    let mut script = Script::new();
    for _ in 0..3 * turns {
        script = script.call("read", r#"{"file_path":"a.txt"}"#).step();
        script = script.say_chunks(["An ", "answer ", "in ", "pieces."]).wait(3).turn();
    }
    let model = world.model(script);
    let side = || Side { world: &world, model: &model, client: None };
    let mut sides = [side(), side()];
    sides[0].client().request("session/new", json!({ "sessionId": "s" }));
    let mut seed = Seed::new(3);
    let mut conflicts = 0;
    for turn in 0..turns {
        let prompt = json!({ "sessionId": "s", "text": format!("prompt {turn}") });
        let first = (turn % 2) as usize;
        if turn % 3 == 2 {
            // Both at once: each runs its own turn, or is told that the other does.
            let asked =
                sides.each_mut().map(|side| side.client().ask("session/prompt", prompt.clone()));
            for (side, id) in sides.iter_mut().zip(asked) {
                let answer = side.client().answer(id);
                if let Some(error) = answer.get("error") {
                    assert_eq!(error["data"]["kind"], "writerConflict", "{error}");
                    conflicts += 1;
                }
            }
        } else {
            sides[first].client().complete("s", &format!("prompt {turn}"));
        }
        if turn % 5 == 4 {
            // One dies in its turn, the other goes on.
            rest(&mut sides);
            let asked = sides[first].client().ask("session/prompt", prompt);
            if seed.below(2) == 0 {
                sides[first].client().answer(asked);
            }
            seed.spin(std::time::Duration::from_millis(20));
            sides[first].kill();
            let events = sides[1 - first].client().log("s");
            sides[1 - first].client().complete("s", "Go on.");
            assert_same(
                &sides[1 - first].client().log("s")[..events.len()],
                &events,
                "what was read",
            );
        }
        rest(&mut sides);
    }
    assert!(conflicts > 0, "they never met");
    let [first, second] = sides.each_mut().map(|side| side.client().log("s"));
    assert_same(&first, &second, "both know the same");
    drop(sides);
    let events = check_log::read(&world.log("s")).events;
    assert_same(&events, &first, "and so does the file");
    let starts = events.iter().filter(|event| event["type"] == "turn/start").count();
    assert!(starts >= turns as usize, "{starts} turns");
}
