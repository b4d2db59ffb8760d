//! In which order a client hears of a round, however slowly it reads.

use super::*;

/// What a client heard of rounds, in order: the beginning, each state of a branch, the result.
fn heard(client: &Client) -> Vec<String> {
    let frames = client.frames();
    let told = frames.iter().filter_map(|frame| {
        let params = &frame["params"];
        let word = |name: &str| params[name].as_str().unwrap_or_default().to_owned();
        match frame["method"].as_str()? {
            "deliberate/started" => Some("started".to_owned()),
            "deliberate/result" => Some("result".to_owned()),
            "deliberate/branch" if params.get("activity").is_none() => {
                Some(format!("{} {}", word("label"), word("state")))
            }
            "session/event" if params["event"]["type"] == "deliberation/started" => {
                Some("event".to_owned())
            }
            _ => None,
        }
    });
    told.collect()
}

#[track_caller]
fn is_in_order(heard: &[String], expected: &[&str]) {
    let mut sorted = heard.to_vec();
    sorted.sort();
    let mut all = expected.to_vec();
    all.sort_unstable();
    assert_eq!(sorted, all, "each is heard once");
    let at = |what: &str| heard.iter().position(|it| it == what).unwrap();
    assert!(at("started") < at("a running") && at("started") < at("b running"), "{heard:?}");
    assert!(at("a running") < at("a settled") && at("b running") < at("b settled"), "{heard:?}");
    assert_eq!(at("result"), heard.len() - 1, "{heard:?}");
}

/// A session `s` that has deliberated while its client read nothing; `watched` are the sessions that it subscribes
/// to. Something long comes first, so that the client's pipe is full.
fn unread(watched: &[&str]) -> (World, MockModel, Client) {
    let world = World::new();
    world.file("src/parser.rs", "pub fn parse(text: &str) {}\n");
    let branches = [alternative("a"), alternative("b")];
    let mock =
        MockModel::start([say("Long."), call("d1", "deliberate", &asked(&branches)), say("Done.")]);
    let packet = nothing("independent-alternative");
    mock.add_when("## Focus\n\nfocus of a\n".replace('\n', "\\n").as_str(), hand_in(&packet));
    mock.add_when("## Focus\n\nfocus of b\n".replace('\n', "\\n").as_str(), hand_in(&packet));
    let mut client = world.ask(&mock);
    for session in ["s", "t"] {
        client.request("session/new", json!({ "sessionId": session }));
    }
    for session in watched {
        client.request("session/subscribe", json!({ "sessionId": session, "after": -1 }));
    }
    client.pause_reading(true);
    let long = "long ".repeat(200_000);
    client.ask("session/prompt", json!({ "sessionId": "t", "text": long }));
    mock.wait_for_requests(1);
    client.ask("session/prompt", json!({ "sessionId": "s", "text": "Go." }));
    mock.wait_for_requests(5);
    client.pause_reading(false);
    // It is the last that is said of a round, and in both ways of hearing.
    client.notification("deliberate/result", |_| true);
    (world, mock, client)
}

#[test]
fn a_subscriber_that_reads_late_hears_of_branches_between_their_rounds_events() {
    let (_world, _mock, client) = unread(&["t", "s"]);
    let heard = heard(&client);
    let expected =
        ["event", "started", "a running", "a settled", "b running", "b settled", "result"];
    is_in_order(&heard, &expected);
    assert_eq!(heard[..2], ["event", "started"]);
}

#[test]
fn whoever_subscribes_to_nothing_and_reads_late_hears_in_the_same_order() {
    let (_world, _mock, client) = unread(&["t"]);
    let expected = ["started", "a running", "a settled", "b running", "b settled", "result"];
    is_in_order(&heard(&client), &expected);
}

#[test]
fn a_fork_does_not_tell_of_its_parents_rounds_and_checks() {
    let branches = [alternative("a")];
    let (_world, mock, mut client) = stage([
        call("d1", "deliberate", &asked(&branches)),
        say("It is in `src/parser.rs:9`."),
        call("d2", "deliberate", &asked(&[branch("audit", "trajectory-audit")])),
        say("Done."),
    ]);
    mock.add_when(ALTERNATIVE, hand_in(&nothing("independent-alternative")));
    mock.add_when(AUDIT, hand_in(&nothing("trajectory-audit")));
    client.complete("s", "First.");
    client.complete("s", "Second.");
    let rounds = of_type(&mut client, "deliberation/settled");
    let child = rounds[1]["outcomes"][0]["childSessionId"].as_str().unwrap().to_owned();
    client.request("session/subscribe", json!({ "sessionId": child, "after": -1 }));
    client.notification("session/caughtUp", |it| it["sessionId"] == child.as_str());
    // The events are there, as the history that they are; nothing is news of the child.
    let inherited = client.received(&child);
    for name in ["deliberation/started", "deliberation/settled", "evidence/checked"] {
        assert!(inherited.iter().any(|event| event["type"] == name), "{name}");
    }
    let frames = client.frames();
    let of_child: Vec<&str> = frames
        .iter()
        .filter(|frame| frame["params"]["sessionId"] == child.as_str())
        .filter_map(|frame| frame["method"].as_str())
        .filter(|method| !method.starts_with("session/"))
        .collect();
    assert_eq!(of_child, Vec::<&str>::new());
}
