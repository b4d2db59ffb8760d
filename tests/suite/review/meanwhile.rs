//! What happens to a session while a review runs in it.

use dsh_tests::world::until;

use super::*;

/// A session whose reviewer has been asked and has not answered.
fn reviewing_now() -> (World, MockModel, Client, String) {
    let (world, mock, mut client) = stage(ON, [reads(), say("One.")]);
    mock.add_when(REVIEWER, hand_in_later(&update()));
    let message = client.prompt("s", "Go.");
    mock.wait_for_requests(3);
    client.event_of("s", "review/child");
    (world, mock, client, message)
}

#[test]
fn a_cancel_ends_the_review_at_once_and_nobody_is_told() {
    let (_world, mock, mut client, message) = reviewing_now();
    let asked = std::time::Instant::now();
    assert_eq!(client.request("session/cancel", json!({ "sessionId": "s" }))["cancelled"], true);
    let waited = client.request("session/wait", json!({ "sessionId": "s", "messageId": message }));
    assert_eq!(waited["outcome"]["kind"], "aborted");
    assert!(asked.elapsed().as_secs() < 5, "{:?}", asked.elapsed());
    mock.wait_until_closed();
    let found = reviewing(&mut client);
    assert_eq!(types(&found), ["review/claimed", "review/child", "review/settled"]);
    let settled = &found[2].1;
    assert_eq!((&settled["status"], &settled["published"]), (&json!("cancelled"), &json!(false)));
    let log = client.log("s");
    let last: Vec<&str> =
        log.iter().rev().take(2).map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(last, ["turn/end", "review/settled"]);
    // Whoever cancelled it knows.
    let heard = client.frames();
    assert!(!heard.iter().any(|frame| frame["method"] == "review/notice"));
    until("the child to be gone", || client.request("server/status", json!({}))["sessions"] == 1);
    mock.release();
}

#[test]
fn what_a_person_says_meanwhile_is_taken_in_with_what_was_found() {
    let (_world, mock, mut client, message) = reviewing_now();
    let steer = json!({ "sessionId": "s", "text": "STEERED", "delivery": "steer" });
    client.request("session/prompt", steer);
    mock.add(say("Both."));
    mock.release();
    let waited = client.request("session/wait", json!({ "sessionId": "s", "messageId": message }));
    assert_eq!(waited["text"], "Both.");
    assert_eq!(notices(&mut client), 1);
    let body = mock.requests().last().unwrap().json()["messages"].to_string();
    assert!(body.contains("STEERED") && body.contains("FOUND"), "{body}");
    assert_eq!(mock.requests().len(), 4);
}

#[test]
fn a_second_prompt_waits_for_its_own_turn() {
    let (_world, mock, mut client, message) = reviewing_now();
    let second = client.prompt("s", "SECOND");
    mock.add(say("Two."));
    mock.add(say("Three."));
    mock.release();
    let wait = |client: &mut Client, id: &str| {
        client.request("session/wait", json!({ "sessionId": "s", "messageId": id }))
    };
    assert_eq!(wait(&mut client, &message)["text"], "Two.");
    let waited = wait(&mut client, &second);
    assert_eq!((&waited["turn"], &waited["text"]), (&json!(2), &json!("Three.")));
    assert_eq!(notices(&mut client), 1);
}

#[test]
fn a_reviewer_that_takes_too_long_is_left_and_the_turn_ends() {
    let patch = "- id: tool-deliberation\n  merge: {autoReview: {enabled: true, timeoutMs: 300}}\n";
    let (_world, mock, mut client) = stage(patch, [reads(), say("One.")]);
    mock.add_when(REVIEWER, Answer::stream().delta("I think").hold());
    let outcome = client.complete("s", "Go.");
    assert_eq!(outcome["outcome"]["kind"], "completed");
    let settled = settled(&mut client);
    assert_eq!((&settled["status"], &settled["reason"]), (&json!("failed"), &json!("timeout")));
    assert!(client.complaints().contains("automatic review timed out"));
    mock.wait_until_closed();
}

#[test]
fn a_reviewer_whose_model_fails_does_not_fail_the_turn() {
    let (_world, mock, mut client) = stage(ON, [reads(), say("One.")]);
    let refusal = json!({ "error": { "message": "PRIVATE", "type": "invalid_request_error" } });
    mock.add_when(REVIEWER, Answer::status(400).json(&refusal));
    assert_eq!(client.complete("s", "Go.")["outcome"]["kind"], "completed");
    let settled = settled(&mut client);
    assert_eq!((&settled["status"], &settled["reason"]), (&json!("failed"), &json!("error")));
    let said = client.complaints();
    assert!(said.contains("returned no valid structured packet"), "{said}");
}

#[test]
fn a_server_that_is_shut_down_settles_the_review_with_its_turn() {
    let (world, mock, client, _) = reviewing_now();
    client.shut_down();
    mock.wait_until_closed();
    let log = dsh_tests::check_log::read(&world.log("s"));
    let settled: Vec<&Value> =
        log.events.iter().filter(|event| event["type"] == "review/settled").collect();
    assert_eq!(settled.len(), 1);
    assert_eq!(settled[0]["data"]["status"], "cancelled");
    mock.release();
}

#[test]
fn two_sessions_are_reviewed_side_by_side() {
    let (_world, mock, mut client) = stage(ON, []);
    client.session("t");
    for session in ["s", "t"] {
        let needle = format!("PROMPT-OF-{session}");
        mock.add_when(&needle, reads());
        mock.add_when(&needle, say(&format!("ANSWER-OF-{session}")));
    }
    mock.add_when(REVIEWER, hand_in_later(&nothing()));
    mock.add_when(REVIEWER, hand_in_later(&nothing()));
    let prompts: Vec<(&str, String)> = ["s", "t"]
        .map(|session| (session, client.prompt(session, &format!("PROMPT-OF-{session}"))))
        .to_vec();
    mock.wait_for_requests(6);
    mock.release();
    mock.release();
    for (session, message) in prompts {
        let params = json!({ "sessionId": session, "messageId": message });
        assert_eq!(client.request("session/wait", params)["outcome"]["kind"], "completed");
        let log = client.log(session);
        let settled = log.iter().find(|event| event["type"] == "review/settled").unwrap();
        assert_eq!(settled["data"]["status"], "no_update");
    }
    for body in reviewers(&mock) {
        let text = body.to_string();
        assert_ne!(text.contains("ANSWER-OF-s"), text.contains("ANSWER-OF-t"), "{text}");
    }
}
