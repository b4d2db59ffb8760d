//! Tests of `grep`: what is matched, what of it is shown, and what is said of the rest.

use std::time::Duration;

use dsh_protocol::workspace::{GrepArguments, GrepMode, ToolErrorCode};

use crate::Options;
use crate::fixture::{Ask, Fixture, code, grep, places};
use crate::stop::Stop;

#[test]
fn matches_come_by_path_and_line_with_utf_16_columns() {
    let fixture = Fixture::new(&[
        ("b.txt", "x\nné needle needle\n"),
        ("a/z.txt", "𝒙needle"),
        ("a-b", "needle"),
    ]);
    for folder in fixture.both() {
        let answer = folder.grep_for("needle");
        assert_eq!(places(&answer.value), ["a-b:1:1", "a/z.txt:1:3", "b.txt:2:4"]);
        assert_eq!((answer.value.total, answer.value.truncated), (3, false));
        assert_eq!(answer.value.matches.unwrap()[2].text, "né needle needle");
        assert_eq!(answer.notes, Vec::<String>::new());
    }
}

#[test]
fn the_flags_of_a_search_do_what_they_say() {
    let fixture = Fixture::new(&[
        ("src/a.rs", "Fn a.b\nfn axb\n"),
        ("src/b.ts", "fn a.b\n"),
        ("c.rs", "open {\n  x\n}\n"),
    ]);
    let folder = fixture.open(Options::default());
    let check = |arguments: GrepArguments, expected: &[&str]| {
        assert_eq!(
            places(&folder.grep_with(arguments.clone()).unwrap().value),
            expected,
            "{arguments:?}"
        );
    };
    check(
        GrepArguments { fixed_strings: Some(true), ..grep("a.b") },
        &["src/a.rs:1:4", "src/b.ts:1:4"],
    );
    check(
        GrepArguments { case_insensitive: Some(true), ..grep("^FN a.b") },
        &["src/a.rs:1:1", "src/a.rs:2:1", "src/b.ts:1:1"],
    );
    check(GrepArguments { include: Some("*.rs".into()), ..grep("fn") }, &["src/a.rs:2:1"]);
    check(
        GrepArguments { include: Some("./src/*.{rs,ts}".into()), ..grep("fn") },
        &["src/a.rs:2:1", "src/b.ts:1:1"],
    );
    check(
        GrepArguments { path: Some("src".into()), ..grep("fn") },
        &["src/a.rs:2:1", "src/b.ts:1:1"],
    );
    check(GrepArguments { path: Some("src/b.ts".into()), ..grep("fn") }, &["src/b.ts:1:1"]);
    check(GrepArguments { multiline: Some(true), ..grep(r"open \{.*\}") }, &["c.rs:1:1"]);
    check(GrepArguments { multiline: Some(true), ..grep("x\n}") }, &["c.rs:2:3"]);
    let below =
        GrepArguments { path: Some("src".into()), include: Some("b.*".into()), ..grep("fn") };
    check(below, &["src/b.ts:1:1"]);
    let below =
        GrepArguments { path: Some("src".into()), include: Some("./b.ts".into()), ..grep("fn") };
    check(below, &["src/b.ts:1:1"]);
    check(grep("--pre=/bin/false"), &[]);
    check(grep("-v"), &[]);
    let block =
        folder.grep_with(GrepArguments { multiline: Some(true), ..grep(r"open \{.*\}") }).unwrap();
    assert_eq!(block.value.matches.unwrap()[0].text, "open {\n  x\n}");
}

#[test]
fn modes_return_files_and_counts() {
    let fixture = Fixture::new(&[("a", "x\nx\n"), ("b", "x\n"), ("c", "y\n")]);
    let folder = fixture.open(Options::default());
    let files =
        folder.grep_with(GrepArguments { mode: Some(GrepMode::Files), ..grep("x") }).unwrap().value;
    assert_eq!((files.files.unwrap(), files.total), (vec!["a".to_owned(), "b".to_owned()], 2));
    let counts = GrepArguments { mode: Some(GrepMode::Count), limit: Some(1), ..grep("x") };
    let counts = folder.grep_with(counts).unwrap();
    let first = &counts.value.counts.unwrap()[0];
    assert_eq!((first.path.as_str(), first.count, counts.value.total), ("a", 2, 2));
    assert!(counts.value.truncated && counts.value.matches.is_none());
    assert_eq!(counts.notes, ["1 of 2 files shown; search for less or raise limit"]);
}

