//! What an editor has open is what the tools see, however it was edited; and its folders are the workspaces.

use dsh_mock_model::server::MockModel;
use dsh_tests::client::Client;
use dsh_tests::seed::Seed;
use dsh_tests::world::{World, until};
use serde_json::{Value, json};

fn uri(world: &World, path: &str) -> String {
    format!("file://{}/{path}", world.work().display())
}

/// An editor whose columns count `encoding`; empty: it does not say.
fn editor(world: &World, encoding: &str) -> Client {
    let mock = MockModel::start([]);
    let mut client =
        Client::spawn_framed(world.door("lsp", &mock), dsh_tests::framing::Framing::Lengths);
    let mut params = world.editor();
    if !encoding.is_empty() {
        params["capabilities"]["general"] = json!({ "positionEncodings": [encoding] });
    }
    let result = client.initialize_as(params);
    let agreed = if encoding.is_empty() { "utf-16" } else { encoding };
    assert_eq!(result["capabilities"]["positionEncoding"], agreed);
    assert_eq!(result["capabilities"]["textDocumentSync"]["change"], 2, "incremental");
    client
}

fn open(client: &mut Client, uri: &str, text: &str) {
    let document = json!({ "uri": uri, "languageId": "plaintext", "version": 1, "text": text });
    client.notify("textDocument/didOpen", json!({ "textDocument": document }));
}

fn change(client: &mut Client, uri: &str, version: usize, changes: &[Value]) {
    let document = json!({ "uri": uri, "version": version });
    let params = json!({ "textDocument": document, "contentChanges": changes });
    client.notify("textDocument/didChange", params);
}

/// The lines that the tools see.
fn read(client: &mut Client, path: &str) -> Vec<String> {
    let params = json!({ "name": "read", "arguments": { "file_path": path } });
    let result = client.request("tool/call", params);
    assert_eq!(result["isError"], false, "{result}");
    let lines = result["value"]["lines"].as_array().unwrap();
    lines.iter().map(|line| line["text"].as_str().unwrap().to_owned()).collect()
}

/// An editor's own copy of a document.
struct Copy {
    text: Vec<char>,
    width: fn(char) -> usize,
}

impl Copy {
    fn new(text: &str, encoding: &str) -> Self {
        let width = if encoding == "utf-8" { char::len_utf8 } else { char::len_utf16 };
        Self { text: text.chars().collect(), width }
    }

    /// A place where a cursor can stand: not inside a line's end.
    fn place(&self, seed: &mut Seed) -> usize {
        let at = usize::try_from(seed.below(self.text.len() as u64 + 1)).unwrap();
        let inside = at > 0 && self.text[at - 1] == '\r';
        if inside { at - 1 } else { at }
    }

    fn position(&self, at: usize) -> Value {
        let before = &self.text[..at];
        let line = before.iter().filter(|char| **char == '\n').count();
        let start = before.iter().rposition(|char| *char == '\n').map_or(0, |end| end + 1);
        let column: usize = before[start..].iter().map(|char| (self.width)(*char)).sum();
        json!({ "line": line, "character": column })
    }

    /// Replaces something by something; returns the change as the editor tells it.
    fn edit(&mut self, seed: &mut Seed) -> Value {
        const PIECES: [&str; 14] = [
            "a",
            "é",
            "🙂",
            "e\u{301}",
            "你好",
            "\n",
            "\r\n",
            "\t",
            "",
            "",
            "👩\u{200d}👧",
            "\u{10ffff}",
            "word word",
            "\nß\n",
        ];
        let (one, other) = (self.place(seed), self.place(seed));
        let start = one.min(other);
        // Mostly small replacements, so that the text grows.
        let mut end = one.max(other).min(start + usize::try_from(seed.below(3)).unwrap());
        if end > start && self.text[end - 1] == '\r' {
            end -= 1;
        }
        let text = PIECES[usize::try_from(seed.below(PIECES.len() as u64)).unwrap()];
        let range = json!({ "start": self.position(start), "end": self.position(end) });
        self.text.splice(start..end, text.chars());
        json!({ "range": range, "text": text })
    }

    fn lines(&self) -> Vec<String> {
        let text: String = self.text.iter().collect();
        text.lines().map(str::to_owned).collect()
    }
}

#[test]
fn two_hundred_edits_leave_what_the_editor_has() {
    for (number, encoding) in ["utf-8", "utf-16", ""].into_iter().enumerate() {
        let world = World::new();
        let text = "first line\r\nzweite Zeile ä🙂\n\n最後の行";
        world.file("ä.txt", "on disk\n");
        let uri = uri(&world, "%C3%A4.txt");
        let mut client = editor(&world, encoding);
        open(&mut client, &uri, text);
        let mut copy = Copy::new(text, encoding);
        let mut seed = Seed::new(number as u64 + 7);
        let mut edits = 0;
        while edits < 200 {
            let count = seed.size(3);
            let changes: Vec<Value> = (0..count).map(|_| copy.edit(&mut seed)).collect();
            edits += count;
            change(&mut client, &uri, edits, &changes);
            if seed.below(4) == 0 || edits >= 200 {
                assert_eq!(read(&mut client, "ä.txt"), copy.lines(), "{encoding} after {edits}");
            }
        }
        assert!(copy.text.len() > 100, "the text grew");
        client.notify("textDocument/didSave", json!({ "textDocument": { "uri": uri } }));
        assert_eq!(read(&mut client, "ä.txt"), copy.lines(), "a save changes nothing here");
        client.notify("textDocument/didClose", json!({ "textDocument": { "uri": uri } }));
        assert_eq!(read(&mut client, "ä.txt"), ["on disk"], "closed");
    }
}

