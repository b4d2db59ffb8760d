//! Cancels: at every moment of a turn, with and without what waits behind it.

use std::fmt::Write as _;
use std::time::Duration;

use dsh_tests::check_turn::check_turn;
use dsh_tests::script::Script;
use dsh_tests::seed::Seed;
use dsh_tests::world::World;
use expect_test::expect;
use serde_json::{Value, json};

#[test]
fn what_was_said_before_a_cancel_is_kept_and_sent_with_the_next_prompt() {
    let world = World::new();
    let mut client = world.play(Script::parse(
        "think Hm.\nsay The parser begins\nwait 10000\nsay never\nturn\nsay That it begins.",
    ));
    client.session("s");
    client.prompt("s", "Explain the parser.");
    client.text("s", "begins");
    let cancelled = client.request("session/cancel", json!({ "sessionId": "s", "turn": 1 }));
    assert_eq!(cancelled, json!({ "cancelled": true, "discarded": [] }));
    let waited = client.rest("s");
    assert_eq!(waited["outcome"], json!({ "kind": "aborted", "reason": "user" }));
    assert_eq!(waited["text"], "The parser begins");
    client.complete("s", "What did you say?");
    assert_eq!(
        client.conversation("s"),
        [
            "user: Explain the parser.",
            "assistant: Hm.The parser begins",
            "user: What did you say?",
            "assistant: That it begins.",
        ]
    );
}

