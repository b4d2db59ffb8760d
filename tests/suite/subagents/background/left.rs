//! Crashes and other processes: whatever happens to a server, a parent is told of its child's work once.

use super::*;

fn lines(world: &World, session: &str) -> Vec<String> {
    fs::read_to_string(world.log(session)).unwrap().lines().map(str::to_owned).collect()
}

fn kind(line: &str) -> String {
    let line: Value = serde_json::from_str(line).unwrap();
    line["type"].as_str().unwrap().to_owned()
}

fn cut(world: &World, session: &str, lines: &[String]) {
    fs::write(world.log(session), lines.join("\n") + "\n").unwrap();
}

/// Opens `s` after a crash and lets its next turn run; returns what the model of that turn reads of its child.
fn resumed(world: &World, mock: &MockModel) -> (String, usize, Client) {
    let mut client = world.ask(mock);
    client.request("session/subscribe", json!({ "sessionId": "s", "after": -1 }));
    client.request("session/get", json!({ "sessionId": "s" }));
    mock.add(say("RESUMED"));
    assert_eq!(client.complete("s", "Go on.")["text"], "RESUMED");
    let read = mock.requests().last().unwrap().json()["messages"].to_string();
    let settled = of_type(&mut client, "s", "subagent/settled").len();
    (read, settled, client)
}

#[test]
fn wherever_a_crash_comes_a_parent_is_told_once() {
    let (world, mock, mut client) = stage([leave("c1", "Count."), say("Waiting."), say("Good.")]);
    mock.add_when(CHILD, later("THE-ANSWER"));
    client.complete("s", "Go.");
    mock.release();
    turn_ends(&client, 2);
    settled(&client, 1);
    let child = child(&mut client);
    client.shut_down();
    let (own, of_child) = (lines(&world, "s"), lines(&world, &child));
    let activated = own.iter().position(|line| kind(line) == "subagent/activated").unwrap();
    // A notice that a crash left in the queue has a turn of its own, before the one that is asked for.
    for _ in 0..own.len() {
        mock.add(say("RESUMED"));
    }
    for end in activated + 1..=own.len() {
        cut(&world, "s", &own[..end]);
        cut(&world, &child, &of_child);
        let (read, settled, client) = resumed(&world, &mock);
        let after = format!("{} at {end}", kind(&own[end - 1]));
        assert_eq!(read.matches("THE-ANSWER").count(), 1, "after {after}");
        assert_eq!(settled, 1, "after {after}");
        client.shut_down();
    }
    // And wherever the child's own log ends.
    let began = of_child.iter().rposition(|line| kind(line) == "turn/start").unwrap();
    for end in began + 1..=of_child.len() {
        cut(&world, "s", &own[..=activated]);
        cut(&world, &child, &of_child[..end]);
        let (read, settled, client) = resumed(&world, &mock);
        let after = format!("{} at {end}", kind(&of_child[end - 1]));
        let is_done = end == of_child.len();
        let says = if is_done { "is done." } else { "stopped before it was done" };
        assert_eq!(read.matches(says).count(), 1, "after {after}: {read}");
        assert_eq!(settled, 1, "after {after}");
        client.shut_down();
    }
}

#[test]
fn a_server_that_is_killed_while_a_child_works_tells_its_parent_later() {
    let (world, mock, mut client) = stage([leave("c1", "Count."), say("Waiting.")]);
    mock.add_when(CHILD, Answer::stream().delta("I begin").hold());
    client.complete("s", "Go.");
    mock.wait_for_requests(3);
    let child = child(&mut client);
    client.kill();
    let (read, settled, mut client) = resumed(&world, &mock);
    assert_eq!(read.matches("the server stopped while it worked").count(), 1, "{read}");
    assert_eq!(settled, 1);
    assert_eq!(mock.requests().len(), 4, "nobody was woken");
    // It can go on.
    mock.add(send("m1", &child, "Go on."));
    mock.add(say("Waiting."));
    mock.add_when(CHILD, say("Done at last."));
    mock.add(say("Good."));
    client.complete("s", "Let it go on.");
    client.wait_for("the second answer", |frames| {
        let text = frames.iter().any(|frame| {
            frame["params"]["event"]["data"]["activationId"].is_string()
                && frame["params"]["event"]["data"]["stopReason"] == "completed"
        });
        text.then_some(())
    });
    client.rest("s");
    assert!(told(&mut client).last().unwrap().ends_with("Done at last."));
}

#[test]
fn a_child_goes_on_while_another_process_looks() {
    let (world, mock, mut client) = stage([leave("c1", "Count."), say("Waiting."), say("Good.")]);
    mock.add_when(CHILD, later("Three."));
    client.complete("s", "Go.");
    mock.wait_for_requests(3);
    let mut other = world.ask(&mock);
    other.request("session/get", json!({ "sessionId": "s" }));
    other.request("session/rename", json!({ "sessionId": "s", "title": "Renamed" }));
    assert_eq!(of_type(&mut other, "s", "subagent/settled"), Vec::<Value>::new(), "it is at work");
    mock.release();
    settled(&client, 1);
    client.rest("s");
    assert_eq!(told(&mut client).len(), 1);
    other.shut_down();
    client.shut_down();
}

#[test]
fn a_server_that_is_killed_while_a_child_waits_for_its_own_says_that_it_was_not_done() {
    let (world, mock, mut client, child) = a_child_that_waits(digs());
    client.kill();
    let mut client = world.ask(&mock);
    client.request("session/subscribe", json!({ "sessionId": "s", "after": -1 }));
    // Nobody asks, and nobody is woken.
    client.event_of("s", "subagent/settled");
    mock.add(say("RESUMED"));
    assert_eq!(client.complete("s", "Go on.")["text"], "RESUMED");
    let told = told(&mut client);
    let cut =
        "stopped before it was done: the server stopped while it waited for subagents of its own";
    assert!(told.len() == 1 && told[0].contains(cut), "{told:?}");
    // Whoever looks at the child finds what became of its own.
    client.request("session/get", json!({ "sessionId": child }));
    let deeper = of_type(&mut client, &child, "subagent/settled");
    assert_eq!(deeper[0]["stopReason"], "error", "{deeper:?}");
    client.shut_down();
}

#[test]
fn a_child_that_waits_for_its_own_goes_on_while_another_process_looks() {
    let (world, mock, mut client, _) = a_child_that_waits(later("Deep answer."));
    mock.add_when("Deep answer.", say("It says: deep."));
    mock.add(say("Good."));
    let mut other = world.ask(&mock);
    other.request("session/get", json!({ "sessionId": "s" }));
    other.request("session/rename", json!({ "sessionId": "s", "title": "Renamed" }));
    assert_eq!(of_type(&mut other, "s", "subagent/settled"), Vec::<Value>::new(), "it is at work");
    mock.release();
    settled(&client, 1);
    client.rest("s");
    let told = told(&mut client);
    assert!(told.len() == 1 && told[0].ends_with("It says: deep."), "{told:?}");
    other.shut_down();
    client.shut_down();
}

#[test]
fn a_turn_whose_process_is_killed_ends_for_whoever_looks_on() {
    let (world, mock, mut client) = stage([Answer::stream().delta("I begin").hold()]);
    client.prompt("s", "Go.");
    mock.wait_for_requests(1);
    let mut other = world.ask(&mock);
    other.request("session/subscribe", json!({ "sessionId": "s", "after": -1 }));
    other.event_of("s", "assistant/chunk");
    client.kill();
    let end = other.event_of("s", "turn/end");
    assert_eq!(end["data"]["reason"]["kind"], "interrupted");
    other.shut_down();
}
