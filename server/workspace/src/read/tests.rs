//! Tests of `read` and `text`: windows, caps, encodings and binary files.

use std::time::Duration;

use dsh_protocol::workspace::{ReadArguments, ToolErrorCode};

use crate::Options;
use crate::fixture::{Ask, Fixture, code, text};
use crate::stop::Stop;

fn utf16(text: &str, is_big: bool, mark: bool) -> Vec<u8> {
    let units = mark.then_some(0xfeff).into_iter().chain(text.encode_utf16());
    units
        .flat_map(|unit: u16| if is_big { unit.to_be_bytes() } else { unit.to_le_bytes() })
        .collect()
}

#[test]
fn a_window_holds_the_lines_that_were_asked_for_and_the_total_of_all() {
    let fixture = Fixture::new(&[("a", "one\ntwo\r\nthree\n\nfive"), ("b", "1\n2\n3\n")]);
    for folder in fixture.both() {
        let answer = folder.read_window("a", 2, 2).unwrap();
        assert_eq!(text(&answer), "two\nthree");
        assert_eq!(answer.value.lines[0].number, 2);
        assert_eq!((answer.value.offset, answer.value.total_lines), (2, 5));
        assert_eq!(answer.notes, Vec::<String>::new());
        assert_eq!(text(&folder.read_path("a").unwrap()), "one\ntwo\nthree\n\nfive");
        assert_eq!(folder.read_path("b").unwrap().value.total_lines, 3);
        assert_eq!(text(&folder.read_window("b", 3, 9).unwrap()), "3");
    }
}

#[test]
fn an_offset_past_the_end_names_the_total() {
    let fixture = Fixture::new(&[("three", "1\n2\n3\n"), ("empty", ""), ("one", "a")]);
    let folder = fixture.open(Options::default());
    let failure = folder.read_window("three", 99, 1).unwrap_err();
    assert_eq!(failure.code, ToolErrorCode::FsNotFound);
    assert!(failure.message.contains("3 lines"), "{}", failure.message);
    assert_eq!(code(folder.read_window("three", 4, 1)), ToolErrorCode::FsNotFound);
    let empty = folder.read_path("empty").unwrap();
    assert_eq!((empty.value.total_lines, empty.value.lines.len()), (0, 0));
    assert_eq!(empty.notes, ["the file is empty"]);
    assert_eq!(code(folder.read_window("empty", 2, 1)), ToolErrorCode::FsNotFound);
    assert_eq!(folder.read_path("one").unwrap().value.total_lines, 1);
}

#[test]
fn lines_and_bytes_are_capped_and_counting_goes_on() {
    let fixture = Fixture::new(&[
        ("many", &"x\n".repeat(5000)),
        ("wide", &format!("{}\n", "y".repeat(999)).repeat(100)),
    ]);
    let folder = fixture.open(Options::default());
    let many = folder.read_path("many").unwrap();
    assert_eq!((many.value.lines.len(), many.value.total_lines), (2000, 5000));
    assert_eq!(folder.read_window("many", 1, 9999).unwrap().value.lines.len(), 2000);
    let wide = folder.read_path("wide").unwrap();
    assert_eq!((wide.value.lines.len(), wide.value.total_lines), (51, 100));
    assert_eq!(wide.notes, ["the window ends early, at 50 KiB; read on from offset 52"]);
}

#[test]
fn a_long_line_is_cut_and_says_how_long_it_is() {
    let long = "é".repeat(2500);
    let exact = "z".repeat(2000);
    let astral = "𝒙".repeat(1500);
    let huge = "h".repeat(3_000_000);
    let fixture = Fixture::new(&[("a", &format!("{long}\r\n{exact}\r\n{astral}\n{huge}\nend"))]);
    let answer = fixture.open(Options::default()).read_path("a").unwrap();
    let lines: Vec<&str> = answer.value.lines.iter().map(|line| line.text.as_str()).collect();
    assert_eq!(lines[0], format!("{}… [cut: the line has 2500 characters]", "é".repeat(2000)));
    assert_eq!(lines[1], exact);
    assert_eq!(lines[2], format!("{}… [cut: the line has 3000 characters]", "𝒙".repeat(1000)));
    assert!(lines[3].ends_with("… [cut: the line has 3000000 characters]"));
    assert_eq!(lines[4], "end");
}

#[test]
fn marks_are_taken_off_and_utf_16_is_decoded() {
    let fixture = Fixture::new(&[]);
    fixture.write("m.py", b"\xef\xbb\xbfimport x\n");
    fixture.write("le", utf16("größe\r\nzwei 𝒙\n", false, true));
    fixture.write("be", utf16("größe\n", true, true));
    fixture.write("bare", utf16("needle", false, false));
    fixture.write("u32", b"\xff\xfe\0\0a\0\0\0");
    let folder = fixture.open(Options::default());
    let python = folder.read_path("m.py").unwrap();
    assert_eq!((text(&python).as_str(), python.value.encoding), ("import x", None));
    let little = folder.read_path("le").unwrap();
    assert_eq!(
        (text(&little).as_str(), little.value.encoding.as_deref()),
        ("größe\nzwei 𝒙", Some("utf-16le"))
    );
    let big = folder.read_path("be").unwrap();
    assert_eq!((text(&big).as_str(), big.value.encoding.as_deref()), ("größe", Some("utf-16be")));
    assert_eq!(code(folder.read_path("bare")), ToolErrorCode::FsNotText);
    assert_eq!(code(folder.read_path("u32")), ToolErrorCode::FsNotText);
}

