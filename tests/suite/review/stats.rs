//! `dsh-ls sessions review-stats`: reviews counted from the logs alone.

use super::*;

fn counted(world: &World) -> Value {
    let output = world.run(["sessions", "review-stats", "--json"]);
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A reviewer's answer that says what it used.
fn costing(packet: &Value, prompt: u64, completion: u64) -> Answer {
    Answer::stream()
        .tool_call(0, "packet", "structured_output", &packet.to_string())
        .finish("tool_calls")
        .usage(&json!({ "prompt_tokens": prompt, "completion_tokens": completion }))
        .done()
}

#[test]
fn what_was_found_said_and_used_is_counted_beside_a_server_that_runs() {
    let (world, mock, mut client) = stage(ON, [reads(), say("One."), say("One, then.")]);
    mock.add_when(REVIEWER, costing(&update(), 1_000, 20));
    client.complete("s", "Go.");
    let first = client.notification("review/notice", |_| true)["reviewId"].clone();
    mock.add(call("read-2", "read", &json!({ "file_path": "src/parser.rs" })));
    mock.add(say("Two."));
    mock.add_when(REVIEWER, costing(&nothing(), 2_000, 5));
    client.complete("s", "Go on.");
    mock.add_when(REVIEWER, costing(&update(), 4_000, 40));
    client.request("review/start", json!({ "sessionId": "s" }));
    let notice =
        client.notification("review/notice", |it| it["turn"] == 2 && it["status"] == "update");
    for (review, state) in [(&first, "accepted"), (&notice["reviewId"], "dismissed")] {
        let item = json!({ "reviewId": review, "index": 0, "state": state });
        client.request("review/setItem", item);
    }
    let stats = counted(&world);
    assert_eq!((&stats["sessions"], &stats["unreadable"]), (&json!(1), &json!(0)));
    let sums = |by: &str, names: &[&str]| -> Vec<u64> {
        names.iter().map(|name| stats[by][*name].as_u64().unwrap()).collect()
    };
    let names = ["reviews", "updates", "noUpdates", "published", "items", "accepted", "dismissed"];
    assert_eq!(sums("automatic", &names), [2, 1, 1, 1, 1, 1, 0]);
    assert_eq!(sums("byPerson", &names), [1, 1, 0, 0, 1, 0, 1]);
    let rest = ["failed", "cancelled", "open", "released", "inputTokens", "outputTokens"];
    assert_eq!(sums("automatic", &rest), [0, 0, 0, 0, 3_000, 25]);
    assert_eq!(sums("byPerson", &rest), [0, 0, 0, 0, 4_000, 40]);
    assert!(sums("automatic", &["durationMs"])[0] > 0);
}

#[test]
fn a_folder_without_reviews_has_a_table_of_zeros_and_a_damaged_log_is_told_of() {
    let (world, _mock, mut client) = stage("", [say("One.")]);
    client.complete("s", "Go.");
    client.shut_down();
    world.leave_damaged();
    std::fs::write(world.log("s"), "no header\n").unwrap();
    let output = world.run(["sessions", "review-stats"]);
    assert!(output.status.success());
    let (text, complaint) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(text.contains("sessions with reviews: 0"), "{text}");
    assert!(complaint.contains("s.jsonl"), "{complaint}");
    let twice = world.run(["sessions", "review-stats", "--workspace", ".", "--workspace", "."]);
    assert_eq!(twice.status.code(), Some(2));
}
