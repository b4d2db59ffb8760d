//! What no client should send, through the real pipe: each frame gets its verdict, and the next one works.

use dsh_tests::client::Client;
use dsh_tests::script::Script;
use dsh_tests::seed::Seed;
use dsh_tests::world::World;
use serde_json::{Value, json};

/// Writes a frame and then a good request; returns the answers that came before that request's own.
fn answers_to(client: &mut Client, frame: &[u8]) -> Vec<Value> {
    let before = client.frames().len();
    client.write(frame);
    client.write(b"\n");
    let marker = client.ask("tool/list", json!({}));
    client.result(marker);
    let mut answers = client.frames().split_off(before);
    answers.retain(|frame| frame.get("method").is_none() && frame["id"] != marker);
    answers
}

/// `code id`, or `result id`.
fn verdict(answer: &Value) -> String {
    match answer["error"]["code"].as_i64() {
        Some(code) => format!("{code} {}", answer["id"]),
        None => format!("result {}", answer["id"]),
    }
}

#[test]
fn every_malformed_frame_gets_one_answer_and_the_connection_lives() {
    let world = World::new();
    let mut client = world.start("offline/retrieval");
    let deep =
        format!(r#"{{"jsonrpc":"2.0","id":5,"method":"a","params":{}"#, "[".repeat(1_000_000));
    let prompt = |text: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":9,"method":"session/prompt","params":{{"sessionId":"s","text":{text}}}}}"#
        )
    };
    let surrogate = prompt(r#""hi \ud83d""#);
    for (frame, expected) in [
        (r#"{"jsonrpc":"2.0","id":null,"method":"a"}"#, "-32600 null"),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"a"}"#, "-32600 null"),
        (r#"{"jsonrpc":"2.0","id":[1],"method":"a"}"#, "-32600 null"),
        (r#"{"jsonrpc":"2.0","id":{},"method":"a"}"#, "-32600 null"),
        (r#"{"jsonrpc":"2.0","id":true,"method":"a"}"#, "-32600 null"),
        (r#"{"jsonrpc":"1.0","id":1,"method":"a"}"#, "-32600 1"),
        (r#"{"jsonrpc":2.0,"id":1,"method":"a"}"#, "-32600 1"),
        (r#"{"id":1,"method":"a"}"#, "-32600 1"),
        (r#"{"jsonrpc":"2.0","id":1}"#, "-32600 1"),
        (r#"{"jsonrpc":"2.0","id":"x","method":7}"#, r#"-32600 "x""#),
        (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"a"}"#, "-32600 null"),
        ("{}", "-32600 null"),
        ("[]", "-32600 null"),
        ("[1]", "-32600 null"),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"x"}]"#, "-32600 null"),
        ("7", "-32600 null"),
        ("null", "-32600 null"),
        (r#""text""#, "-32600 null"),
        ("\u{feff}{}", "-32700 null"),
        ("nonsense", "-32700 null"),
        ("{", "-32700 null"),
        (r#"{"jsonrpc":"2.0","id":3,"method":"a","params":{"n":NaN}}"#, "-32700 3"),
        (r#"{"params":{"id":9,"x":},"id":3}"#, "-32700 null"),
        (r#"{"jsonrpc":"2.0","id":4,"method":"a",}"#, "-32700 4"),
        (r#"{"jsonrpc":"2.0","id":6,"method":"a"} trailing"#, "-32700 6"),
        (r#"{"jsonrpc":"2.0","id":7,"method":"tool/list","params":7}"#, "-32602 7"),
        (r#"{"jsonrpc":"2.0","id":7,"method":"tool/list","params":[1]}"#, "-32602 7"),
        (r#"{"jsonrpc":"2.0","id":7,"method":"tool/list","params":null}"#, "result 7"),
        (r#"{"jsonrpc":"2.0","id":7,"method":"tool/list"}"#, "result 7"),
        (r#"{"jsonrpc":"2.0","id":8,"method":"foo/bar"}"#, "-32601 8"),
        (r#"{"jsonrpc":"2.0","id":8,"method":"$/foo"}"#, "-32601 8"),
        (r#"{"jsonrpc":"2.0","id":8,"method":""}"#, "-32601 8"),
        (r#"{"jsonrpc":"2.0","id":0,"method":"tool/list"}"#, "result 0"),
        (r#"{"jsonrpc":"2.0","id":"","method":"tool/list"}"#, r#"result """#),
        (r#"{"jsonrpc":"2.0","id":-1,"method":"tool/list"}"#, "result -1"),
        (r#"{"jsonrpc":"2.0","id":"7","method":"tool/list"}"#, r#"result "7""#),
        (r#"{"jsonrpc":"2.0","id":"a-π","method":"tool/list"}"#, r#"result "a-π""#),
        (r#" {"jsonrpc":"2.0","method":"tool/list","id":7} "#, "result 7"),
        (surrogate.as_str(), "-32803 9"),
        (deep.as_str(), "-32700 5"),
    ] {
        let answers = answers_to(&mut client, frame.as_bytes());
        let verdicts: Vec<String> = answers.iter().map(verdict).collect();
        assert_eq!(verdicts, [expected], "{}", &frame[..frame.len().min(90)]);
    }
    let answers = answers_to(&mut client, b"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"\xff\"}");
    assert_eq!(answers.iter().map(verdict).collect::<Vec<_>>(), ["-32700 3"]);
}

#[test]
fn what_needs_no_answer_gets_none() {
    let world = World::new();
    let mut client = world.start("offline/retrieval");
    for frame in [
        "",
        "   ",
        "\r",
        r#"{"jsonrpc":"2.0","method":"foo/bar"}"#,
        r#"{"jsonrpc":"2.0","method":"$/foo","params":[1]}"#,
        r#"{"jsonrpc":"2.0","method":"session/prompt","params":{"sessionId":"s","text":"x"}}"#,
        r#"{"jsonrpc":"2.0","id":999,"result":1}"#,
        r#"{"jsonrpc":"2.0","error":{}}"#,
        r#"{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"no"}}"#,
        r#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":404}}"#,
        r#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{}}"#,
        r#"{"jsonrpc":"2.0","method":"$/cancelRequest"}"#,
        r#"{"jsonrpc":"2.0","method":"initialized"}"#,
    ] {
        assert_eq!(answers_to(&mut client, frame.as_bytes()), Vec::<Value>::new(), "{frame}");
    }
}

#[test]
fn params_of_a_wrong_shape_are_named() {
    let world = World::new();
    let mut client = world.start("offline/retrieval");
    client.session("s");
    let id = |rest: Value| {
        let mut params = rest;
        params["sessionId"] = json!("s");
        params
    };
    for (method, params, hint) in [
        ("session/prompt", json!({ "text": "x" }), "sessionId"),
        ("session/prompt", json!({ "sessionId": 7, "text": "x" }), "sessionId"),
        ("session/prompt", id(json!({})), "`text`"),
        ("session/prompt", id(json!({ "text": 7 })), "text"),
        ("session/prompt", id(json!({ "text": "" })), "blank"),
        ("session/prompt", id(json!({ "text": " \t\r\n\u{a0}\u{2028}" })), "blank"),
        ("session/prompt", id(json!({ "content": [] })), "blank"),
        ("session/prompt", id(json!({ "content": [{ "type": "text", "text": " " }] })), "blank"),
        ("session/prompt", id(json!({ "text": "x", "content": [] })), "not both"),
        ("session/prompt", id(json!({ "text": "x", "delivery": "later" })), "later"),
        (
            "session/prompt",
            id(json!({ "content": [{ "type": "reasoning", "text": "x" }] })),
            "text",
        ),
        ("session/prompt", id(json!({ "content": [{ "type": "nonsense" }] })), "nonsense"),
        ("session/events", id(json!({ "after": "x" })), "after"),
        ("session/events", id(json!({ "limit": -1 })), "limit"),
        ("session/wait", id(json!({ "timeoutMs": 1.5 })), "timeoutMs"),
        ("session/new", json!({ "sessionId": "s" }), "taken"),
        ("session/new", json!({ "model": "nonsense" }), "nonsense"),
        ("session/new", json!({ "workspace": "relative/folder" }), "relative/folder"),
        ("session/new", json!({ "workspace": "https://example.org/" }), "example.org"),
        ("tool/call", json!({ "arguments": {} }), "name"),
    ] {
        let error = client.refused(method, params.clone());
        assert_eq!(error["code"], -32602, "{method} {params}: {error}");
        assert!(error["message"].as_str().unwrap().contains(hint), "{params}: {error}");
    }
    assert_eq!(client.log("s"), Vec::<Value>::new(), "nothing was done with defaults");
    let page = client.request("session/events", id(json!({ "after": null, "limit": null })));
    assert_eq!(page["events"], json!([]), "null means not given");
}

#[test]
fn an_id_that_would_be_a_path_makes_no_session_and_finds_none() {
    let world = World::new();
    let mut client = world.start("offline/retrieval");
    let long = "x".repeat(65);
    for id in ["../../x", "a/b", ".", "..", "", "a.b", "a b", "ä", "a\0", "\\\\host\\x", &long] {
        let error = client.refused("session/new", json!({ "sessionId": id }));
        assert_eq!(error["code"], -32602, "{id}: {error}");
        let error = client.refused("session/get", json!({ "sessionId": id }));
        assert_eq!(error["data"]["kind"], "sessionNotFound", "{id}: {error}");
    }
    assert!(world.logs().is_empty());
    client.request("session/new", json!({ "sessionId": "x".repeat(64) }));
}

#[test]
fn what_does_not_exist_has_a_kind_of_its_own() {
    let world = World::new();
    let mut client = world.start("offline/retrieval");
    let elsewhere = world.root().display().to_string();
    let missing = world.root().join("missing").display().to_string();
    for (method, params, kind) in [
        ("session/get", json!({ "sessionId": "nobody" }), "sessionNotFound"),
        ("session/events", json!({ "sessionId": "nobody" }), "sessionNotFound"),
        ("session/subscribe", json!({ "sessionId": "nobody" }), "sessionNotFound"),
        ("session/prompt", json!({ "sessionId": "nobody", "text": "x" }), "sessionNotFound"),
        ("session/cancel", json!({ "sessionId": "nobody" }), "sessionNotFound"),
        ("session/wait", json!({ "sessionId": "nobody" }), "sessionNotFound"),
        ("session/new", json!({ "workspace": elsewhere }), "workspaceNotFound"),
        ("session/new", json!({ "workspace": missing }), "workspaceNotFound"),
        ("session/list", json!({ "workspace": missing }), "workspaceNotFound"),
        ("tool/call", json!({ "workspace": missing, "name": "read" }), "workspaceNotFound"),
        ("session/new", json!({ "model": "nobody/x" }), "modelNotFound"),
        ("session/list", json!({ "cursor": "nonsense" }), "cursorInvalid"),
    ] {
        let error = client.refused(method, params.clone());
        assert_eq!(error["code"], -32803, "{method} {params}: {error}");
        assert_eq!(error["data"]["kind"], kind, "{method} {params}: {error}");
        assert_eq!(error["data"]["retryable"], false, "{error}");
    }
}

/// Fifty frames, good and bad, whose answers are the same in every run.
fn conversation() -> Vec<u8> {
    let mut text = String::new();
    let mut id = 0;
    let mut say = |frame: &str| {
        id += 1;
        text.push_str(&frame.replace("ID", &id.to_string()));
        text.push_str(if id % 7 == 0 { "\r\n" } else { "\n" });
    };
    say(r#"{"jsonrpc":"2.0","id":ID,"method":"initialize","params":{}}"#);
    for _ in 0..7 {
        say(r#"{"jsonrpc":"2.0","id":ID,"method":"tool/list","params":{}}"#);
        say(r#"{"jsonrpc":"2.0","id":"ID","method":"model/list"}"#);
        say(
            r#"{"jsonrpc":"2.0","id":ID,"method":"session/get","params":{"sessionId":"你好🙂 é"}}"#,
        );
        say(r#"{"jsonrpc":"2.0","id":ID,"method":"foo/bar🙂","params":{"a":"\u00e9\n"}}"#);
        say(
            r#"{"jsonrpc":"2.0","id":ID,"method":"tool/call","params":{"name":"read","arguments":{"file_path":"ä.txt"}}}"#,
        );
        say("nonsense ID");
        say(r#"{"jsonrpc":"2.0","id":ID,"method":"session/prompt","params":{"sessionId":"s"}}"#);
    }
    text.into_bytes()
}

/// Sends the conversation in pieces, then ends the input; returns all answers, sorted.
fn answers_in_pieces(world: &World, pieces: Vec<&[u8]>) -> Vec<String> {
    let mut client = world.connect(&["--model", "offline/retrieval"]);
    for piece in pieces {
        client.write(piece);
    }
    client.close_input();
    assert_eq!(client.exit_status().code(), Some(0));
    let mut answers: Vec<String> = client.frames().iter().map(Value::to_string).collect();
    answers.sort();
    answers
}

#[test]
fn frames_may_be_cut_and_joined_anywhere() {
    let world = World::new();
    world.file("ä.txt", "alpha – β\n");
    let bytes = conversation();
    let whole = answers_in_pieces(&world, vec![&bytes]);
    assert_eq!(whole.len(), 50);
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(answers_in_pieces(&world, single), whole, "one byte at a time");
    for seed in 0..6 {
        let pieces = Seed::new(seed).cut(&bytes, 200);
        assert_eq!(answers_in_pieces(&world, pieces), whole, "seed {seed}");
    }
}

#[test]
fn a_line_over_the_limit_is_refused_and_skipped_without_being_held() {
    let world = World::new();
    let mut client = world.start("offline/retrieval");
    let before = client.request("server/status", json!({}))["rssBytes"].as_u64().unwrap();
    let block = vec![b'a'; 1 << 20];
    for _ in 0..100 {
        client.write(&block);
    }
    let answers = answers_to(&mut client, b"the end of a very long line");
    assert_eq!(answers.iter().map(verdict).collect::<Vec<_>>(), ["-32700 null"]);
    let after = client.request("server/status", json!({}))["rssBytes"].as_u64().unwrap();
    assert!(after < before + (96 << 20), "{before} bytes before, {after} after");
}

#[test]
fn twenty_thousand_requests_written_before_the_first_read_are_all_answered() {
    const REQUESTS: u64 = 20_000;
    let world = World::new();
    let mut client = world.start("offline/retrieval");
    client.pause_reading(true);
    let (done, is_done) = std::sync::mpsc::channel();
    let mut input = client.take_input();
    std::thread::spawn(move || {
        use std::io::Write as _;
        let padding = "x".repeat(1_000);
        for id in 0..REQUESTS {
            let method = if id % 2 == 0 { "session/unsubscribe" } else { "nonsense" };
            let params = json!({ "sessionId": "s", "padding": padding });
            let frame = json!({ "jsonrpc": "2.0", "id": format!("r{id}"), "method": method, "params": params });
            writeln!(input, "{frame}").unwrap();
        }
        done.send(input).unwrap();
    });
    let input = is_done.recv_timeout(std::time::Duration::from_secs(40));
    client.pause_reading(false);
    drop(input.expect("the server stopped reading"));
    assert_eq!(client.exit_status().code(), Some(0));
    let mut answered = vec![0; usize::try_from(REQUESTS).unwrap()];
    for frame in client.frames() {
        if let Some(number) = frame["id"].as_str().and_then(|id| id.strip_prefix('r')) {
            answered[number.parse::<usize>().unwrap()] += 1;
        }
    }
    assert!(answered.iter().all(|times| *times == 1), "each is answered once");
}

#[test]
fn a_client_that_leaves_its_answers_unread_is_not_read_from_and_gets_them_all() {
    let world = World::new();
    world.file("big.txt", &"a line of a big file that is read again and again\n".repeat(900));
    let mut client = world.start("offline/retrieval");
    client.pause_reading(true);
    let mut input = client.take_input();
    let writing = std::thread::spawn(move || {
        use std::io::Write as _;
        for id in 0..150 {
            let params = json!({ "name": "read", "arguments": { "file_path": "big.txt" } });
            let frame = json!({ "jsonrpc": "2.0", "id": format!("r{id}"), "method": "tool/call", "params": params });
            writeln!(input, "{frame}").unwrap();
        }
    });
    // The outbox takes some of them; the rest is written once the client reads.
    client.pause_reading(false);
    writing.join().unwrap();
    assert_eq!(client.exit_status().code(), Some(0));
    let answered = client.frames().iter().filter(|frame| frame["id"].is_string()).count();
    assert_eq!(answered, 150);
}

#[test]
fn a_prompt_with_half_a_character_has_a_mark_in_its_place() {
    let world = World::new();
    let mut client = world.play(Script::new().say("Hello."));
    client.session("s");
    let frame = br#"{"jsonrpc":"2.0","id":"half","method":"session/prompt","params":{"sessionId":"s","text":"hi \ud83d"}}"#;
    client.write(frame);
    client.write(b"\n");
    assert!(client.answer("half")["result"]["messageId"].is_string());
    assert_eq!(client.rest("s")["text"], "Hello.");
    let asked = client.event_of("s", "user/message");
    assert_eq!(asked["data"]["content"][0]["text"], "hi \u{fffd}");
}
