//! Tests of open documents: that the tools see them, and where.

mod rules;

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use dsh_protocol::workspace::{GlobArguments, GlobOrder, GrepArguments, GrepMode, ToolErrorCode};

use super::Overlay;
use crate::fixture::{Ask, Fixture, code, glob, grep, places, text, while_another_thread};
use crate::stop::Stop;
use crate::{Folder, Options};

/// What somebody has open.
#[derive(Debug, Default)]
struct Editor(Mutex<BTreeMap<PathBuf, Arc<str>>>);

impl Editor {
    fn open(&self, path: impl Into<PathBuf>, text: &str) {
        self.0.lock().unwrap().insert(path.into(), text.into());
    }

    fn close(&self, path: &Path) {
        self.0.lock().unwrap().remove(path);
    }
}

impl Overlay for Editor {
    fn text(&self, path: &Path) -> Option<Arc<str>> {
        self.0.lock().unwrap().get(path).cloned()
    }

    fn paths(&self) -> Vec<PathBuf> {
        self.0.lock().unwrap().keys().cloned().collect()
    }
}

/// The fixture's folder in both ways, with these documents open in it.
fn both(fixture: &Fixture, documents: &[(&str, &str)]) -> [Folder; 2] {
    [false, true].map(|force_portable_open| {
        let options = Options { force_portable_open, ..Options::default() };
        with(fixture, documents, options)
    })
}

fn with(fixture: &Fixture, documents: &[(&str, &str)], options: Options) -> Folder {
    let editor = Editor::default();
    for (path, text) in documents {
        editor.open(fixture.path(path), text);
    }
    fixture.open(Options { overlay: Some(Arc::new(editor)), ..options })
}

fn scanned(folder: &Folder) -> (BTreeMap<String, String>, Vec<String>) {
    let seen = Mutex::new(BTreeMap::new());
    let visit = |path: &str, text: &str| {
        assert_eq!(seen.lock().unwrap().insert(path.to_owned(), text.to_owned()), None);
    };
    let summary = folder.scan(&Stop::never(), visit).unwrap();
    let seen = seen.into_inner().unwrap();
    assert_eq!(summary.files, seen.len() as u64);
    (seen, summary.notes)
}

fn named(path: &str, pattern: &str) -> GrepArguments {
    GrepArguments { path: Some(path.into()), ..grep(pattern) }
}

#[test]
fn every_tool_sees_the_unsaved_text_and_says_so() {
    let fixture = Fixture::new(&[("src/a.rs", "disk\n"), ("src/b.rs", "disk\n")]);
    for folder in both(&fixture, &[("src/a.rs", "one\nné unsaved\r\nthree")]) {
        let read = folder.read_path("src/a.rs").unwrap();
        assert_eq!(text(&read), "one\nné unsaved\nthree");
        assert_eq!(read.notes, ["1 unsaved buffer was read instead of the file on disk: src/a.rs"]);
        let window = folder.read_window("src/a.rs", 2, 1).unwrap();
        assert_eq!((text(&window).as_str(), window.value.total_lines), ("né unsaved", 3));
        assert_eq!(code(folder.read_window("src/a.rs", 4, 1)), ToolErrorCode::FsNotFound);
        let whole = folder.text("src/a.rs", &Stop::never()).unwrap();
        assert_eq!((whole.text.as_str(), whole.complete), ("one\nné unsaved\r\nthree", true));
        for arguments in [grep("unsaved$"), named("src/a.rs", "unsaved$"), named("src", "unsaved$")]
        {
            let found = folder.grep_with(arguments).unwrap();
            assert_eq!(places(&found.value), ["src/a.rs:2:4"]);
            assert_eq!(
                found.notes,
                ["1 unsaved buffer was searched instead of the file on disk: src/a.rs"]
            );
        }
        let disk = folder.grep_for("disk");
        assert_eq!((places(&disk.value), disk.notes), (vec!["src/b.rs:1:1".into()], Vec::new()));
        let multiline = GrepArguments { multiline: Some(true), ..grep("unsaved\r\nthree") };
        assert_eq!(places(&folder.grep_with(multiline).unwrap().value), ["src/a.rs:2:4"]);
        let counts = GrepArguments { mode: Some(GrepMode::Count), ..grep("n") };
        assert_eq!(folder.grep_with(counts).unwrap().value.counts.unwrap()[0].count, 2);
        let listed = folder.glob_for("*.rs");
        assert_eq!((listed.value.paths.len(), listed.notes), (2, Vec::new()));
        let (seen, notes) = scanned(&folder);
        assert_eq!(seen["src/a.rs"], "one\nné unsaved\r\nthree");
        assert_eq!(notes, ["1 unsaved buffer was read instead of the file on disk: src/a.rs"]);
    }
}

