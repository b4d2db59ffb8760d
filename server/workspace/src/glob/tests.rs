//! Tests of `glob`: spellings of patterns, order, limits, and patterns that are refused.

use std::time::{Duration, SystemTime};

use dsh_protocol::workspace::{GlobArguments, GlobOrder, ToolErrorCode};

use crate::Options;
use crate::fixture::{Ask, Fixture, code, glob};
use crate::stop::Stop;

#[test]
fn a_pattern_may_be_spelled_in_many_ways() {
    let fixture =
        Fixture::new(&[("a.rs", ""), ("src/a.rs", ""), ("src/b.ts", ""), ("src/deep/c.rs", "")]);
    let root = fixture.root().to_str().unwrap().to_owned();
    let absolute = format!("{root}/src/*.rs");
    for folder in fixture.both() {
        for (pattern, expected) in [
            ("*.rs", vec!["a.rs", "src/a.rs", "src/deep/c.rs"]),
            ("**/a.rs", vec!["a.rs", "src/a.rs"]),
            ("a.rs", vec!["a.rs", "src/a.rs"]),
            ("./a.rs", vec!["a.rs"]),
            ("./src/*.rs", vec!["src/a.rs"]),
            ("src/*.rs", vec!["src/a.rs"]),
            ("src/**/*.rs", vec!["src/a.rs", "src/deep/c.rs"]),
            ("src/", vec!["src/a.rs", "src/b.ts", "src/deep/c.rs"]),
            ("src/**", vec!["src/a.rs", "src/b.ts", "src/deep/c.rs"]),
            ("src//deep/./*", vec!["src/deep/c.rs"]),
            ("{src,none}/*.{rs,ts}", vec!["src/a.rs", "src/b.ts"]),
            ("{src/deep,x}/*", vec!["src/deep/c.rs"]),
            ("*/*.rs", vec!["src/a.rs"]),
            (&absolute, vec!["src/a.rs"]),
            (&root, vec!["a.rs", "src/a.rs", "src/b.ts", "src/deep/c.rs"]),
            ("src/a.rs", vec!["src/a.rs"]),
            ("src", vec![]),
            ("-rf", vec![]),
        ] {
            assert_eq!(folder.paths(pattern), expected, "{pattern}");
        }
        let below = GlobArguments { path: Some("src".into()), ..glob("*.rs") };
        assert_eq!(folder.glob_with(below).unwrap().value.paths, ["src/a.rs", "src/deep/c.rs"]);
        let below = GlobArguments { path: Some("src/".into()), ..glob("deep/*") };
        assert_eq!(folder.glob_with(below).unwrap().value.paths, ["src/deep/c.rs"]);
    }
}

#[test]
fn brackets_may_be_part_of_a_name() {
    let fixture = Fixture::new(&[
        ("app/[slug]/page.tsx", ""),
        ("app/s/page.tsx", ""),
        ("app/[[...all]]/p.tsx", ""),
    ]);
    let folder = fixture.open(Options::default());
    assert_eq!(folder.paths("app/[slug]/page.tsx"), ["app/[slug]/page.tsx"]);
    assert_eq!(folder.paths("app/[[...all]]/p.tsx"), ["app/[[...all]]/p.tsx"]);
    assert_eq!(folder.paths("app/[slug]/*"), ["app/[slug]/page.tsx", "app/s/page.tsx"]);
    assert_eq!(folder.paths("app/[rs]/*"), ["app/s/page.tsx"]);
}

