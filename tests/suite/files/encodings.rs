//! Text of every kind, and what is none: what of it is shown, searched, cut or skipped.

use dsh_tests::world::World;
use serde_json::json;

use super::{Desk, bytes};

fn wide(text: &str, is_marked: bool) -> Vec<u8> {
    let mark = if is_marked { "\u{feff}" } else { "" };
    format!("{mark}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect()
}

#[test]
fn no_byte_makes_a_file_or_a_search_disappear_without_a_word() {
    let make = |world: &World| {
        world.file("a.txt", "needle\n");
        bytes(world, "n.log", b"needle\n\0");
        bytes(
            world,
            "b.bin",
            &(0..1_000_000_u32).map(|it| (it * 7 % 251) as u8).collect::<Vec<_>>(),
        );
        bytes(world, "invalid", b"a\xff\nneedle\n");
        bytes(world, "marked", &wide("needle", true));
        bytes(world, "bare", &wide("needle", false));
        bytes(world, "m.py", b"\xef\xbb\xbfimport x\n");
        bytes(world, "c.txt", b"needle\r\nx\r\n");
    };
    for mut desk in Desk::both(make) {
        let said = desk.grep("needle$");
        assert_eq!(said.hits(), ["a.txt:1", "c.txt:1", "invalid:2", "marked:1"]);
        said.notes_say("3 binary files skipped: b.bin, bare, n.log");
        assert!(!said.text.contains('\r'));
        let first = desk.call("grep", &json!({ "pattern": "^import" }));
        assert_eq!(first.hits(), ["m.py:1"]);
        assert_eq!(desk.read("m.py").lines(), ["import x"]);
        let lossy = desk.read("invalid");
        assert_eq!(lossy.lines(), ["a\u{fffd}", "needle"]);
        assert!(!lossy.notes.is_empty(), "replacements are told");
        let marked = desk.read("marked");
        assert_eq!(
            (marked.lines(), &marked.value["encoding"]),
            (vec!["needle".to_owned()], &json!("utf-16le"))
        );
        for path in ["bare", "n.log", "b.bin"] {
            assert_eq!(desk.read(path).code, "FS_NOT_TEXT", "{path}");
        }
        assert_eq!(desk.read("c.txt").lines(), ["needle", "x"]);
    }
}

#[test]
fn a_cut_says_what_it_cut_and_stands_around_the_match() {
    let make = |world: &World| {
        world.file("min.js", &format!("{}NEEDLE", "x".repeat(5 << 20)));
        world.file("wide.txt", &format!("{}\nshort\n", "é".repeat(2500)));
        world.file(
            "many.txt",
            &format!("{}NEXT{}\n", "y".repeat(1500), "y".repeat(1500)).repeat(30),
        );
    };
    for mut desk in Desk::both(make) {
        let said = desk.grep("NEEDLE");
        let found = &said.value["matches"][0];
        let text = found["text"].as_str().unwrap();
        assert!(text.starts_with('…') && text.contains("NEEDLE") && text.len() < 2200, "{text}");
        assert_eq!(found["column"], (5 << 20) + 1);
        assert!(text.contains("the line has 5242886 characters"), "{text}");
        let read = desk.read("wide.txt").lines();
        assert!(read[0].contains("2500") && read[0].chars().count() < 2100, "{}", read[0]);
        assert_eq!(read[1], "short");
        let many = desk.grep("NEXT");
        assert_eq!(many.hits().len(), 30);
        for found in many.value["matches"].as_array().unwrap() {
            assert!(found["text"].as_str().unwrap().contains("the line has 3004 characters"));
        }
    }
}

#[test]
fn empty_files_missing_ends_and_windows_past_the_end() {
    for mut desk in Desk::both(|world| {
        world.file("e", "");
        world.file("a", "a");
        world.file("three", "1\n2\n3\n");
    }) {
        let empty = desk.read("e");
        assert!(empty.lines().is_empty() && empty.text.contains("The file is empty."));
        assert_eq!(empty.value["totalLines"], 0);
        let one = desk.read("a");
        assert_eq!((one.lines(), &one.value["totalLines"]), (vec!["a".to_owned()], &json!(1)));
        let window = desk.call("read", &json!({ "file_path": "three", "offset": 2, "limit": 1 }));
        assert_eq!(
            (window.lines(), &window.value["totalLines"]),
            (vec!["2".to_owned()], &json!(3))
        );
        assert!(
            window.text.contains("Lines 2 to 2 of 3. Read on with offset 3."),
            "{}",
            window.text
        );
        let past = desk.call("read", &json!({ "file_path": "three", "offset": 99 }));
        assert_eq!(past.code, "FS_NOT_FOUND");
        assert!(past.text.contains("3 lines"), "{}", past.text);
    }
}