#[test]
fn context_stands_beside_its_match() {
    let fixture = Fixture::new(&[("a", "1\n2\nx3\n4\nx5\n6\n7\n")]);
    let answer =
        fixture.open(Options::default()).grep_with(GrepArguments { context: Some(1), ..grep("x") });
    let matches = answer.unwrap().value.matches.unwrap();
    let numbers = |lines: &[dsh_protocol::workspace::Line]| {
        lines.iter().map(|line| line.number).collect::<Vec<_>>()
    };
    let shown: Vec<_> =
        matches.iter().map(|it| (numbers(&it.before), it.line, numbers(&it.after))).collect();
    assert_eq!(shown, [(vec![2], 3, vec![4]), (vec![], 5, vec![6])]);
    let first = GrepArguments { context: Some(2), limit: Some(1), ..grep("x") };
    let first = fixture.open(Options::default()).grep_with(first).unwrap().value;
    assert_eq!((first.total, numbers(&first.matches.unwrap()[0].after)), (2, vec![4]));
}

#[test]
fn line_ends_of_all_kinds_end_lines() {
    let fixture =
        Fixture::new(&[("crlf", "needle\r\nx\r\n"), ("lf", "needle\nx"), ("none", "needle")]);
    let answer = fixture.open(Options::default()).grep_for("needle$");
    assert_eq!(places(&answer.value), ["crlf:1:1", "lf:1:1", "none:1:1"]);
    assert!(answer.value.matches.unwrap().iter().all(|it| it.text == "needle"));
    let multiline = GrepArguments { multiline: Some(true), ..grep("needle$") };
    let answer = fixture.open(Options::default()).grep_with(multiline).unwrap();
    assert_eq!(answer.value.total, 3);
}

#[test]
fn encodings_are_seen_through_and_binary_files_are_named() {
    let fixture = Fixture::new(&[("a.txt", "needle")]);
    fixture.write("bom", b"\xef\xbb\xbfneedle\n");
    fixture.write("lossy", b"a\xff\n\xffneedle\n");
    fixture.write("wide", b"\xff\xfen\0e\0e\0d\0l\0e\0");
    fixture.write("bare", b"n\0e\0e\0d\0l\0e\0");
    fixture.write("n.log", b"needle\n\0");
    fixture.write("late", [b"needle\n".as_slice(), &vec![b'x'; 300_000], b"\0\nneedle\n"].concat());
    let answer = fixture.open(Options::default()).grep_for("needle");
    let expected = ["a.txt:1:1", "bom:1:1", "late:1:1", "late:3:1", "lossy:2:2", "wide:1:1"];
    assert_eq!(places(&answer.value), expected);
    assert_eq!(answer.notes, ["2 binary files skipped: bare, n.log"]);
    let matches = answer.value.matches.unwrap();
    assert_eq!(matches[4].text, "\u{fffd}needle");
    assert_eq!(fixture.open(Options::default()).hits("^needle$").len(), 5);
}

#[test]
fn a_long_line_is_cut_around_the_match() {
    let line = format!("{}NEEDLE{}", "é".repeat(1_200_000), "x".repeat(5000));
    let fixture = Fixture::new(&[
        ("min.js", &line),
        ("big", &format!("{}\n{}NEEDLE", "y\n".repeat(3 << 20), "z".repeat(3000))),
    ]);
    let answer = fixture.open(Options::default()).grep_for("NEEDLE");
    assert_eq!(
        places(&answer.value),
        [format!("big:{}:3001", (3 << 20) + 2), "min.js:1:1200001".to_owned()]
    );
    for found in answer.value.matches.unwrap() {
        assert!(found.text.starts_with('…') && found.text.contains("NEEDLE"), "{}", found.text);
        assert!(found.text.len() < 2100);
        let length = if found.path == "big" { "3006" } else { "1205006" };
        assert!(
            found.text.ends_with(&format!("[cut: the line has {length} characters]")),
            "{}",
            found.text
        );
    }
}

#[test]
fn a_limit_keeps_the_first_by_path_and_the_exact_total() {
    let fixture = Fixture::new(&[]);
    for number in 0..300 {
        fixture.write(&format!("d{}/f{number:03}", number % 7), "needle\nneedle\n");
    }
    let folder = fixture.open(Options::default());
    let all = places(
        &folder.grep_with(GrepArguments { limit: Some(9999), ..grep("needle") }).unwrap().value,
    );
    assert_eq!(all.len(), 600);
    assert!(all.is_sorted());
    for limit in [1, 7, 250, 599] {
        for _ in 0..5 {
            let some =
                folder.grep_with(GrepArguments { limit: Some(limit), ..grep("needle") }).unwrap();
            assert_eq!(places(&some.value), all[..usize::try_from(limit).unwrap()]);
            assert_eq!((some.value.total, some.value.truncated), (600, true));
            assert_eq!(
                some.notes,
                [format!("{limit} of 600 matches shown; search for less or raise limit")]
            );
        }
    }
    let exact = folder.grep_with(GrepArguments { limit: Some(600), ..grep("needle") }).unwrap();
    assert!(!exact.value.truncated && exact.notes.is_empty());
}

