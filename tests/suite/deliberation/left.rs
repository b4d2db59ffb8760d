//! A person's round that a crash took along: whoever opens the session next says what became of it, once.

use std::fs;

use dsh_tests::world::until;

use super::*;

/// The requests of the branches `a` and `b`.
const OF_A: &str = "## Focus\\n\\nfocus of a\\n";
const OF_B: &str = "## Focus\\n\\nfocus of b\\n";

fn lines(world: &World, session: &str) -> Vec<String> {
    let text = fs::read_to_string(world.log(session)).unwrap();
    text.lines().map(str::to_owned).collect()
}

fn read(line: &str) -> Value {
    serde_json::from_str(line).unwrap()
}

fn kind(line: &str) -> String {
    read(line)["type"].as_str().unwrap().to_owned()
}

/// What a crash left: the log's first lines.
fn cut(world: &World, session: &str, lines: &[String]) {
    let mut text = lines.join("\n");
    text.push('\n');
    fs::write(world.log(session), text).unwrap();
}

fn start(publish: bool) -> Value {
    let mut params = asked(&[alternative("a"), branch("b", "trajectory-audit")]);
    params["sessionId"] = "s".into();
    params["publish"] = publish.into();
    params
}

/// A world in which a person's round was published, and the logs of the session and of both children.
struct Played {
    world: World,
    mock: MockModel,
    own: Vec<String>,
    children: [(String, Vec<String>); 2],
}

fn played() -> Played {
    let (world, mock, mut client) = stage([say("FIRST-ANSWER")]);
    client.complete("s", "FIRST-QUESTION");
    mock.add_when(OF_A, hand_in(&update("independent-alternative", "FOUND-BY-A")));
    mock.add_when(OF_B, hand_in(&update("trajectory-audit", "FOUND-BY-B")));
    client.request("deliberate/start", start(true));
    client.event_of("s", "deliberation/settled");
    let outcomes = outcomes(&mut client);
    client.shut_down();
    let children = [0, 1].map(|at| {
        let child = outcomes[at]["childSessionId"].as_str().unwrap().to_owned();
        let log = lines(&world, &child);
        (child, log)
    });
    let own = lines(&world, "s");
    Played { world, mock, own, children }
}

impl Played {
    /// Where the session's log has the first event of a type; how many lines there are up to it.
    fn behind(&self, name: &str) -> usize {
        self.own.iter().position(|line| kind(line) == name).unwrap() + 1
    }

    fn put_back(&self, end: usize) {
        cut(&self.world, "s", &self.own[..end]);
        for (child, log) in &self.children {
            cut(&self.world, child, log);
        }
    }
}

/// Opens the session as an editor does after a crash and lets its next turn run. Returns the outcomes that the
/// client was told of, and how often the model reads of A and of B.
fn resumed(world: &World, mock: &MockModel) -> (Vec<Value>, [usize; 2], Client) {
    let mut client = world.ask(mock);
    client.request("session/subscribe", json!({ "sessionId": "s", "after": -1 }));
    client.request("session/get", json!({ "sessionId": "s" }));
    mock.add(say("RESUMED"));
    assert_eq!(client.complete("s", "Go on.")["text"], "RESUMED");
    let frames = client.frames();
    let mut results: Vec<&Value> =
        frames.iter().filter(|frame| frame["method"] == "deliberate/result").collect();
    assert_eq!(results.len(), 1, "a client is told once: {results:?}");
    let told = results.remove(0)["params"]["outcomes"].as_array().unwrap().clone();
    assert_eq!(told, outcomes(&mut client), "and the log says the same, once");
    let body = mock.requests().last().unwrap().json()["messages"].to_string();
    let counts = ["FOUND-BY-A", "FOUND-BY-B"].map(|found| body.matches(found).count());
    (told, counts, client)
}

#[test]
fn wherever_the_sessions_log_ends_a_round_comes_out_once_with_its_packets() {
    let played = played();
    let (first, last) =
        (played.behind("deliberation/started"), played.behind("deliberation/settled"));
    assert!(last - first >= 5, "both branches run and settle, and the packets are queued");
    for end in first..=last {
        played.put_back(end);
        let (outcomes, counts, client) = resumed(&played.world, &played.mock);
        let after = format!("{} at {end}", kind(&played.own[end - 1]));
        assert_eq!(reasons(&outcomes), ["completed"; 2], "after {after}");
        assert_eq!(counts, [1, 1], "after {after}");
        for (outcome, (child, _)) in outcomes.iter().zip(&played.children) {
            assert_eq!(outcome["childSessionId"], child.as_str(), "after {after}");
            assert_eq!(outcome["cleanup"], "completed", "after {after}");
        }
        client.shut_down();
    }
}

