//! Runs a fixture through the real process and compares the session with a text.

use dsh_protocol::transcript::Transcript;
use expect_test::Expect;
use serde_json::{Value, json};

use crate::client::Client;
use crate::fixture::{Action, Fixture};
use crate::world::World;

/// The session that fixtures play in.
const SESSION: &str = "s";

/// Plays a fixture and compares the transcript of its session. Paths of this run are shown as `$W`.
#[track_caller]
pub fn check_turn(fixture: &str, expected: &Expect) {
    let fixture = Fixture::parse(fixture);
    let world = World::new();
    for (path, text) in &fixture.files {
        world.file(path, text);
    }
    let model = world.model(fixture.model);
    let mut client = world.start(&model);
    client.session(SESSION);
    let mut seen = 0;
    for action in fixture.editor {
        match action {
            Action::Message(delivery, text) => {
                let params = json!({ "sessionId": SESSION, "text": text, "delivery": delivery });
                client.request("session/prompt", params);
            }
            Action::Cancel(keep) => {
                let params = json!({ "sessionId": SESSION, "keepQueue": keep });
                client.request("session/cancel", params);
            }
            Action::AwaitText(text) => {
                client.text(SESSION, &text);
            }
            Action::AwaitEvent(name) => seen = await_event(&client, &name, seen),
            Action::Rest => {
                client.rest(SESSION);
            }
            Action::Restart => {
                client.rest(SESSION);
                client.shut_down();
                client = world.start(&model);
                let params = json!({ "sessionId": SESSION, "after": -1 });
                client.request("session/subscribe", params);
                seen = 0;
            }
        }
    }
    client.rest(SESSION);
    let mut transcript = Transcript::new().cut_results(3);
    client.events(SESSION).iter().for_each(|event| transcript.push(event));
    let work = world.work().display().to_string();
    expected.assert_eq(&transcript.finish().replace(&work, "$W"));
    client.shut_down();
}

/// Waits for an event of a type with a seq of at least `from`; returns the seq behind it.
fn await_event(client: &Client, name: &str, from: u64) -> u64 {
    let event = client.event(SESSION, name, |event: &Value| {
        event["type"] == name && event["seq"].as_u64() >= Some(from)
    });
    event["seq"].as_u64().unwrap() + 1
}
