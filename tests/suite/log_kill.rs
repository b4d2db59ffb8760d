//! Processes that are killed at random moments of turns with tools: each log opens, says what became of each call,
//! and is taken by a model that refuses what real ones refuse.

use std::time::Duration;

use dsh_mock_model::answer::Answer;
use dsh_mock_model::server::MockModel;
use dsh_mock_model::strict::Rules;
use dsh_tests::check_log::assert_same;
use dsh_tests::seed::Seed;
use dsh_tests::thorough;
use dsh_tests::world::World;
use serde_json::{Value, json};

use crate::crash::{expected_codes, repaired};

/// Two calls and an answer, over and over.
fn answers(mock: &MockModel, count: usize) {
    for at in 0..count {
        let calls = Answer::stream().reasoning("I look. ").delta("I read ").delta("both.");
        let calls = calls
            .tool_call(0, &format!("c{at}-0"), "read", r#"{"file_path":"a.txt"}"#)
            .tool_call(1, &format!("c{at}-1"), "grep", r#"{"pattern":"alpha"}"#);
        mock.add(calls.finish("tool_calls").done());
        mock.add(Answer::stream().delta("Do").delta("ne").delta(".").finish("stop").done());
    }
}

#[test]
fn a_killed_turn_says_what_became_of_its_calls_and_the_model_takes_the_history() {
    let world = World::new();
    world.file("a.txt", "alpha\n");
    // While one call runs the other one waits, so that a kill meets both.
    world.patch("- id: agent-loop\n  merge:\n    maxParallelToolCalls: 1\n");
    let mock = MockModel::strict([], Rules::default());
    let kills = thorough(16, 200);
    answers(&mock, 2 * kills);
    let mut client = world.ask(&mock);
    client.session("s");
    client.shut_down();
    let mut known: Vec<Value> = Vec::new();
    let mut codes = Vec::new();
    for kill in 0..kills {
        let mut client = world.ask(&mock);
        client.request("session/subscribe", json!({ "sessionId": "s" }));
        client.ask("session/prompt", json!({ "sessionId": "s", "text": "Look." }));
        // A turn has some twenty events; each is a moment to die at.
        let events = Seed::new(kill as u64).below(24);
        if events > 0 {
            let first = known.len() as u64;
            client.event("s", "the moment", |event| {
                event["seq"].as_u64() >= Some(first + events) || event["type"] == "turn/end"
            });
        }
        Seed::new(kill as u64).spin(Duration::from_millis(4));
        client.kill();

        let on_disk = dsh_tests::check_log::read_whole(&world.log("s")).events;
        assert_same(&on_disk[..known.len()], &known, "nothing that was committed is lost");
        let mut client = world.ask(&mock);
        client.request("session/subscribe", json!({ "sessionId": "s" }));
        known = client.log("s");
        assert_same(&known[..on_disk.len()], &on_disk, "what was on disk stays");
        let made = repaired(&known[on_disk.len()..]);
        assert_eq!(made, expected_codes(&on_disk), "kill {kill}");
        codes.extend(made);
        if kill % 4 == 0 {
            client.complete("s", "Go on.");
            known = client.log("s");
        }
        client.shut_down();
    }
    assert!(mock.requests().len() > kills / 2);
    for code in ["TOOL_NOT_STARTED", "TOOL_OUTCOME_UNKNOWN"] {
        // A call runs for a moment only: it takes many kills to meet one.
        let met = codes.iter().any(|met| met == code);
        assert!(met || kills < 200, "{code} was not met: {codes:?}");
    }
}
