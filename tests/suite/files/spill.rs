//! Results that are too long for the conversation: shown in part, kept whole, read on by their own session only.

use dsh_tests::script::Script;
use dsh_tests::world::World;
use serde_json::json;

use super::said;

#[test]
fn a_long_result_is_cut_with_a_note_and_the_same_session_reads_the_rest() {
    let world = World::new();
    for number in 0..40 {
        let line = format!("needle {}\n", "x".repeat(1500));
        world.file(&format!("f{number:02}.txt"), &line.repeat(100));
    }
    let script = Script::parse(
        "call grep {\"pattern\":\"needle\",\"limit\":5000}\n---\ncall read {\"file_path\":\"spill:grep-1\",\"offset\":500,\"limit\":2}\n---\nsay Done.",
    );
    let mut client = world.play(script);
    client.session("s");
    client.complete("s", "Look.");
    let events = client.log("s");
    let results: Vec<String> = events
        .iter()
        .filter(|event| event["type"] == "tool/result")
        .map(|event| {
            event["data"]["message"]["content"][0]["content"][0]["text"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    let [cut, rest] = results.as_slice() else { panic!("{} results", results.len()) };
    assert!(cut.len() < 51_000, "{}", cut.len());
    assert!(cut.starts_with("Found 4000 matches\nf00.txt\n"));
    assert!(
        cut.contains("bytes of this result are left out here; read spill:grep-1 for all of it]")
    );
    assert!(rest.contains("<path>spill:grep-1</path>") && rest.contains("\n500: "), "{rest}");
    for event in &events {
        assert!(event.to_string().len() < 200_000, "an event is too long");
    }
    let read = json!({ "name": "read", "arguments": { "file_path": "spill:grep-1", "limit": 1 } });
    let mut own = read.clone();
    own["sessionId"] = json!("s");
    assert_eq!(said(&client.request("tool/call", own)).lines(), ["Found 4000 matches"]);
    client.session("other");
    let mut other = read.clone();
    other["sessionId"] = json!("other");
    for params in [other, read] {
        let said = said(&client.request("tool/call", params));
        assert_eq!(said.code, "FS_NOT_FOUND");
        assert!(said.text.contains("no stored result spill:grep-1"), "{}", said.text);
    }
}
