//! Patterns as models write them: globs with brackets and braces, expressions that are none.

use std::time::Duration;

use serde_json::json;

use super::Desk;

#[test]
fn names_that_look_like_classes_are_found_by_their_own_name() {
    for mut desk in Desk::both(|world| {
        for path in ["app/[slug]/page.tsx", "app/s/page.tsx", "app/[[...all]]/p.tsx"] {
            world.file(path, "x\n");
        }
    }) {
        for path in ["app/[slug]/page.tsx", "app/[[...all]]/p.tsx"] {
            assert_eq!(desk.paths(path), [path]);
            assert_eq!(desk.read(path).lines(), ["x"]);
        }
    }
}

#[test]
fn a_glob_may_be_spelled_in_the_ways_that_models_spell_it() {
    for mut desk in Desk::both(|world| {
        for path in ["a.rs", "src/a.rs", "src/b.ts", "src/deep/c.rs"] {
            world.file(path, "x\n");
        }
    }) {
        let work = desk.world.work().display().to_string();
        for (pattern, expected) in [
            ("./src/*.rs", vec!["src/a.rs"]),
            ("src/", vec!["src/a.rs", "src/b.ts", "src/deep/c.rs"]),
            (&format!("{work}/src/*.rs"), vec!["src/a.rs"]),
            ("*.rs", vec!["a.rs", "src/a.rs", "src/deep/c.rs"]),
            ("**/a.rs", vec!["a.rs", "src/a.rs"]),
            ("src/**", vec!["src/a.rs", "src/b.ts", "src/deep/c.rs"]),
        ] {
            assert_eq!(desk.paths(pattern), expected, "{pattern}");
        }
        let nothing = desk.glob("lib");
        assert!(nothing.paths().is_empty());
        nothing.notes_say("`**` crosses folders");
        assert!(nothing.text.starts_with("No files found\n"));
    }
}

#[test]
fn bombs_of_braces_are_answered() {
    let mut desk = Desk::new(|world| world.file("a", "x\n"));
    assert!(desk.paths(&"{a,b}".repeat(30)).is_empty());
    assert_eq!(desk.glob(&"{".repeat(2000)).code, "SEARCH_INVALID_PATTERN");
    let include = json!({ "pattern": "x", "include": "{".repeat(2000) });
    assert_eq!(desk.call("grep", &include).code, "SEARCH_INVALID_PATTERN");
}

#[test]
fn what_expressions_cannot_say_is_an_error_that_names_it_and_never_nothing_found() {
    let mut desk = Desk::new(|world| world.file("a.txt", "foo(bar)\nab aab\n"));
    for (pattern, words) in [
        ("(?<=a)b", "lookbehind"),
        ("foo(?!bar)", "lookahead"),
        (r"(a)\1", "backreference"),
        ("*.ts", "glob"),
        ("foo(", "at character 4"),
        ("arr[", "fixed_strings"),
        ("a{", "fixed_strings"),
    ] {
        let said = desk.grep(pattern);
        assert_eq!(said.code, "SEARCH_INVALID_PATTERN", "{pattern}");
        assert!(said.text.contains(words), "{pattern}: {}", said.text);
    }
    let fixed = desk.call("grep", &json!({ "pattern": "foo(", "fixed_strings": true }));
    assert_eq!(fixed.hits(), ["a.txt:1"]);
}

#[test]
fn an_expression_that_would_backtrack_elsewhere_is_answered() {
    let mut desk = Desk::new(|world| world.file("a", &format!("{}b\n", "a".repeat(1 << 20))));
    for pattern in ["(a+)+$", "(a|aa)+$"] {
        let asked = std::time::Instant::now();
        assert!(desk.hits(pattern).is_empty());
        // Exponential time would be ages.
        assert!(asked.elapsed() < Duration::from_secs(30));
    }
}
