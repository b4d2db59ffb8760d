//! Tests of the rules of files: none is weaker for open documents.

use std::path::PathBuf;
use std::sync::Arc;

use dsh_protocol::workspace::ToolErrorCode;

use super::{Editor, both, named, scanned, with};
use crate::Options;
use crate::fixture::{Ask, Fixture, code, glob, places, text};
use crate::overlay::Overlay;
use crate::stop::Stop;

#[test]
fn secrets_stay_secret_while_they_are_edited() {
    let fixture = Fixture::new(&[(".env", "x"), ("plain", "disk"), ("keys.pem/x", "")]);
    fixture.link("plain", "other.key");
    fixture.link(".env", "settings");
    let documents = [
        (".env", "SENT"),
        ("settings", "SENT"),
        ("sub/new.pem", "SENT"),
        ("keys.pem/new", "SENT"),
        ("other.key", "SENT"),
    ];
    for folder in both(&fixture, &documents) {
        for (path, _) in documents {
            assert_eq!(code(folder.read_path(path)), ToolErrorCode::FsSecretDenied, "{path}");
            let found = folder.grep_with(named(path, "SENT"));
            assert_eq!(code(found), ToolErrorCode::FsSecretDenied, "{path}");
            let listed = folder.glob_with(glob(path));
            assert!(listed.is_err() || listed.unwrap().value.total == 0, "{path}");
        }
        assert_eq!(text(&folder.read_path("plain").unwrap()), "disk");
        let found = folder.grep_for("SENT");
        assert_eq!(found.value.total, 0);
        assert_eq!(found.notes, ["3 paths whose names look like secrets were not searched"]);
        assert_eq!(scanned(&folder).0.into_keys().collect::<Vec<_>>(), ["plain"]);
    }
}

#[test]
fn ignored_documents_and_those_of_version_control_are_found_only_where_files_would_be() {
    let fixture = Fixture::new(&[
        (".gitignore", "gen/\n*.log\n"),
        (".git/config", "x"),
        ("gen/a", "needle"),
        ("kept", ""),
    ]);
    let documents = [
        // Rules count when they are saved.
        (".gitignore", "kept\n"),
        (".git/config", "needle"),
        (".git/NEW_MESSAGE", "needle"),
        (".hg", "needle"),
        ("gen/a", "unsaved needle"),
        ("gen/new", "needle"),
        ("new/x.log", "needle"),
        ("kept", "needle"),
    ];
    for folder in both(&fixture, &documents) {
        let found = folder.grep_for("needle");
        assert_eq!(places(&found.value), ["kept:1:1"]);
        let ignored = "1 file and 1 folder ignored by .gitignore or .ignore were not searched";
        assert_eq!(found.notes[1..], [ignored]);
        assert_eq!(folder.paths("**"), [".gitignore", "kept"]);
        assert_eq!(folder.hits("^kept"), [".gitignore:1:1"]);
        for (path, total) in [("gen", 2), ("gen/a", 1), ("gen/new", 1), ("new", 1)] {
            let found = folder.grep_with(named(path, "needle")).unwrap();
            assert_eq!(found.value.total, total, "{path}");
        }
        assert_eq!(text(&folder.read_path("gen/a").unwrap()), "unsaved needle");
        assert_eq!(folder.paths("gen/*"), ["gen/a", "gen/new"]);
        for path in [".git", ".git/config", ".git/NEW_MESSAGE", ".hg"] {
            let found = folder.grep_with(named(path, "needle")).unwrap();
            assert_eq!((found.value.total, found.notes.len()), (0, 1), "{path}");
            assert_eq!(folder.paths(path), Vec::<String>::new(), "{path}");
        }
        assert_eq!(text(&folder.read_path(".git/config").unwrap()), "needle");
    }
}

#[test]
fn nothing_outside_is_seen_because_it_is_open() {
    let fixture = Fixture::new(&[("a", "")]);
    fixture.link(fixture.outside(), "out");
    fixture.link(fixture.outside().join("missing"), "dangling");
    fixture.link("circle", "circle");
    let beside = format!("{}er", fixture.root().display());
    let climbing = fixture.path("x/../..").join("y");
    let documents = [
        fixture.outside().join("secret"),
        fixture.path("out/secret"),
        fixture.path("out/new"),
        fixture.path("dangling"),
        fixture.path("circle"),
        fixture.path("a/b"),
        PathBuf::from(beside).join("a"),
        PathBuf::from("relative"),
        fixture.root().to_owned(),
        climbing,
    ];
    let editor = Arc::new(Editor::default());
    for path in documents {
        editor.open(path, "needle");
    }
    for force_portable_open in [false, true] {
        let overlay = Some(editor.clone() as Arc<dyn Overlay>);
        let folder = fixture.open(Options { force_portable_open, overlay, ..Options::default() });
        assert_eq!(folder.grep_for("needle|OUTSIDE").value.total, 0);
        assert_eq!(folder.paths("**"), ["a"]);
        for path in ["out/secret", "out/new", "dangling"] {
            assert_eq!(code(folder.read_path(path)), ToolErrorCode::FsSandboxDenied, "{path}");
        }
        for path in ["circle", "a/b", "relative"] {
            assert_eq!(code(folder.read_path(path)), ToolErrorCode::FsNotFound, "{path}");
        }
    }
}

#[test]
fn bounds_and_configured_refusals_hold_for_documents() {
    let fixture = Fixture::new(&[("a", "x"), ("b", &"x".repeat(200)), ("h", "x")]);
    std::fs::hard_link(fixture.path("h"), fixture.outside().join("h")).unwrap();
    let long = "needle\n".repeat(100);
    let documents =
        [("a", long.as_str()), ("b", "needle"), ("h", "needle"), ("new", long.as_str())];
    let options = Options {
        deny_hardlinks: true,
        max_file_size: 100,
        max_scan_size: 100,
        max_text_size: 100,
        ..Options::default()
    };
    let folder = with(&fixture, &documents, options);
    let found = folder.grep_for("needle");
    assert_eq!(places(&found.value), ["b:1:1"]);
    assert_eq!(found.notes[1], "2 files over the size limit skipped: a, new");
    assert_eq!(found.notes[2], "1 hard-linked file skipped, as configured: h");
    assert_eq!(scanned(&folder).0.into_keys().collect::<Vec<_>>(), ["b"]);
    assert_eq!(code(folder.read_path("h")), ToolErrorCode::FsSandboxDenied);
    let large = folder.grep_with(named("a", "needle")).unwrap();
    assert_eq!(large.notes, ["1 file over the size limit skipped: a"]);
    let big = "é".repeat(100_000);
    let options = Options { max_text_size: 1000, max_read_size: 1000, ..Options::default() };
    let folder = with(&fixture, &[("a", &big)], options);
    let cut = folder.text("a", &Stop::never()).unwrap();
    assert!(!cut.complete && cut.text.len() < big.len() && big.starts_with(&cut.text));
    assert_eq!(folder.read_path("a").unwrap().notes.len(), 2);
    let late = Stop::never();
    late.cancel();
    assert_eq!(code(folder.text("a", &late)), ToolErrorCode::Aborted);
}
