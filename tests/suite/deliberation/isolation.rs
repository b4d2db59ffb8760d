//! Branches that hang, die, answer prose, or answer late.

use dsh_tests::world::until;

use super::*;

const MS: u64 = 1_500;

/// Rounds of up to five branches that have a second and a half each.
fn short() -> String {
    format!("- id: tool-deliberation\n  merge: {{maxBranches: 5, branchTimeoutMs: {MS}}}\n")
}

#[test]
fn d23_d24_d29_one_branch_that_misbehaves_harms_no_other_and_keeps_nobody_waiting() {
    let labels = ["hangs", "dies", "prose", "late", "good"];
    let branches: Vec<Value> = labels.iter().map(|label| alternative(label)).collect();
    let (_world, mock, mut client) =
        stage_with(&short(), [call("d1", "deliberate", &asked(&branches)), say("Done.")]);
    let packet = nothing("independent-alternative");
    let needle = |label: &str| format!("## Focus\\n\\nfocus of {label}\\n");
    mock.add_when(&needle("hangs"), Answer::stream().delta("I think").hold());
    let refusal = json!({ "error": { "message": "PRIVATE", "type": "invalid_request_error" } });
    mock.add_when(&needle("dies"), Answer::status(400).json(&refusal));
    mock.add_when(&needle("prose"), say("It is fine, I would say."));
    mock.add_when(
        &needle("late"),
        Answer::stream()
            .pause()
            .tool_call(0, "p", "structured_output", &packet.to_string())
            .finish("tool_calls")
            .done(),
    );
    mock.add_when(&needle("good"), hand_in(&packet));
    client.complete("s", "Go.");
    let found = outcomes(&mut client);
    assert_eq!(reasons(&found), ["timeout", "error", "error", "timeout", "completed"]);
    assert_eq!(found[4]["packet"], packet);
    for outcome in &found {
        assert_eq!(outcome["cleanup"], "completed", "{outcome}");
        let said = outcome["diagnostic"].is_string();
        assert_eq!(said, outcome.get("packet").is_none(), "{outcome}");
    }
    let log = client.log("s");
    let time = |name: &str| {
        log.iter().find(|event| event["type"] == name).unwrap()["time"].as_u64().unwrap()
    };
    let took = time("tool/result") - time("deliberation/started");
    assert!(took <= MS + 500, "{took} ms");
    assert!(!json!(log).to_string().contains("PRIVATE"));
    mock.release();
    mock.wait_until_closed();
    until("children to be gone", || loaded(&mut client) == 1);
}

#[test]
fn a_child_that_never_hands_in_what_fits_is_not_asked_for_ever() {
    let (_world, mock, mut client) = stage_with(
        "[]\n",
        [call("d1", "deliberate", &asked(&[alternative("stubborn")])), say("Done.")],
    );
    let needle = "## Focus\\n\\nfocus of stubborn\\n";
    for _ in 0..9 {
        mock.add_when(needle, hand_in(&json!({ "status": "no_update" })));
    }
    client.complete("s", "Go.");
    let found = outcomes(&mut client).remove(0);
    assert_eq!(found["stopReason"], "error", "{found}");
    let said = found["diagnostic"].as_str().unwrap();
    assert!(said.contains("`structured_output` that fits"), "{said}");
    let bodies = mock.requests().into_iter();
    let asked = bodies.filter(|it| String::from_utf8_lossy(&it.body).contains(needle)).count();
    assert_eq!(asked, 5);
}

#[test]
fn d19_a_packet_that_was_written_as_text_counts_and_prose_around_it_does_not() {
    let branches = [alternative("exact"), alternative("fenced")];
    let (_world, mock, mut client) =
        stage([call("d1", "deliberate", &asked(&branches)), say("Done.")]);
    let packet = nothing("independent-alternative");
    mock.add_when(
        "## Focus\\n\\nfocus of exact\\n",
        Answer::stream().reasoning("hm").delta(&packet.to_string()).finish("stop").done(),
    );
    mock.add_when("## Focus\\n\\nfocus of fenced\\n", say(&format!("```json\n{packet}\n```")));
    client.complete("s", "Go.");
    let found = outcomes(&mut client);
    assert_eq!(reasons(&found), ["completed", "error"]);
    assert_eq!(found[0]["packet"], packet);
    assert_eq!(found[0].get("diagnostic"), None);
}