#[test]
fn a_document_that_is_as_it_was_saved_is_worth_no_note() {
    let fixture = Fixture::new(&[("a", "needle\n")]);
    fixture.write("bom", "\u{feff}needle\n");
    fixture.write("wide", b"\xff\xfen\0e\0e\0d\0l\0e\0");
    let documents = [("a", "needle\n"), ("bom", "needle\n"), ("wide", "needle")];
    let marked = [("a", "needle\n"), ("bom", "\u{feff}needle\n"), ("wide", "\u{feff}needle")];
    for folder in both(&fixture, &documents).into_iter().chain(both(&fixture, &marked)) {
        let found = folder.grep_for("^needle");
        assert_eq!(places(&found.value), ["a:1:1", "bom:1:1", "wide:1:1"]);
        assert_eq!(found.notes, Vec::<String>::new());
        for path in ["a", "bom", "wide"] {
            let read = folder.read_path(path).unwrap();
            assert_eq!((text(&read).as_str(), read.notes.len()), ("needle", 0), "{path}");
        }
        assert_eq!(scanned(&folder).1, Vec::<String>::new());
    }
}

#[test]
fn a_new_file_is_read_and_found_in_its_place_before_it_is_saved() {
    let fixture = Fixture::new(&[("a/a", "needle"), ("a/z", "needle"), ("z", "needle")]);
    let documents = [("a/m.rs", "x\nneedle"), ("new/deep/n.rs", "needle")];
    for folder in both(&fixture, &documents) {
        let read = folder.read_path("new/deep/n.rs").unwrap();
        assert_eq!(text(&read), "needle");
        assert_eq!(
            read.notes,
            ["1 unsaved buffer was read that is not on disk yet: new/deep/n.rs"]
        );
        let found = folder.grep_for("needle");
        let expected = ["a/a:1:1", "a/m.rs:2:1", "a/z:1:1", "new/deep/n.rs:1:1", "z:1:1"];
        assert_eq!(places(&found.value), expected);
        let note =
            "2 unsaved buffers were searched that are not on disk yet: a/m.rs, new/deep/n.rs";
        assert_eq!(found.notes, [note]);
        assert_eq!(folder.paths("**"), ["a/a", "a/m.rs", "a/z", "new/deep/n.rs", "z"]);
        for pattern in ["new/**", "new/deep/*.rs", "new/deep/n.rs", "n.rs", "new/*/*", "./new/"] {
            let listed = folder.glob_for(pattern);
            assert_eq!(listed.value.paths, ["new/deep/n.rs"], "{pattern}");
            let note = "1 unsaved buffer was listed that is not on disk yet: new/deep/n.rs";
            assert_eq!(listed.notes, [note], "{pattern}");
        }
        for path in ["new", "new/deep/", "new/deep/n.rs"] {
            assert_eq!(folder.grep_with(named(path, "needle")).unwrap().value.total, 1, "{path}");
        }
        let below = GlobArguments { path: Some("new/deep".into()), ..glob("*") };
        assert_eq!(folder.glob_with(below).unwrap().value.paths, ["new/deep/n.rs"]);
        let file = GlobArguments { path: Some("a/m.rs".into()), ..glob("*") };
        assert_eq!(code(folder.glob_with(file)), ToolErrorCode::FsNotDirectory);
        let newest = GlobArguments { order: Some(GlobOrder::Newest), ..glob("a/*") };
        assert_eq!(folder.glob_with(newest).unwrap().value.paths[0], "a/m.rs");
        assert_eq!(code(folder.read_path("new")), ToolErrorCode::FsNotRegularFile);
        assert_eq!(code(folder.read_path("a/m.rs/")), ToolErrorCode::FsNotDirectory);
        assert_eq!(code(folder.read_path("a/n.rs")), ToolErrorCode::FsNotFound);
        assert_eq!(scanned(&folder).0.len(), 5);
    }
}

#[test]
fn a_document_is_known_by_every_name_that_its_file_has_inside() {
    let fixture = Fixture::new(&[("real/a", "disk"), ("real/b", "disk"), ("c", "disk")]);
    fixture.link("real", "by");
    fixture.link(fixture.path("c"), "to_c");
    fixture.link("real/new", "to_new");
    let documents = [
        ("by/a", "unsaved a"),
        ("real/b", "unsaved b"),
        ("to_c", "unsaved c"),
        ("to_new", "unsaved n"),
    ];
    for folder in both(&fixture, &documents) {
        for (path, expected) in [
            ("by/a", "unsaved a"),
            ("real/a", "unsaved a"),
            ("by/b", "unsaved b"),
            ("real/b", "unsaved b"),
            ("c", "unsaved c"),
            ("to_c", "unsaved c"),
            ("to_new", "unsaved n"),
            ("real/new", "unsaved n"),
            ("by/new", "unsaved n"),
        ] {
            assert_eq!(text(&folder.read_path(path).unwrap()), expected, "{path}");
            assert_eq!(folder.grep_with(named(path, "unsaved")).unwrap().value.total, 1, "{path}");
        }
        let all = ["c:1:1", "real/a:1:1", "real/b:1:1", "real/new:1:1"];
        assert_eq!(folder.hits("unsaved"), all);
        assert_eq!(folder.hits("disk"), Vec::<String>::new());
        assert_eq!(folder.grep_with(named("by", "unsaved")).unwrap().value.total, 3);
    }
    for folder in both(&fixture, &[("by/a", "by"), ("real/a", "real")]) {
        assert_eq!(text(&folder.read_path("by/a").unwrap()), "real");
        assert_eq!(folder.hits("real"), ["real/a:1:1"]);
    }
}

