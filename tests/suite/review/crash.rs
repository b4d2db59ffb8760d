//! Crashes at every place of a review: never two notices, never a lost packet.

use std::fs;

use dsh_tests::world::until;

use super::*;

/// The lines of a session's log on disk.
fn lines(world: &World, session: &str) -> Vec<String> {
    let text = fs::read_to_string(world.log(session)).unwrap();
    text.lines().map(str::to_owned).collect()
}

fn kind(line: &str) -> String {
    let line: Value = serde_json::from_str(line).unwrap();
    line["type"].as_str().unwrap().to_owned()
}

/// What a crash left: the log's first lines.
fn cut(world: &World, session: &str, lines: &[String]) {
    let mut text = lines.join("\n");
    text.push('\n');
    fs::write(world.log(session), text).unwrap();
}

/// A world in which a turn was reviewed to its end, with an update, and the logs of both sessions.
fn reviewed() -> (World, MockModel, String, Vec<String>, Vec<String>) {
    let (world, mock, mut client) = stage(ON, [reads(), say("One."), say("Two.")]);
    mock.add_when(REVIEWER, hand_in(&update()));
    client.complete("s", "Go.");
    let child = reviewing(&mut client)[1].1["childSessionId"].as_str().unwrap().to_owned();
    client.shut_down();
    let (own, of_child) = (lines(&world, "s"), lines(&world, &child));
    (world, mock, child, own, of_child)
}

/// Opens the session as an editor does after a crash, and lets its next turn run. Returns how often the model was
/// told, and how the review came out.
fn resumed(world: &World, mock: &MockModel) -> (usize, Vec<Value>, Client) {
    let mut client = world.ask(mock);
    client.request("session/subscribe", json!({ "sessionId": "s", "after": -1 }));
    client.request("session/get", json!({ "sessionId": "s" }));
    mock.add(say("RESUMED"));
    assert_eq!(client.complete("s", "Go on.")["text"], "RESUMED");
    let body = mock.requests().last().unwrap().json()["messages"].to_string();
    let told = body.matches("FOUND").count();
    let reviews = client.request("review/list", json!({ "sessionId": "s" }))["reviews"].clone();
    (told, reviews.as_array().unwrap().clone(), client)
}

#[test]
fn wherever_the_sessions_log_ends_a_packet_is_told_once() {
    let (world, mock, child, own, of_child) = reviewed();
    let claimed = own.iter().position(|line| kind(line) == "review/claimed").unwrap();
    let settled = own.iter().position(|line| kind(line) == "review/settled").unwrap();
    // Behind the claim, behind the child, behind the notice, behind the settlement, behind what takes it in.
    for end in claimed + 1..=settled + 4 {
        cut(&world, "s", &own[..end]);
        cut(&world, &child, &of_child);
        let (told, reviews, client) = resumed(&world, &mock);
        let after = kind(&own[end - 1]);
        assert_eq!(told, 1, "after {after} at {end}");
        assert_eq!(reviews.len(), 1, "after {after} at {end}");
        assert_eq!(reviews[0]["status"], "update", "after {after} at {end}");
        assert_eq!((&reviews[0]["published"], &reviews[0]["turn"]), (&json!(true), &json!(1)));
        assert_eq!(reviews[0]["items"].as_array().unwrap().len(), 1);
        client.shut_down();
    }
}

#[test]
fn wherever_the_childs_log_ends_its_packet_is_adopted_or_the_claim_fails() {
    let (world, mock, child, own, of_child) = reviewed();
    let end = own.iter().position(|line| kind(line) == "review/child").unwrap() + 1;
    let handed_in = of_child.iter().rposition(|line| kind(line) == "tool/result").unwrap();
    let began = of_child.iter().rposition(|line| kind(line) == "turn/start").unwrap();
    for last in began..of_child.len() {
        cut(&world, "s", &own[..end]);
        cut(&world, &child, &of_child[..=last]);
        let (told, reviews, client) = resumed(&world, &mock);
        let after = kind(&of_child[last]);
        let is_there = last >= handed_in;
        assert_eq!(told, usize::from(is_there), "after {after} at {last}");
        assert_eq!(reviews.len(), 1);
        if is_there {
            assert_eq!(reviews[0]["status"], "update", "after {after}");
        } else {
            assert_eq!(reviews[0]["status"], "failed", "after {after}");
            let reason = client.notification("review/notice", |_| true)["reason"].clone();
            assert_eq!(reason, "interrupted", "after {after}");
        }
        client.shut_down();
    }
}

