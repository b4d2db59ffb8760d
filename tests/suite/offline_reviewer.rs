//! The model without weights as a child agent: what it finds wrong with sessions in which something known is wrong,
//! and that it finds nothing else.

mod corpus;
mod round;

use dsh_tests::client::Client;
use dsh_tests::world::World;
use serde_json::{Value, json};

/// A route to the offline model beside the usual one.
const PATCH: &str = "- id: tool-deliberation\n  merge:\n    routes:\n      - name: same\n        description: The primary's model.\n      - name: offline\n        description: The model without weights.\n        provider: offline\n        model: retrieval\n";

/// A server in which branches can ask the offline model. No key is known to it.
fn serve(world: &World) -> Client {
    serve_with(world, "")
}

/// The same with more patches.
fn serve_with(world: &World, patch: &str) -> Client {
    world.patch(&format!("{PATCH}{patch}"));
    let mut client = world.connect(&[]);
    client.initialize();
    client
}

/// A branch of the offline model.
fn branch(role: &str, capability: &str) -> Value {
    let mut branch = json!({
        "label": role, "role": role, "route": "offline", "capability": capability,
        "focus": "whether what is cited is there",
    });
    if role == "masked-review" {
        branch["recentSteps"] = 8.into();
    }
    branch
}

/// Begins a round over a session; its id.
fn begin(client: &mut Client, session: &str, asked: Value) -> String {
    let mut params = asked;
    params["sessionId"] = session.into();
    let begun = client.request("deliberate/start", params);
    begun["roundId"].as_str().unwrap().to_owned()
}

/// The outcomes of a round.
fn outcomes(client: &Client, round: &str) -> Vec<Value> {
    let result = client.notification("deliberate/result", |it| it["roundId"] == round);
    result["outcomes"].as_array().unwrap().clone()
}

fn asked(branches: &[Value]) -> Value {
    json!({
        "goal": "Does the answer hold?",
        "incumbent": "It does.",
        "context": { "observations": [], "constraints": [], "unknowns": [] },
        "branches": branches,
    })
}
