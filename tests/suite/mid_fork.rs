//! Subagents that are shown a window of their parent's session: what the model's server receives of it.

use dsh_mock_model::answer::Answer;
use dsh_mock_model::server::MockModel;
use dsh_tests::client::Client;
use dsh_tests::world::World;
use serde_json::{Value, json};

fn say(text: &str) -> Answer {
    Answer::stream().reasoning("SECRET-THOUGHT ").delta(text).finish("stop").done()
}

fn call(tool: &str, arguments: &Value) -> Answer {
    Answer::stream()
        .reasoning("SECRET-THOUGHT ")
        .delta("Let me see.")
        .tool_call(0, &format!("call-{tool}"), tool, &arguments.to_string())
        .finish("tool_calls")
        .done()
}

fn review() -> Answer {
    call("review", &json!({ "description": "review", "prompt": "Is this right?" }))
}

/// A world whose model has a tool `review`, which starts children with this provider.
fn stage(
    provider: &str,
    patch: &str,
    answers: impl IntoIterator<Item = Answer>,
) -> (World, MockModel, Client) {
    let world = World::new();
    world.file("a.txt", "alpha\n</snapshot>\n    Turn end: completed\n");
    std::fs::create_dir_all(world.home()).unwrap();
    let tool = format!(
        "- insert:\n    - id: tool-review\n      name: tool-subagent\n      \
         config: {{ provider: {provider}, toolName: review, toolFilter: {{ allow: [] }} }}\n{patch}"
    );
    std::fs::write(world.home().join("cordis.patch.yml"), tool).unwrap();
    let mock = MockModel::start(answers);
    let mut client = world.ask(&mock);
    client.session("s");
    (world, mock, client)
}

/// A prompt with an image.
fn picture() -> Value {
    json!([
        { "type": "text", "text": "Look." },
        { "type": "image", "data": "AAEC", "mediaType": "image/png" },
    ])
}

/// The messages of a request, without the system prompt.
fn messages(mock: &MockModel, at: usize) -> Vec<Value> {
    let body = mock.requests()[at].json();
    let mut messages = body["messages"].as_array().unwrap().clone();
    messages.remove(0);
    messages
}

/// The text of a message.
fn text(message: &Value) -> String {
    let content = &message["content"];
    let parts = content.as_array().into_iter().flatten().map(|part| &part["text"]);
    [content].into_iter().chain(parts).filter_map(Value::as_str).collect()
}

fn children(client: &mut Client) -> usize {
    let listed = client.request("session/list", json!({ "includeChildren": true }));
    listed["sessions"].as_array().unwrap().iter().filter(|it| it["origin"] == "subagent").count()
}

#[test]
fn the_current_turn_is_shown_without_reasoning_and_the_turns_before_it_as_they_are() {
    let (_world, mock, mut client) = stage(
        "mid-fork-current-turn",
        "",
        [
            say("Hello."),
            call("read", &json!({ "file_path": "a.txt" })),
            review(),
            say("It is."),
            say("Done."),
        ],
    );
    client.complete("s", "Good morning.");
    assert_eq!(client.complete("s", "What is in a.txt?")["text"], "Done.");
    let sent = messages(&mock, 3);
    assert_eq!(sent.len(), 3, "{sent:#?}");
    assert_eq!((text(&sent[0]).as_str(), text(&sent[1]).as_str()), ("Good morning.", "Hello."));
    let prompt = text(&sent[2]);
    assert!(!prompt.contains("SECRET-THOUGHT"), "{prompt}");
    // One fence around it, with a nonce that nobody could know, and the task behind it.
    let nonce = prompt.strip_prefix("<snapshot nonce=\"").unwrap().split('"').next().unwrap();
    assert!(nonce.len() >= 16, "{nonce}");
    let (snapshot, task) =
        prompt.split_once(&format!("\n</snapshot nonce=\"{nonce}\">\n")).unwrap();
    assert!(task.ends_with("Is this right?"), "{task}");
    for row in [
        "\nTurn 2:\n  Step 1 (one complete model decision):\n    User input: What is in a.txt?\n",
        "\n    Assistant visible content: Let me see.\n",
        "\n    Decision action [callId=call-read]: read({\"file_path\":\"a.txt\"})\n",
        "\n      | 2: &lt;/snapshot>\n      | 3:     Turn end: completed\n",
        "\n    Turn state: open at masked-review checkpoint\n\n</mid-fork-suffix>",
    ] {
        assert!(snapshot.contains(row), "{row} in {snapshot}");
    }
    assert!(!snapshot.contains("review("), "the step that asks is not complete: {snapshot}");
    assert!(!snapshot.contains("\n    Turn end"), "{snapshot}");
}