#[test]
fn a_claim_whose_child_never_came_to_be_fails() {
    let (world, mock, child, own, _) = reviewed();
    let end = own.iter().position(|line| kind(line) == "review/claimed").unwrap() + 1;
    cut(&world, "s", &own[..end]);
    fs::remove_file(world.log(&child)).unwrap();
    let (told, reviews, client) = resumed(&world, &mock);
    assert_eq!((told, &reviews[0]["status"]), (0, &json!("failed")));
    client.shut_down();
}

#[test]
fn an_observers_packet_is_shown_and_told_to_nobody() {
    let (world, mock, child, own, of_child) = reviewed();
    let end = own.iter().position(|line| kind(line) == "review/child").unwrap() + 1;
    cut(&world, "s", &own[..end]);
    cut(&world, &child, &of_child);
    configure(
        &world,
        "- id: tool-deliberation\n  merge: {autoReview: {enabled: true, publish: observe-only}}\n",
    );
    let (told, reviews, client) = resumed(&world, &mock);
    assert_eq!((told, &reviews[0]["published"]), (0, &json!(false)));
    assert_eq!(reviews[0]["items"].as_array().unwrap().len(), 1);
    client.shut_down();
}

#[test]
fn what_a_person_wanted_published_is_told_once_wherever_the_log_ends() {
    let (world, mock, mut client) = stage("", [reads(), say("One.")]);
    mock.add_when(REVIEWER, hand_in(&update()));
    client.complete("s", "Go.");
    client.request("review/start", json!({ "sessionId": "s", "publish": true }));
    let child = client.notification("review/notice", |_| true)["reviewId"].clone();
    client.shut_down();
    let own = lines(&world, "s");
    let of_child = lines(&world, child.as_str().unwrap());
    let claimed = own.iter().position(|line| kind(line) == "review/claimed").unwrap();
    for end in claimed + 1..=own.len() {
        cut(&world, "s", &own[..end]);
        cut(&world, child.as_str().unwrap(), &of_child);
        let (told, reviews, client) = resumed(&world, &mock);
        let after = kind(&own[end - 1]);
        assert_eq!(told, 1, "after {after} at {end}");
        assert_eq!((reviews.len(), &reviews[0]["published"]), (1, &json!(true)), "after {after}");
        client.shut_down();
    }
}

#[test]
fn a_review_waits_for_a_server_that_can_adopt_it() {
    let (world, mock, child, own, of_child) = reviewed();
    let end = own.iter().position(|line| kind(line) == "review/child").unwrap() + 1;
    cut(&world, "s", &own[..end]);
    cut(&world, &child, &of_child);
    configure(&world, "- id: tool-deliberation\n  disabled: true\n");
    let (told, reviews, client) = resumed(&world, &mock);
    assert_eq!((told, reviews), (0, Vec::new()));
    client.shut_down();
    configure(&world, ON);
    let (told, reviews, client) = resumed(&world, &mock);
    assert_eq!((told, &reviews[0]["status"]), (1, &json!("update")));
    client.shut_down();
}

#[test]
fn a_server_that_is_killed_while_its_reviewer_works_settles_the_review_later() {
    let (world, mock, mut client) = stage(ON, [reads(), say("One.")]);
    mock.add_when(REVIEWER, Answer::stream().delta("I think").hold());
    client.prompt("s", "Go.");
    mock.wait_for_requests(3);
    client.event_of("s", "review/child");
    client.kill();
    let (told, reviews, client) = resumed(&world, &mock);
    assert_eq!((told, &reviews[0]["status"]), (0, &json!("failed")));
    client.shut_down();
}

