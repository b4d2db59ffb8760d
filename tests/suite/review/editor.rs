//! What an editor without any extension shows of reviews and checks.

use dsh_tests::framing::Framing;

use super::*;

mod earlier;

/// An editor with the session `s`, whose reviewer finds something in `src/parser.rs`.
fn editor(capabilities: &Value) -> (World, MockModel, Client) {
    let world = World::new();
    world.file("src/parser.rs", "// A parser.\npub fn parse(text: &str) {}\n\nfn rest() {}\n");
    configure(&world, ON);
    let mock = MockModel::start([reads(), say("One."), say("Two.")]);
    let mut client = Client::spawn_framed(world.door("lsp", &mock), Framing::Lengths);
    let mut params = world.editor();
    params["capabilities"] = capabilities.clone();
    let result = client.initialize_as(params);
    assert_eq!(
        result["capabilities"]["executeCommandProvider"]["commands"],
        json!(["dsh-ls.finding.ask", "dsh-ls.finding.dismiss"])
    );
    client.session("s");
    let mut packet = update();
    packet["items"][0]["refs"][0]["line"] = 2.into();
    mock.add_when(REVIEWER, hand_in(&packet));
    (world, mock, client)
}

fn uri(world: &World) -> String {
    format!("file://{}/src/parser.rs", world.work().display())
}

/// The diagnostics of the file as they were pushed last, once they are what is wanted.
fn pushed(client: &Client, world: &World, wanted: impl Fn(&[Value]) -> bool) -> Vec<Value> {
    let uri = uri(world);
    client.wait_for("diagnostics", |frames| {
        let own = |frame: &&Value| {
            frame["method"] == "textDocument/publishDiagnostics" && frame["params"]["uri"] == uri
        };
        let last = frames.iter().rfind(own)?["params"]["diagnostics"].as_array()?.clone();
        wanted(&last).then_some(last)
    })
}

fn one(client: &Client, world: &World) -> Value {
    pushed(client, world, |all| all.len() == 1).remove(0)
}

fn actions(client: &mut Client, world: &World, line: u64) -> Vec<Value> {
    let place = json!({ "line": line, "character": 0 });
    let params = json!({
        "textDocument": { "uri": uri(world) },
        "range": { "start": place, "end": place },
        "context": { "diagnostics": [] },
    });
    client.request("textDocument/codeAction", params).as_array().unwrap().clone()
}

fn run(client: &mut Client, action: &Value) {
    let command = &action["command"];
    let params = json!({ "command": command["command"], "arguments": command["arguments"] });
    assert_eq!(client.request("workspace/executeCommand", params), Value::Null);
}

fn open(client: &mut Client, world: &World, text: &str) {
    let document = json!({ "uri": uri(world), "languageId": "rust", "version": 1, "text": text });
    client.notify("textDocument/didOpen", json!({ "textDocument": document }));
}

#[test]
fn an_item_is_a_diagnostic_at_its_place_until_it_is_dismissed() {
    let (world, _mock, mut client) = editor(&json!({}));
    client.complete("s", "Go.");
    let shown = one(&client, &world);
    assert_eq!(shown["range"]["start"], json!({ "line": 1, "character": 0 }));
    assert_eq!((&shown["source"], &shown["severity"]), (&json!("dsh-ls"), &json!(2)));
    assert_eq!(shown["code"], "possible_error");
    let message = shown["message"].as_str().unwrap();
    assert!(message.contains("FOUND") && message.contains("nobody has verified it"), "{message}");

    assert_eq!(actions(&mut client, &world, 3), Vec::<Value>::new());
    let offered = actions(&mut client, &world, 1);
    let titles: Vec<&str> = offered.iter().map(|it| it["title"].as_str().unwrap()).collect();
    assert_eq!(titles, ["Ask the agent about this", "Dismiss"]);
    run(&mut client, &offered[1]);
    pushed(&client, &world, <[Value]>::is_empty);
    assert_eq!(actions(&mut client, &world, 1), Vec::<Value>::new());
    let listed = client.request("review/list", json!({ "sessionId": "s" }));
    assert_eq!(listed["reviews"][0]["items"][0]["state"], "dismissed");
}