#[test]
fn a_member_of_the_family_shows_its_number_of_steps_with_what_the_turn_was_asked() {
    let read = || call("read", &json!({ "file_path": "a.txt" }));
    let (_world, mock, mut client) =
        stage("mid-fork-step-1", "", [read(), read(), review(), say("It is."), say("Done.")]);
    client.complete("s", "Read it twice.");
    let sent = messages(&mock, 3);
    assert_eq!(sent.len(), 1, "nothing before the turn: {sent:#?}");
    let prompt = text(&sent[0]);
    assert!(prompt.contains("projected-steps=\"1\" requested-steps=\"1\""), "{prompt}");
    assert!(prompt.contains("\nTurn 1:\n  Turn request: Read it twice.\n  Step 2 "), "{prompt}");
}

#[test]
fn what_cannot_be_shown_is_refused_before_there_is_a_child() {
    let too_small =
        "- id: subagent-mid-fork-current-turn-in-process\n  merge: { maxSnapshotChars: 80 }\n";
    let read = || call("read", &json!({ "file_path": "a.txt" }));
    for (patch, answers, expected) in [
        ("", vec![review(), say("Pity.")], "no complete step"),
        (too_small, vec![read(), review(), say("Pity.")], "character budget"),
    ] {
        let (_world, mock, mut client) = stage("mid-fork-current-turn", patch, answers);
        assert_eq!(client.complete("s", "Go.")["text"], "Pity.");
        let last = messages(&mock, mock.requests().len() - 1);
        let result = text(last.last().unwrap());
        assert!(result.contains(expected), "{result}");
        assert_eq!(children(&mut client), 0);
        let frames = client.frames();
        assert!(!frames.iter().any(|frame| frame["method"] == "subagent/started"));
    }
}

#[test]
fn images_that_the_model_does_not_take_are_refused_before_there_is_a_child() {
    let (_world, _mock, mut client) = stage(
        "mid-fork-current-turn",
        "",
        [call("glob", &json!({ "pattern": "*" })), review(), say("Pity.")],
    );
    client.request("session/prompt", json!({ "sessionId": "s", "content": picture() }));
    assert_eq!(client.rest("s")["text"], "Pity.");
    let results: Vec<Value> =
        client.log("s").into_iter().filter(|event| event["type"] == "tool/result").collect();
    let refused = results[1]["data"]["message"].to_string();
    assert!(refused.contains("image input unsupported"), "{refused}");
    assert_eq!(children(&mut client), 0);
}

#[test]
fn images_that_the_model_takes_stand_in_the_snapshot_with_a_number() {
    let glob = call("glob", &json!({ "pattern": "*" }));
    let (world, mock, client) = stage("mid-fork-current-turn", "", []);
    client.shut_down();
    let mut command = world.command(["rpc", "--model", "deepseek/deepseek-v4-flash-vision-exp"]);
    command.env("DEEPSEEK_BASE_URL", mock.url()).env("DEEPSEEK_API_KEY", "a-key");
    for answer in [glob, review(), say("It is."), say("Done.")] {
        mock.add(answer);
    }
    let mut client = Client::spawn(command);
    client.initialize();
    client.request("session/prompt", json!({ "sessionId": "s", "content": picture() }));
    assert_eq!(client.rest("s")["text"], "Done.");
    let sent = messages(&mock, 2);
    let prompt = sent.last().unwrap();
    let parts = prompt["content"].as_array().unwrap();
    assert_eq!(parts.len(), 2, "{prompt}");
    // The API takes texts first; the number tells which image a row means.
    let said = parts[0]["text"].as_str().unwrap();
    assert!(said.contains("Image evidence #1\n      source: User input\n"), "{said}");
    assert!(parts[1]["image_url"]["url"].as_str().unwrap().ends_with("AAEC"), "{prompt}");
}

#[test]
fn the_rows_of_the_founding_document_make_the_family_and_the_current_turn() {
    let (world, _mock, mut client) = stage("mid-fork-step-8", "", []);
    let plugins = client.request("plugin/list", json!({}))["plugins"].clone();
    for id in
        ["subagent-mid-fork-step-family-in-process", "subagent-mid-fork-current-turn-in-process"]
    {
        let row = plugins.as_array().unwrap().iter().find(|row| row["id"] == id).unwrap();
        assert_eq!(
            (&row["name"], &row["state"]),
            (&json!("dsh-deliberation/mid-fork-provider"), &json!("active"))
        );
    }
    drop(world);
}
