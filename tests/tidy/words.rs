//! Names that say nothing, and words that do not belong into tests.

use crate::tree;

/// Names of what has no name of its own.
const EMPTY: [&str; 9] =
    ["manager", "helper", "helpers", "util", "utils", "processor", "common", "misc", "stuff"];

/// The words of a name in any of the usual spellings.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for char in name.chars() {
        let is_break = !char.is_ascii_alphanumeric();
        if is_break || char.is_ascii_uppercase() {
            words.push(String::new());
        }
        if !is_break {
            words.last_mut().unwrap().push(char.to_ascii_lowercase());
        }
    }
    words
}

fn is_empty(name: &str) -> bool {
    words(name).iter().any(|word| EMPTY.contains(&word.as_str()))
}

#[test]
fn no_file_and_no_item_has_a_name_that_says_nothing() {
    let mut wrong = Vec::new();
    for path in tree::paths() {
        if path.split('/').any(is_empty) {
            wrong.push(path);
        }
    }
    for file in tree::rust() {
        for (line, text) in (1..).zip(file.text.lines()) {
            let code =
                text.trim_start().trim_start_matches("pub ").trim_start_matches("pub(crate) ");
            let Some((item, rest)) = code.split_once(' ') else { continue };
            let end = rest.find(|char: char| !char.is_ascii_alphanumeric() && char != '_');
            let name = &rest[..end.unwrap_or(rest.len())];
            if ["struct", "enum", "trait", "fn", "mod", "type"].contains(&item) && is_empty(name) {
                wrong.push(format!("{}:{line}: `{name}`", file.path));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn no_test_is_left_out_waits_by_the_clock_or_changes_the_environment() {
    let forbidden = [
        ["#[", "ignore"],
        ["#[should_", "panic"],
        ["thread::", "sleep"],
        ["time::", "sleep("],
        ["env::set_", "var"],
        ["env::remove_", "var"],
    ]
    .map(|parts| parts.concat());
    let mut wrong = Vec::new();
    for file in tree::rust().iter().filter(|file| !file.path.starts_with("tests/xtask/")) {
        let Some(tests) = file.tests() else { continue };
        // A model that plays a slow provider passes time; under a paused clock none passes.
        let may_pass_time = ["tests/mock/", "tests/bench/", "tests/soak/"]
            .iter()
            .any(|folder| file.path.starts_with(folder))
            || tests.contains("start_paused");
        for word in &forbidden {
            if tests.contains(word) && !(may_pass_time && word.contains("sleep")) {
                wrong.push(format!("{}: `{word}`", file.path));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn no_file_names_a_place_on_one_persons_machine() {
    let places = [["/home", "/"], ["/Users", "/"], ["/work", "/"], ["..", "/shared"]];
    let places = places.map(|parts| parts.concat());
    let mut wrong = Vec::new();
    for file in tree::files(&["rs", "toml", "md", "ts", "lua", "mjs", "py", "yml"]) {
        for (line, text) in (1..).zip(file.text.lines()) {
            // Made-up homes are fine where a text is about homes.
            let is_place = |place: &String| {
                text.match_indices(place.as_str()).any(|(at, _)| {
                    let before = text[..at].chars().next_back();
                    before
                        .is_none_or(|char| char == '"' || char == ' ' || char == '`' || char == '=')
                })
            };
            if places.iter().any(is_place) && !text.contains("/home/me") {
                wrong.push(format!("{}:{line}: {text}", file.path));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