#[test]
fn a_call_that_was_half_written_at_a_cancel_is_dropped() {
    check_turn(
        r#"
//- model
say Let me look.
call read {"file_path": "a.txt"}
wait 10000
turn
say Well.
//- editor
prompt Read it.
await-event assistant/chunk
await look.
cancel
rest
prompt Go on.
"#,
        &expect![[r#"
            turn
              step
                user    Read it.
                say     Let me look.
                interrupted
            done aborted user
            turn
              step
                user    Go on.
                say     Well.
            done completed
        "#]],
    );
}

#[test]
fn a_cancel_drops_what_waits() {
    check_turn(
        r#"
//- model
say Half
wait 10000
turn
say Here.
//- editor
prompt First.
await Half
prompt Second.
steer Third.
cancel
rest
prompt Fourth.
"#,
        &expect![[r#"
            turn
              step
                user    First.
                queued  Second.
                queued  Third.
                dropped Third.
                dropped Second.
                say     Half
                interrupted
            done aborted user
            turn
              step
                user    Fourth.
                say     Here.
            done completed
        "#]],
    );
}

#[test]
fn a_cancel_that_keeps_the_queue_parks_it_behind_the_next_prompt() {
    check_turn(
        r#"
//- model
say Half
wait 10000
turn
say The second.
turn
say The third.
//- editor
prompt First.
await Half
prompt Second.
cancel keep
rest
prompt Third.
"#,
        &expect![[r#"
            turn
              step
                user    First.
                queued  Second.
                say     Half
                interrupted
            done aborted user
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

#[test]
fn a_parked_session_says_so_and_a_cancel_empties_it() {
    let world = World::new();
    let model = world.model(Script::parse("say Half\nwait 10000\nturn\nsay Here."));
    let mut client = world.start(&model);
    client.session("s");
    client.prompt("s", "First.");
    client.text("s", "Half");
    let second = client.prompt("s", "Second.");
    client.request("session/cancel", json!({ "sessionId": "s", "keepQueue": true }));
    assert_eq!(client.rest("s")["outcome"]["kind"], "aborted");
    let waited = client.request("session/wait", json!({ "sessionId": "s", "messageId": second }));
    assert_eq!(waited["outcome"], json!({ "kind": "parked" }));
    client.notification("session/status", |params| params["status"] == "parked");
    client.shut_down();

    let mut client = world.start(&model);
    let listed = client.request("session/list", json!({}));
    assert_eq!(listed["sessions"][0]["status"], "parked");
    let got = client.request("session/get", json!({ "sessionId": "s" }));
    assert_eq!(got["session"]["status"], "parked");
    assert_eq!(got["queue"], json!({ "nextStep": [], "nextTurn": [second] }));
    let cancelled = client.request("session/cancel", json!({ "sessionId": "s" }));
    assert_eq!(cancelled, json!({ "cancelled": false, "discarded": [second] }));
    let got = client.request("session/get", json!({ "sessionId": "s" }));
    assert_eq!(got["session"]["status"], "idle");
    assert_eq!(client.complete("s", "Third.")["text"], "Here.");
}

#[test]
fn a_cancel_of_an_idle_session_drops_what_was_injected() {
    let world = World::new();
    let mut client = world.play(Script::new().say("Here."));
    client.session("s");
    let nothing = json!({ "cancelled": false, "discarded": [] });
    assert_eq!(client.request("session/cancel", json!({ "sessionId": "s" })), nothing);
    let params = json!({ "sessionId": "s", "text": "The build is red.", "delivery": "inject" });
    let injected = client.request("session/prompt", params)["messageId"].clone();
    let other_turn = json!({ "sessionId": "s", "turn": 7 });
    assert_eq!(client.request("session/cancel", other_turn), nothing);
    let cancelled = client.request("session/cancel", json!({ "sessionId": "s" }));
    assert_eq!(cancelled, json!({ "cancelled": false, "discarded": [injected] }));
    client.complete("s", "Hello?");
    assert_eq!(client.conversation("s"), ["user: Hello?", "assistant: Here."]);
}

#[test]
fn a_cancel_of_another_turn_changes_nothing() {
    let world = World::new();
    let mut client = world.play(Script::parse("say Half\nwait 1000\nsay done"));
    client.session("s");
    let message = client.prompt("s", "First.");
    client.text("s", "Half");
    let waiting = client.prompt("s", "Second.");
    let cancelled = client.request("session/cancel", json!({ "sessionId": "s", "turn": 2 }));
    assert_eq!(cancelled, json!({ "cancelled": false, "discarded": [] }));
    let params = json!({ "sessionId": "s", "messageId": message });
    assert_eq!(client.request("session/wait", params)["outcome"]["kind"], "completed");
    let params = json!({ "sessionId": "s", "messageId": waiting });
    assert_eq!(client.request("session/wait", params)["turn"], 2);
}

#[test]
fn a_prompt_right_behind_a_cancel_runs() {
    let world = World::new();
    for delivery in ["followup", "steer"] {
        let mut client = world.play(Script::parse("say Half\nwait 10000\nturn\nsay Here."));
        client.session(delivery);
        client.prompt(delivery, "First.");
        client.text(delivery, "Half");
        let (_, cancel) = client.frame("session/cancel", json!({ "sessionId": delivery }));
        let params = json!({ "sessionId": delivery, "text": "Second.", "delivery": delivery });
        let (prompt, second) = client.frame("session/prompt", params);
        client.send_together(&[cancel, second]);
        let message = client.result(prompt)["messageId"].clone();
        let params = json!({ "sessionId": delivery, "messageId": message });
        let waited = client.request("session/wait", params);
        assert_eq!(waited["outcome"]["kind"], "completed", "{delivery}: {waited}");
        assert_eq!(waited["text"], "Here.");
    }
}

#[test]
fn a_message_injected_behind_a_cancel_still_wakes_nobody() {
    let world = World::new();
    let mut client = world.play(Script::parse("say Half\nwait 10000\nturn\nsay Here."));
    client.session("s");
    client.prompt("s", "First.");
    client.text("s", "Half");
    let (_, cancel) = client.frame("session/cancel", json!({ "sessionId": "s" }));
    let params = json!({ "sessionId": "s", "text": "By the way.", "delivery": "inject" });
    let (prompt, second) = client.frame("session/prompt", params);
    client.send_together(&[cancel, second]);
    client.result(prompt);
    assert_eq!(client.rest("s")["outcome"]["kind"], "aborted");
    let waited = client.complete("s", "Go on.");
    assert_eq!(waited["turn"], 2, "nothing ran in between");
    assert_eq!(client.conversation("s")[2..4], ["user: By the way.", "user: Go on."]);
}

#[test]
fn a_cancel_stops_a_search_through_a_big_tree() {
    let world = World::new();
    let mut text = String::new();
    for number in 0..4_000 {
        writeln!(text, "line {number} aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa").unwrap();
    }
    for number in 0..400 {
        world.file(&format!("big/{}/{number}.txt", number % 20), &text);
    }
    let mut client = world.play(Script::parse(
        "call grep {\"pattern\":\"(a+b|line [0-9]+ (a|b)*c)$\"}\ncall glob {\"pattern\":\"*\"}\n---\nsay never\nturn\nsay Fine.",
    ));
    client.session("s");
    client.prompt("s", "Search.");
    client.event_of("s", "tool/call");
    let cancelled = client.request("session/cancel", json!({ "sessionId": "s" }));
    assert_eq!(cancelled["cancelled"], true);
    assert_eq!(client.rest("s")["outcome"]["kind"], "aborted");
    let events = client.log("s");
    let results: Vec<&Value> =
        events.iter().filter(|event| event["type"] == "tool/result").collect();
    assert_eq!(results.len(), 2, "every call has a result");
    assert_eq!(results[0]["data"]["error"]["code"], "ABORTED", "{}", results[0]);
    let types: Vec<&str> =
        events.iter().rev().take(2).map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["turn/end", "step/end"]);
    assert_eq!(client.complete("s", "Fine?")["text"], "Fine.");
}

#[test]
fn a_cancel_at_any_moment_leaves_a_session_that_works() {
    let world = World::new();
    world.file("a.txt", "alpha\n");
    let mut script = Script::new();
    for _ in 0..60 {
        script = script
            .say_chunks(["one ", "two ", "three"])
            .call("read", r#"{"file_path":"a.txt"}"#)
            .call("glob", r#"{"pattern":"*"}"#)
            .step()
            .say("Done.")
            .turn();
    }
    let mut client = world.play(script);
    client.session("s");
    let mut aborted = 0;
    for seed in 0..25 {
        client.prompt("s", "Go.");
        Seed::new(seed).spin(Duration::from_millis(20));
        client.request("session/cancel", json!({ "sessionId": "s" }));
        let outcome = client.rest("s")["outcome"]["kind"].as_str().unwrap().to_owned();
        assert!(outcome == "aborted" || outcome == "completed", "seed {seed}: {outcome}");
        aborted += u32::from(outcome == "aborted");
        client.complete("s", "And now?");
    }
    assert!(aborted > 0, "no cancel came in time");
}

#[test]
fn a_shutdown_aborts_the_turn_and_answers_what_waits() {
    let world = World::new();
    let mut client = world.play(Script::parse("say Half\nwait 10000"));
    client.session("s");
    client.prompt("s", "First.");
    client.text("s", "Half");
    let waiting = client.ask("session/wait", json!({ "sessionId": "s" }));
    let shutdown = client.ask("shutdown", Value::Null);
    assert_eq!(client.answer(waiting)["error"]["data"]["kind"], "shuttingDown");
    client.result(shutdown);
    let frames = client.frames();
    let place = |id: u64| frames.iter().position(|frame| frame["id"] == id).unwrap();
    assert!(place(waiting) < place(shutdown), "shutdown is answered last");
    let error = client.refused("session/list", json!({}));
    assert_eq!(error["code"], -32600);
    client.notify("exit", Value::Null);
    assert_eq!(client.exit_status().code(), Some(0), "also while its input is open");
    client.close_input();
    let events = dsh_tests::check_log::read(&world.log("s")).events;
    let end = &events.last().unwrap()["data"]["reason"];
    assert_eq!(end, &json!({ "kind": "aborted", "reason": "disposed" }));
}
