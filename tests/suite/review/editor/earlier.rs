//! Findings that outlive the server: what the logs say still stands is shown again.

use super::*;

/// Ends the server and starts another one on the same home, as an editor that is opened again.
fn again(client: Client, world: &World, mock: &MockModel) -> Client {
    client.shut_down();
    let mut client = Client::spawn_framed(world.door("lsp", mock), Framing::Lengths);
    client.initialize_as(world.editor());
    client
}

/// An editor whose session has an item of a review at line 2 and a claim that does not hold at line 4.
fn found() -> (World, MockModel, Client) {
    let (world, mock, mut client) = editor(&json!({}));
    client.complete("s", "Go.");
    mock.add_when(REVIEWER, hand_in(&nothing()));
    mock.add(say("It ends with `nothing_of_that_name` (src/parser.rs:4)."));
    client.complete("s", "How does it end?");
    pushed(&client, &world, |all| all.len() == 2);
    (world, mock, client)
}

fn lines(shown: &[Value]) -> Vec<u64> {
    let mut lines: Vec<u64> =
        shown.iter().map(|it| it["range"]["start"]["line"].as_u64().unwrap()).collect();
    lines.sort_unstable();
    lines
}

#[test]
fn what_was_found_is_shown_again_by_the_next_server() {
    let (world, mock, client) = found();
    let client = again(client, &world, &mock);
    assert_eq!(lines(&pushed(&client, &world, |all| all.len() == 2)), [1, 3]);
}

#[test]
fn what_was_dismissed_stays_away() {
    let (world, mock, mut client) = found();
    let offered = actions(&mut client, &world, 3);
    run(&mut client, &offered[1]);
    pushed(&client, &world, |all| lines(all) == [1]);
    let mut client = again(client, &world, &mock);
    assert_eq!(lines(&pushed(&client, &world, |all| !all.is_empty())), [1]);
    let offered = actions(&mut client, &world, 1);
    run(&mut client, &offered[1]);
    pushed(&client, &world, <[Value]>::is_empty);
    let mut client = again(client, &world, &mock);
    // A third finding is the first thing that is shown: nothing came before it.
    mock.add(say("See `nothing_else` (src/parser.rs:1)."));
    client.complete("s", "And how does it begin?");
    pushed(&client, &world, |all| lines(all) == [0]);
    let all = client.frames();
    let first = all.iter().find(|it| it["method"] == "textDocument/publishDiagnostics").unwrap();
    assert_eq!(first["params"]["diagnostics"].as_array().unwrap().len(), 1);
}

#[test]
fn what_is_opened_again_is_shown_again() {
    let (world, _mock, mut client) = found();
    let checked = client.notification("evidence/checked", |it| it["failures"][0].is_object());
    let review = client.notification("review/notice", |_| true)["reviewId"].clone();
    for (state, shown) in [("dismissed", vec![]), ("open", vec![1, 3])] {
        let item = json!({ "reviewId": review, "index": 0, "state": state });
        client.request("review/setItem", item);
        let claim = json!({ "sessionId": "s", "seq": checked["seq"], "index": 0, "state": state });
        client.request("evidence/setItem", claim);
        pushed(&client, &world, |all| lines(all) == shown);
    }
    let unknown = json!({ "sessionId": "s", "seq": checked["seq"], "index": 1, "state": "open" });
    assert_eq!(client.refused("evidence/setItem", unknown)["code"], -32602);
}

#[test]
fn what_is_in_a_folder_that_is_closed_goes() {
    let (world, _mock, mut client) = found();
    let folder = json!({ "uri": format!("file://{}", world.work().display()), "name": "work" });
    let change = |added: &[&Value], removed: &[&Value]| json!({ "event": { "added": added, "removed": removed } });
    client.notify("workspace/didChangeWorkspaceFolders", change(&[], &[&folder]));
    pushed(&client, &world, <[Value]>::is_empty);
    client.notify("workspace/didChangeWorkspaceFolders", change(&[&folder], &[]));
    assert_eq!(lines(&pushed(&client, &world, |all| all.len() == 2)), [1, 3]);
}

#[test]
fn what_was_found_in_a_session_that_is_deleted_goes() {
    let (world, _mock, mut client) = found();
    client.request("session/delete", json!({ "sessionId": "s" }));
    pushed(&client, &world, <[Value]>::is_empty);
}
