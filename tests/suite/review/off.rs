//! A review that is off costs nothing.

use super::*;

/// The requests of a turn under a patch, without what differs between any two runs.
fn asked(patch: &str) -> (Vec<Value>, Vec<String>) {
    let (_world, mock, mut client) = stage(patch, [reads(), say("One.")]);
    client.complete("s", "Who calls the parser?");
    let messages = mock.requests().into_iter().map(|it| it.json()["messages"].clone());
    let messages = messages
        .map(|mut messages| {
            // The system prompt names the folder, and the policy of the tool where there is one.
            messages[0]["content"] = Value::Null;
            messages
        })
        .collect();
    let types = client.log("s").iter().map(|it| it["type"].as_str().unwrap().to_owned()).collect();
    (messages, types)
}

#[test]
fn a_turn_asks_as_often_and_logs_the_same_as_without_the_row() {
    let without = asked("- id: tool-deliberation\n  disabled: true\n");
    assert_eq!(without.0.len(), 2);
    assert_eq!(asked(""), without);
}
