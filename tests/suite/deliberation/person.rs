//! Rounds that a person asks for, and commands.

use super::*;

fn start(branches: &[Value]) -> Value {
    let mut params = asked(branches);
    params["sessionId"] = "s".into();
    params
}

fn round_of(result: &Value) -> String {
    result["roundId"].as_str().unwrap().to_owned()
}

#[test]
fn a_person_starts_a_round_over_an_idle_session() {
    let (_world, mock, mut client) = stage([say("FIRST-ANSWER")]);
    client.complete("s", "FIRST-QUESTION");
    mock.add_when(AUDIT, hand_in(&update("trajectory-audit", "A test calls it too.")));
    let begun = client.request("deliberate/start", start(&[branch("audit", "trajectory-audit")]));
    let round = round_of(&begun);
    let result = client.notification("deliberate/result", |it| it["roundId"] == round.as_str());
    assert_eq!(result["outcomes"][0]["stopReason"], "completed");
    assert_eq!(result.get("callId"), None);
    let started = of_type(&mut client, "deliberation/started").remove(0);
    assert_eq!((&started["by"], started.get("turn")), (&json!("user"), None));
    let body = requests(&mock, AUDIT).remove(0).to_string();
    assert!(body.contains("FIRST-QUESTION") && body.contains("FIRST-ANSWER"), "{body}");
    // The model does not see it.
    assert_eq!(client.conversation("s"), ["user: FIRST-QUESTION", "assistant: FIRST-ANSWER"]);
    assert_eq!(
        client.request("session/get", json!({ "sessionId": "s" }))["queue"]["nextStep"],
        json!([])
    );
}

#[test]
fn a_round_can_be_cancelled_after_its_row_was_replaced() {
    let (world, mock, mut client) = stage([]);
    mock.add_when(ALTERNATIVE, Answer::stream().delta("I think").hold());
    let begun = client.request("deliberate/start", start(&[alternative("a")]));
    mock.wait_for_requests(1);
    let patch = "- id: tool-deliberation\n  merge: {toolName: fork_road}\n";
    world.patch(patch);
    client.request("config/reload", json!({}));
    dsh_tests::world::until("the row to be replaced", || {
        client.request("tool/list", json!({})).to_string().contains("fork_road")
    });
    client.request("deliberate/cancel", json!({ "roundId": round_of(&begun) }));
    client.event_of("s", "deliberation/settled");
    assert_eq!(reasons(&outcomes(&mut client)), ["aborted"]);
    mock.wait_until_closed();
}

#[test]
fn packets_that_are_published_wait_for_the_next_turn() {
    let (_world, mock, mut client) = stage([say("FIRST-ANSWER")]);
    client.complete("s", "FIRST-QUESTION");
    mock.add_when(AUDIT, hand_in(&update("trajectory-audit", "A test calls it too.")));
    let mut params = start(&[branch("audit", "trajectory-audit")]);
    params["publish"] = true.into();
    client.request("deliberate/start", params);
    let queued = client.event("s", "the notice", |event| {
        event["type"] == "agent/inbox/spliced"
            && event["data"]["inserted"][0]["source"]["kind"] == "plugin"
    });
    let notice = &queued["data"]["inserted"][0];
    assert_eq!(
        notice["source"],
        json!({ "kind": "plugin", "plugin": "tool-deliberation", "form": "notice" })
    );
    assert_eq!(client.rest("s")["outcome"]["kind"], "completed", "it wakes nobody");
    mock.add(say("SECOND-ANSWER"));
    client.complete("s", "SECOND-QUESTION");
    let body = mock.requests().last().unwrap().json()["messages"].to_string();
    assert!(body.contains("A test calls it too."), "{body}");
}

#[test]
fn d25_what_the_tool_refuses_is_refused_here() {
    let (_world, mock, mut client) = stage([]);
    let mut blank = start(&[alternative("a")]);
    blank["goal"] = " ".into();
    for (params, says) in [
        (blank, "tool-deliberation: goal must be non-empty"),
        (start(&[]), "deliberate requires 1 through 3 branches"),
        (start(&[alternative("a"), alternative("a")]), "duplicate \"a\""),
        (start(&[branch("a", "masked-review")]), "recentSteps must be an integer from 1 through 8"),
        (start(&[json!({ "label": "a" })]), "`branches[0]`"),
    ] {
        let error = client.refused("deliberate/start", params);
        assert_eq!(error["code"], -32602, "{error}");
        assert!(error["message"].as_str().unwrap().contains(says), "{error}");
    }
    assert!(mock.requests().is_empty());
    assert_eq!(client.log("s"), Vec::<Value>::new());
}

