//! What a scan counts and which passages it prefers.

use super::*;

fn best(files: &[(&str, &str)], prompt: &str) -> Vec<String> {
    let question = Question::read(prompt, &[]);
    let counts = Counts::new(&question);
    for (path, text) in files {
        counts.visit(path, text);
    }
    let files = std::mem::take(&mut *counts.files.lock().unwrap());
    let passages = ranking::best(&counts, files, &question);
    passages.into_iter().map(|passage| format!("{}:{}", passage.path, passage.lines.0)).collect()
}

const FILES: &[(&str, &str)] = &[
    (
        "src/net.rs",
        "//! Sockets.\n\nfn connect() {}\n\nfn retryDelay(attempt: u32) -> u64 {\n    attempt.into()\n}\n",
    ),
    ("src/main.rs", "fn main() {\n    retry();\n}\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n// a delay\n"),
    ("src/log.rs", "fn log() {}\n"),
    ("src/cli.rs", "fn parse_flags() {}\n"),
    ("README.md", "# Thing\n\nDoes things. Install it with make.\n"),
    ("CHANGELOG.md", "- retries are delayed\n"),
];

#[test]
fn the_definition_with_both_words_comes_before_words_apart() {
    assert_eq!(best(FILES, "how are retries delayed?")[0], "src/net.rs:5");
}

#[test]
fn a_question_about_use_is_answered_by_documentation() {
    assert_eq!(best(FILES, "how do I install this?"), ["README.md:3"]);
}

#[test]
fn nothing_is_said_when_the_rare_word_is_missing() {
    assert!(best(FILES, "how is the zebra delayed?").is_empty());
    assert!(best(FILES, "how are zebras fed?").is_empty());
}

#[test]
fn words_are_counted_where_they_begin() {
    let question = Question::read("how is an item read?", &[]);
    let counts = Counts::new(&question);
    let text = "item\nunread bread ready\n\nreadItem(READ_ITEM)";
    counts.visit("a.rs", text);
    let files = counts.files.lock().unwrap();
    let lines: Vec<usize> = files[0].hits.iter().map(|hit| hit.line()).collect();
    assert_eq!(lines, [0, 3, 3, 3, 3]);
}