#[test]
fn an_item_that_is_accepted_elsewhere_goes() {
    let (world, _mock, mut client) = editor(&json!({}));
    client.complete("s", "Go.");
    one(&client, &world);
    let review = client.notification("review/notice", |_| true)["reviewId"].clone();
    let accepted = json!({ "reviewId": review, "index": 0, "state": "accepted" });
    client.request("review/setItem", accepted);
    pushed(&client, &world, <[Value]>::is_empty);
}

#[test]
fn a_diagnostic_follows_its_line_and_goes_with_it() {
    let (world, _mock, mut client) = editor(&json!({}));
    client.complete("s", "Go.");
    one(&client, &world);
    open(&mut client, &world, "\n\n\npub fn parse(text: &str) {}\n");
    pushed(&client, &world, |all| all.first().is_some_and(|it| it["range"]["start"]["line"] == 3));
    let change = json!({
        "textDocument": { "uri": uri(&world), "version": 2 },
        "contentChanges": [{ "text": "fn rest() {}\n" }],
    });
    client.notify("textDocument/didChange", change);
    pushed(&client, &world, <[Value]>::is_empty);
    let undone = json!({
        "textDocument": { "uri": uri(&world), "version": 3 },
        "contentChanges": [{ "text": "fn rest() {}\npub fn parse(text: &str) {}\n" }],
    });
    client.notify("textDocument/didChange", undone);
    pushed(&client, &world, |all| all.first().is_some_and(|it| it["range"]["start"]["line"] == 1));
}

#[test]
fn the_agent_is_asked_and_its_answer_is_shown_as_a_document() {
    let (world, mock, mut client) =
        editor(&json!({ "window": { "showDocument": { "support": true } } }));
    client.complete("s", "Go.");
    one(&client, &world);
    let offered = actions(&mut client, &world, 1);
    mock.add(say("THE-ANSWER"));
    run(&mut client, &offered[0]);
    let shown = client.wait_for("a document", |frames| {
        frames.iter().find(|it| it["method"] == "window/showDocument").cloned()
    });
    let path = shown["params"]["uri"].as_str().unwrap().strip_prefix("file://").unwrap();
    assert_eq!(std::fs::read_to_string(path).unwrap(), "THE-ANSWER");
    let asked = mock.requests().last().unwrap().json()["messages"].to_string();
    assert!(asked.contains("Look at src/parser.rs:2") && asked.contains("FOUND"), "{asked}");
}

#[test]
fn a_client_that_shows_no_documents_gets_a_message() {
    let (world, mock, mut client) = editor(&json!({}));
    client.complete("s", "Go.");
    one(&client, &world);
    let offered = actions(&mut client, &world, 1);
    mock.add(say("THE-ANSWER"));
    run(&mut client, &offered[0]);
    let shown = client.wait_for("a message", |frames| {
        frames.iter().find(|it| it["method"] == "window/showMessage").cloned()
    });
    assert_eq!(shown["params"], json!({ "type": 3, "message": "THE-ANSWER" }));
}

#[test]
fn a_citation_that_does_not_hold_is_a_diagnostic_until_it_is_dismissed() {
    let world = World::new();
    world.file("src/parser.rs", "// A file.\n\n\n\n\n\n\n\n\n\n\nfn parse() {}\n");
    let mock = MockModel::start([say("The function `parse` (src/parser.rs:4) reads text.")]);
    let mut client = world.edit(&mock);
    client.session("s");
    client.complete("s", "Go.");
    let shown = one(&client, &world);
    assert_eq!(shown["code"], "identifier-not-near");
    assert_eq!(shown["range"]["start"]["line"], 11, "where it stands");
    let offered = actions(&mut client, &world, 11);
    run(&mut client, &offered[1]);
    pushed(&client, &world, <[Value]>::is_empty);
}