#[test]
fn bytes_that_are_not_utf_8_are_shown_as_replacements_with_a_note() {
    let fixture = Fixture::new(&[]);
    fixture.write("i.txt", b"a\xff\nneedle\n");
    // A character that lies across the border between two pieces is whole.
    fixture.write("border", format!("{}é\n", "x".repeat((64 << 10) - 1)));
    let folder = fixture.open(Options::default());
    let answer = folder.read_path("i.txt").unwrap();
    assert_eq!(text(&answer), "a\u{fffd}\nneedle");
    assert_eq!(answer.notes, ["bytes that are not valid utf-8 are shown as U+FFFD"]);
    assert!(folder.text("border", &Stop::never()).unwrap().text.ends_with("xé\n"));
    assert!(!folder.text("border", &Stop::never()).unwrap().lossy);
}

#[test]
fn a_nul_near_the_start_makes_a_file_binary_and_a_late_one_does_not() {
    let fixture = Fixture::new(&[]);
    let mut bytes = vec![b'a'; 8191];
    bytes.push(0);
    fixture.write("early", &bytes);
    bytes.insert(0, b'a');
    fixture.write("late", &bytes);
    let folder = fixture.open(Options::default());
    assert_eq!(code(folder.read_path("early")), ToolErrorCode::FsNotText);
    assert_eq!(folder.read_path("late").unwrap().value.total_lines, 1);
}

#[test]
fn a_huge_sparse_file_is_answered_at_once() {
    let fixture = Fixture::new(&[("tail", &"line\n".repeat(4000))]);
    fixture.write("big", "");
    for name in ["big", "tail"] {
        let file = std::fs::File::options().write(true).open(fixture.path(name)).unwrap();
        file.set_len(20 << 30).unwrap();
    }
    let folder = fixture.open(Options { max_read_size: 4 << 20, ..Options::default() });
    assert_eq!(code(folder.read_path("big")), ToolErrorCode::FsNotText);
    let tail = folder.read_window("tail", 3990, 5).unwrap();
    assert_eq!(tail.value.lines.len(), 5);
    assert_eq!(
        tail.notes,
        ["the file has more lines than the total: counting stopped after 4 MiB"]
    );
    assert_eq!(code(folder.read_window("tail", 9000, 5)), ToolErrorCode::FsTooLarge);
    let answer = folder.grep_for("line");
    assert_eq!(answer.value.total, 0);
    assert_eq!(answer.notes, ["2 files over the size limit skipped: big, tail"]);
}

#[test]
fn the_text_of_a_file_is_whole_or_says_that_it_is_not() {
    let fixture = Fixture::new(&[("a", "one\r\ntwo"), ("big", &"x".repeat(300_000))]);
    let folder = fixture.open(Options { max_text_size: 100_000, ..Options::default() });
    let whole = folder.text("./a", &Stop::never()).unwrap();
    assert_eq!(
        (whole.path.as_str(), whole.text.as_str(), whole.complete),
        ("a", "one\r\ntwo", true)
    );
    let part = folder.text("big", &Stop::never()).unwrap();
    assert!(!part.complete && part.text.len() < 300_000);
}

#[test]
fn secrets_are_refused_by_the_name_that_was_written_and_by_the_name_that_was_meant() {
    let fixture = Fixture::new(&[
        (".env", "SENT"),
        ("a/x", ""),
        ("keys/id_rsa", "SENT"),
        (".env.example", "fine"),
    ]);
    fixture.link(".env", "settings");
    fixture.link(fixture.path("keys/id_rsa"), "absolute");
    fixture.link("a/x", "fake.pem");
    for folder in fixture.both() {
        for path in [
            "./.env",
            "a/../.env",
            ".ENV",
            "settings",
            "absolute",
            "fake.pem",
            "missing.key",
            ".env/x",
        ] {
            assert_eq!(code(folder.read_path(path)), ToolErrorCode::FsSecretDenied, "{path}");
        }
        assert_eq!(text(&folder.read_path(".env.example").unwrap()), "fine");
    }
    let open = fixture.open(Options { secrets: vec!["a".into()], ..Options::default() });
    assert_eq!(text(&open.read_path(".env").unwrap()), "SENT");
    assert_eq!(code(open.read_path("a/x")), ToolErrorCode::FsSecretDenied);
}

#[test]
fn a_read_that_nobody_waits_for_is_aborted_and_a_late_one_times_out() {
    let fixture = Fixture::new(&[("a", "x")]);
    let folder = fixture.open(Options::default());
    let cancelled = Stop::never();
    cancelled.clone().cancel();
    assert_eq!(code(folder.text("a", &cancelled)), ToolErrorCode::Aborted);
    let late = Stop::new(Some(Duration::ZERO));
    assert_eq!(code(folder.text("a", &late)), ToolErrorCode::ToolTimeout);
    fixture.write("long", "line\n".repeat(100_000));
    let part = folder.read(&arguments("long", 5, 2), &late).unwrap();
    assert_eq!((text(&part).as_str(), part.notes.len()), ("line\nline", 1));
    assert!(part.notes[0].starts_with("stopped at the deadline"));
    assert_eq!(code(folder.read(&arguments("long", 90_000, 2), &late)), ToolErrorCode::ToolTimeout);
}

fn arguments(path: &str, offset: u64, limit: u64) -> ReadArguments {
    ReadArguments { file_path: path.to_owned(), offset: Some(offset), limit: Some(limit) }
}