#[test]
fn wherever_a_childs_log_ends_its_packet_is_adopted_or_its_branch_was_interrupted() {
    let played = played();
    let (child, log) = &played.children[0];
    let handed_in = log.iter().rposition(|line| kind(line) == "tool/result").unwrap();
    let began = log.iter().rposition(|line| kind(line) == "turn/start").unwrap();
    for last in began..log.len() {
        played.put_back(played.behind("deliberation/started"));
        cut(&played.world, child, &log[..=last]);
        let (outcomes, counts, client) = resumed(&played.world, &played.mock);
        let after = format!("{} at {last}", kind(&log[last]));
        let (reason, cleanup) = if last >= handed_in {
            ("completed", "completed")
        } else {
            ("interrupted", "abandoned")
        };
        assert_eq!(reasons(&outcomes), [reason, "completed"], "after {after}");
        assert_eq!(outcomes[0]["cleanup"], cleanup, "after {after}");
        assert_eq!(counts, [usize::from(last >= handed_in), 1], "after {after}");
        client.shut_down();
    }
}

#[test]
fn what_was_said_of_a_branch_before_the_crash_stays() {
    let played = played();
    let end = played.behind("deliberation/settled") - 1;
    played.put_back(end);
    // The verdict on `a` was a timeout, whatever its child handed in later.
    let timed_out = played.own[..end].iter().map(|line| {
        let mut event = read(line);
        if event["data"]["label"] == "a" && event["data"]["state"] == "settled" {
            event["data"]["stopReason"] = "timeout".into();
        }
        event.to_string()
    });
    let timed_out: Vec<String> =
        timed_out.filter(|line| !line.contains("FOUND-BY-A")).enumerate().map(renumbered).collect();
    cut(&played.world, "s", &timed_out);
    let (outcomes, counts, client) = resumed(&played.world, &played.mock);
    assert_eq!(reasons(&outcomes), ["timeout", "completed"]);
    assert!(outcomes[0]["diagnostic"].as_str().unwrap().contains("within its time"));
    assert_eq!((outcomes[0].get("packet"), counts), (None, [0, 1]));
    client.shut_down();
}

/// A log's line with the seq of its place; the first is the header.
fn renumbered((at, line): (usize, String)) -> String {
    let mut event = read(&line);
    if at > 0 {
        event["seq"] = (at - 1).into();
    }
    event.to_string()
}

#[test]
fn a_round_whose_children_never_came_to_be_was_interrupted() {
    let played = played();
    let end = played.behind("deliberation/started");
    for (child, _) in &played.children {
        fs::remove_file(played.world.log(child)).unwrap();
    }
    // Long ago: what has just begun may be on its way in another process.
    let old = played.own[..end].iter().map(|line| {
        let mut event = read(line);
        if let Some(time) = event["time"].as_u64() {
            event["time"] = (time - 3_600_000).into();
        }
        event.to_string()
    });
    let old: Vec<String> = old.collect();
    cut(&played.world, "s", &old);
    let (outcomes, counts, client) = resumed(&played.world, &played.mock);
    assert_eq!((reasons(&outcomes), counts), (vec!["interrupted"; 2], [0, 0]));
    for outcome in &outcomes {
        assert_eq!(
            (&outcome["cleanup"], outcome.get("childSessionId")),
            (&json!("not-started"), None)
        );
        assert!(outcome["diagnostic"].as_str().unwrap().contains("server stopped"));
    }
    client.shut_down();
}

/// A person's round in which `a` answers this and `b` that, once both are asked.
fn running(a: Answer, b: Answer) -> (World, MockModel, Client) {
    let (world, mock, mut client) = stage([say("FIRST-ANSWER")]);
    client.complete("s", "FIRST-QUESTION");
    mock.add_when(OF_A, a);
    mock.add_when(OF_B, b);
    client.request("deliberate/start", start(true));
    mock.wait_for_requests(3);
    (world, mock, client)
}

fn holds() -> Answer {
    Answer::stream().delta("I think").hold()
}