#[test]
fn d30_a_turn_that_is_cancelled_takes_its_round_along() {
    let branches = [alternative("a"), alternative("b")];
    let (_world, mock, mut client) = stage([call("d1", "deliberate", &asked(&branches))]);
    mock.add_when(ALTERNATIVE, Answer::stream().delta("I think").hold());
    mock.add_when(ALTERNATIVE, Answer::stream().delta("I think").hold());
    client.prompt("s", "Go.");
    mock.wait_for_requests(3);
    assert_eq!(client.request("session/cancel", json!({ "sessionId": "s" }))["cancelled"], true);
    assert_eq!(client.rest("s")["outcome"]["kind"], "aborted");
    assert_eq!(reasons(&outcomes(&mut client)), ["aborted"; 2]);
    let results = of_type(&mut client, "tool/result");
    assert_eq!(results[0]["error"]["code"], "ABORTED");
    assert!(results[0]["message"].to_string().contains("deliberation aborted"), "{results:?}");
    mock.wait_until_closed();
    until("children to be gone", || loaded(&mut client) == 1);
}

#[test]
fn one_branch_can_be_cancelled_and_the_others_go_on() {
    let branches = [alternative("stays"), alternative("goes")];
    let (_world, mock, mut client) =
        stage([call("d1", "deliberate", &asked(&branches)), say("Done.")]);
    let packet = nothing("independent-alternative");
    mock.add_when(
        "## Focus\\n\\nfocus of stays\\n",
        Answer::stream()
            .pause()
            .tool_call(0, "p", "structured_output", &packet.to_string())
            .finish("tool_calls")
            .done(),
    );
    mock.add_when("## Focus\\n\\nfocus of goes\\n", Answer::stream().delta("I think").hold());
    let message = client.prompt("s", "Go.");
    mock.wait_for_requests(3);
    let round = client.event_of("s", "deliberation/started")["data"]["roundId"].clone();
    let wrong = client.refused("deliberate/cancel", json!({ "roundId": round, "label": "nobody" }));
    assert_eq!(wrong["data"]["kind"], "roundNotFound");
    client.request("deliberate/cancel", json!({ "roundId": round, "label": "goes" }));
    client.event("s", "the branch to come out", |event| {
        event["data"]["label"] == "goes" && event["data"]["stopReason"] == "aborted"
    });
    mock.release();
    client.request("session/wait", json!({ "sessionId": "s", "messageId": message }));
    assert_eq!(reasons(&outcomes(&mut client)), ["completed", "aborted"]);
    assert_eq!(client.request("deliberate/cancel", json!({ "roundId": round })), json!({}));
    let unknown = client.refused("deliberate/cancel", json!({ "roundId": "nothing" }));
    assert_eq!(unknown["data"]["kind"], "roundNotFound");
}

#[test]
fn a_server_that_is_shut_down_ends_its_rounds() {
    let (world, mock, mut client) = stage([call("d1", "deliberate", &asked(&[alternative("a")]))]);
    mock.add_when(ALTERNATIVE, Answer::stream().delta("I think").hold());
    client.prompt("s", "Go.");
    mock.wait_for_requests(2);
    client.shut_down();
    mock.wait_until_closed();
    let log = dsh_tests::check_log::read(&world.log("s"));
    let last = log.events.iter().rfind(|event| event["type"] == "deliberation/settled").unwrap();
    assert_eq!(last["data"]["outcomes"][0]["stopReason"], "aborted");
}

#[test]
fn two_sessions_deliberate_side_by_side() {
    let (_world, mock, mut client) = stage([]);
    client.session("t");
    for session in ["s", "t"] {
        let mut own = asked(&[alternative("other")]);
        own["goal"] = format!("GOAL-OF-{session}").into();
        mock.add_when(&format!("PROMPT-OF-{session}"), call("d1", "deliberate", &own));
        let answer = Answer::stream()
            .pause()
            .tool_call(0, "p", "structured_output", &nothing("independent-alternative").to_string())
            .finish("tool_calls")
            .done();
        mock.add_when(&format!("## Decision question\\n\\nGOAL-OF-{session}"), answer);
        mock.add_when(&format!("PROMPT-OF-{session}"), say("Done."));
    }
    let s = client.prompt("s", "PROMPT-OF-s");
    let t = client.prompt("t", "PROMPT-OF-t");
    mock.wait_for_requests(4);
    mock.release();
    mock.release();
    for (session, message) in [("s", s), ("t", t)] {
        let params = json!({ "sessionId": session, "messageId": message });
        assert_eq!(client.request("session/wait", params)["outcome"]["kind"], "completed");
        let settled = client.log(session);
        let settled = settled.iter().find(|event| event["type"] == "deliberation/settled").unwrap();
        assert_eq!(settled["data"]["outcomes"][0]["stopReason"], "completed");
    }
}

