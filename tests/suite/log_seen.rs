//! What a client was told of a session holds after the process was killed: the same events, under the same seqs.

use std::fs;
use std::time::Duration;

use dsh_tests::check_log::{assert_same, read_whole};
use dsh_tests::client::Client;
use dsh_tests::script::Script;
use dsh_tests::seed::Seed;
use dsh_tests::thorough;
use dsh_tests::world::World;
use serde_json::{Value, json};

/// A model whose deltas come one by one, as those of a real one do, and some in a burst.
fn slow_answers(turns: usize) -> Script {
    let words: Vec<String> = (0..40).map(|number| format!("w{number} ")).collect();
    let words = || words.iter().map(String::as_str);
    let mut script = Script::new();
    for _ in 0..turns {
        script = script.say_every(2, words()).call("read", r#"{"file_path":"a.txt"}"#).step();
        script = script.say_chunks(words()).say_every(1, words()).turn();
    }
    script
}

/// What a client was told, in the order of the log, which is that in which it was told.
#[track_caller]
fn told(client: &Client, after: i64) -> Vec<Value> {
    let events = client.received("s");
    for (event, seq) in events.iter().zip(after + 1..) {
        assert_eq!(event["seq"], seq, "each once and in order");
    }
    events
}

#[test]
fn what_a_client_was_told_before_a_kill_is_in_the_log_afterwards() {
    let world = World::new();
    world.file("a.txt", "alpha\n");
    let kills = thorough(10, 100);
    let model = world.model(slow_answers(2 * kills));
    let mut client = world.start(&model);
    client.session("s");
    // A page of a big log is read without loading it.
    let long = json!({ "sessionId": "s", "text": "x".repeat(1_100_000), "delivery": "inject" });
    client.request("session/prompt", long);
    let mut known = client.log("s");
    client.shut_down();
    let mut beside = 0;
    for kill in 0..kills {
        let mut moment = Seed::new(kill as u64);
        let mut client = world.start(&model);
        client.request("session/subscribe", json!({ "sessionId": "s" }));
        let after = i64::try_from(known.len()).unwrap() - 1;
        client.ask("session/prompt", json!({ "sessionId": "s", "text": "Count." }));
        let last = after + 1 + i64::try_from(moment.below(160)).unwrap();
        client.event("s", "the moment", |event| {
            event["seq"].as_i64() >= Some(last) || event["type"] == "turn/end"
        });
        moment.spin(Duration::from_millis(5));
        client.kill();
        let seen = told(&client, after);
        let on_disk = read_whole(&world.log("s")).events.len();
        beside += usize::from(on_disk < known.len() + seen.len());
        let seen = [known, seen].concat();
        let cursor = seen.len() - 1;

        let mut client = world.start(&model);
        let of_cursor = json!({ "sessionId": "s", "after": cursor });
        // Whichever way it comes back.
        if kill % 2 == 0 {
            client.request("session/events", of_cursor.clone());
        }
        client.request("session/subscribe", of_cursor);
        known = client.log("s");
        assert_same(&known[..seen.len()], &seen, &format!("kill {kill}"));
        client.shut_down();
        let packed = fs::read_to_string(world.log("s")).unwrap();
        assert_same(&read_whole(&world.log("s")).events, &known, "the file");
        assert!(packed.lines().count() < known.len() / 2, "deltas are packed all the same");
        let left = world.home_files().into_iter().find(|path| path.ends_with("s.ahead"));
        assert_eq!(left, None, "nothing is left beside it");
    }
    assert!(beside > 0, "no kill met a delta that was not in the log yet");
}
