//! The words of answers.

use super::*;
use crate::offline::results;

fn question(prompt: &str) -> Question {
    Question::read(prompt, &[])
}

fn answer(prompt: &str, definitions: &str, uses: &str, reads: &[Window]) -> String {
    let question = question(prompt);
    let found = rank::definitions(&question.names, &results::grep(definitions));
    names(&question, &found, &results::grep(uses), reads, None)
}

#[test]
fn what_is_not_there_is_said_not_to_be_there() {
    let text = answer("where is frob_nicate defined?", "No matches found", "No matches found", &[]);
    assert!(text.starts_with("`frob_nicate` was not found in this workspace."), "{text}");
    assert!(text.contains(BADGE));
}

#[test]
fn a_near_miss_is_called_one() {
    let uses = "Found 1 match\na.rs\n  Line 3: fn frobNicate() {}";
    let text = answer("where is frob_nicate defined?", "No matches found", uses, &[]);
    assert!(text.contains("`frob_nicate` was not found"), "{text}");
    assert!(text.contains("not what was asked for:\n\n- `a.rs:3`: `fn frobNicate() {}`"), "{text}");
}

#[test]
fn a_use_is_not_called_a_definition() {
    let uses = "Found 1 match\na.rs\n  Line 3:     frob_nicate(1);";
    let text = answer("where is frob_nicate defined?", "No matches found", uses, &[]);
    assert!(text.starts_with("No definition of `frob_nicate` was found"), "{text}");
    assert!(text.contains("is used here:\n\n- `a.rs:3`: `frob_nicate(1);`"), "{text}");
}

#[test]
fn the_definition_itself_comes_before_copies_and_tests() {
    let found = "Found 4 matches\nsrc/a.rs\n  Line 9: pub fn run() {\n\ntests/a.rs\n  Line 1: pub fn run() {\n\nvendor/a.rs\n  Line 2: pub fn run() {\n\nzz.rs\n  Line 3: fn run() {";
    let text = answer("where is run defined?", found, "No matches found", &[]);
    let cited: Vec<&str> = text.lines().filter(|line| line.starts_with("- ")).collect();
    assert_eq!(cited[0], "- `src/a.rs:9`: `pub fn run() {` (function)");
    assert_eq!(cited[1], "- `zz.rs:3`: `fn run() {` (function)");
    assert_eq!(cited.len(), 4);
}

#[test]
fn the_method_of_the_named_type_comes_first() {
    let found = "Found 4 matches\na.rs\n  Line 1: impl Foo {\n  Line 2:     pub fn run() {}\n  Line 5: impl Bar {\n\nb.rs\n  Line 2:     pub fn run() {}";
    let text = answer("where is Foo::run?", found, "No matches found", &[]);
    assert!(text.find("`a.rs:2`").unwrap() < text.find("`b.rs:2`").unwrap(), "{text}");
}

#[test]
fn a_variant_is_claimed_only_inside_an_enumeration() {
    let found = "Found 1 match\na.rs\n  Line 2:     Ready,";
    let read = |outer: &str| {
        results::read(&format!(
            "<path>a.rs</path>\n<content>\n1: {outer}\n2:     Ready,\n</content>"
        ))
        .unwrap()
    };
    let sure = answer("where is Ready defined?", found, "", &[read("pub enum State {")]);
    assert!(sure.contains("`Ready` is declared as a part of something else"), "{sure}");
    let doubtful = answer("where is Ready defined?", found, "", &[read("call(")]);
    assert!(doubtful.contains("these lines may define `Ready`"), "{doubtful}");
}

#[test]
fn quotations_hold_no_backtick_and_stand_in_the_line() {
    let line = "    /// Calls `run` and then some more of the same, see `stop` for how it ends.";
    let at = Sighting { path: "a.rs".to_owned(), line: 7, text: line.to_owned(), cut: false };
    let cited = citation(&at, "");
    let quote = cited.strip_prefix("`a.rs:7`: `").unwrap().strip_suffix('`').unwrap();
    assert!(line.contains(quote) && !quote.contains('`'));
    let long = Sighting { text: format!("{}needle{}", "é".repeat(300), "x".repeat(300)), ..at };
    let cited = citation(&long, "needle");
    let quote = cited.strip_prefix("`a.rs:7`: `").unwrap().strip_suffix('`').unwrap();
    let quote = quote.strip_prefix('\u{2026}').unwrap().strip_suffix('\u{2026}').unwrap();
    assert!(quote.contains("needle") && quote.len() <= 160 && long.text.contains(quote));
}

#[test]
fn an_excerpt_is_cited_where_its_first_word_stands() {
    let text = "<path>a.rs</path>\n<content>\n4: }\n5: \n6: fn pause() {\n7:     rest(1);\n8: }\n</content>";
    let window = results::read(text).unwrap();
    let excerpt = quote::around(&window, 2);
    assert!(excerpt.starts_with("From `a.rs:6`:\n```rs\nfn pause() {\n"), "{excerpt}");
}