#[test]
fn d8_3_what_a_child_inherited_proves_nothing_of_its_own_turn() {
    let (_world, mock, mut client) = stage([
        say("FIRST-ANSWER"),
        call("d1", "deliberate", &asked(&[branch("audit", "trajectory-audit")])),
        say("Done."),
    ]);
    let packet = nothing("trajectory-audit").to_string();
    // The inherited turn has completed; the child's own one is cut off behind a whole packet.
    mock.add_when(AUDIT, Answer::stream().delta(&packet).finish("length").done());
    client.complete("s", "FIRST-QUESTION");
    client.complete("s", "Go.");
    let outcome = outcomes(&mut client).remove(0);
    assert_eq!((&outcome["stopReason"], outcome.get("packet")), (&json!("max-tokens"), None));
}

#[test]
fn a_round_that_a_crash_took_along_comes_out_as_interrupted() {
    let branches = [alternative("a"), alternative("b")];
    let (world, mock, mut client) = stage([call("d1", "deliberate", &asked(&branches))]);
    mock.add_when("## Focus\\n\\nfocus of a\\n", Answer::stream().delta("I think").hold());
    mock.add_when("## Focus\\n\\nfocus of b\\n", hand_in(&nothing("independent-alternative")));
    client.prompt("s", "Go.");
    client.event("s", "one branch to come out", |event| event["data"]["stopReason"] == "completed");
    until("the log to be on disk", || {
        let log = std::fs::read_to_string(world.log("s")).unwrap();
        let runs = |line: &&str| line.contains("\"running\"") && line.contains("childSessionId");
        log.contains("\"stopReason\":\"completed\"") && log.lines().filter(runs).count() == 2
    });
    client.kill();
    let mut client = world.ask(&mock);
    client.request("session/subscribe", json!({ "sessionId": "s", "after": -1 }));
    client.event_of("s", "turn/end");
    let found = outcomes(&mut client);
    assert_eq!(reasons(&found), ["interrupted"; 2]);
    assert_eq!((&found[0]["label"], &found[0]["cleanup"]), (&json!("a"), &json!("abandoned")));
    assert!(found[0]["childSessionId"].is_string());
    let kept = (&found[1]["cleanup"], found[1]["diagnostic"].as_str().unwrap());
    let has = "The server stopped before the round came out; its session has what it found.";
    assert_eq!(kept, (&json!("completed"), has));
    for outcome in &found {
        // Whoever looks at a child that crashed closes its turn.
        client.request("session/get", json!({ "sessionId": outcome["childSessionId"] }));
    }
}

#[test]
fn a_round_outlives_a_change_of_its_row() {
    let (world, mock, mut client) =
        stage([call("d1", "deliberate", &asked(&[alternative("a")])), say("Done.")]);
    let packet = nothing("independent-alternative").to_string();
    let answer = Answer::stream().pause().tool_call(0, "p", "structured_output", &packet);
    mock.add_when(ALTERNATIVE, answer.finish("tool_calls").done());
    let message = client.prompt("s", "Go.");
    mock.wait_for_requests(2);
    let patch = "- id: tool-deliberation\n  merge: {toolName: fork_road}\n";
    world.patch(patch);
    let reloaded = client.request("config/reload", json!({}));
    assert_eq!(reloaded["ok"], true, "{reloaded}");
    until("the tool to have its new name", || {
        client.request("tool/list", json!({})).to_string().contains("fork_road")
    });
    mock.release();
    client.request("session/wait", json!({ "sessionId": "s", "messageId": message }));
    assert_eq!(reasons(&outcomes(&mut client)), ["completed"]);
}
