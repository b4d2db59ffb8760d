//! `read`, `grep` and `glob` by a person's hand, through the whole of the program, with files opened in both ways.

mod caps;
mod changes;
mod encodings;
mod escape;
mod folders;
mod names;
mod patterns;
mod race;
mod special;
mod spill;
mod visible;

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use dsh_tests::client::Client;
use dsh_tests::world::World;
use serde_json::{Value, json};

/// What opens files as on systems without openat2.
const PORTABLE: &str = "- id: fs\n  merge: {withoutOpenat2: true}\n";

/// A workspace and a server of it.
struct Desk {
    world: World,
    client: Client,
}

/// What a tool answers.
#[derive(Debug, PartialEq)]
struct Said {
    /// Empty if all went well.
    code: String,
    text: String,
    value: Value,
    notes: Vec<String>,
}

impl Desk {
    /// The workspace that `make` fills.
    fn new(make: impl Fn(&World)) -> Self {
        Self::with("", make)
    }

    /// The same twice, for each way of opening files.
    fn both(make: impl Fn(&World)) -> [Self; 2] {
        [Self::with("", &make), Self::with(PORTABLE, &make)]
    }

    fn with(patch: &str, make: impl Fn(&World)) -> Self {
        let world = World::new();
        if !patch.is_empty() {
            world.patch(patch);
        }
        make(&world);
        let client = world.start("offline/retrieval");
        Self { world, client }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.world.work().join(path)
    }

    fn outside(&self, name: &str) -> PathBuf {
        self.world.root().join(name)
    }

    fn call(&mut self, name: &str, arguments: &Value) -> Said {
        let params = json!({ "name": name, "arguments": arguments });
        said(&self.client.request("tool/call", params))
    }

    fn read(&mut self, path: impl AsRef<Path>) -> Said {
        self.call("read", &json!({ "file_path": path.as_ref() }))
    }

    fn grep(&mut self, pattern: &str) -> Said {
        self.call("grep", &json!({ "pattern": pattern }))
    }

    fn glob(&mut self, pattern: &str) -> Said {
        self.call("glob", &json!({ "pattern": pattern }))
    }

    /// `path:line` of every hit.
    #[track_caller]
    fn hits(&mut self, pattern: &str) -> Vec<String> {
        self.grep(pattern).hits()
    }

    /// The paths that a glob lists.
    #[track_caller]
    fn paths(&mut self, pattern: &str) -> Vec<String> {
        self.glob(pattern).paths()
    }

    /// Nothing that the server said so far has `text` in it.
    #[track_caller]
    fn never_said(&self, text: &str) {
        let frames = self.client.frames();
        let said = frames.iter().map(Value::to_string).find(|frame| frame.contains(text));
        assert!(said.is_none(), "{said:?}");
    }
}

fn said(result: &Value) -> Said {
    assert_eq!(result["isError"] == true, result["error"].is_object(), "{result}");
    let notes = result["notes"].as_array().into_iter().flatten();
    Said {
        code: result["error"]["code"].as_str().unwrap_or_default().to_owned(),
        text: result["content"][0]["text"].as_str().unwrap_or_default().to_owned(),
        value: result["value"].clone(),
        notes: notes.map(|note| note.as_str().unwrap().to_owned()).collect(),
    }
}

impl Said {
    #[track_caller]
    fn hits(&self) -> Vec<String> {
        assert_eq!(self.code, "", "{}", self.text);
        let hits = self.value["matches"].as_array().unwrap().iter();
        hits.map(|it| format!("{}:{}", it["path"].as_str().unwrap(), it["line"])).collect()
    }

    #[track_caller]
    fn paths(&self) -> Vec<String> {
        assert_eq!(self.code, "", "{}", self.text);
        let paths = self.value["paths"].as_array().unwrap().iter();
        paths.map(|path| path.as_str().unwrap().to_owned()).collect()
    }

    /// The text of all lines of a read.
    #[track_caller]
    fn lines(&self) -> Vec<String> {
        assert_eq!(self.code, "", "{}", self.text);
        let lines = self.value["lines"].as_array().unwrap().iter();
        lines.map(|line| line["text"].as_str().unwrap().to_owned()).collect()
    }

    #[track_caller]
    fn notes_say(&self, words: &str) {
        assert!(self.notes.iter().any(|note| note.contains(words)), "{self:?}");
        assert!(self.text.contains(words), "the text holds its notes: {}", self.text);
    }
}

fn link(target: impl AsRef<Path>, name: impl AsRef<Path>) {
    symlink(target, name).unwrap();
}

fn bytes(world: &World, path: &str, bytes: &[u8]) {
    std::fs::write(world.work().join(path), bytes).unwrap();
}

fn pipe(path: impl AsRef<Path>) {
    let made = std::process::Command::new("mkfifo").arg(path.as_ref()).status().unwrap();
    assert!(made.success());
}
