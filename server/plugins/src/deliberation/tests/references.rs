//! References of packets, checked against the files that are there.

use dsh_protocol::deliberation::Packet;
use tokio::time::Instant;

use super::super::refs::verified;
use super::*;

const TEXT: &str = "fn one() {\n    let a = 1;\n\n    two( a );\n}\n";

/// The references that are kept, and how many are dropped.
async fn kept(bench: &Bench, refs: Value) -> (Value, u64) {
    let mut own = packet();
    own["items"][0]["refs"] = refs;
    let packet: Packet = serde_json::from_value(own).unwrap();
    let until = Instant::now() + Duration::from_secs(10);
    let (packet, dropped) = verified(packet, bench.services.files.as_ref(), until).await;
    (serde_json::to_value(&packet.items.unwrap()[0].refs).unwrap(), dropped)
}

#[tokio::test]
async fn what_holds_is_kept_and_the_rest_is_counted() {
    let bench = Bench::new().await;
    let folder = bench.services.host.workspace.clone();
    std::fs::write(folder.join("a.rs"), TEXT).unwrap();
    std::fs::write(folder.join(".env"), "KEY=secret\n").unwrap();
    let long: Vec<String> = (1..=4_500).map(|line| format!("line {line}")).collect();
    std::fs::write(folder.join("long.txt"), long.join("\n")).unwrap();
    let holds = json!([
        { "path": "a.rs" },
        { "path": "a.rs", "line": 5 },
        { "path": "a.rs", "line": 4, "quote": "two( a )" },
        { "path": "a.rs", "quote": "let  a =   1;" },
        { "path": "a.rs", "line": 1, "quote": "fn one() {\nlet a = 1;" },
        { "path": "long.txt", "quote": "line 4321" },
        { "path": "long.txt", "quote": "line 2000\nline 2001\nline 2002" },
    ]);
    assert_eq!(kept(&bench, holds.clone()).await, (holds, 0));
    let holds_not = json!([
        { "path": "b.rs" },
        { "path": "a.rs", "line": 6 },
        { "path": "a.rs", "line": 3, "quote": "two( a )" },
        { "path": "a.rs", "quote": "three" },
        { "path": ".env", "line": 1 },
        { "path": "../a.rs" },
        { "path": "/etc/passwd", "line": 1 },
        { "path": "long.txt", "quote": "line 2000\nline 2002" },
    ]);
    assert_eq!(kept(&bench, holds_not).await, (Value::Null, 8));
    let mixed = json!([{ "path": "a.rs", "line": 2 }, { "path": "a.rs", "line": 99 }]);
    assert_eq!(kept(&bench, mixed).await, (json!([{ "path": "a.rs", "line": 2 }]), 1));
}

#[tokio::test]
async fn a_round_publishes_only_what_holds() {
    let bench = Bench::new().await;
    std::fs::write(bench.services.host.workspace.join("a.rs"), TEXT).unwrap();
    let fresh = Scripted::new("spawn", false);
    let _kept = bench.provide(&fresh);
    let mut own = packet();
    own["items"][0]["refs"] = json!([{ "path": "a.rs", "line": 1 }, { "path": "gone.rs" }]);
    fresh.script("a", Script::packet(own));
    let output = bench.call(alternatives(&["a"])).await.unwrap();
    let outcome = &output.value["outcomes"][0];
    assert_eq!(outcome["droppedRefs"], 1);
    assert_eq!(outcome["packet"]["items"][0]["refs"], json!([{ "path": "a.rs", "line": 1 }]));
    assert!(!output.text.contains("gone.rs"));
}
