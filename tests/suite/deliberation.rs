//! Rounds of isolated child agents: what each is sent, what comes back, and what one that misbehaves does not
//! change.

use dsh_mock_model::answer::Answer;
use dsh_mock_model::server::{MockModel, Recorded};
use dsh_tests::client::Client;
use dsh_tests::world::World;
use serde_json::{Value, json};

mod images;
mod isolation;
mod left;
mod order;
mod person;
mod round;
mod rows;

/// What the prompt of each role begins with, and that of no other request.
const ALTERNATIVE: &str = "isolated `independent-alternative` branch";
const AUDIT: &str = "isolated `trajectory-audit` branch";
const REVIEW: &str = "isolated `masked-review` branch";

fn say(text: &str) -> Answer {
    Answer::stream().delta(text).finish("stop").done()
}

/// An answer that calls one tool.
fn call(id: &str, tool: &str, arguments: &Value) -> Answer {
    Answer::stream().tool_call(0, id, tool, &arguments.to_string()).finish("tool_calls").done()
}

/// A child's answer that hands in a packet.
fn hand_in(packet: &Value) -> Answer {
    call("packet", "structured_output", packet)
}

fn nothing(role: &str) -> Value {
    json!({ "role": role, "status": "no_update" })
}

fn update(role: &str, content: &str) -> Value {
    json!({
        "role": role,
        "status": "update",
        "items": [{ "kind": "possible_error", "certainty": "likely", "content": content }],
    })
}

fn branch(label: &str, role: &str) -> Value {
    json!({
        "label": label, "route": "same", "capability": "read-only", "focus": format!("focus of {label}"),
        "role": role,
    })
}

fn alternative(label: &str) -> Value {
    branch(label, "independent-alternative")
}

fn asked(branches: &[Value]) -> Value {
    json!({
        "goal": "GOAL: is the parser safe?",
        "incumbent": "INCUMBENT: it is.",
        "context": { "observations": ["It has one caller."], "constraints": [], "unknowns": [] },
        "branches": branches,
    })
}

/// The three roles once each; the review reads so many steps.
fn three(steps: u64) -> Vec<Value> {
    let mut reason_only = alternative("other");
    reason_only["capability"] = "reason-only".into();
    let mut review = branch("again", "masked-review");
    review["recentSteps"] = steps.into();
    vec![reason_only, branch("audit", "trajectory-audit"), review]
}

/// A world with a file in it, a model, and a client with the session `s`.
fn stage(answers: impl IntoIterator<Item = Answer>) -> (World, MockModel, Client) {
    stage_with("", answers)
}

/// The same with a patch of the home.
fn stage_with(
    patch: &str,
    answers: impl IntoIterator<Item = Answer>,
) -> (World, MockModel, Client) {
    let world = World::new();
    world.file("src/parser.rs", "pub fn parse(text: &str) {}\n");
    if !patch.is_empty() {
        world.patch(patch);
    }
    let mock = MockModel::start(answers);
    let mut client = world.ask(&mock);
    client.session("s");
    (world, mock, client)
}

/// The bodies of the requests that have a text.
fn requests(mock: &MockModel, text: &str) -> Vec<Value> {
    let bodies = mock.requests().into_iter().filter(|it| has(it, text));
    bodies.map(|request| request.json()).collect()
}

fn has(request: &Recorded, text: &str) -> bool {
    String::from_utf8_lossy(&request.body).contains(text)
}

/// The names of the tools of a request.
fn tools(body: &Value) -> Vec<&str> {
    let tools = body["tools"].as_array().into_iter().flatten();
    tools.map(|tool| tool["function"]["name"].as_str().unwrap()).collect()
}

/// What the events of a type in `s` carry.
fn of_type(client: &mut Client, name: &str) -> Vec<Value> {
    let mut events = client.log("s");
    events.retain(|event| event["type"] == name);
    events.into_iter().map(|event| event["data"].clone()).collect()
}

/// The outcomes of the only round of `s`.
fn outcomes(client: &mut Client) -> Vec<Value> {
    let settled = of_type(client, "deliberation/settled");
    assert_eq!(settled.len(), 1, "{settled:?}");
    settled[0]["outcomes"].as_array().unwrap().clone()
}

/// The stop reason of each branch.
fn reasons(outcomes: &[Value]) -> Vec<&str> {
    outcomes.iter().map(|outcome| outcome["stopReason"].as_str().unwrap()).collect()
}

fn loaded(client: &mut Client) -> u64 {
    client.request("server/status", json!({}))["sessions"].as_u64().unwrap()
}
