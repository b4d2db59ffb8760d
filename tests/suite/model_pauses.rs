//! Providers that ask for patience: heard within reason, visibly, and never longer than the person wants.

use std::time::{Duration, Instant};

use dsh_mock_model::answer::Answer;
use dsh_mock_model::server::MockModel;
use dsh_tests::client::Client;
use dsh_tests::network::check_requests;
use dsh_tests::world::World;
use serde_json::{Value, json};

fn say(text: &str) -> Answer {
    Answer::stream().delta(text).finish("stop").done()
}

fn busy(status: u16, header: &str, value: &str) -> Answer {
    let body = json!({ "error": { "message": "slow down" } });
    Answer::status(status).header(header, value).json(&body)
}

fn stage(answers: impl IntoIterator<Item = Answer>) -> (World, MockModel, Client) {
    let world = World::new();
    let mock = MockModel::start(answers);
    let mut client = world.ask(&mock);
    client.session("s");
    (world, mock, client)
}

fn retries(client: &mut Client) -> Vec<Value> {
    let mut events = client.log("s");
    events.retain(|event| event["type"] == "llm/retry");
    events.into_iter().map(|event| event["data"].clone()).collect()
}

#[test]
fn a_pause_that_a_provider_asks_for_is_kept_and_shown() {
    let (_world, mock, mut client) =
        stage([busy(429, "retry-after", "1"), busy(503, "retry-after-ms", "20"), say("Here.")]);
    let begun = Instant::now();
    client.prompt("s", "Go.");
    let retry = client.event_of("s", "llm/retry")["data"].clone();
    assert!(mock.requests().len() < 2, "it is told before the pause, not after");
    assert_eq!(
        (&retry["delayMs"], &retry["failure"]["code"]),
        (&json!(1000), &json!("RATE_LIMIT"))
    );
    assert_eq!(client.rest("s")["text"], "Here.");
    assert!(begun.elapsed() >= Duration::from_secs(1), "{:?}", begun.elapsed());
    let retries = retries(&mut client);
    assert_eq!(retries[1]["delayMs"], 20);
    assert_eq!(retries[1]["failure"]["code"], "SERVER");
    assert_eq!(check_requests(&mut client, "s", &mock), 3);
}

#[test]
fn a_cancel_ends_a_pause() {
    let (_world, mock, mut client) = stage([busy(429, "retry-after", "9"), say("Again.")]);
    client.prompt("s", "Go.");
    client.event_of("s", "llm/retry");
    let begun = Instant::now();
    client.request("session/cancel", json!({ "sessionId": "s" }));
    assert_eq!(client.rest("s")["outcome"], json!({ "kind": "aborted", "reason": "user" }));
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    assert_eq!(mock.requests().len(), 1);
    assert!(!client.log("s").iter().any(|event| event["type"] == "llm/retry-started"));
    assert_eq!(client.complete("s", "Go on.")["text"], "Again.");
}

#[test]
fn a_pause_beyond_all_patience_ends_the_turn_and_is_named() {
    let (_world, mock, mut client) = stage([busy(429, "retry-after", "86400")]);
    client.prompt("s", "Go.");
    let ended = client.rest("s")["outcome"].clone();
    assert_eq!(ended["error"]["code"], "RATE_LIMIT", "{ended}");
    assert_eq!(ended["error"]["providerRetryAfterMs"], 86_400_000, "{ended}");
    let message = ended["error"]["message"].as_str().unwrap();
    assert!(message.contains("try again in 86400 s"), "a person reads the message: {message}");
    assert_eq!(mock.requests().len(), 1);
    assert!(retries(&mut client).is_empty());
}

#[test]
fn a_pause_that_cannot_be_read_is_the_usual_one() {
    for value in ["abc", "-1", ""] {
        let (_world, mock, mut client) = stage([busy(429, "retry-after", value), say("Here.")]);
        assert_eq!(client.complete("s", "Go.")["text"], "Here.");
        let delay = retries(&mut client)[0]["delayMs"].as_u64().unwrap();
        assert!((450..=550).contains(&delay), "{value:?}: {delay}");
        assert_eq!(mock.requests().len(), 2);
    }
}
