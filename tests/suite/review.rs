//! Masked reviews: when a turn is reviewed, what its reviewer is sent, what the session's model is told and what
//! clients see of it.

use dsh_mock_model::answer::Answer;
use dsh_mock_model::server::MockModel;
use dsh_tests::client::Client;
use dsh_tests::world::World;
use serde_json::{Value, json};

mod crash;
mod editor;
mod guards;
mod meanwhile;
mod off;
mod person;
mod publication;
mod stats;

/// What the prompt of a reviewer says, and that of nobody else.
const REVIEWER: &str = "isolated `masked-review` child";

const ON: &str = "- id: tool-deliberation\n  merge: {autoReview: {enabled: true}}\n";

fn say(text: &str) -> Answer {
    Answer::stream().delta(text).finish("stop").done()
}

/// An answer that calls one tool.
fn call(id: &str, tool: &str, arguments: &Value) -> Answer {
    Answer::stream().tool_call(0, id, tool, &arguments.to_string()).finish("tool_calls").done()
}

fn reads() -> Answer {
    call("read-1", "read", &json!({ "file_path": "src/parser.rs" }))
}

/// A reviewer's answer that hands in a packet.
fn hand_in(packet: &Value) -> Answer {
    call("packet", "structured_output", packet)
}

/// The same, once the test lets it go on.
fn hand_in_later(packet: &Value) -> Answer {
    let answer = Answer::stream().pause();
    answer
        .tool_call(0, "packet", "structured_output", &packet.to_string())
        .finish("tool_calls")
        .done()
}

fn nothing() -> Value {
    json!({ "role": "masked-review", "status": "no_update" })
}

fn update() -> Value {
    json!({
        "role": "masked-review",
        "status": "update",
        "items": [{
            "kind": "possible_error",
            "certainty": "likely",
            "content": "FOUND: a test calls it too.",
            "refs": [{ "path": "src/parser.rs", "line": 1, "quote": "pub fn parse" }],
        }],
    })
}

/// A world with a file in it, a model, and a client with the session `s`.
fn stage(patch: &str, answers: impl IntoIterator<Item = Answer>) -> (World, MockModel, Client) {
    let world = World::new();
    world.file("src/parser.rs", "pub fn parse(text: &str) {}\n");
    configure(&world, patch);
    let mock = MockModel::start(answers);
    let mut client = world.ask(&mock);
    client.session("s");
    (world, mock, client)
}

fn configure(world: &World, patch: &str) {
    std::fs::create_dir_all(world.home()).unwrap();
    let patch = if patch.is_empty() { "[]\n" } else { patch };
    std::fs::write(world.home().join("cordis.patch.yml"), patch).unwrap();
}

/// What the reviewers were sent.
fn reviewers(mock: &MockModel) -> Vec<Value> {
    let bodies = mock.requests().into_iter();
    let bodies = bodies.filter(|it| String::from_utf8_lossy(&it.body).contains(REVIEWER));
    bodies.map(|request| request.json()).collect()
}

/// The events of reviews in `s`, and messages of plugins: each type with its data.
fn reviewing(client: &mut Client) -> Vec<(String, Value)> {
    let mut events = client.log("s");
    events
        .retain(|event| event["type"].as_str().unwrap().starts_with("review/") || is_notice(event));
    let named = |event: Value| (event["type"].as_str().unwrap().to_owned(), event["data"].clone());
    events.into_iter().map(named).collect()
}

/// Whether an event queues a plugin's message.
fn is_notice(event: &Value) -> bool {
    event["type"] == "agent/inbox/spliced"
        && event["data"]["inserted"][0]["source"]["kind"] == "plugin"
}

fn types(events: &[(String, Value)]) -> Vec<&str> {
    events.iter().map(|(name, _)| name.as_str()).collect()
}

/// What the only settlement says.
fn settled(client: &mut Client) -> Value {
    let mut found = reviewing(client);
    found.retain(|(name, _)| name == "review/settled");
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0).1
}

/// How many notices of a review the model was shown or will be.
fn notices(client: &mut Client) -> usize {
    reviewing(client).iter().filter(|(name, _)| name == "agent/inbox/spliced").count()
}
