//! The editor's framing: what cannot be read is named, and how the bytes are cut changes nothing.

use dsh_tests::client::Client;
use dsh_tests::framing::Framing;
use dsh_tests::seed::Seed;
use dsh_tests::world::World;
use serde_json::{Value, json};

fn connect(world: &World) -> Client {
    Client::spawn_framed(world.command(["lsp", "--model", "offline/retrieval"]), Framing::Lengths)
}

#[test]
fn what_is_no_frame_is_named_and_ends_the_process() {
    let world = World::new();
    let digits = format!("Content-Length: {}\r\n\r\n", "9".repeat(400));
    let gzip =
        b"Content-Length: 20\r\nContent-Encoding: gzip\r\n\r\n\x1f\x8b\x08\x00\x00\x00\x00\x00";
    let cases: [(&[u8], &str); 13] = [
        (b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} ", "two different"),
        (b"Content-Length: abc\r\n\r\n{}", "`Content-Length: abc`"),
        (b"Content-Length: -1\r\n\r\n{}", "-1"),
        (b"Content-Length: +5\r\n\r\n{}", "+5"),
        (b"Content-Length: 0x10\r\n\r\n{}", "0x10"),
        (b"Content-Length: 99999999999\r\n\r\n", "larger than the limit"),
        (b"Content-Length: 67108865\r\n\r\n", "larger than the limit"),
        (digits.as_bytes(), "not a number"),
        (gzip, "gzip"),
        (b"Content-Length: 4\r\nContent-Type: x; charset=utf-16\r\n\r\n{\0}\0", "utf-16"),
        (b"Foo: 1\r\n\r\n{}", "no `Content-Length`"),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}\n", "not a header line"),
        (b"\r\nContent-Length: 2\r\n\r\n{}", "no `Content-Length`"),
    ];
    for (bytes, named) in cases {
        for initialized in [false, true] {
            let mut client = connect(&world);
            if initialized {
                client.initialize();
            }
            client.write(bytes);
            let status = client.exit_status();
            assert_eq!(status.code(), Some(1), "{named}: while the input is open");
            let complaints = client.complaints();
            assert!(complaints.contains("framing: ") && complaints.contains(named), "{complaints}");
            assert!(client.frames().len() == usize::from(initialized), "no guess is answered");
            client.close_input();
        }
    }
}

#[test]
fn a_length_that_is_allowed_costs_nothing_before_its_bytes_come() {
    let world = World::new();
    let mut client = connect(&world);
    client.initialize();
    let before = client.memory("VmRSS");
    client.write(b"Content-Length: 67108864\r\n\r\n{\"jsonrpc\"");
    client.close_input();
    assert_eq!(client.exit_status().code(), Some(1));
    assert!(client.complaints().contains("ended in the middle"), "{}", client.complaints());
    assert!(before < 64 << 20, "{before} bytes at rest");
}

/// Fifty frames that a client might send, the last of them `exit`.
fn transcript(world: &World) -> Vec<Value> {
    let uri = format!("file://{}/a.txt", world.work().display());
    let document =
        json!({ "uri": uri, "languageId": "plaintext", "version": 1, "text": "öpen 🙂\n" });
    let mut frames = vec![
        json!({ "jsonrpc": "2.0", "id": "before", "method": "tool/list", "params": {} }),
        json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": world.editor() }),
        json!({ "jsonrpc": "2.0", "method": "initialized", "params": {} }),
        json!({ "jsonrpc": "2.0", "method": "textDocument/didOpen", "params": { "textDocument": document } }),
        json!({ "jsonrpc": "2.0", "id": "s", "method": "session/new", "params": { "sessionId": "s", "title": "Größe 🙂 é" } }),
        json!({ "jsonrpc": "2.0", "id": 404, "result": "nobody asked" }),
        json!([]),
        json!({ "jsonrpc": "1.0", "id": "old", "method": "tool/list" }),
    ];
    for number in 0..8 {
        let read = json!({ "name": "read", "arguments": { "file_path": "a.txt" } });
        let wrong = json!({ "name": "read", "arguments": { "file_path": format!("ä{number}🙂") } });
        frames.extend([
            json!({ "jsonrpc": "2.0", "id": format!("r{number}-π"), "method": "tool/call", "params": read }),
            json!({ "jsonrpc": "2.0", "id": 100 + number, "method": "tool/call", "params": wrong }),
            json!({ "jsonrpc": "2.0", "id": -number - 1, "method": "foo/bar", "params": [number] }),
            json!({ "jsonrpc": "2.0", "id": 200 + number, "method": "session/get", "params": { "sessionId": "nobody" } }),
            json!({ "jsonrpc": "2.0", "method": "$/cancelRequest", "params": { "id": 12_345 } }),
        ]);
    }
    frames.extend([
        json!({ "jsonrpc": "2.0", "id": "end", "method": "shutdown" }),
        json!({ "jsonrpc": "2.0", "method": "exit" }),
    ]);
    assert_eq!(frames.len(), 50);
    frames
}

/// Plays the transcript in pieces; returns the replies in the order of their texts. The last two frames come when
/// all others are answered, since a shutdown calls off what is under way.
fn replies(mut cut: impl FnMut(&[u8]) -> Vec<Vec<u8>>) -> Vec<String> {
    let world = World::new();
    world.file("a.txt", "on disk\n");
    let frames = transcript(&world);
    let mut client = connect(&world);
    for part in [&frames[..48], &frames[48..]] {
        let frames = part.iter().map(|frame| Framing::Lengths.frame(&frame.to_string()));
        let bytes: Vec<u8> = frames.flatten().collect();
        for piece in cut(&bytes) {
            client.write(&piece);
        }
        client.wait_for("the answers", |frames| (replies_in(frames) >= REPLIES - 1).then_some(()));
    }
    assert_eq!(client.exit_status().code(), Some(0), "{}", client.complaints());
    client.close_input();
    let root = world.root().display().to_string();
    let replies = client.frames().into_iter().filter(|frame| frame.get("method").is_none());
    let mut replies: Vec<String> = replies
        .map(|mut frame| {
            if let Some(session) = frame.pointer_mut("/result/session") {
                session["createdAt"] = Value::Null;
                session["updatedAt"] = Value::Null;
            }
            frame.to_string().replace(&root, "$W")
        })
        .collect();
    replies.sort();
    replies
}

/// Each of the eight rounds has four requests; around them are five and a batch.
const REPLIES: usize = 8 * 4 + 6;

fn replies_in(frames: &[Value]) -> usize {
    frames.iter().filter(|frame| frame.get("method").is_none()).count()
}

#[test]
fn how_the_bytes_are_cut_changes_no_reply() {
    let together = replies(|bytes| vec![bytes.to_vec()]);
    assert_eq!(together.len(), REPLIES, "{together:#?}");
    assert!(together.iter().any(|reply| reply.contains("öpen 🙂")));
    let each_byte = replies(|bytes| bytes.iter().map(|byte| vec![*byte]).collect());
    assert_eq!(each_byte, together, "each byte alone");
    for seed in 0..4 {
        let mut random = Seed::new(seed);
        let seeded =
            replies(|bytes| random.cut(bytes, 90).into_iter().map(<[u8]>::to_vec).collect());
        assert_eq!(seeded, together, "seed {seed}");
    }
}
