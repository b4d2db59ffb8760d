//! A round of all three roles, looked at in the bytes that the model received.

use super::*;

/// A conversation of one turn, then one that reads a file and deliberates.
fn played() -> (World, MockModel, Client) {
    let read = json!({ "file_path": "src/parser.rs" });
    let (world, mock, mut client) = stage([
        say("FIRST-ANSWER"),
        Answer::stream()
            .reasoning("SECRET-REASONING")
            .delta("VISIBLE-PROSE")
            .tool_call(0, "r1", "read", &read.to_string())
            .finish("tool_calls")
            .done(),
        call("d1", "deliberate", &asked(&three(1))),
        say("LAST-ANSWER"),
    ]);
    mock.add_when(ALTERNATIVE, hand_in(&nothing("independent-alternative")));
    let found = update("trajectory-audit", "A test calls it too.").to_string();
    let costly = Answer::stream()
        .tool_call(0, "packet", "structured_output", &found)
        .finish("tool_calls")
        .usage(&json!({ "prompt_tokens": 70, "completion_tokens": 7 }))
        .done();
    mock.add_when(AUDIT, costly);
    mock.add_when(REVIEW, hand_in(&nothing("masked-review")));
    client.complete("s", "FIRST-QUESTION");
    assert_eq!(client.complete("s", "SECOND-QUESTION")["text"], "LAST-ANSWER");
    (world, mock, client)
}