#[test]
fn a_folder_that_was_opened_through_a_link_knows_documents_by_both_of_its_paths() {
    let fixture = Fixture::new(&[("w/a", "disk"), ("w/b", "disk")]);
    fixture.link("w", "link");
    let editor = Editor::default();
    editor.open(fixture.path("link/a"), "unsaved");
    editor.open(fixture.path("w/x/../b"), "unsaved");
    let options = Options { overlay: Some(Arc::new(editor)), ..Options::default() };
    let folder = Folder::open(&fixture.path("link"), options).unwrap();
    assert_eq!(folder.hits("unsaved"), ["a:1:1", "b:1:1"]);
    assert_eq!(text(&folder.read_path("a").unwrap()), "unsaved");
}

#[test]
fn what_cannot_be_read_on_disk_is_read_in_the_editor() {
    let fixture = Fixture::new(&[("no", "disk"), ("late", "")]);
    fixture.write("binary", b"\0\x01");
    fixture.fifo("fifo");
    std::fs::set_permissions(fixture.path("no"), PermissionsExt::from_mode(0o000)).unwrap();
    let documents =
        [("no", "unsaved"), ("binary", "unsaved"), ("late", "a\0unsaved"), ("fifo", "unsaved")];
    for folder in both(&fixture, &documents) {
        assert_eq!(folder.hits("unsaved"), ["binary:1:1", "late:1:3", "no:1:1"]);
        for path in ["no", "binary", "late"] {
            let read = folder.read_path(path).unwrap();
            assert!(text(&read).ends_with("unsaved") && read.notes.len() == 1, "{read:?}");
            assert!(folder.grep_with(named(path, "unsaved")).unwrap().value.total == 1, "{path}");
        }
        assert_eq!(code(folder.read_path("fifo")), ToolErrorCode::FsNotRegularFile);
        assert_eq!(scanned(&folder).0.len(), 3);
    }
}

#[test]
fn large_documents_are_searched_like_large_files() {
    let lines = "some line\r\n".repeat(600_000) + "é needle\r\n";
    let fixture = Fixture::new(&[("a", "")]);
    let folder = with(&fixture, &[("a", &lines)], Options::default());
    assert_eq!(folder.hits("^.? needle$"), ["a:600001:1"]);
    let multiline = GrepArguments { multiline: Some(true), ..grep("line\r\né") };
    assert_eq!(places(&folder.grep_with(multiline).unwrap().value), ["a:600000:6"]);
    let huge = "x".repeat(40 << 20) + "\nneedle";
    let folder = with(&fixture, &[("a", &huge)], Options::default());
    let answer = folder.grep_for("needle");
    assert_eq!(answer.notes, ["1 file searched only up to a line that is too long: a"]);
}

#[test]
fn two_documents_that_contradict_each_other_do_no_harm() {
    let fixture = Fixture::new(&[("d/x", "needle")]);
    for folder in both(&fixture, &[("n", "needle"), ("n/y", "needle"), ("d", "needle")]) {
        assert_eq!(folder.hits("needle"), ["d/x:1:1", "n:1:1"]);
        assert_eq!(text(&folder.read_path("n").unwrap()), "needle");
        assert_eq!(text(&folder.read_path("n/y").unwrap()), "needle");
        assert_eq!(code(folder.read_path("d")), ToolErrorCode::FsNotRegularFile);
    }
}

#[test]
fn documents_that_come_and_go_during_a_search_do_not_disturb_it() {
    let fixture = Fixture::new(&[("a", "needle"), ("b", "needle")]);
    let editor = Arc::new(Editor::default());
    let overlay = Some(editor.clone() as Arc<dyn Overlay>);
    let folder = fixture.open(Options { overlay, ..Options::default() });
    let (old, new) = (fixture.path("b"), fixture.path("new/c"));
    let churn = || {
        editor.open(&old, "needle needle");
        editor.open(&new, "other");
        fixture.write("new/c", "other");
        std::fs::remove_dir_all(fixture.path("new")).unwrap();
        editor.close(&new);
        editor.close(&old);
    };
    while_another_thread(churn, || {
        for _ in 0..200 {
            assert_eq!(folder.hits("needle"), ["a:1:1", "b:1:1"]);
            let paths = folder.paths("**");
            assert!(paths == ["a", "b"] || paths == ["a", "b", "new/c"], "{paths:?}");
            match folder.read_path("new/c") {
                Ok(read) => assert!(["other", ""].contains(&text(&read).as_str())),
                Err(failure) => assert_eq!(failure.code, ToolErrorCode::FsNotFound),
            }
        }
    });
}