#[test]
fn a_pattern_that_does_not_work_says_why_and_what_would() {
    let fixture = Fixture::new(&[("a", "foo(")]);
    let folder = fixture.open(Options::default());
    for (pattern, words) in [
        ("(?<=a)b", "lookbehind"),
        ("foo(?!bar)", "lookahead"),
        (r"(a)\1", "backreference"),
        ("*.ts", "glob"),
        ("foo(", "fixed_strings"),
        ("arr[", "fixed_strings"),
        ("a{", "fixed_strings"),
        ("foo(", "at character 4"),
        (r"a\nb", "multiline"),
        (r"a\r$", "leave it out"),
        ("a{1000}{1000}{1000}", "repetitions"),
        ("a)|(b", "unopened group at character 2"),
    ] {
        let failure = folder.grep_with(grep(pattern)).unwrap_err();
        assert_eq!(failure.code, ToolErrorCode::SearchInvalidPattern, "{pattern}");
        assert!(failure.message.contains(words), "{pattern}: {}", failure.message);
        assert!(!failure.message.contains('\n'), "{pattern}: {}", failure.message);
    }
    let fixed = GrepArguments { fixed_strings: Some(true), ..grep("foo(") };
    assert_eq!(folder.grep_with(fixed).unwrap().value.total, 1);
    for include in ["../**", "/etc/*", "!*.rs", "*.rs,*.ts", "a/../../x", ""] {
        let arguments = GrepArguments { include: Some(include.into()), ..grep("x") };
        assert_eq!(
            code(folder.grep_with(arguments)),
            ToolErrorCode::SearchInvalidPattern,
            "{include}"
        );
    }
}

#[test]
fn secrets_are_not_searched_by_any_way() {
    let fixture =
        Fixture::new(&[(".env", "API_KEY=SENT"), ("sub/.env.local", "API_KEY"), ("a", "API_KEY")]);
    for folder in fixture.both() {
        let answer = folder.grep_for("API_KEY");
        assert_eq!(places(&answer.value), ["a:1:1"]);
        assert_eq!(answer.notes, ["2 paths whose names look like secrets were not searched"]);
        let named = GrepArguments { path: Some(".env".into()), ..grep("API_KEY") };
        assert_eq!(code(folder.grep_with(named)), ToolErrorCode::FsSecretDenied);
        let included = GrepArguments { include: Some(".env*".into()), ..grep("API_KEY") };
        assert_eq!(folder.grep_with(included).unwrap().value.total, 0);
    }
}

#[test]
fn a_search_ends_at_its_deadline_with_what_it_has_and_at_a_cancel_with_nothing() {
    let fixture = Fixture::new(&[("a", "x")]);
    let folder = fixture.open(Options::default());
    let late = folder.grep(&grep("x"), &Stop::new(Some(Duration::ZERO))).unwrap();
    assert!(late.value.truncated);
    assert!(late.notes[0].starts_with("stopped at the deadline"), "{:?}", late.notes);
    let stop = Stop::never();
    stop.cancel();
    assert_eq!(code(folder.grep(&grep("x"), &stop)), ToolErrorCode::Aborted);
}

#[test]
fn a_line_that_fits_no_memory_ends_the_search_of_its_file_only() {
    let fixture = Fixture::new(&[("a", "needle"), ("z", "needle")]);
    fixture.write("huge", [b"needle\n".as_slice(), &vec![b'x'; 40 << 20], b"needle"].concat());
    let answer = fixture.open(Options::default()).grep_for("needle");
    assert_eq!(places(&answer.value)[0], "a:1:1");
    assert_eq!(places(&answer.value).last().unwrap(), "z:1:1");
    assert_eq!(answer.notes, ["1 file searched only up to a line that is too long: huge"]);
}

#[test]
fn a_pattern_that_would_backtrack_elsewhere_is_linear_here() {
    let fixture = Fixture::new(&[("a", &format!("{}b\n", "a".repeat(1 << 20)))]);
    let folder = fixture.open(Options::default());
    for pattern in ["(a+)+$", "(a|aa)+$"] {
        assert_eq!(folder.grep_for(pattern).value.total, 0);
    }
}

#[test]
fn a_large_file_is_searched_by_the_same_rules_as_a_small_one() {
    let lines = "some line\r\n".repeat(600_000) + "é needle\r\n";
    let fixture = Fixture::new(&[("utf8", &format!("\u{feff}first\n{lines}"))]);
    let wide = format!("\u{feff}first\n{lines}")
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect::<Vec<u8>>();
    fixture.write("wide", wide);
    let folder = fixture.open(Options::default());
    assert_eq!(folder.hits("^.? needle$"), ["utf8:600002:1", "wide:600002:1"]);
    assert_eq!(folder.hits("^first"), ["utf8:1:1", "wide:1:1"]);
    let multiline = GrepArguments { multiline: Some(true), ..grep("line\r\né") };
    let answer = folder.grep_with(multiline).unwrap();
    assert_eq!(places(&answer.value), ["utf8:600001:6", "wide:600001:6"]);
    assert_eq!(answer.value.matches.unwrap()[0].text, "some line\né needle");
}
