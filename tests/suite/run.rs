//! `dsh-ls run`: what stands on which output, and how it exits.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Output, Stdio};

use dsh_protocol::event::Event;
use dsh_tests::check_log;
use dsh_tests::script::Script;
use dsh_tests::world::World;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

fn texts(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&output.stdout), text(&output.stderr))
}

/// A model that looks something up and then answers.
fn looks_up() -> Script {
    Script::parse("say Let me look.\ncall read {\"file_path\":\"a.txt\"}\n---\nsay It says alpha.")
}

#[test]
fn the_answer_stands_on_standard_output_and_progress_on_standard_error() {
    let world = World::new();
    world.file("a.txt", "alpha\n");
    let model = world.model(looks_up());
    let output = world.run(["run", "--model", &model, "What is in a.txt?"]);
    let (out, err) = texts(&output);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(out, "It says alpha.\n");
    for line in [&format!("model {model}"), "Let me look.", "read {\"file_path\":\"a.txt\"}"] {
        assert!(err.contains(line), "{err}");
    }
}

#[test]
fn quiet_leaves_standard_error_empty() {
    let world = World::new();
    world.file("a.txt", "alpha\n");
    let model = world.model(looks_up());
    let output = world.run(["run", "--quiet", "--model", &model, "What is in a.txt?"]);
    assert_eq!(texts(&output), ("It says alpha.\n".to_owned(), String::new()));
}

#[test]
fn json_prints_every_event_bare_on_its_own_line() {
    let world = World::new();
    world.file("a.txt", "alpha\n");
    let model = world.model(looks_up());
    let output = world.run(["run", "--json", "--quiet", "--model", &model, "What is in a.txt?"]);
    let (out, err) = texts(&output);
    assert_eq!((output.status.code(), err.as_str()), (Some(0), ""));
    let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(out.lines().all(|line| serde_json::from_str::<Event>(line).is_ok()));
    assert_eq!(lines, check_log::read(&world.logs()[0]).events);
}

#[test]
fn the_exit_code_says_how_the_turn_ended() {
    for (script, code, complaint) in [
        ("say Half an\nfinish max-tokens", 3, "limit"),
        ("finish error AUTH", 1, "AUTH"),
        ("say Half an\nfinish error QUOTA", 1, "QUOTA"),
        ("say whole", 0, ""),
    ] {
        let world = World::new();
        let model = world.model(Script::parse(script));
        let output = world.run(["run", "--quiet", "--model", &model, "Go."]);
        let (_, err) = texts(&output);
        assert_eq!(output.status.code(), Some(code), "{script}: {err}");
        assert!(err.contains(complaint) && err.is_empty() == complaint.is_empty(), "{err}");
    }
}

