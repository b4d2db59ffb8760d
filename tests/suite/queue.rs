//! Messages that arrive while a turn runs, just before it ends, twice, or before anyone waits for them.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Duration;

use dsh_tests::check_log::assert_same;
use dsh_tests::check_turn::check_turn;
use dsh_tests::client::Client;
use dsh_tests::script::Script;
use dsh_tests::seed::Seed;
use dsh_tests::world::World;
use expect_test::expect;
use serde_json::{Value, json};

#[test]
fn a_steering_message_joins_the_running_turn() {
    check_turn(
        r#"
//- model
say Reading all
wait 1500
say of it.
---
say Only the first, then.
//- editor
prompt Read it all.
await all
steer Only the first file.
"#,
        &expect![[r#"
            turn
              step
                user    Read it all.
                queued  Only the first file.
                say     Reading all
                say     of it.
              step
                user    Only the first file.
                say     Only the first, then.
            done completed
        "#]],
    );
}

#[test]
fn a_follow_up_waits_for_a_turn_of_its_own() {
    check_turn(
        r#"
//- model
say Reading all
wait 1500
say of it.
turn
say And the printer.
turn
say And the tests.
//- editor
prompt Read it all.
await all
prompt And the printer?
prompt And the tests?
"#,
        &expect![[r#"
            turn
              step
                user    Read it all.
                queued  And the printer?
                queued  And the tests?
                say     Reading all
                say     of it.
            done completed
            turn
              step
                user    And the printer?
                say     And the printer.
            done completed
            turn
              step
                user    And the tests?
                say     And the tests.
            done completed
        "#]],
    );
}

#[test]
fn a_steering_message_to_an_idle_session_starts_a_turn() {
    check_turn(
        r#"
//- model
say Yes?
//- editor
steer Are you there?
"#,
        &expect![[r#"
            turn
              step
                user    Are you there?
                say     Yes?
            done completed
        "#]],
    );
}

#[test]
fn an_injected_message_wakes_nobody_and_is_there_at_the_next_turn() {
    check_turn(
        r#"
//- model
say Noted.
//- editor
inject The build is red.
inject And the tests are, too.
restart
prompt Go on.
"#,
        &expect![[r#"
            turn
              step
                user    The build is red.
                user    And the tests are, too.
                user    Go on.
                say     Noted.
            done completed
        "#]],
    );
}

#[test]
fn a_message_injected_into_a_running_turn_joins_it() {
    check_turn(
        r#"
//- model
say Reading all
wait 1500
say of it.
---
say I see.
//- editor
prompt Read it all.
await all
inject The build is red.
"#,
        &expect![[r#"
            turn
              step
                user    Read it all.
                queued  The build is red.
                say     Reading all
                say     of it.
              step
                user    The build is red.
                say     I see.
            done completed
        "#]],
    );
}

#[test]
fn what_waits_behind_a_failed_turn_is_parked_until_the_next_prompt() {
    check_turn(
        r#"
//- model
say Half
wait 1500
finish error AUTH
turn
say The second.
turn
say The third.
//- editor
prompt First.
await Half
prompt Second.
rest
restart
prompt Third.
"#,
        &expect![[r#"
            turn
              step
                user    First.
                queued  Second.
                say     Half
                interrupted
            done error AUTH told to fail
            turn
              step
                user    Second.
                say     The second.
            done completed
            turn
              step
                user    Third.
                say     The third.
            done completed
        "#]],
    );
}

fn text_of(message: &Value) -> String {
    message["content"][0]["text"].as_str().unwrap().to_owned()
}

/// The texts of the messages that the model was shown, in order.
fn shown(client: &mut Client, session: &str) -> Vec<String> {
    let events = client.log(session);
    let shown = events.iter().filter(|event| event["type"] == "user/message");
    shown.map(|event| text_of(&event["data"])).collect()
}

#[test]
fn a_steering_message_at_the_very_end_of_a_turn_is_never_lost() {
    let world = World::new();
    let mut script = Script::new();
    // Each steering message opens a step of the running turn or a turn of its own: there are answers for both.
    for _ in 0..41 {
        script = script.say("Yes.").step().say("Yes, steered.").turn();
    }
    let mut client = world.play(script);
    for session in ["a", "b", "c", "d", "e"] {
        client.session(session);
        let mut sent = Vec::new();
        for seed in 0..20 {
            let mut random = Seed::new(seed * 5 + session.bytes().map(u64::from).sum::<u64>());
            let (prompt, steer) = (format!("prompt {seed}"), format!("steer {seed}"));
            let message = client.prompt(session, &prompt);
            random.spin(Duration::from_millis(12));
            let params = json!({ "sessionId": session, "text": steer, "delivery": "steer" });
            let steered = client.request("session/prompt", params)["messageId"].clone();
            for message in [json!(message), steered] {
                let params = json!({ "sessionId": session, "messageId": message });
                let waited = client.request("session/wait", params);
                assert_eq!(waited["outcome"]["kind"], "completed", "{session} {seed}: {waited}");
            }
            sent.extend([prompt, steer]);
        }
        assert_eq!(shown(&mut client, session), sent, "each is shown once, in order");
    }
}

#[test]
fn two_prompts_that_are_sent_together_stay_in_order() {
    let world = World::new();
    let mut script = Script::new();
    for number in 0..40 {
        script = script.say(&format!("answer {number}")).turn();
    }
    let mut client = world.play(script);
    client.session("s");
    let mut frames = Vec::new();
    let mut ids = Vec::new();
    for number in 0..40 {
        let params = json!({ "sessionId": "s", "text": format!("prompt {number}") });
        let (id, frame) = client.frame("session/prompt", params);
        ids.push(id);
        frames.push(frame);
    }
    client.send_together(&frames);
    let messages: Vec<Value> =
        ids.iter().map(|id| client.result(*id)["messageId"].clone()).collect();
    for (number, message) in (1..).zip(&messages) {
        let params = json!({ "sessionId": "s", "messageId": message });
        assert_eq!(client.request("session/wait", params)["turn"], number, "its own turn");
    }
    let expected: Vec<String> = (0..40).map(|number| format!("prompt {number}")).collect();
    assert_eq!(shown(&mut client, "s"), expected);
}

#[test]
fn a_session_can_be_begun_watched_and_prompted_in_one_write() {
    let world = World::new();
    let mut client = world.play(Script::new().say("Hello."));
    let (new, first) = client.frame("session/new", json!({ "sessionId": "s" }));
    let (_, second) = client.frame("session/subscribe", json!({ "sessionId": "s", "after": -1 }));
    let (_, third) = client.frame("session/prompt", json!({ "sessionId": "s", "text": "Hi." }));
    client.send_together(&[first, second, third]);
    client.event_of("s", "turn/end");
    assert_eq!(
        client.received("s"),
        client.log("s"),
        "no event is missing and none is there twice"
    );
    let frames = client.frames();
    let place = |wanted: &dyn Fn(&Value) -> bool| frames.iter().position(wanted).unwrap();
    let answered = place(&|frame| frame["id"] == new);
    let event = place(&|frame| frame["method"] == "session/event");
    assert!(answered < event, "the session is known before its first event");
}

#[test]
fn many_sessions_can_be_begun_and_prompted_in_one_write() {
    let world = World::new();
    let mut client = world.play(Script::new().say("Hello."));
    let mut frames = Vec::new();
    let mut prompts = Vec::new();
    for number in 0..30 {
        let id = format!("s{number}");
        let (_, new) = client.frame("session/new", json!({ "sessionId": id }));
        let (prompt, text) =
            client.frame("session/prompt", json!({ "sessionId": id, "text": "Hi." }));
        prompts.push((id, prompt));
        frames.extend([new, text]);
    }
    client.send_together(&frames);
    for (id, prompt) in prompts {
        let answer = client.answer(prompt);
        assert!(answer.get("error").is_none(), "{id}: {answer}");
        assert_eq!(client.rest(&id)["text"], "Hello.");
    }
}

#[test]
fn prompts_to_a_session_that_is_not_loaded_yet_stay_in_order() {
    let world = World::new();
    let model = world.model(Script::new().say("Hello."));
    let mut client = world.start(&model);
    client.session("s");
    client.shut_down();
    let mut client = world.start(&model);
    let mut frames = Vec::new();
    let mut expected = Vec::new();
    let mut last = 0;
    for number in 0..80 {
        let text = format!("prompt {number}");
        let params = json!({ "sessionId": "s", "text": text, "delivery": "inject" });
        let (id, frame) = client.frame("session/prompt", params);
        last = id;
        frames.push(frame);
        expected.push(text);
    }
    client.send_together(&frames);
    client.result(last);
    let events = client.log("s");
    let queued: Vec<String> =
        events.iter().map(|event| text_of(&event["data"]["inserted"][0])).collect();
    assert_eq!(queued, expected);
}

#[test]
fn a_prompt_is_on_disk_when_it_is_answered() {
    let world = World::new();
    let mut client = world.play(Script::parse("say Hello\nwait 10000"));
    client.session("s");
    client.prompt("s", "First.");
    client.text("s", "Hello");
    let log = world.log("s");
    for delivery in ["followup", "steer", "inject"].iter().cycle().take(12) {
        let params = json!({ "sessionId": "s", "text": "More.", "delivery": delivery });
        let message = client.request("session/prompt", params)["messageId"].clone();
        let text = std::fs::read_to_string(&log).unwrap();
        assert!(text.contains(message.as_str().unwrap()), "{delivery}: not written yet");
    }
    client.request("session/cancel", json!({ "sessionId": "s" }));
}

#[test]
fn the_same_client_message_again_adds_nothing() {
    let world = World::new();
    let model = world.model(Script::parse("say Hello\nwait 1000\nsay there.\nturn\nsay Bye."));
    let mut client = world.start(&model);
    client.session("s");
    let params =
        |text: &str, name: &str| json!({ "sessionId": "s", "text": text, "clientMessageId": name });
    let first = client.request("session/prompt", params("Hi.", "panel-1"));
    client.text("s", "Hello");
    let again = client.request("session/prompt", params("Hi.", "panel-1"));
    assert_eq!(again, first, "while the turn runs");
    client.rest("s");
    let log = client.log("s");
    let again = client.request("session/prompt", params("Hi.", "panel-1"));
    assert_eq!(again, first, "on an idle session");
    client.rest("s");
    assert_same(&client.log("s"), &log, "nothing was added");
    client.shut_down();

    let mut client = world.start(&model);
    let again = client.request("session/prompt", params("Hi.", "panel-1"));
    assert_eq!(again, first, "in another process");
    client.rest("s");
    assert_same(&client.log("s"), &log, "nothing was added");
    let other = client.request("session/prompt", params("Hi.", "panel-2"));
    assert_ne!(other["messageId"], first["messageId"]);
    assert_eq!(client.rest("s")["text"], "Bye.");
}

#[test]
fn a_prompt_that_a_crash_left_waiting_runs_when_it_is_sent_again() {
    let world = World::new();
    let model = world.model(Script::parse("say One.\nturn\nsay Two."));
    let mut client = world.start(&model);
    client.session("s");
    client.complete("s", "First.");
    client.shut_down();
    let mut log = std::fs::read_to_string(world.log("s")).unwrap();
    let seq = log.lines().count() - 1;
    let waiting = json!({
        "type": "agent/inbox/spliced", "seq": seq, "time": 1, "data": {
            "target": "next-turn", "start": 0, "inserted": [{
                "id": "m-crash", "role": "user", "content": [{ "type": "text", "text": "Second." }],
                "source": { "kind": "user" }, "clientMessageId": "panel-2",
            }],
        },
    });
    writeln!(log, "{waiting}").unwrap();
    std::fs::write(world.log("s"), log).unwrap();

    let mut client = world.start(&model);
    let params = json!({ "sessionId": "s", "text": "Second.", "clientMessageId": "panel-2" });
    assert_eq!(client.request("session/prompt", params)["messageId"], "m-crash");
    let params = json!({ "sessionId": "s", "messageId": "m-crash" });
    assert_eq!(client.request("session/wait", params)["text"], "Two.");
}

#[test]
fn a_wait_tells_what_became_of_each_message() {
    let world = World::new();
    let mut client = world.play(Script::parse("say Half\nwait 10000\nsay more"));
    client.session("s");
    assert_eq!(client.rest("s")["outcome"]["kind"], "idle");
    let first = client.prompt("s", "First.");
    client.text("s", "Half");
    let second = client.prompt("s", "Second.");
    let params = json!({ "sessionId": "s", "messageId": second, "timeoutMs": 1 });
    assert_eq!(client.request("session/wait", params)["outcome"]["kind"], "pending");
    let waiting = client.ask("session/wait", json!({ "sessionId": "s", "messageId": second }));
    client.request("session/cancel", json!({ "sessionId": "s" }));
    assert_eq!(client.result(waiting)["outcome"]["kind"], "discarded");
    let params = json!({ "sessionId": "s", "messageId": first });
    let outcome = client.request("session/wait", params)["outcome"].clone();
    assert_eq!(outcome, json!({ "kind": "aborted", "reason": "user" }));
    let error = client.refused("session/wait", json!({ "sessionId": "s", "messageId": "nobody" }));
    assert_eq!(error["data"]["kind"], "messageNotFound");
}

#[test]
fn every_id_of_a_message_is_its_own() {
    let world = World::new();
    let mut client = world.play(Script::parse("say Hello\nwait 10000"));
    client.session("s");
    client.prompt("s", "First.");
    client.text("s", "Hello");
    let ids: BTreeSet<String> =
        (0..50).map(|number| client.prompt("s", &format!("{number}"))).collect();
    assert_eq!(ids.len(), 50);
    let got = client.request("session/get", json!({ "sessionId": "s" }));
    assert_eq!(got["queue"]["nextTurn"].as_array().unwrap().len(), 50);
    assert_eq!(got["session"]["status"], "running");
    let cancelled = client.request("session/cancel", json!({ "sessionId": "s" }));
    assert_eq!(cancelled["discarded"].as_array().unwrap().len(), 50);
}