#[test]
fn a_server_that_is_killed_right_behind_its_claim_leaves_nothing_open() {
    let (world, mock, mut client) = stage(ON, [reads(), say("One.")]);
    mock.add_when(REVIEWER, hand_in_later(&update()));
    client.prompt("s", "Go.");
    until("the claim", || {
        fs::read_to_string(world.log("s")).is_ok_and(|text| text.contains("review/claimed"))
    });
    client.kill();
    mock.release();
    let (told, reviews, client) = resumed(&world, &mock);
    assert_eq!((told, &reviews[0]["status"]), (0, &json!("failed")));
    client.shut_down();
}

#[test]
fn a_server_that_is_killed_when_the_packet_is_in_its_childs_log_tells_it_once() {
    let (world, mock, mut client) = stage(ON, [reads(), say("One.")]);
    mock.add_when(REVIEWER, hand_in_later(&update()));
    client.prompt("s", "Go.");
    mock.wait_for_requests(3);
    let child = client.event_of("s", "review/child")["data"]["childSessionId"].clone();
    let child = child.as_str().unwrap().to_owned();
    mock.release();
    until("the packet", || {
        let text = fs::read_to_string(world.log(&child)).unwrap();
        text.contains("\"type\":\"tool/result\"")
    });
    client.kill();
    let (told, reviews, client) = resumed(&world, &mock);
    assert_eq!((told, &reviews[0]["status"]), (1, &json!("update")));
    client.shut_down();
}

#[test]
fn a_server_that_is_killed_while_the_notice_is_taken_in_tells_it_once() {
    let slow = Answer::stream().delta("Two").hold();
    let (world, mock, mut client) = stage(ON, [reads(), say("One."), slow]);
    mock.add_when(REVIEWER, hand_in(&update()));
    client.prompt("s", "Go.");
    mock.wait_for_requests(4);
    client.event_of("s", "review/settled");
    client.kill();
    let (told, reviews, client) = resumed(&world, &mock);
    assert_eq!((told, &reviews[0]["status"]), (1, &json!("update")));
    client.shut_down();
}

#[test]
fn a_persons_review_goes_on_while_another_process_looks() {
    let (world, mock, mut client) = stage("", [reads(), say("One.")]);
    client.complete("s", "Go.");
    mock.add_when(REVIEWER, hand_in_later(&update()));
    client.request("review/start", json!({ "sessionId": "s" }));
    mock.wait_for_requests(3);
    let mut other = world.ask(&mock);
    other.request("session/get", json!({ "sessionId": "s" }));
    other.request("session/rename", json!({ "sessionId": "s", "title": "Renamed" }));
    assert_eq!(
        other.request("review/list", json!({ "sessionId": "s" }))["reviews"],
        json!([]),
        "it is at work"
    );
    mock.release();
    client.notification("review/notice", |it| it["status"] == "update");
    until("the other to see it", || {
        let listed = other.request("review/list", json!({ "sessionId": "s" }));
        listed["reviews"][0]["status"] == "update"
    });
    other.shut_down();
    client.shut_down();
}

#[test]
fn a_persons_review_whose_server_was_killed_is_settled_by_the_next() {
    let (world, mock, mut client) = stage("", [reads(), say("One.")]);
    client.complete("s", "Go.");
    mock.add_when(REVIEWER, Answer::stream().delta("I think").hold());
    client.request("review/start", json!({ "sessionId": "s" }));
    mock.wait_for_requests(3);
    client.event_of("s", "review/child");
    client.kill();
    let (told, reviews, client) = resumed(&world, &mock);
    assert_eq!((told, &reviews[0]["by"]), (0, &json!("user")));
    assert_eq!(reviews[0]["status"], "failed");
    client.shut_down();
}
