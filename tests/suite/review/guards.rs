//! When a turn is not reviewed: a test for each guard, in their order.

use super::*;

/// Runs a turn with these answers and asserts that nobody reviewed it.
fn unreviewed(
    patch: &str,
    answers: impl IntoIterator<Item = Answer>,
) -> (World, MockModel, Client) {
    let (world, mock, mut client) = stage(patch, answers);
    let message = client.prompt("s", "Go.");
    client.request("session/wait", json!({ "sessionId": "s", "messageId": message }));
    assert_eq!(reviewers(&mock), Vec::<Value>::new());
    (world, mock, client)
}

fn held(client: &mut Client) {
    let found = reviewing(client);
    assert!(!types(&found).contains(&"review/claimed"), "{found:?}");
}

const ALL_TURNS: &str =
    "- id: tool-deliberation\n  merge: {autoReview: {enabled: true, scope: all-primary-turns}}\n";

/// A call of the tool with branches.
fn deliberates(branches: &Value) -> Answer {
    let asked = json!({
        "goal": "Is it safe?",
        "incumbent": "It is.",
        "context": { "observations": [], "constraints": [], "unknowns": [] },
        "branches": branches,
    });
    call("d1", "deliberate", &asked)
}

fn branch(role: &str) -> Value {
    json!({
        "label": "a", "route": "same", "capability": "reason-only",
        "focus": "look at it as a masked-review would", "role": role,
    })
}

fn own_review() -> Answer {
    let mut branch = branch("masked-review");
    branch["recentSteps"] = 1.into();
    deliberates(&json!([branch]))
}

#[test]
fn guard_1_d15_an_agents_child_is_not_reviewed() {
    let audit = deliberates(&json!([branch("independent-alternative")]));
    let (_world, mock, mut client) = stage(ALL_TURNS, [audit, say("Done.")]);
    let packet = json!({ "role": "independent-alternative", "status": "no_update" });
    mock.add_when("isolated `independent-alternative` branch", hand_in(&packet));
    mock.add_when(REVIEWER, hand_in(&nothing()));
    client.complete("s", "Go.");
    // The session's own turn is; the branch's and the reviewer's are not.
    assert_eq!(reviewers(&mock).len(), 1);
    assert_eq!(mock.requests().len(), 4);
}

#[test]
fn guard_1_a_turn_that_ends_at_the_models_limit_is_not_reviewed() {
    let cut = Answer::stream().delta("It has").finish("length").done();
    let (_world, _mock, mut client) = unreviewed(ON, [reads(), cut]);
    held(&mut client);
}

#[test]
fn guard_1_a_turn_that_ends_at_its_own_limit_is_not_reviewed() {
    let patch = format!("{ON}- id: agent-loop\n  merge: {{budgets: {{steps: 1}}}}\n");
    let (_world, _mock, mut client) = unreviewed(&patch, [reads()]);
    held(&mut client);
    assert_eq!(client.rest("s")["outcome"]["kind"], "limit");
}

#[test]
fn a_turn_that_has_no_step_left_is_reviewed_and_not_told() {
    let patch = format!("{ON}- id: agent-loop\n  merge: {{budgets: {{steps: 2}}}}\n");
    let (_world, mock, mut client) = stage(&patch, [reads(), say("One.")]);
    mock.add_when(REVIEWER, hand_in(&update()));
    assert_eq!(client.complete("s", "Go.")["outcome"]["kind"], "completed");
    let settled = settled(&mut client);
    assert_eq!((&settled["status"], &settled["published"]), (&json!("update"), &json!(false)));
    assert_eq!(notices(&mut client), 0);
}

#[test]
fn guard_1_a_turn_that_fails_is_not_reviewed() {
    let refusal = json!({ "error": { "message": "no", "type": "invalid_request_error" } });
    let (_world, _mock, mut client) = unreviewed(ON, [reads(), Answer::status(400).json(&refusal)]);
    held(&mut client);
}

#[test]
fn guard_2_d13_a_turn_without_a_tool_is_reviewed_only_where_all_are() {
    let (_world, _mock, mut client) = unreviewed(ON, [say("Hello.")]);
    held(&mut client);
    let (_world, mock, mut client) = stage(ALL_TURNS, [say("Hello.")]);
    mock.add_when(REVIEWER, hand_in(&nothing()));
    client.complete("s", "Go.");
    assert_eq!(settled(&mut client)["status"], "no_update");
}

#[test]
fn guard_3_d13_a_turn_that_the_model_had_reviewed_itself_is_not_reviewed_again() {
    let (_world, mock, mut client) = stage(ON, [reads(), own_review(), say("Done.")]);
    mock.add_when("isolated `masked-review` branch", hand_in(&nothing()));
    client.complete("s", "Go.");
    held(&mut client);
    assert_eq!(mock.requests().len(), 4);
}

