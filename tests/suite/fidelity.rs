//! Text is kept as it was sent, and what must not be shown is shown nowhere.

use std::os::unix::fs::symlink;

use dsh_tests::check_log;
use dsh_tests::script::Script;
use dsh_tests::world::World;
use serde_json::{Value, json};

#[test]
fn what_a_person_types_is_kept_and_sent_letter_by_letter() {
    let world = World::new();
    let texts = [
        "e\u{301} decomposed, é composed".to_owned(),
        "👩\u{200d}👩\u{200d}👧\u{200d}👦 🏳\u{fe0f}\u{200d}🌈".to_owned(),
        "line\u{2028}separator\u{2029}and\u{85}more".to_owned(),
        "nul \u{0} and \u{1b}[31m and \u{7f}".to_owned(),
        "\u{feff}bom \u{202e}reversed\u{202c}".to_owned(),
        "\r\n tabs\t and blanks \n".to_owned(),
        "\"quotes\" \\ back / </script> \u{fffd}".to_owned(),
        format!("{}\u{10ffff}", "a big paste, ünïcode and all\n".repeat(36_000)),
    ];
    let mut script = Script::new();
    for text in &texts {
        script = script.say_chunks([text.as_str(), "\u{0}", "é"]).turn();
    }
    let mut client = world.play(script);
    client.session("s");
    for text in &texts {
        let waited = client.complete("s", text);
        assert_eq!(waited["text"], format!("{text}\u{0}é"), "the answer");
    }
    let shown = client.request("session/messages", json!({ "sessionId": "s" }));
    let sent: Vec<&str> = shown["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|message| message["role"] == "user")
        .map(|message| message["content"][0]["text"].as_str().unwrap())
        .collect();
    assert_eq!(sent, texts);
    let log = std::fs::read_to_string(world.log("s")).unwrap();
    let is_whole = |line: &str| serde_json::from_str::<Value>(line).is_ok_and(|it| it.is_object());
    assert!(log.trim_end_matches('\n').split('\n').all(is_whole), "no event has two lines");
    client.event("s", "the last end", |event| {
        event["type"] == "turn/end" && event["data"]["turn"] == texts.len()
    });
    assert_eq!(client.received("s"), check_log::read(&world.log("s")).events);
}

#[test]
fn every_sort_of_content_is_kept_as_it_was_sent() {
    let world = World::new();
    let mut client = world.play(Script::new().say("Seen."));
    client.session("s");
    let content = json!([
        { "type": "text", "text": "Look:" },
        { "type": "resource", "uri": "file:///w/a%20b.rs", "range": { "startLine": 3, "endLine": 9 }, "text": "unsaved\r\n" },
        { "type": "image", "data": "AAEC", "mediaType": "image/png" },
        { "type": "text", "text": "" },
    ]);
    let params = json!({ "sessionId": "s", "content": content });
    client.request("session/prompt", params);
    client.rest("s");
    let shown = client.request("session/messages", json!({ "sessionId": "s" }));
    assert_eq!(shown["messages"][0]["content"], content);
}

#[test]
fn a_key_in_the_environment_is_in_no_answer_no_event_and_no_file() {
    const SENTINEL: &str = "SENTINEL-3f9a1c";
    let world = World::new();
    world.file("a.txt", "DEEPSEEK is mentioned here\n");
    for (link, target) in [
        ("README.md", "/proc/self/environ"),
        ("self", "/proc/self"),
        ("deep/environ", "/proc/self/task/../environ"),
        ("cmdline", "/proc/self/cmdline"),
    ] {
        let link = world.work().join(link);
        std::fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(target, link).unwrap();
    }
    let model = world.model(Script::parse(
        "call read {\"file_path\":\"README.md\"}\ncall read {\"file_path\":\"self/environ\"}\ncall read {\"file_path\":\"deep/environ\"}\ncall grep {\"pattern\":\"SENTINEL\"}\ncall grep {\"pattern\":\"DEEPSEEK\",\"path\":\"self\"}\ncall glob {\"pattern\":\"self/*\"}\n---\nsay Nothing.",
    ));
    let mut command = world.command(["rpc", "--model", &model]);
    command.env("DEEPSEEK_API_KEY", SENTINEL).env("DSH_LS_LOG", "trace").env("RUST_BACKTRACE", "1");
    let mut client = dsh_tests::client::Client::spawn(command);
    client.initialize();
    client.session("s");
    client.complete("s", "What is in the README?");
    for path in ["README.md", "self/environ", "deep/environ", "cmdline"] {
        let params = json!({ "name": "read", "arguments": { "file_path": path } });
        let result = client.request("tool/call", params);
        assert_eq!(result["error"]["code"], "FS_SANDBOX_DENIED", "{path}: {result}");
    }
    client.request("model/list", json!({}));
    client.request("server/status", json!({}));
    let said: String = client.frames().iter().map(Value::to_string).collect();
    assert!(!said.contains(SENTINEL), "in a frame");
    assert!(!client.complaints().contains(SENTINEL), "on standard error");
    client.shut_down();
    let files = world.home_files();
    assert!(!files.is_empty());
    for path in files {
        let bytes = std::fs::read(&path).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains(SENTINEL), "{}", path.display());
    }
}