#[test]
fn bad_usage_exits_with_2_and_begins_no_session() {
    let world = World::new();
    let missing = world.root().join("nowhere").display().to_string();
    for (arguments, complaint) in [
        (vec!["run", "  \n"], "blank"),
        (vec!["run", ""], "blank"),
        (vec!["run", "-"], "blank"),
        (vec!["run"], "blank"),
        (vec!["run", "--workspace", &missing, "Go."], "nowhere"),
        (vec!["run", "--session", "nobody", "Go."], "nobody"),
        (vec!["run", "--session", "../x", "Go."], "../x"),
        (vec!["run", "--continue", "Go."], "no session"),
        (vec!["run", "--continue", "--session", "a", "Go."], "--continue"),
        (vec!["run", "--model", "nonsense", "Go."], "nonsense"),
        (vec!["run", "--nonsense"], "--nonsense"),
        (vec!["run", "/nonsense"], "/nonsense"),
        (vec!["nonsense"], "nonsense"),
    ] {
        let output = world.run(&arguments);
        let (out, err) = texts(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {err}");
        assert_eq!(out, "", "{arguments:?}");
        assert!(err.contains(complaint), "{arguments:?}: {err}");
    }
    assert!(world.logs().is_empty(), "{:?}", world.logs());
}

#[test]
fn an_unknown_provider_is_bad_usage_and_leaves_no_session() {
    let world = World::new();
    let output = world.run(["run", "--quiet", "--model", "nobody/x", "Go."]);
    assert_eq!(output.status.code(), Some(2));
    assert!(texts(&output).1.contains("`nobody`"));
    assert!(world.logs().is_empty(), "{:?}", world.logs());
}

#[test]
fn a_question_is_about_one_folder_and_an_answer_that_is_lost_is_a_failure() {
    let world = World::new();
    let output = world.run(["run", "--workspace", ".", "--workspace", ".", "Go."]);
    assert_eq!(output.status.code(), Some(2));
    let model = world.model(Script::new().say("Yes."));
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let mut command = world.command(["run", "--quiet", "--model", &model, "Go."]);
    let output = command.stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot be written"));
}

#[test]
fn the_prompt_can_come_from_standard_input() {
    for arguments in [vec!["run", "--quiet"], vec!["run", "--quiet", "-"]] {
        let world = World::new();
        let model = world.model(Script::new().say("Yes."));
        let mut command = world.command(arguments);
        command.args(["--model", &model]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all("Is it?\nReally – ok?".as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), &b"Yes.\n"[..]));
        let events = check_log::read(&world.logs()[0]).events;
        let message = events.iter().find(|event| event["type"] == "user/message").unwrap();
        assert_eq!(message["data"]["content"][0]["text"], "Is it?\nReally – ok?");
    }
}

#[test]
fn continue_takes_the_newest_session_and_session_takes_the_named_one() {
    let world = World::new();
    let model =
        world.model(Script::parse("say One.\nturn\nsay Two.\nturn\nsay Three.\nturn\nsay Four."));
    let run = |more: &[&str]| {
        let mut arguments = vec!["run", "--quiet", "--model", &model, "Next?"];
        arguments.extend(more);
        let output = world.run(&arguments);
        assert_eq!(output.status.code(), Some(0), "{:?}", texts(&output));
        texts(&output).0
    };
    assert_eq!(run(&[]), "One.\n");
    let first = world.logs()[0].file_stem().unwrap().to_str().unwrap().to_owned();
    assert_eq!(run(&["--continue"]), "Two.\n");
    assert_eq!(run(&[]), "One.\n");
    assert_eq!(world.logs().len(), 2);
    assert_eq!(run(&["--session", &first]), "Three.\n");
    assert_eq!(run(&["--continue"]), "Four.\n", "the newest is the one that was used last");
}

#[test]
fn an_interrupt_keeps_what_was_said_and_exits_with_130() {
    for signal in [Signal::INT, Signal::TERM] {
        let world = World::new();
        let model = world.model(Script::new().say("Half an").wait(10_000).say("answer"));
        let mut command = world.command(["run", "--json", "--model", &model, "Go."]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let started = lines.any(|line| line.unwrap().contains("\"block-end\""));
        assert!(started, "the model says half an answer first");
        kill_process(Pid::from_child(&child), signal).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130));
        let rest: Vec<String> = lines.map(Result::unwrap).collect();
        assert!(rest.last().unwrap().contains("\"aborted\""), "{rest:?}");
        let events = check_log::read(&world.logs()[0]).events;
        let answer = events.iter().find(|event| event["type"] == "assistant/message").unwrap();
        assert_eq!(answer["data"]["interrupted"], true);
        assert_eq!(answer["data"]["message"]["content"][0]["text"], "Half an");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let world = World::new();
    let model = world.model(Script::new().say("line one\u{2028}two"));
    let line = format!("\"$0\" run --json --quiet --model '{model}' Go. | head -n 1");
    let program = dsh_tests::world::binary();
    let output = world.program("sh").args(["-c", &line]).arg(program).output().unwrap();
    assert_eq!(texts(&output).0.lines().count(), 1);
    assert_eq!(texts(&output).1, "");
}