#[test]
fn a_pattern_that_leaves_the_folder_is_not_valid_whatever_is_there() {
    let fixture = Fixture::new(&[("a/b", "")]);
    let there = format!("{}/*", fixture.outside().display());
    let back = format!("{}/../*", fixture.root().display());
    let wider = format!("{}x/*", fixture.root().display());
    let folder = fixture.open(Options::default());
    let expected = folder.glob_with(glob("../*")).unwrap_err();
    assert_eq!(expected.code, ToolErrorCode::SearchInvalidPattern);
    for pattern in
        [&there, "/missing/*", "/etc/*", "a/../../S/*", "{../x,b}", &back, &wider, "//etc/*"]
    {
        assert_eq!(folder.glob_with(glob(pattern)).unwrap_err(), expected, "{pattern}");
    }
    for pattern in ["", "  ", "a\0b", "a{b", &"{".repeat(2000), &"x".repeat(5000)] {
        assert_eq!(
            code(folder.glob_with(glob(pattern))),
            ToolErrorCode::SearchInvalidPattern,
            "{pattern}"
        );
    }
    assert_eq!(folder.glob_for(&"{a,b}".repeat(30)).value.total, 0);
    let file = GlobArguments { path: Some("a/b".into()), ..glob("*") };
    assert_eq!(code(folder.glob_with(file)), ToolErrorCode::FsNotDirectory);
    let missing = GlobArguments { path: Some("none".into()), ..glob("*") };
    assert_eq!(code(folder.glob_with(missing)), ToolErrorCode::FsNotFound);
}

#[test]
fn an_empty_result_explains_the_rule() {
    let fixture = Fixture::new(&[("a/b", "")]);
    let folder = fixture.open(Options::default());
    assert!(folder.glob_for("*.zig").notes[0].contains("`**` crosses folders"));
    assert_eq!(folder.glob_for("none/*").notes, ["there is no none; find its path with glob"]);
}

#[test]
fn secrets_and_ignored_files_stay_out_whatever_the_pattern() {
    let fixture = Fixture::new(&[
        (".gitignore", "gen/\n"),
        (".env", ""),
        ("gen/a.ts", ""),
        (".hidden.ts", ""),
    ]);
    for folder in fixture.both() {
        for pattern in ["**/.env", ".env", "./.env", "*"] {
            let answer = folder.glob_for(pattern);
            assert!(!answer.value.paths.contains(&".env".to_owned()), "{pattern}");
            if pattern != "./.env" {
                assert!(
                    answer
                        .notes
                        .iter()
                        .any(|note| note.contains("1 path whose name looks like a secret"))
                );
            }
        }
        assert_eq!(folder.paths("**/*.ts"), [".hidden.ts"]);
    }
}

#[test]
fn the_newest_come_first_when_they_are_asked_for() {
    let fixture = Fixture::new(&[("a", ""), ("b", ""), ("c", ""), ("d", "")]);
    for (name, seconds) in [("a", 10), ("b", 30), ("c", 20), ("d", 30)] {
        let file = std::fs::File::options().write(true).open(fixture.path(name)).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)).unwrap();
    }
    let folder = fixture.open(Options::default());
    let newest = GlobArguments { order: Some(GlobOrder::Newest), ..glob("*") };
    assert_eq!(folder.glob_with(newest.clone()).unwrap().value.paths, ["b", "d", "c", "a"]);
    let first = folder.glob_with(GlobArguments { limit: Some(1), ..newest }).unwrap();
    assert_eq!((first.value.paths, first.value.total), (vec!["b".to_owned()], 4));
}

#[test]
fn a_limit_keeps_the_first_by_path_and_says_how_many_there_are() {
    let fixture = Fixture::new(&[]);
    for number in 0..1000 {
        fixture.write(&format!("f{number:04}"), "");
    }
    let folder = fixture.open(Options::default());
    for _ in 0..5 {
        let answer = folder.glob_for("*");
        assert_eq!((answer.value.paths.len(), answer.value.total), (100, 1000));
        assert_eq!(answer.value.paths[99], "f0099");
        assert_eq!(answer.notes, ["100 of 1000 paths shown; match less or raise limit"]);
    }
    let exact = folder.glob_with(GlobArguments { limit: Some(1000), ..glob("*") }).unwrap();
    assert!(!exact.value.truncated && exact.notes.is_empty());
}

#[test]
fn a_listing_ends_at_its_deadline_and_at_a_cancel() {
    let fixture = Fixture::new(&[("a", "")]);
    let folder = fixture.open(Options::default());
    let late = folder.glob(&glob("*"), &Stop::new(Some(Duration::ZERO))).unwrap();
    assert!(late.value.truncated && late.notes[0].starts_with("stopped at the deadline"));
    let stop = Stop::never();
    stop.cancel();
    assert_eq!(code(folder.glob(&glob("*"), &stop)), ToolErrorCode::Aborted);
}