#[test]
fn d3_each_role_is_one_request_with_exactly_its_history() {
    let (_world, mock, mut client) = played();
    assert_eq!(reasons(&outcomes(&mut client)), ["completed"; 3]);
    let one = |needle: &str| {
        let found = requests(&mock, needle);
        assert_eq!(found.len(), 1, "{needle}");
        found[0].clone()
    };
    let (alternative, audit, review) = (one(ALTERNATIVE), one(AUDIT), one(REVIEW));
    let roles = |body: &Value| -> Vec<String> {
        let messages = body["messages"].as_array().unwrap().iter();
        messages.map(|message| message["role"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(roles(&alternative), ["system", "user"]);
    assert_eq!(roles(&audit), ["system", "user", "assistant", "user"]);
    assert_eq!(roles(&review), ["system", "user", "assistant", "user"]);
    let visible = |body: &Value, texts: &[&str]| -> Vec<bool> {
        let body = body["messages"].to_string();
        texts.iter().map(|text| body.contains(text)).collect()
    };
    let texts =
        ["FIRST-QUESTION", "FIRST-ANSWER", "SECOND-QUESTION", "VISIBLE-PROSE", "SECRET-REASONING"];
    assert_eq!(visible(&alternative, &texts), [false; 5]);
    assert_eq!(visible(&audit, &texts), [true, true, false, false, false]);
    assert_eq!(visible(&review, &texts), [true, true, true, true, false]);
    for body in [&alternative, &audit, &review] {
        assert_eq!(visible(body, &["GOAL: is the parser safe?", "It has one caller."]), [true; 2]);
        assert!(
            !body["messages"].to_string().contains("deliberation: "),
            "the label suggests an answer"
        );
        assert_eq!(body["model"], "mock");
    }
    assert_eq!(visible(&alternative, &["INCUMBENT"]), [false]);
    assert_eq!(visible(&audit, &["INCUMBENT: it is."]), [true]);
    assert_eq!(visible(&review, &["INCUMBENT"]), [false]);
}

#[test]
fn d3_each_branch_has_its_profiles_tools_and_its_roles_schema() {
    let (_world, mock, _client) = played();
    let one = |needle: &str| requests(&mock, needle).remove(0);
    assert_eq!(tools(&one(ALTERNATIVE)), ["structured_output"]);
    for needle in [AUDIT, REVIEW] {
        assert_eq!(tools(&one(needle)), ["glob", "grep", "read", "structured_output"]);
    }
    for (needle, role) in [
        (ALTERNATIVE, "independent-alternative"),
        (AUDIT, "trajectory-audit"),
        (REVIEW, "masked-review"),
    ] {
        let body = one(needle);
        let own = body["tools"].as_array().unwrap().last().unwrap()["function"].clone();
        assert_eq!(own["name"], "structured_output");
        assert_eq!(own["parameters"]["properties"]["role"]["const"], role);
        assert!(
            !body["messages"][0].to_string().contains("# Deliberation"),
            "no policy in a branch"
        );
    }
    let primary = requests(&mock, "FIRST-QUESTION").remove(0);
    assert!(tools(&primary).contains(&"deliberate"));
    assert!(primary["messages"][0].to_string().contains("# Deliberation"));
}

#[test]
fn d17_the_model_reads_the_packets_and_nothing_of_how_they_came_about() {
    let (_world, mock, mut client) = played();
    let last = mock.requests().last().unwrap().json();
    let result = last["messages"].as_array().unwrap().last().unwrap()["content"].clone();
    let read: Value = serde_json::from_str(result.as_str().unwrap()).unwrap();
    assert_eq!(
        read,
        json!({ "branches": [
            {
                "label": "other", "role": "independent-alternative", "stopReason": "completed",
                "packet": nothing("independent-alternative"),
            },
            {
                "label": "audit", "role": "trajectory-audit", "stopReason": "completed",
                "packet": update("trajectory-audit", "A test calls it too."),
            },
            {
                "label": "again", "role": "masked-review", "stopReason": "completed",
                "historyWindow": { "kind": "recent-steps", "requestedSteps": 1, "projectedSteps": 1 },
                "packet": nothing("masked-review"),
            },
        ]})
    );
    let outcomes = outcomes(&mut client);
    assert_eq!(outcomes[1]["usage"], json!({ "inputTokens": 70, "outputTokens": 7 }));
    for outcome in outcomes {
        assert_eq!(outcome["cleanup"], "completed");
        assert!(outcome["childSessionId"].is_string() && outcome["route"] == "same", "{outcome}");
    }
}

#[test]
fn d6_a_window_is_what_there_is() {
    let read = json!({ "file_path": "src/parser.rs" });
    let mut review = branch("again", "masked-review");
    review["recentSteps"] = 4.into();
    let (_world, mock, mut client) = stage([
        call("r1", "read", &read),
        call("r2", "read", &read),
        call("d1", "deliberate", &asked(&[review])),
        say("Done."),
    ]);
    mock.add_when(REVIEW, hand_in(&nothing("masked-review")));
    client.complete("s", "Go.");
    let window = &outcomes(&mut client)[0]["historyWindow"];
    assert_eq!(
        *window,
        json!({ "kind": "recent-steps", "requestedSteps": 4, "projectedSteps": 2 })
    );
    let prompt = requests(&mock, REVIEW).remove(0)["messages"].to_string();
    assert!(prompt.contains("of 2 complete prior steps out of the 4"), "{prompt}");
}

#[test]
fn d6_without_a_complete_step_nothing_is_asked() {
    let mut review = branch("again", "masked-review");
    review["recentSteps"] = 2.into();
    let (_world, mock, mut client) =
        stage([call("d1", "deliberate", &asked(&[review])), say("Done.")]);
    client.complete("s", "Go.");
    let outcome = outcomes(&mut client).remove(0);
    assert_eq!(
        (&outcome["stopReason"], &outcome["cleanup"]),
        (&json!("no-completed-step"), &json!("not-started"))
    );
    assert_eq!(mock.requests().len(), 2);
}

#[test]
fn d3_a_route_sends_a_branch_to_its_own_model() {
    let patch = "- id: tool-deliberation\n  merge: {routes: [{name: same, description: Own.}, \
                 {name: strong, description: Strong., model: bigger, maxTokens: 77}]}\n";
    let mut strong = alternative("other");
    strong["route"] = "strong".into();
    let branches = [strong, alternative("same")];
    let (_world, mock, mut client) =
        stage_with(patch, [call("d1", "deliberate", &asked(&branches)), say("Done.")]);
    mock.add_when("focus of other", hand_in(&nothing("independent-alternative")));
    mock.add_when(ALTERNATIVE, hand_in(&nothing("independent-alternative")));
    client.complete("s", "Go.");
    let to_strong =
        requests(&mock, "focus of other").into_iter().find(|body| body["model"] == "bigger");
    let body = to_strong.expect("a request to the route's model");
    assert_eq!(body["max_tokens"], 77);
    let own: Vec<_> = requests(&mock, "\"focus of same\"")
        .into_iter()
        .chain(requests(&mock, ALTERNATIVE))
        .filter(|body| body["model"] == "mock")
        .collect();
    assert!(!own.is_empty());
    assert_eq!(reasons(&outcomes(&mut client)), ["completed"; 2]);
}

#[test]
fn a_packet_that_is_refused_can_be_corrected() {
    let (_world, mock, mut client) =
        stage([call("d1", "deliberate", &asked(&[alternative("other")])), say("Done.")]);
    let mut empty = nothing("independent-alternative");
    empty["items"] = json!([]);
    mock.add_when(ALTERNATIVE, hand_in(&empty));
    mock.add_when(ALTERNATIVE, hand_in(&nothing("independent-alternative")));
    client.complete("s", "Go.");
    assert_eq!(reasons(&outcomes(&mut client)), ["completed"]);
    let again = &requests(&mock, ALTERNATIVE)[1]["messages"];
    assert!(again.to_string().contains("leave `items` out with `no_update`"), "{again}");
}

#[test]
fn clients_hear_what_a_branch_does() {
    let (_world, mock, mut client) =
        stage([call("d1", "deliberate", &asked(&[alternative("other")])), say("Done.")]);
    mock.add_when(ALTERNATIVE, call("r1", "read", &json!({ "file_path": "src/parser.rs" })));
    let packet = nothing("independent-alternative").to_string();
    let answer = Answer::stream().pause().tool_call(0, "p", "structured_output", &packet);
    mock.add_when(ALTERNATIVE, answer.finish("tool_calls").done());
    let message = client.prompt("s", "Go.");
    let told = client.notification("deliberate/branch", |it| it["activity"] == "read");
    assert_eq!((&told["label"], &told["state"]), (&json!("other"), &json!("running")));
    let child = of_type(&mut client, "deliberation/branch").remove(0)["childSessionId"].clone();
    assert_eq!(told["childSessionId"], child);
    mock.release();
    client.request("session/wait", json!({ "sessionId": "s", "messageId": message }));
}

#[test]
fn references_are_checked_with_what_is_not_saved() {
    let world = World::new();
    world.file("a.rs", "saved\n");
    let packet = json!({
        "role": "independent-alternative",
        "status": "update",
        "items": [{
            "kind": "observation", "certainty": "certain", "content": "It says unsaved.",
            "refs": [
                { "path": "a.rs", "line": 1, "quote": "unsaved" },
                { "path": "a.rs", "line": 1, "quote": "gone" },
            ],
        }],
    });
    let mock =
        MockModel::start([call("d1", "deliberate", &asked(&[alternative("other")])), say("Done.")]);
    mock.add_when(ALTERNATIVE, hand_in(&packet));
    let mut client = world.edit(&mock);
    client.session("s");
    let uri = format!("file://{}/a.rs", world.work().display());
    let document = json!({ "uri": uri, "languageId": "rust", "version": 1, "text": "unsaved\n" });
    client.notify("textDocument/didOpen", json!({ "textDocument": document }));
    client.complete("s", "Go.");
    let outcome = outcomes(&mut client).remove(0);
    assert_eq!(outcome["droppedRefs"], 1);
    assert_eq!(
        outcome["packet"]["items"][0]["refs"],
        json!([{ "path": "a.rs", "line": 1, "quote": "unsaved" }])
    );
}

#[test]
fn clients_hear_of_a_round_right_after_its_events() {
    let (world, _mock, mut client) = played();
    let after = |client: &Client, method: &str, event: &str| {
        let frames = client.frames();
        let at = frames.iter().position(|frame| frame["method"] == method).unwrap();
        let before = &frames[at - 1];
        assert_eq!(before["params"]["event"]["type"], event, "{before}");
        assert_eq!(before["params"]["event"]["seq"], frames[at]["params"]["seq"]);
        frames[at]["params"].clone()
    };
    let started = after(&client, "deliberate/started", "deliberation/started");
    assert_eq!((&started["sessionId"], &started["callId"]), (&json!("s"), &json!("d1")));
    assert_eq!(started["branches"][2]["recentSteps"], 1);
    let result = after(&client, "deliberate/result", "deliberation/settled");
    assert_eq!(result["roundId"], started["roundId"]);
    assert_eq!(result["outcomes"], json!(outcomes(&mut client)));
    let settled = client
        .notification("deliberate/branch", |it| it["label"] == "audit" && it["state"] == "settled");
    assert_eq!(settled["roundId"], started["roundId"]);
    assert!(
        settled["elapsedMs"].is_u64() && settled["remainingMs"].as_u64().unwrap() > 0,
        "{settled}"
    );
    // Somebody who comes later is told again, in the same places.
    let mut later = world.connect(&[]);
    later.initialize();
    later.request("session/subscribe", json!({ "sessionId": "s", "after": -1 }));
    later.notification("session/caughtUp", |_| true);
    assert_eq!(after(&later, "deliberate/started", "deliberation/started"), started);
    assert_eq!(after(&later, "deliberate/result", "deliberation/settled"), result);
}

#[test]
fn a_client_that_subscribes_to_nothing_hears_of_a_round_too() {
    let world = World::new();
    let mock =
        MockModel::start([call("d1", "deliberate", &asked(&[alternative("other")])), say("Done.")]);
    mock.add_when(ALTERNATIVE, hand_in(&nothing("independent-alternative")));
    let mut client = world.ask(&mock);
    client.request("session/new", json!({ "sessionId": "s" }));
    client.complete("s", "Go.");
    let result = client.notification("deliberate/result", |it| it["sessionId"] == "s");
    assert_eq!(result["outcomes"], json!(outcomes(&mut client)));
}

#[test]
fn a_branch_changes_nothing_that_the_model_sees_but_the_result_of_its_call() {
    let (_world, _mock, mut client) = played();
    let seen = client.conversation("s");
    assert_eq!(seen.len(), 8, "{seen:?}");
    assert!(!seen.join("\n").contains("isolated `"), "{seen:?}");
}
