//! Reviews that a person asks for.

use super::*;

/// A session with one turn that called a tool.
fn answered() -> (World, MockModel, Client) {
    let (world, mock, mut client) = stage("", [reads(), say("FIRST-ANSWER")]);
    client.complete("s", "FIRST-QUESTION");
    (world, mock, client)
}

#[test]
fn a_person_has_the_last_turn_reviewed() {
    let (_world, mock, mut client) = answered();
    mock.add_when(REVIEWER, hand_in(&update()));
    let id = client.request("review/start", json!({ "sessionId": "s" }))["reviewId"].clone();
    let notice = client.notification("review/notice", |it| it["reviewId"] == id);
    assert_eq!((&notice["status"], &notice["published"]), (&json!("update"), &json!(false)));
    assert_eq!(notice["items"], update()["items"]);
    let found = reviewing(&mut client);
    assert_eq!(types(&found), ["review/claimed", "review/child", "review/settled"]);
    assert_eq!((&found[0].1["by"], &found[0].1["turn"]), (&json!("user"), &json!(1)));
    let body = reviewers(&mock).remove(0).to_string();
    assert!(body.contains("FIRST-QUESTION") && body.contains("FIRST-ANSWER"), "{body}");
    assert!(body.contains("asked for by a person"), "{body}");
    let conversation = client.conversation("s");
    assert!(!conversation.join("\n").contains("FOUND"), "{conversation:?}");
}

#[test]
fn what_is_published_waits_for_the_next_turn() {
    let (_world, mock, mut client) = answered();
    mock.add_when(REVIEWER, hand_in(&update()));
    client.request("review/start", json!({ "sessionId": "s", "publish": true }));
    assert_eq!(client.notification("review/notice", |_| true)["published"], true);
    assert_eq!(client.rest("s")["outcome"]["kind"], "completed", "it wakes nobody");
    assert_eq!(mock.requests().len(), 3);
    mock.add(say("SECOND-ANSWER"));
    client.complete("s", "SECOND-QUESTION");
    let body = mock.requests().last().unwrap().json()["messages"].to_string();
    assert!(body.contains("FOUND"), "{body}");
    assert_eq!(notices(&mut client), 1);
}

#[test]
fn nothing_new_is_published_to_nobody() {
    let (_world, mock, mut client) = answered();
    mock.add_when(REVIEWER, hand_in(&nothing()));
    client.request("review/start", json!({ "sessionId": "s", "publish": true }));
    assert_eq!(client.notification("review/notice", |_| true)["published"], false);
    assert_eq!(notices(&mut client), 0);
}

#[test]
fn there_must_be_a_completed_turn_and_none_that_runs() {
    let (_world, mock, mut client) =
        stage("", [Answer::stream().delta("I").pause().finish("stop").done()]);
    let start = json!({ "sessionId": "s" });
    assert_eq!(client.refused("review/start", start.clone())["data"]["kind"], "invalidBoundary");
    let message = client.prompt("s", "Go.");
    mock.wait_for_requests(1);
    assert_eq!(client.refused("review/start", start)["data"]["kind"], "openTurn");
    mock.release();
    client.request("session/wait", json!({ "sessionId": "s", "messageId": message }));
    assert_eq!(reviewing(&mut client), Vec::<(String, Value)>::new());
}

#[test]
fn where_no_review_can_run_a_person_is_told() {
    for (patch, says) in [
        ("- id: tool-deliberation\n  disabled: true\n", "no reviews"),
        (
            "- id: subagent-mid-fork-current-turn-in-process\n  disabled: true\n",
            "mid-fork-current-turn",
        ),
    ] {
        let (_world, _mock, mut client) = stage(patch, [say("One.")]);
        client.complete("s", "Go.");
        let error = client.refused("review/start", json!({ "sessionId": "s" }));
        assert_eq!(error["data"]["kind"], "unsupported");
        assert!(error["message"].as_str().unwrap().contains(says), "{error}");
    }
}

#[test]
fn a_window_that_cannot_be_shown_settles_a_persons_review() {
    let small =
        "- id: subagent-mid-fork-current-turn-in-process\n  merge: {maxSnapshotChars: 40}\n";
    let (_world, mock, mut client) = stage(small, [reads(), say("One.")]);
    client.complete("s", "Go.");
    client.request("review/start", json!({ "sessionId": "s" }));
    let notice = client.notification("review/notice", |_| true);
    assert_eq!(notice["status"], "failed");
    assert_eq!(notice["reason"], "projection-over-budget");
    assert_eq!(mock.requests().len(), 2);
}

#[test]
fn the_command_says_what_was_found() {
    let (_world, mock, mut client) = answered();
    let run = |client: &mut Client, line: &str| {
        client.request("command/run", json!({ "sessionId": "s", "line": line }))
    };
    mock.add_when(REVIEWER, hand_in(&update()));
    let done = run(&mut client, "/review");
    assert_eq!(done["ok"], true, "{done}");
    assert_eq!(
        done["text"],
        "- possible error, likely: FOUND: a test calls it too. (src/parser.rs:1)"
    );
    mock.add_when(REVIEWER, hand_in(&nothing()));
    assert_eq!(run(&mut client, "/review")["text"], "nothing that matters was found");
    mock.add_when(REVIEWER, say("Prose."));
    let failed = run(&mut client, "/review");
    assert_eq!(
        (&failed["ok"], &failed["text"]),
        (&json!(false), &json!("the review failed: error"))
    );
    assert_eq!(run(&mut client, "/review it")["ok"], false);
}

#[test]
fn a_command_that_nobody_waits_for_takes_its_review_along() {
    let (_world, mock, mut client) = answered();
    mock.add_when(REVIEWER, Answer::stream().delta("I think").hold());
    let id = client.ask("command/run", json!({ "sessionId": "s", "line": "/review" }));
    mock.wait_for_requests(3);
    client.notify("$/cancelRequest", json!({ "id": id }));
    assert_eq!(client.answer(id)["error"]["code"], -32800);
    client.event_of("s", "review/settled");
    assert_eq!(settled(&mut client)["status"], "cancelled");
    mock.wait_until_closed();
}

#[test]
fn a_prompt_that_comes_while_a_review_runs_has_its_turn() {
    let (_world, mock, mut client) = answered();
    mock.add_when(REVIEWER, hand_in_later(&update()));
    client.request("review/start", json!({ "sessionId": "s" }));
    mock.wait_for_requests(3);
    mock.add(say("SECOND-ANSWER"));
    assert_eq!(client.complete("s", "SECOND-QUESTION")["text"], "SECOND-ANSWER");
    assert_eq!(types(&reviewing(&mut client)), ["review/claimed", "review/child"]);
    mock.release();
    client.notification("review/notice", |it| it["status"] == "update");
    assert_eq!(settled(&mut client)["turn"], 1);
}

#[test]
fn a_review_ends_with_the_session_that_is_closed() {
    let (_world, mock, mut client) = answered();
    mock.add_when(REVIEWER, Answer::stream().delta("I think").hold());
    client.request("review/start", json!({ "sessionId": "s" }));
    mock.wait_for_requests(3);
    client.request("session/close", json!({ "sessionId": "s" }));
    mock.wait_until_closed();
    assert_eq!(settled(&mut client)["status"], "cancelled");
}