#[test]
fn every_request_to_the_model_follows_from_the_log_before_it() {
    let world = World::new();
    world.file("a.txt", "alpha\n");
    let mut client = world.play(Script::parse(
        "think Hm.\nsay I look.\ncall read {\"file_path\":\"a.txt\"}\ncall nope {}\n---\nsay alpha.\nturn\nsay Half\nfinish error AUTH\nturn\nsay Again.",
    ));
    client.session("s");
    client.complete("s", "First.");
    client.prompt("s", "Second.");
    client.rest("s");
    client.complete("s", "Third.");
    let events = client.log("s");
    for (at, event) in events.iter().enumerate() {
        let params = json!({ "sessionId": "s", "at": event["seq"] });
        let shown = client.request("session/messages", params);
        let derived = dsh_tests::rules::messages(&events[..=at]);
        assert_eq!(shown["messages"], json!(derived), "at {at}");
    }
    let before = client.request("session/messages", json!({ "sessionId": "s", "at": -1 }));
    assert_eq!(before["messages"], json!([]));
    for at in [-2, i64::try_from(events.len()).unwrap()] {
        let error = client.refused("session/messages", json!({ "sessionId": "s", "at": at }));
        assert_eq!(error["data"]["kind"], "cursorInvalid");
    }
}

#[test]
fn a_page_of_events_has_what_was_asked_for_and_says_whether_there_is_more() {
    let world = World::new();
    let mut client = world.play(Script::parse("call glob {\"pattern\":\"*\"}\n---\nsay Done."));
    client.session("s");
    client.complete("s", "Look.");
    let all = client.log("s");
    for limit in [1, 2, 5, 100] {
        let mut pages = Vec::new();
        let mut after = -1;
        loop {
            let params = json!({ "sessionId": "s", "after": after, "limit": limit });
            let page = client.request("session/events", params);
            let events = page["events"].as_array().unwrap().clone();
            assert!(events.len() <= limit);
            assert_eq!(page["lastSeq"], all.len() - 1);
            let Some(last) = events.last() else { break };
            after = last["seq"].as_i64().unwrap();
            pages.extend(events);
            if page["more"] == false {
                break;
            }
        }
        check_log::assert_same(&pages, &all, &format!("pages of {limit}"));
    }
    let params = json!({ "sessionId": "s", "types": ["tool/call", "turn/end", "nonsense"] });
    let page = client.request("session/events", params);
    let types: Vec<&Value> =
        page["events"].as_array().unwrap().iter().map(|event| &event["type"]).collect();
    assert_eq!(types, ["tool/call", "turn/end"]);
    assert_eq!(page["more"], false);
}

#[test]
fn a_list_is_paged_searched_and_last_updated_first() {
    let world = World::new();
    let mut client = world.start("offline/retrieval");
    let mut expected = Vec::new();
    for number in 0..12 {
        let id = format!("session-{number}");
        let params = json!({ "sessionId": id, "title": format!("Größe {number}") });
        client.request("session/new", params);
        expected.push(id);
    }
    let mut listed = Vec::new();
    let mut times = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let params = json!({ "limit": 5, "cursor": cursor });
        let page = client.request("session/list", params);
        for session in page["sessions"].as_array().unwrap() {
            listed.push(session["sessionId"].as_str().unwrap().to_owned());
            times.push(session["updatedAt"].as_u64().unwrap());
        }
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert!(times.is_sorted_by(|before, after| before >= after), "{times:?}");
    listed.sort();
    expected.sort();
    assert_eq!(listed, expected, "each once");
    for (query, count) in [("größe 7", 1), ("SESSION-1", 3), ("nobody", 0), ("", 12)] {
        let page = client.request("session/list", json!({ "query": query }));
        assert_eq!(page["sessions"].as_array().unwrap().len(), count, "{query}");
    }
}