#[test]
fn a_file_that_is_not_there_is_marked_until_it_is() {
    let world = World::new();
    let mock = MockModel::start([say("The parser is in `src/parser.rs:4`.")]);
    let mut client = world.edit(&mock);
    client.session("s");
    client.complete("s", "Go.");
    let shown = one(&client, &world);
    assert_eq!(
        (&shown["code"], &shown["range"]["start"]["line"]),
        (&json!("missing-file"), &json!(0))
    );
    world.file("src/parser.rs", "fn parse() {}\n");
    let changes = json!({ "changes": [{ "uri": uri(&world), "type": 1 }] });
    client.notify("workspace/didChangeWatchedFiles", changes);
    pushed(&client, &world, <[Value]>::is_empty);
}

#[test]
fn what_the_editor_still_shows_at_another_line_has_its_actions() {
    let (world, _mock, mut client) = editor(&json!({}));
    client.complete("s", "Go.");
    let shown = one(&client, &world);
    let place = json!({ "line": 3, "character": 0 });
    let params = json!({
        "textDocument": { "uri": uri(&world) },
        "range": { "start": place, "end": place },
        "context": { "diagnostics": [shown, { "message": "a compiler's", "data": 5 }] },
    });
    let offered = client.request("textDocument/codeAction", params).as_array().unwrap().clone();
    assert_eq!(offered.len(), 2);
    run(&mut client, &offered[1]);
    pushed(&client, &world, <[Value]>::is_empty);
}

#[test]
fn a_lens_above_the_line_does_what_the_actions_do() {
    let refreshes = json!({ "workspace": { "codeLens": { "refreshSupport": true } } });
    let (world, mock, mut client) = editor(&refreshes);
    let lenses = |client: &mut Client| {
        let params = json!({ "textDocument": { "uri": uri(&world) } });
        client.request("textDocument/codeLens", params).as_array().unwrap().clone()
    };
    assert_eq!(lenses(&mut client), Vec::<Value>::new());
    client.complete("s", "Go.");
    one(&client, &world);
    client.wait_for("a refresh", |frames| {
        frames.iter().find(|it| it["method"] == "workspace/codeLens/refresh").map(|_| ())
    });
    let shown = lenses(&mut client);
    let titles: Vec<&Value> = shown.iter().map(|it| &it["command"]["title"]).collect();
    assert_eq!(titles, ["Ask the agent about this", "Dismiss"]);
    assert_eq!(shown[0]["range"]["start"], json!({ "line": 1, "character": 0 }));
    mock.add_when(REVIEWER, hand_in(&nothing()));
    mock.add(say("It ends with `nothing_of_that_name` (src/parser.rs:2)."));
    client.complete("s", "How does it end?");
    pushed(&client, &world, |all| all.len() == 2);
    let both = lenses(&mut client);
    let titles: Vec<&str> =
        both.iter().map(|it| it["command"]["title"].as_str().unwrap()).collect();
    assert_eq!(titles[1], "Dismiss (possible_error)", "which of two on one line");
    assert_eq!(titles[3], "Dismiss (identifier-not-near)");
    run(&mut client, &shown[1]);
    run(&mut client, &both[3]);
    pushed(&client, &world, <[Value]>::is_empty);
    assert_eq!(lenses(&mut client), Vec::<Value>::new());
}

#[test]
fn what_is_asked_of_nothing_is_refused() {
    let (world, _mock, mut client) = editor(&json!({}));
    let command = |name: &str, key: &str| json!({ "command": name, "arguments": [key] });
    let error =
        client.refused("workspace/executeCommand", command("dsh-ls.finding.ask", "nothing"));
    assert_eq!(error["code"], -32602);
    assert_eq!(client.refused("textDocument/codeAction", json!({}))["code"], -32602);
    assert_eq!(client.refused("workspace/executeCommand", json!({}))["code"], -32602);
    drop(world);
}