#[test]
fn a_document_without_a_file_is_seen_until_it_is_closed() {
    let world = World::new();
    world.file("a.txt", "on disk\n");
    let mut client = editor(&world, "");
    let new = uri(&world, "new.txt");
    open(&mut client, &new, "needle\n");
    assert_eq!(read(&mut client, "new.txt"), ["needle"]);
    change(&mut client, &new, 2, &[json!({ "text": "another needle" })]);
    let found = |client: &mut Client| {
        let params = json!({ "name": "grep", "arguments": { "pattern": "needle" } });
        client.request("tool/call", params)["content"][0]["text"].as_str().unwrap().to_owned()
    };
    assert!(found(&mut client).contains("another needle"), "{}", found(&mut client));
    client.notify("textDocument/didClose", json!({ "textDocument": { "uri": new } }));
    assert!(!found(&mut client).contains("another needle"));
    let params = json!({ "name": "read", "arguments": { "file_path": "new.txt" } });
    let result = client.request("tool/call", params);
    assert_eq!(result["error"]["code"], "FS_NOT_FOUND", "{result}");
    assert_eq!(read(&mut client, "a.txt"), ["on disk"]);
}

#[test]
fn documents_of_no_workspace_and_broken_notices_change_nothing() {
    let world = World::new();
    world.file("a.txt", "on disk\n");
    let secret = world.root().join("outside.txt");
    std::fs::write(&secret, "outside\n").unwrap();
    let mut client = editor(&world, "utf-8");
    for uri in ["untitled:Untitled-1", "git:/x/a.txt", "vscode-remote://ssh+host/w/a.txt"] {
        open(&mut client, uri, "elsewhere");
        let range =
            json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 0, "character": 1 } });
        change(&mut client, uri, 2, &[json!({ "range": range, "text": "E" })]);
        client.notify("textDocument/didClose", json!({ "textDocument": { "uri": uri } }));
    }
    open(&mut client, &format!("file://{}", secret.display()), "unsaved outside");
    let own = uri(&world, "a.txt");
    let range =
        json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 0, "character": 2 } });
    change(&mut client, &own, 2, &[json!({ "range": range, "text": "never opened" })]);
    for params in [json!({}), json!(7), json!({ "textDocument": 1 }), Value::Null] {
        client.notify("textDocument/didOpen", params.clone());
        client.notify("textDocument/didChange", params.clone());
        client.notify("textDocument/didClose", params);
    }
    assert_eq!(read(&mut client, "a.txt"), ["on disk"]);
    let params = json!({ "name": "read", "arguments": { "file_path": secret } });
    let result = client.request("tool/call", params);
    assert_eq!(result["isError"], true, "an open document opens no door: {result}");
}

#[test]
fn a_folder_that_is_added_can_be_used_until_it_is_removed() {
    let world = World::new();
    let other = world.root().join("other ö");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("o.txt"), "other\n").unwrap();
    let mut client = editor(&world, "");
    let folder =
        json!({ "uri": format!("file://{}/other%20%C3%B6", world.root().display()), "name": "o" });
    let error = client.refused("session/new", json!({ "workspace": folder["uri"] }));
    assert_eq!(error["data"]["kind"], "workspaceNotFound", "{error}");
    let event = json!({ "added": [folder], "removed": [] });
    client.notify("workspace/didChangeWorkspaceFolders", json!({ "event": event }));
    let session = client.request("session/new", json!({ "workspace": folder["uri"] }));
    assert_eq!(session["session"]["workspace"], folder["uri"]);
    let params =
        json!({ "workspace": other, "name": "read", "arguments": { "file_path": "o.txt" } });
    let result = client.request("tool/call", params.clone());
    assert_eq!(result["value"]["lines"][0]["text"], "other", "{result}");
    let error = client
        .refused("tool/call", json!({ "name": "read", "arguments": { "file_path": "o.txt" } }));
    assert_eq!(error["code"], -32602, "which of the two: {error}");

    let event = json!({ "added": [], "removed": [folder] });
    client.notify("workspace/didChangeWorkspaceFolders", json!({ "event": event }));
    until("the folder's end", || {
        let id = client.ask("tool/call", params.clone());
        client.answer(id)["error"]["data"]["kind"] == "workspaceNotFound"
    });
    client.request("session/new", json!({}));
}

#[test]
fn a_folder_that_was_opened_through_a_link_has_its_documents() {
    let world = World::new();
    let real = world.root().join("real");
    std::fs::create_dir(&real).unwrap();
    std::fs::write(real.join("a.txt"), "saved\n").unwrap();
    std::fs::remove_dir(world.work()).unwrap();
    std::os::unix::fs::symlink(&real, world.work()).unwrap();
    let mut client = editor(&world, "");
    let document = uri(&world, "a.txt");
    open(&mut client, &document, "unsaved\n");
    assert_eq!(read(&mut client, "a.txt"), ["unsaved"]);
    let named = world.work().join("a.txt").display().to_string();
    assert_eq!(read(&mut client, &named), ["unsaved"]);
}
