//! The event streams that every editor folds: valid, complete, and shown as the texts beside them say.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use dsh_protocol::event::{Event, EventData};
use dsh_protocol::{schema, transcript};
use expect_test::expect_file;
use serde_json::Value;

struct Fixture {
    path: PathBuf,
    lines: Vec<String>,
    events: Vec<Event>,
}

fn fixtures() -> Vec<Fixture> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "there are no fixtures");
    paths.into_iter().map(read).collect()
}

fn read(path: PathBuf) -> Fixture {
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let events = lines
        .iter()
        .map(|line| {
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        })
        .collect();
    Fixture { path, lines, events }
}

#[test]
fn every_event_is_written_as_it_was_read() {
    for fixture in fixtures() {
        for (line, event) in fixture.lines.iter().zip(&fixture.events) {
            assert_eq!(serde_json::to_string(event).unwrap(), *line, "{}", fixture.path.display());
        }
    }
}

#[test]
fn every_fixture_is_shown_as_its_text() {
    for fixture in fixtures() {
        let shown = transcript::print(&fixture.events);
        expect_file![fixture.path.with_extension("txt")].assert_eq(&shown);
    }
}

#[test]
fn seqs_are_contiguous_and_sources_lie_before() {
    for fixture in fixtures() {
        for (place, event) in (0..).zip(&fixture.events) {
            let at = format!("{}: event {}", fixture.path.display(), event.seq);
            assert_eq!(event.seq, place, "{at}");
            assert_eq!(event.surface_op.is_some(), event.data.is_surface(), "{at}");
            for source in event.source_event_seqs.iter().flatten() {
                assert!(*source < event.seq, "{at}");
            }
            if !matches!(event.data, EventData::Unknown(_)) {
                assert_eq!(event.ignorable, event.data.is_ignorable(), "{at}");
            }
        }
    }
}

#[test]
fn every_answer_cites_chunks_of_its_own_step() {
    for fixture in fixtures() {
        for event in &fixture.events {
            let EventData::AssistantMessage(answer) = &event.data else { continue };
            for seq in event.source_event_seqs.iter().flatten() {
                let source = &fixture.events[usize::try_from(*seq).unwrap()].data;
                let EventData::AssistantChunk(chunk) = source else {
                    panic!("{}: {seq} is no chunk", fixture.path.display());
                };
                assert_eq!((chunk.turn, chunk.step), (answer.turn, answer.step));
            }
        }
    }
}

#[test]
fn together_they_have_every_type_and_every_word_of_the_unions() {
    let lines: Vec<Value> = fixtures()
        .iter()
        .flat_map(|fixture| &fixture.lines)
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let has = |pointer: &str| -> BTreeSet<&str> {
        lines.iter().filter_map(|event| event.pointer(pointer).and_then(Value::as_str)).collect()
    };
    let types = has("/type");
    for name in EventData::NAMES {
        assert!(types.contains(name), "no fixture has the event `{name}`");
    }
    assert!(types.iter().any(|name| !EventData::NAMES.contains(name)), "no unknown event");
    check_all("Chunk", &has("/data/chunk/type"));
    check_all("TurnEnd", &has("/data/reason/kind"));
    check_all("AbortReason", &has("/data/reason/reason"));
    check_all("FinishReason", &has("/data/chunk/reason"));
    check_all("BlockKind", &has("/data/chunk/block"));
    check_all("HeaderReason", &has("/data/reason"));
    let failures = lines.iter().filter_map(|event| event["data"]["failures"].as_array());
    let reasons = failures.flatten().filter_map(|failure| failure["reason"].as_str()).collect();
    check_all("EvidenceReason", &reasons);
    check_all("InboxTarget", &has("/data/target"));
    check_all("MessageOutcomeKind", &has("/data/kind"));
}

/// Asserts that every word, or every tag, of a union was found.
#[track_caller]
fn check_all(union: &str, found: &BTreeSet<&str>) {
    let document: Value = serde_json::from_str(schema::JSON).unwrap();
    let cases = document["$defs"][union]["oneOf"].as_array().unwrap();
    for case in cases {
        let properties = case["properties"].as_object();
        let word = match properties {
            Some(fields) => fields.values().find_map(|field| field["const"].as_str()),
            None => case["const"].as_str(),
        };
        let word = word.unwrap();
        assert!(found.contains(word), "no fixture has the {union} `{word}`");
    }
}