/// A packet that is handed in when the model is released.
fn later(packet: &Value) -> Answer {
    let answer =
        Answer::stream().pause().tool_call(0, "p", "structured_output", &packet.to_string());
    answer.finish("tool_calls").done()
}

#[test]
fn a_server_that_is_killed_while_both_branches_work_leaves_a_round_that_was_interrupted() {
    let (world, mock, mut client) = running(holds(), holds());
    client.kill();
    let (outcomes, counts, client) = resumed(&world, &mock);
    assert_eq!((reasons(&outcomes), counts), (vec!["interrupted"; 2], [0, 0]));
    assert!(outcomes.iter().all(|outcome| outcome["cleanup"] == "abandoned"), "{outcomes:?}");
    client.shut_down();
}

#[test]
fn a_server_that_is_killed_between_two_branches_keeps_the_first_ones_packet() {
    let found = update("independent-alternative", "FOUND-BY-A");
    let (world, mock, mut client) = running(hand_in(&found), holds());
    client.event("s", "one branch to come out", |event| event["data"]["stopReason"] == "completed");
    client.kill();
    let (outcomes, counts, client) = resumed(&world, &mock);
    assert_eq!((reasons(&outcomes), counts), (vec!["completed", "interrupted"], [1, 0]));
    client.shut_down();
}

#[test]
fn a_server_that_is_killed_when_a_packet_is_in_its_childs_log_keeps_it() {
    let found = update("independent-alternative", "FOUND-BY-A");
    let (world, mock, mut client) = running(later(&found), holds());
    let running = client.event("s", "a", |event| {
        event["data"]["label"] == "a" && event["data"]["state"] == "running"
    });
    let child = running["data"]["childSessionId"].as_str().unwrap().to_owned();
    mock.release();
    until("the packet", || {
        let text = fs::read_to_string(world.log(&child)).unwrap();
        text.contains("\"type\":\"tool/result\"")
    });
    client.kill();
    let (outcomes, counts, client) = resumed(&world, &mock);
    assert_eq!((reasons(&outcomes), counts), (vec!["completed", "interrupted"], [1, 0]));
    client.shut_down();
}

#[test]
fn a_round_goes_on_while_another_process_looks() {
    let found = update("trajectory-audit", "FOUND-BY-B");
    let (world, mock, mut client) =
        running(hand_in(&nothing("independent-alternative")), later(&found));
    client.event("s", "one branch to come out", |event| event["data"]["stopReason"] == "completed");
    let mut other = world.ask(&mock);
    other.request("session/get", json!({ "sessionId": "s" }));
    other.request("session/rename", json!({ "sessionId": "s", "title": "Renamed" }));
    let is_settled = |client: &mut Client| {
        client.log("s").iter().any(|event| event["type"] == "deliberation/settled")
    };
    assert!(!is_settled(&mut other), "it is at work");
    mock.release();
    client.event_of("s", "deliberation/settled");
    assert_eq!(reasons(&outcomes(&mut client)), ["completed"; 2]);
    other.shut_down();
    client.shut_down();
}

#[test]
fn a_round_whose_process_is_killed_comes_out_for_whoever_looks_on() {
    let found = update("independent-alternative", "FOUND-BY-A");
    let (world, mock, mut client) = running(hand_in(&found), holds());
    client.event("s", "one branch to come out", |event| event["data"]["stopReason"] == "completed");
    let mut other = world.ask(&mock);
    other.request("session/subscribe", json!({ "sessionId": "s", "after": -1 }));
    other.request("session/get", json!({ "sessionId": "s" }));
    assert!(other.log("s").iter().all(|event| event["type"] != "deliberation/settled"));
    client.kill();
    // Nobody asks for anything.
    let settled = other.event_of("s", "deliberation/settled");
    let outcomes = settled["data"]["outcomes"].as_array().unwrap();
    assert_eq!(reasons(outcomes), ["completed", "interrupted"]);
    mock.release();
    other.shut_down();
}

#[test]
fn a_round_ends_with_the_session_that_is_closed() {
    let found = update("independent-alternative", "FOUND-BY-A");
    let (_world, mock, mut client) = running(hand_in(&found), holds());
    client.event("s", "one branch to come out", |event| event["data"]["stopReason"] == "completed");
    client.request("session/close", json!({ "sessionId": "s" }));
    mock.wait_until_closed();
    assert_eq!(reasons(&outcomes(&mut client)), ["completed", "aborted"]);
    client.shut_down();
}