#[test]
fn a_running_session_is_not_deliberated_about() {
    let (_world, mock, mut client) =
        stage([Answer::stream().delta("I").pause().finish("stop").done()]);
    let message = client.prompt("s", "Go.");
    mock.wait_for_requests(1);
    let error = client.refused("deliberate/start", start(&[alternative("a")]));
    assert_eq!((&error["code"], &error["data"]["kind"]), (&json!(-32803), &json!("openTurn")));
    mock.release();
    client.request("session/wait", json!({ "sessionId": "s", "messageId": message }));
}

#[test]
fn a_row_that_is_not_active_runs_no_round() {
    let (_world, _mock, mut client) = stage_with("- id: tool-deliberation\n  disabled: true\n", []);
    let error = client.refused("deliberate/start", start(&[alternative("a")]));
    assert_eq!(error["data"]["kind"], "unsupported");
    let patch = "- id: subagent-fork\n  disabled: true\n";
    let (_world, _mock, mut client) = stage_with(patch, []);
    let error = client.refused("deliberate/start", start(&[alternative("a")]));
    assert_eq!(error["data"]["kind"], "unsupported");
    assert!(error["message"].as_str().unwrap().contains("`fork`"), "{error}");
}

#[test]
fn the_command_asks_all_three_roles_about_the_last_answer() {
    let (_world, mock, mut client) = stage([say("LAST-ANSWER")]);
    let run = |client: &mut Client, line: &str| {
        client.request("command/run", json!({ "sessionId": "s", "line": line }))
    };
    let early = run(&mut client, "/deliberate Is it safe?");
    assert_eq!(early["ok"], false);
    assert!(early["text"].as_str().unwrap().contains("no answer yet"), "{early}");
    client.complete("s", "Go.");
    assert_eq!(run(&mut client, "/deliberate")["ok"], false);
    mock.add_when(ALTERNATIVE, hand_in(&nothing("independent-alternative")));
    let mut audited = update("trajectory-audit", "A test calls it too.");
    audited["items"][0]["refs"] = json!([{ "path": "gone.rs", "line": 1 }]);
    mock.add_when(AUDIT, hand_in(&audited));
    mock.add_when(REVIEW, hand_in(&nothing("masked-review")));
    let done = run(&mut client, "/deliberate Is it safe?");
    assert_eq!(done["ok"], true);
    let text = done["text"].as_str().unwrap();
    assert!(text.contains("- possible error, likely: A test calls it too."), "{text}");
    assert!(text.contains("nothing that matters was found"), "{text}");
    assert!(text.contains("one place that it named does not hold and is left out"), "{text}");
    let audit = requests(&mock, AUDIT).remove(0).to_string();
    assert!(audit.contains("LAST-ANSWER") && audit.contains("Is it safe?"), "{audit}");
    assert!(!requests(&mock, ALTERNATIVE).remove(0).to_string().contains("LAST-ANSWER"));
}

#[test]
fn a_command_that_nobody_waits_for_takes_its_round_along() {
    let (_world, mock, mut client) = stage([say("LAST-ANSWER")]);
    client.complete("s", "Go.");
    for needle in [ALTERNATIVE, AUDIT, REVIEW] {
        mock.add_when(needle, Answer::stream().delta("I think").hold());
    }
    let id =
        client.ask("command/run", json!({ "sessionId": "s", "line": "/deliberate Is it safe?" }));
    mock.wait_for_requests(4);
    client.notify("$/cancelRequest", json!({ "id": id }));
    assert_eq!(client.answer(id)["error"]["code"], -32800);
    client.event_of("s", "deliberation/settled");
    assert_eq!(reasons(&outcomes(&mut client)), ["aborted"; 3]);
    mock.wait_until_closed();
}

#[test]
fn commands_are_listed_and_unknown_ones_refused() {
    let (_world, _mock, mut client) = stage([]);
    let listed = client.request("command/list", json!({}))["commands"].clone();
    let deliberate =
        listed.as_array().unwrap().iter().find(|it| it["name"] == "deliberate").unwrap();
    assert_eq!(deliberate["arguments"], "GOAL");
    let error = client.refused("command/run", json!({ "sessionId": "s", "line": "/vote now" }));
    assert_eq!(error["data"]["kind"], "commandNotFound");
    assert!(error["message"].as_str().unwrap().contains("/deliberate"), "{error}");
    let error = client.refused("command/run", json!({ "sessionId": "s", "line": "deliberate" }));
    assert_eq!(error["code"], -32602);
}
