//! The transcript printer beyond the fixtures: cut results and growth event by event.

use dsh_protocol::event::Event;
use dsh_protocol::transcript::{self, Transcript};
use expect_test::{Expect, expect};

const CALLS: &str = include_str!("../../fixtures/parallel_tools.jsonl");

fn events(lines: &str) -> Vec<Event> {
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[track_caller]
fn check(lines: &str, expected: Expect) {
    expected.assert_eq(&transcript::print(&events(lines)));
}

#[test]
fn a_long_result_is_cut_and_says_how_much_is_left() {
    let mut cut = Transcript::new().cut_results(2);
    for event in &events(CALLS) {
        cut.push(event);
    }
    expect![[r#"
        turn
          step
            user    Where is the answer computed, and who calls it?
            think   Two things are asked: the definition and its callers.
                    A read and a search can run side by side.
            say     I look at both.
            call    read src/lib.rs
            call    grep answer\(\)
            result  1: /// The answer.
                    2: pub fn answer() -> u32 {
                    … 2 more lines
            result  src/main.rs
                      3: println!("{}", answer());
          step
            say     `answer` is defined in src/lib.rs:2 and called once, in src/main.rs:3.
        done completed
    "#]]
    .assert_eq(&cut.finish());
}

#[test]
fn it_only_ever_grows_at_its_end() {
    let mut transcript = Transcript::new();
    let mut before = String::new();
    for event in &events(CALLS) {
        transcript.push(event);
        assert!(transcript.text().starts_with(&before));
        transcript.text().clone_into(&mut before);
    }
    assert_eq!(before, transcript::print(&events(CALLS)));
}

#[test]
fn a_stream_that_begins_in_the_middle_names_what_it_does_not_know() {
    check(
        r#"{"type":"agent/inbox/spliced","seq":70,"time":1,"data":{"target":"next-turn","start":3,"removedCount":1,"inserted":[]}}
{"type":"message/outcome","seq":71,"time":1,"data":{"messageId":"m9","kind":"failed","reason":"no model"},"ignorable":true}
{"type":"turn/end","seq":72,"time":1,"data":{"turn":4,"reason":{"kind":"limit","what":"stoppingRounds"}}}"#,
        expect![[r#"
            dropped m9
            reason  failed: no model
            done limit stoppingRounds
        "#]],
    );
}

#[test]
fn nothing_gives_an_empty_text() {
    check("", expect![""]);
}
