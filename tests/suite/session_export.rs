//! A whole session as text: by the method, by a command, by the program.

use dsh_protocol::event::Event;
use dsh_protocol::transcript;
use dsh_tests::check_log;
use dsh_tests::client::Client;
use dsh_tests::script::Script;
use dsh_tests::world::World;
use serde_json::{Value, json};

/// A session `s` whose answer came in many pieces, with fences and what Markdown would take for its own.
fn talked(world: &World) -> Client {
    world.file("a.txt", "````\nalpha\n````\n");
    let words: Vec<String> = (0..50).map(|number| format!("w{number} ")).collect();
    let script = Script::new()
        .call("read", r#"{"file_path":"a.txt"}"#)
        .step()
        .say_chunks(words.iter().map(String::as_str));
    let mut client = world.play(script);
    client.request("session/new", json!({ "sessionId": "s", "title": "A *title* <b>" }));
    client.complete("s", "What is in `a.txt`?");
    client
}

#[test]
fn jsonl_is_a_log_file_whose_events_are_not_packed() {
    let world = World::new();
    let mut client = talked(&world);
    let text = client.request("session/export", json!({ "sessionId": "s", "format": "jsonl" }));
    let text = text["text"].as_str().unwrap().to_owned();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&lines[0]["type"], &lines[0]["id"]), (&json!("session"), &json!("s")));
    check_log::assert_same(&lines[1..], &client.log("s"), "one line for each event");
    // What was exported is a log that another home takes.
    let other = World::new();
    let place =
        other.home().join("sessions").join(world.log("s").parent().unwrap().file_name().unwrap());
    std::fs::create_dir_all(&place).unwrap();
    std::fs::write(place.join("s.jsonl"), &text).unwrap();
    other.leave_damaged();
    let mut again = Client::spawn({
        let mut command = other.command(["rpc", "--workspace"]);
        command.arg(world.work());
        command
    });
    again.initialize();
    check_log::assert_same(&again.log("s"), &lines[1..], "read again");
}

#[test]
fn markdown_is_the_transcript_in_a_document() {
    let world = World::new();
    let mut client = talked(&world);
    let text = client.request("session/export", json!({ "sessionId": "s", "format": "markdown" }));
    let text = text["text"].as_str().unwrap();
    assert!(text.starts_with("# A \\*title\\* \\<b\\>\n\n- session: `s`\n"), "{text}");
    let events: Vec<Event> = client.events("s");
    let transcript = transcript::print(&events);
    assert!(text.ends_with(&format!("`````text\n{transcript}`````\n")), "{text}");
}

#[test]
fn an_export_appends_nothing_to_what_a_crash_left() {
    let world = World::new();
    let model = world.model(Script::parse("say Half\nwait 10000"));
    let mut client = world.start(&model);
    client.session("s");
    client.prompt("s", "Go.");
    client.text("s", "Half");
    client.kill();
    let before = std::fs::read(world.log("s")).unwrap();
    let mut client = world.start(&model);
    for format in ["jsonl", "markdown"] {
        client.request("session/export", json!({ "sessionId": "s", "format": format }));
    }
    assert_eq!(std::fs::read(world.log("s")).unwrap(), before);
    let error = client.refused("session/export", json!({ "sessionId": "s", "format": "pdf" }));
    assert_eq!(error["code"], -32602);
    client.request("session/get", json!({ "sessionId": "s" }));
}

#[test]
fn commands_show_the_session_and_choose_its_model() {
    let world = World::new();
    let mut client = talked(&world);
    let run = |client: &mut Client, line: &str| {
        let ran = client.request("command/run", json!({ "sessionId": "s", "line": line }));
        (ran["ok"].as_bool().unwrap(), ran["text"].as_str().unwrap().to_owned())
    };
    let listed = client.request("command/list", json!({}))["commands"].clone();
    let listed = listed.as_array().unwrap().clone();
    for name in ["model", "export"] {
        assert!(listed.iter().any(|command| command["name"] == name), "{listed:?}");
    }
    let exported = client.request("session/export", json!({ "sessionId": "s", "format": "jsonl" }));
    assert_eq!(
        run(&mut client, "/export jsonl"),
        (true, exported["text"].as_str().unwrap().to_owned())
    );
    assert!(run(&mut client, "/export").1.starts_with("# A "));
    assert!(!run(&mut client, "/export pdf").0);
    client.shut_down();
    // Without a model that is forced for the process.
    let mut client = world.connect(&[]);
    client.initialize();
    assert!(run(&mut client, "/model offline/retrieval").0);
    assert_eq!(run(&mut client, "/model"), (true, "offline/retrieval".to_owned()));
    assert!(!run(&mut client, "/model nowhere/x").0);
    assert!(!run(&mut client, "/model nowhere").0);
    let got = client.request("session/get", json!({ "sessionId": "s" }));
    assert_eq!(got["session"]["model"], json!({ "provider": "offline", "model": "retrieval" }));
}