#[test]
fn guard_3_d13_only_a_branch_of_that_role_that_came_out_counts() {
    // Another role whose words mention it.
    let other = deliberates(&json!([branch("independent-alternative")]));
    let (_world, mock, mut client) = stage(ON, [other, say("Done.")]);
    let packet = json!({ "role": "independent-alternative", "status": "no_update" });
    mock.add_when("isolated `independent-alternative` branch", hand_in(&packet));
    mock.add_when(REVIEWER, hand_in(&nothing()));
    client.complete("s", "Go.");
    assert_eq!(settled(&mut client)["status"], "no_update");
    // A review of its own that failed.
    let (_world, mock, mut client) = stage(ON, [reads(), own_review(), say("Done.")]);
    mock.add_when("isolated `masked-review` branch", say("I would not know."));
    mock.add_when(REVIEWER, hand_in(&nothing()));
    client.complete("s", "Go.");
    assert_eq!(settled(&mut client)["status"], "no_update");
    // Arguments that cannot be read.
    let broken = Answer::stream().tool_call(
        0,
        "d1",
        "deliberate",
        "{\"branches\": [{\"role\": \"masked-review\"",
    );
    let (_world, mock, mut client) = stage(ON, [broken.finish("tool_calls").done(), say("Done.")]);
    mock.add_when(REVIEWER, hand_in(&nothing()));
    client.complete("s", "Go.");
    assert_eq!(settled(&mut client)["status"], "no_update");
}

#[test]
fn guards_4_and_5_d31_a_turn_is_reviewed_once_however_often_it_stops() {
    let again = call("read-2", "read", &json!({ "file_path": "src/parser.rs" }));
    let (_world, mock, mut client) =
        stage(ON, [reads(), say("One."), again, say("Two."), reads(), say("Three.")]);
    mock.add_when(REVIEWER, hand_in(&update()));
    client.complete("s", "Go.");
    assert_eq!((reviewers(&mock).len(), notices(&mut client)), (1, 1));
    // The next turn has its own.
    mock.add_when(REVIEWER, hand_in(&nothing()));
    client.complete("s", "And now?");
    assert_eq!((reviewers(&mock).len(), notices(&mut client)), (2, 1));
}

#[test]
fn guard_4_a_notice_that_waits_for_a_turn_stands_for_its_review() {
    // What a person has published is no automatic review.
    let (_world, mock, mut client) = stage(ON, [reads(), say("One.")]);
    mock.add_when(REVIEWER, hand_in(&nothing()));
    client.complete("s", "Go.");
    mock.add_when(REVIEWER, hand_in(&update()));
    client.request("review/start", json!({ "sessionId": "s", "publish": true }));
    client.notification("review/notice", |it| it["status"] == "update");
    for answer in [reads(), say("Two.")] {
        mock.add(answer);
    }
    mock.add_when(REVIEWER, hand_in(&nothing()));
    client.complete("s", "And now?");
    assert_eq!((reviewers(&mock).len(), notices(&mut client)), (3, 1));
}

#[test]
fn guard_6_d10_without_its_provider_nothing_is_reviewed_and_nothing_consumed() {
    let gone = "- id: subagent-mid-fork-current-turn-in-process\n  disabled: true\n";
    let (_world, _mock, mut client) = unreviewed(&format!("{ON}{gone}"), [reads(), say("One.")]);
    held(&mut client);
    assert!(!client.complaints().contains("WARN"), "{}", client.complaints());
}

#[test]
fn guard_6_d10_a_provider_that_does_not_fit_is_said_once() {
    let patch =
        "- id: tool-deliberation\n  merge: {autoReview: {enabled: true, provider: spawn}}\n";
    let (_world, mock, mut client) = unreviewed(patch, [reads(), say("One.")]);
    mock.add(reads());
    mock.add(say("Two."));
    client.complete("s", "Go on.");
    held(&mut client);
    let said = client.complaints();
    let count = said.matches("inactive because provider \"spawn\" does not inherit").count();
    assert_eq!(count, 1, "{said}");
}

#[test]
fn d16_a_window_that_is_too_long_is_skipped_in_figures_and_the_turn_is_not_consumed() {
    let small =
        "- id: subagent-mid-fork-current-turn-in-process\n  merge: {maxSnapshotChars: 40}\n";
    let (_world, mock, mut client) = stage(&format!("{ON}{small}"), [reads(), say("One.")]);
    client.complete("s", "Go.");
    assert_eq!(reviewers(&mock), Vec::<Value>::new());
    let found = reviewing(&mut client);
    assert_eq!(types(&found), ["review/claimed", "review/released"]);
    assert_eq!(found[1].1["reason"], "projection-over-budget");
    let said = client.complaints();
    for figure in
        ["reason=projection-over-budget", "parentSessionId=s", "turn=1", "maxSnapshotChars=40"]
    {
        assert!(said.contains(figure), "{figure}: {said}");
    }
    assert_eq!(client.request("review/list", json!({ "sessionId": "s" }))["reviews"], json!([]));
}
