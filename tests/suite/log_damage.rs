//! Files that were cut or changed by accident: they open with everything that is whole, or are refused by name.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use dsh_protocol::event::Event;
use dsh_protocol::ids::SessionId;
use dsh_session::jsonl::JsonlStore;
use dsh_session::store::{Store, StoreError, Stored};
use dsh_tests::check_log::assert_same;
use dsh_tests::rows::unpack;
use dsh_tests::script::Script;
use dsh_tests::seed::Seed;
use dsh_tests::thorough;
use dsh_tests::world::World;
use serde_json::{Value, json};

const ID: &str = "s";

/// The log of a session that has talked, thought and called, as the program wrote it.
fn recorded(turns: usize, words: usize) -> Vec<u8> {
    let world = World::new();
    world.file("a.txt", "alpha\n");
    let mut script = Script::new();
    for _ in 0..turns {
        script = script
            .think(&"I think of größere things. ".repeat(words))
            .say_chunks(["I read."])
            .call("read", r#"{"file_path":"a.txt"}"#)
            .step()
            .say(&"And this, \"quoted\" and \u{1f642}, is what it says. ".repeat(words))
            .turn();
    }
    let mut client = world.play(script);
    client.session(ID);
    for turn in 0..turns {
        client.complete(ID, &format!("Turn {turn}."));
    }
    client.shut_down();
    fs::read(world.log(ID)).unwrap()
}

/// A store with one log, in this process.
struct Kept {
    _home: tempfile::TempDir,
    store: JsonlStore,
    path: PathBuf,
    runtime: tokio::runtime::Runtime,
}

impl Kept {
    fn new(bytes: &[u8]) -> Self {
        let home = tempfile::tempdir().unwrap();
        let store = JsonlStore::new(home.path(), Path::new("/w"));
        let path = store.path(&SessionId::from(ID));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        Self { _home: home, store, path, runtime }
    }

    fn open(&self) -> Result<Stored, StoreError> {
        self.runtime.block_on(self.store.open(SessionId::from(ID)))
    }

    fn events(&self) -> Result<Vec<Value>, StoreError> {
        Ok(events_of(&self.open()?))
    }

    fn torn(&self) -> Vec<u8> {
        fs::read(self.path.with_extension("torn")).unwrap_or_default()
    }
}

fn events_of(stored: &Stored) -> Vec<Value> {
    let page = stored.log.page(-1, usize::MAX, |_| true);
    page.events.iter().map(|event| json!(Event::clone(event))).collect()
}

/// The events of whole lines, read independently of the product; the header is left out.
fn lines_of(bytes: &[u8]) -> Option<Vec<Value>> {
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let mut events = Vec::new();
    for line in bytes[..whole].split_inclusive(|byte| *byte == b'\n').skip(1) {
        events.extend(unpack(serde_json::from_slice(line).ok()?));
    }
    Some(events)
}

#[test]
fn a_log_that_is_cut_at_any_byte_has_the_events_of_its_whole_lines() {
    let bytes = recorded(12, 120);
    assert!(bytes.len() > 200_000, "{} bytes", bytes.len());
    let header = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    for cut in 0..header {
        let refused = if cut % 40 == 0 { Kept::new(&bytes[..cut]).open().err() } else { continue };
        assert!(matches!(refused, Some(StoreError::Damaged { line: 1, .. })), "{refused:?}");
    }
    // One log that grows byte by byte, as a reader in another process sees it.
    let kept = Kept::new(&bytes[..header]);
    let stored = kept.open().unwrap();
    let mut file = OpenOptions::new().append(true).open(&kept.path).unwrap();
    let mut seen = Vec::new();
    let every = thorough(16, 1);
    for (at, byte) in bytes.iter().enumerate().skip(header) {
        file.write_all(&[*byte]).unwrap();
        let is_edge = bytes[at - 1..].iter().take(3).any(|byte| *byte == b'\n');
        if at % every > 0 && !is_edge {
            continue;
        }
        let more = kept.runtime.block_on(stored.sink.refresh()).unwrap();
        assert!(more.is_empty() || *byte == b'\n', "half a line was read");
        seen.extend(more.iter().map(|event| json!(event)));
    }
    assert_same(&seen, &lines_of(&bytes).unwrap(), "all of it");
}

#[test]
fn a_cut_log_goes_on_behind_its_last_whole_line_and_its_torn_end_is_kept() {
    let bytes = recorded(3, 40);
    let header = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let mut seed = Seed::new(11);
    for _ in 0..thorough(60, 600) {
        let cut = header + seed.size(bytes.len() - header);
        let kept = Kept::new(&bytes[..cut]);
        let whole = bytes[..cut].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
        let stored = kept.open().unwrap();
        assert_same(&events_of(&stored), &lines_of(&bytes[..cut]).unwrap(), "what is whole");
        assert_eq!(fs::read(&kept.path).unwrap(), &bytes[..cut], "reading changes nothing");
        let events = kept.runtime.block_on(stored.sink.acquire()).unwrap();
        assert_eq!(events, []);
        assert_eq!(fs::read(&kept.path).unwrap(), &bytes[..whole], "cut at {cut}");
        assert_eq!(kept.torn(), &bytes[whole..cut], "cut at {cut}");
    }
}

#[test]
fn a_changed_byte_is_refused_by_its_line_or_read_as_it_stands() {
    let bytes = recorded(1, 6);
    let kept = Kept::new(&bytes);
    let original = kept.events().unwrap();
    let file = File::options().write(true).open(&kept.path).unwrap();
    let mut seed = Seed::new(7);
    let (mut refused, mut read) = (0, 0);
    for _ in 0..2_000 {
        let at = usize::try_from(seed.below(bytes.len() as u64)).unwrap();
        let byte = bytes[at] ^ u8::try_from(seed.size(255)).unwrap();
        file.write_all_at(&[byte], at as u64).unwrap();
        let line = bytes[..at].split(|byte| *byte == b'\n').count() as u64;
        let mut changed = bytes.clone();
        changed[at] = byte;
        let what = format!(
            "byte {at} of line {line}: {:?} for {:?}",
            char::from(byte),
            char::from(bytes[at])
        );
        match kept.events() {
            Ok(events) => {
                read += 1;
                let lines = lines_of(&changed).unwrap();
                assert_same(&events, &lines, &what);
                let differ = events.iter().zip(&original).filter(|(now, was)| now != was);
                // A row's gap moves the times of those that follow in it, and its index is that of all.
                let is_packed = |event: &Value| event["type"] == "assistant/chunk";
                let differ = differ.filter(|(now, _)| !is_packed(now)).count();
                assert!(differ <= 1 && events.len() == original.len(), "{what}: {differ} events");
            }
            Err(StoreError::Damaged { line: named, .. }) => {
                refused += 1;
                // What does not fit is seen at the line, or at the first one that builds on it.
                assert!(named >= line.min(named) && named > 0, "{what}: line {named}");
            }
            Err(StoreError::Unsupported(why)) => {
                refused += 1;
                assert!(why.contains(&format!("line {line} ")) || line == 1, "{what}: {why}");
            }
            Err(error) => panic!("{what}: {error}"),
        }
        file.write_all_at(&bytes[at..=at], at as u64).unwrap();
    }
    assert!(refused > 500 && read > 100, "{refused} refused, {read} read");
    assert_same(&kept.events().unwrap(), &original, "restored");
}

#[test]
fn what_others_append_is_read_exactly_or_refused_by_its_line() {
    let bytes = recorded(1, 6);
    let original = lines_of(&bytes).unwrap();
    let (seq, line) = (original.len(), bytes.split_inclusive(|byte| *byte == b'\n').count() + 1);
    let event = |kind: &str, data: &str, more: &str| {
        format!("{{\"type\":\"{kind}\",\"seq\":{seq},\"time\":1,\"data\":{data}{more}}}\n")
    };
    let ignorable = ",\"ignorable\":true";
    let kept = |appended: &str| {
        let kept = Kept::new(&[&bytes[..], appended.as_bytes()].concat());
        let events = kept.events();
        assert!(fs::read(&kept.path).unwrap().ends_with(appended.as_bytes()), "left alone");
        events
    };
    for (kind, data, more) in [
        ("session/title", "{\"title\":\"a\u{2028}b\u{2029}c\"}", ""),
        ("session/title", "{\"title\":\"a\\u2028b\"}", ""),
        ("session/title", "{\"title\":\"\\ud83d\\ude42\"}", ""),
        ("later/event", "{\"x\":[1.50,{\"y\":null}]}", ignorable),
    ] {
        let events = kept(&event(kind, data, more)).unwrap();
        assert_eq!(events.len(), seq + 1, "{data}");
        assert_eq!(events[seq]["data"], serde_json::from_str::<Value>(data).unwrap(), "{data}");
    }
    // A lone surrogate is no text; what nobody here knows is kept to the byte.
    let surrogate = event("later/event", "{\"x\":\"\\ud800\"}", ignorable);
    let kept_surrogate = Kept::new(&[&bytes[..], surrogate.as_bytes()].concat());
    let stored = kept_surrogate.open().unwrap();
    let last = stored.log.page(i64::try_from(seq).unwrap() - 1, 1, |_| true).events;
    assert_eq!(format!("{}\n", serde_json::to_string(last[0].as_ref()).unwrap()), surrogate);

    let title = "{\"title\":\"a\"}";
    let whole = event("session/title", title, "");
    for (what, appended) in [
        ("a lone surrogate", event("session/title", "{\"title\":\"\\ud800\"}", "")),
        ("a foreign type", event("later/event", "{}", "")),
        ("a foreign field", event("session/title", "{\"title\":\"a\",\"size\":2}", "")),
        ("a foreign field of the envelope", event("session/title", title, ",\"more\":1")),
        ("half a line before a whole one", format!("{}{whole}", &whole[..20])),
        ("a carriage return", whole.replace('\n', "\r\n")),
        ("a byte order mark", format!("\u{feff}{whole}")),
        ("an empty line", format!("\n{whole}")),
        ("the same seq again", format!("{whole}{whole}")),
    ] {
        let error = kept(&appended).unwrap_err();
        let named = match &error {
            StoreError::Damaged { line, .. } => *line,
            StoreError::Unsupported(why) => {
                assert!(why.contains(&format!("line {line} ")), "{what}: {why}");
                line as u64
            }
            StoreError::Taken(_)
            | StoreError::NotFound(_)
            | StoreError::Written(_)
            | StoreError::Storage(_) => {
                panic!("{what}: {error}")
            }
        };
        assert!(named == line as u64 || named == line as u64 + 1, "{what}: {error}");
    }
}

#[test]
fn cut_logs_of_every_kind_go_on_in_the_program() {
    let world = World::new();
    world.leave_damaged();
    world.file("a.txt", "alpha\n");
    let model = world.model(Script::parse("say x\nturn\nsay Two.\nturn\nsay Three."));
    let mut client = world.start(&model);
    client.session("first");
    client.complete("first", "Hello.");
    let bytes = recorded(1, 30);
    let header = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let mut seed = Seed::new(5);
    for at in 0..20 {
        let cut = header + seed.size(bytes.len() - header);
        let id = format!("cut-{at}");
        let path = world.lay_log(&id, &bytes[..cut]);
        client.request("session/prompt", json!({ "sessionId": id, "text": "Go on." }));
        client.rest(&id);
        let events = client.log(&id);
        let whole = lines_of(&bytes[..cut]).unwrap();
        assert_same(&events[..whole.len()], &whole, "what was there stays");
        assert_eq!(events.last().unwrap()["type"], "turn/end", "{id}");
        let torn = bytes[..cut].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
        let aside = fs::read(path.with_extension("torn")).unwrap_or_default();
        assert_eq!(aside, &bytes[torn..cut], "{id}");
    }
}
