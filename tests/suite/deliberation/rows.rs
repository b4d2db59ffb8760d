//! The rows: the founding document, wrong configurations, providers that come and go, depth.

use dsh_tests::world::until;

use super::*;

const FOUNDING: &str = include_str!("founding.patch.yml");

fn has_tool(client: &mut Client) -> bool {
    let listed = client.request("tool/list", json!({}))["tools"].clone();
    listed.as_array().unwrap().iter().any(|tool| tool["name"] == "deliberate")
}

/// The state of a row and what is wrong with it.
fn row(client: &mut Client, id: &str) -> Value {
    let listed = client.request("plugin/list", json!({}))["plugins"].clone();
    listed.as_array().unwrap().iter().find(|row| row["id"] == id).unwrap().clone()
}

#[test]
fn the_founding_rows_load_as_they_are_and_a_round_runs_with_them() {
    let (_world, mock, mut client) =
        stage_with(FOUNDING, [call("d1", "deliberate", &asked(&[alternative("a")])), say("Done.")]);
    mock.add_when(ALTERNATIVE, hand_in(&nothing("independent-alternative")));
    for id in [
        "subagent-mid-fork-step-family-in-process",
        "subagent-mid-fork-current-turn-in-process",
        "tool-deliberation",
    ] {
        assert_eq!(row(&mut client, id)["state"], "active");
    }
    client.complete("s", "Go.");
    assert_eq!(reasons(&outcomes(&mut client)), ["completed"]);
}

#[test]
fn d27_a_bad_configuration_is_said_with_its_text_and_its_place() {
    let world = World::new();
    let patch = "- id: tool-deliberation\n  merge:\n    maxBranches: 0\n    maxDepth: 1.5\n    voting: true\n";
    world.patch(patch);
    let output = world.run(["config", "check"]);
    assert!(!output.status.success());
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    for (line, text) in [
        (3, "tool-deliberation: maxBranches must be a positive safe integer"),
        (4, "tool-deliberation: maxDepth must be a positive safe integer"),
        (5, "unknown key"),
    ] {
        assert!(said.contains(text), "{said}");
        assert!(said.contains(&format!("cordis.patch.yml:{line}:")), "{said}");
    }
}

#[test]
fn d26_the_tool_goes_and_comes_with_a_provider_and_leaves_nothing() {
    let (world, mock, mut client) = stage([say("One."), say("Two."), say("Three.")]);
    assert!(has_tool(&mut client));
    client.complete("s", "Go.");
    let patch = world.home().join("cordis.patch.yml");
    std::fs::create_dir_all(world.home()).unwrap();
    std::fs::write(&patch, "- id: subagent-fork\n  disabled: true\n").unwrap();
    client.request("config/reload", json!({}));
    until("the tool to go", || !has_tool(&mut client));
    assert_eq!(row(&mut client, "tool-deliberation")["state"], "active");
    client.complete("s", "Go.");
    std::fs::write(&patch, "[]\n").unwrap();
    client.request("config/reload", json!({}));
    until("the tool to come back", || has_tool(&mut client));
    client.complete("s", "Go.");
    let has: Vec<(bool, bool)> = mock
        .requests()
        .iter()
        .map(|request| {
            let body = request.json();
            (
                tools(&body).contains(&"deliberate"),
                body["messages"][0].to_string().contains("# Deliberation"),
            )
        })
        .collect();
    assert_eq!(has, [(true, true), (false, false), (true, true)]);
}

#[test]
fn d32_the_tool_has_the_name_that_is_configured() {
    let patch = "- id: tool-deliberation\n  merge: {toolName: fork_road}\n";
    let (_world, mock, mut client) =
        stage_with(patch, [call("d1", "fork_road", &asked(&[])), say("Done.")]);
    client.complete("s", "Go.");
    let body = mock.requests()[0].json();
    assert!(tools(&body).contains(&"fork_road") && !tools(&body).contains(&"deliberate"));
    let result = of_type(&mut client, "tool/result").remove(0).to_string();
    assert!(result.contains("Error: fork_road requires 1 through 3 branches"), "{result}");
}

#[test]
fn a_tool_that_is_missing_degrades_a_branch_and_does_not_keep_it_from_starting() {
    let patch = "- id: tool-grep\n  disabled: true\n";
    let (_world, mock, mut client) =
        stage_with(patch, [call("d1", "deliberate", &asked(&[alternative("a")])), say("Done.")]);
    mock.add_when(ALTERNATIVE, hand_in(&nothing("independent-alternative")));
    client.complete("s", "Go.");
    let outcome = outcomes(&mut client).remove(0);
    assert_eq!(outcome["stopReason"], "completed");
    assert_eq!(outcome["degraded"].as_array().unwrap().len(), 1, "{outcome}");
    assert!(outcome["degraded"].to_string().contains("grep"), "{outcome}");
    assert_eq!(tools(&requests(&mock, ALTERNATIVE)[0]), ["glob", "read", "structured_output"]);
}

#[test]
fn a_subagent_is_not_offered_what_depth_forbids() {
    let delegate = json!({ "description": "a task", "prompt": "CHILD-PROMPT" });
    let (_world, mock, mut client) =
        stage([call("c1", "subagent", &delegate), say("CHILD-ANSWER"), say("Done.")]);
    client.complete("s", "Go.");
    let requests = mock.requests();
    assert!(tools(&requests[0].json()).contains(&"deliberate"));
    let child = requests[1].json();
    assert!(child.to_string().contains("CHILD-PROMPT"));
    assert!(!tools(&child).contains(&"deliberate"));
    assert!(!child["messages"][0].to_string().contains("# Deliberation"));
}

#[test]
fn a_round_needs_an_agent_that_calls() {
    let (_world, _mock, mut client) = stage([]);
    let params = json!({ "name": "deliberate", "arguments": asked(&[alternative("a")]) });
    let result = client.request("tool/call", params);
    assert_eq!(result["isError"], true);
    assert!(result.to_string().contains("deliberate requires a calling Agent"), "{result}");
}

#[test]
fn what_a_round_does_is_logged_where_wanted_and_nothing_that_is_said_in_it() {
    let world = World::new();
    let patch = "- id: tool-deliberation\n  merge: {debug: true}\n";
    world.patch(patch);
    let answers = [call("d1", "deliberate", &asked(&[alternative("a")])), say("Done.")];
    let mock = MockModel::start(answers);
    mock.add_when(ALTERNATIVE, hand_in(&update("independent-alternative", "FOUND-SOMETHING")));
    let mut command = world.door("rpc", &mock);
    command.env("DSH_LS_LOG", "info");
    let mut client = Client::spawn(command);
    client.initialize();
    client.session("s");
    client.complete("s", "Go.");
    until("the last line", || client.complaints().contains("round-complete"));
    let said = client.complaints();
    for line in [
        "[tool-deliberation][debug] tool-mounted name=deliberate",
        "tool-call parent=s branches=1 labels=[\"a\"]",
        "branch-start label=\"a\" role=independent-alternative",
        "branch-published label=\"a\" runId=",
        "branch-result label=\"a\" stopReason=completed structured=yes",
        "branch-cleanup label=\"a\" status=Completed",
        "round-complete branches=1",
    ] {
        assert!(said.contains(line), "{line} in {said}");
    }
    for text in ["FOUND-SOMETHING", "GOAL:", "INCUMBENT", "focus of"] {
        assert!(!said.contains(text), "{text} in {said}");
    }
}
