//! Checks every log below a home: as a file, by the product's own fold, by the rules written down anew in
//! [`crate::rules`], and against what a server says of it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use dsh_protocol::event::Event;
use dsh_session::fold::Fold;
use serde_json::{Value, json};

use crate::client::Client;
use crate::rows::unpack;
use crate::rules;
use crate::world::World;

/// A log file, taken apart.
pub struct LogFile {
    /// The header line.
    pub header: Value,
    /// The events, unpacked.
    pub events: Vec<Value>,
}

/// Reads a log file whose lines are all whole.
pub fn read(path: &Path) -> LogFile {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.ends_with('\n'), "{}: the last line is torn", path.display());
    parsed(path, &text)
}

fn parsed(path: &Path, text: &str) -> LogFile {
    let mut lines = text.lines().map(|line| {
        let value: Value = serde_json::from_str(line)
            .unwrap_or_else(|error| panic!("{}: {error}: {line}", path.display()));
        assert!(value.is_object(), "{}: {line}", path.display());
        value
    });
    let header = lines.next().unwrap_or_else(|| panic!("{} is empty", path.display()));
    LogFile { header, events: lines.flat_map(unpack).collect() }
}

/// Reads a log file whose last line a crash may have torn.
pub fn read_whole(path: &Path) -> LogFile {
    let bytes = fs::read(path).unwrap();
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    parsed(path, std::str::from_utf8(&bytes[..whole]).unwrap())
}

/// Everything below a folder, the folder itself included.
pub fn tree(folder: &Path) -> Vec<PathBuf> {
    if !folder.exists() {
        return Vec::new();
    }
    let mut paths = vec![folder.to_owned()];
    if folder.is_dir() && !folder.is_symlink() {
        for entry in fs::read_dir(folder).unwrap() {
            paths.extend(tree(&entry.unwrap().path()));
        }
    }
    paths.sort();
    paths
}

/// The log files below a home.
pub fn files(home: &Path) -> Vec<PathBuf> {
    let is_log = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "jsonl");
    tree(&home.join("sessions")).into_iter().filter(is_log).collect()
}

/// Two lists of events are the same; says where they part.
#[track_caller]
pub fn assert_same(left: &[Value], right: &[Value], what: &str) {
    let parts = left.iter().zip(right).find(|(left, right)| left != right);
    if let Some((left, right)) = parts {
        panic!("{what}:\n{left}\n{right}");
    }
    let more = &left[right.len().min(left.len())..];
    assert_eq!(left.len(), right.len(), "{what}: {more:?}");
}

/// Checks every log of a world, which no process works in any more.
pub fn check_home(world: &World) {
    let paths = files(&world.home());
    if paths.is_empty() {
        return;
    }
    check_modes(&world.home().join("sessions"));
    let mut server = world.connect(&[]);
    server.initialize();
    for path in &paths {
        let log = read(path);
        check_file(path, &log);
        if log.header["cwd"].as_str().map(Path::new) == Some(&world.work()) {
            check_served(&mut server, &log);
        }
    }
    server.shut_down();
}

/// Nobody else may read what people said to an agent.
fn check_modes(folder: &Path) {
    for path in tree(folder) {
        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        let private = if path.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode, private, "{}: mode {mode:o}", path.display());
    }
}

fn check_file(path: &Path, log: &LogFile) {
    let name = path.display();
    let stem = path.file_stem().unwrap().to_str().unwrap();
    let problems = rules::problems(stem, &log.header, &log.events);
    assert!(problems.is_empty(), "{name}:\n{}", problems.join("\n"));
    let events: Vec<Event> =
        log.events.iter().map(|event| serde_json::from_value(event.clone()).unwrap()).collect();
    if let Err(violation) = Fold::of(&events) {
        panic!("{name}: {violation}");
    }
}

/// A server says of a session exactly what its file says.
fn check_served(server: &mut Client, log: &LogFile) {
    let session = log.header["id"].as_str().unwrap();
    let seed = log.header["seedLength"].as_u64().unwrap_or_default();
    if (log.events.len() as u64) < seed {
        // Its making was cut off by a kill: it is refused by name.
        let error = server.refused("session/events", json!({ "sessionId": session }));
        assert_eq!(error["data"]["kind"], "logDamaged", "{session}: {error}");
        return;
    }
    assert_same(&server.log(session), &log.events, &format!("{session}: events and file differ"));
    let shown = server.request("session/messages", json!({ "sessionId": session }));
    let derived = rules::messages(&log.events);
    assert_eq!(shown["messages"], json!(derived), "{session}: the messages do not follow");
}
