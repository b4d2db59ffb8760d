//! Detection and false alarms over a seeded corpus of sessions.

use std::collections::BTreeMap;
use std::time::Instant;

use dsh_tests::script::Script;
use dsh_tests::trajectories::{Mutation, Trajectory, corpus};

use super::*;

const SEED: u64 = 20;
const COUNT: usize = 50;

fn played(trajectory: &Trajectory) -> Script {
    let mut script = Script::new();
    for (said, calls) in &trajectory.steps {
        if !said.is_empty() {
            script = script.say_chunks([said.as_str()]);
        }
        for (tool, arguments) in calls {
            script = script.call(tool, &arguments.to_string());
        }
        script = script.step();
    }
    script.say_chunks([trajectory.answer.as_str()])
}

/// Whether an item names what is wrong with a session.
fn names(item: &Value, trajectory: &Trajectory) -> bool {
    let plant = trajectory.plant.as_ref().unwrap();
    let says = item["content"].as_str().unwrap();
    let is_there = says.contains(&format!("{}:{}", plant.path, plant.line));
    let is_now = |now: &usize| says.contains(&format!("line {now} now"));
    let is_found = plant.now.is_empty() || plant.now.iter().any(is_now);
    is_there && is_found
}

#[test]
fn planted_faults_are_found_and_clean_sessions_are_left_alone() {
    let begun = Instant::now();
    let world = World::new();
    let corpus = corpus(SEED, COUNT);
    for (path, text) in &corpus.before {
        world.file(path, text);
    }
    let mut client = serve(&world);
    let mut waiting = Vec::new();
    for (number, trajectory) in corpus.trajectories.iter().enumerate() {
        let (session, model) = (format!("s{number}"), world.model(played(trajectory)));
        client.request("session/new", json!({ "sessionId": session, "model": model }));
        let message = client.prompt(&session, &trajectory.prompt);
        let params = json!({ "sessionId": session, "messageId": message });
        waiting.push(client.ask("session/wait", params));
    }
    for id in waiting {
        assert_eq!(client.result(id)["outcome"]["kind"], "completed");
    }
    for log in world.logs() {
        let log = std::fs::read_to_string(log).unwrap();
        assert!(!log.contains("\"isError\":true"), "a call of the corpus fails:\n{log}");
    }
    for (path, text) in &corpus.changes {
        match text {
            Some(text) => world.file(path, text),
            None => std::fs::remove_file(world.work().join(path)).unwrap(),
        }
    }
    let rounds: Vec<String> = (0..corpus.trajectories.len())
        .map(|number| {
            let branches = [branch("masked-review", "read-only")];
            begin(&mut client, &format!("s{number}"), asked(&branches))
        })
        .collect();
    let mut found: BTreeMap<Mutation, (usize, usize)> = BTreeMap::new();
    let (mut alarms, mut clean, mut dropped) = (Vec::new(), 0, 0);
    let mut missed = Vec::new();
    for (trajectory, round) in corpus.trajectories.iter().zip(&rounds) {
        let outcome = outcomes(&client, round).remove(0);
        assert_eq!(outcome["stopReason"], "completed", "{outcome}");
        dropped += outcome["droppedRefs"].as_u64().unwrap_or(0);
        let items = outcome["packet"]["items"].as_array().cloned().unwrap_or_default();
        let Some(plant) = &trajectory.plant else {
            clean += 1;
            if !items.is_empty() {
                alarms.push(format!("{}\n{items:#?}", trajectory.answer));
            }
            continue;
        };
        let right = items.iter().any(|item| names(item, trajectory));
        let is_about_it = |item: &Value| item["content"].as_str().unwrap().contains(&plant.path);
        let wrong: Vec<&Value> = items.iter().filter(|item| !is_about_it(item)).collect();
        let counts = found.entry(plant.mutation).or_default();
        counts.1 += 1;
        if right {
            counts.0 += 1;
        } else {
            missed.push(format!("{plant:?}\n{}\n{items:#?}", trajectory.answer));
        }
        // A right finding does not excuse a wrong one beside it.
        if !wrong.is_empty() {
            alarms.push(format!("{plant:?}\n{}\n{wrong:#?}", trajectory.answer));
        }
    }
    let hits: usize = found.values().map(|(found, _)| found).sum();
    let all: usize = found.values().map(|(_, all)| all).sum();
    let sessions = clean + all;
    println!("found {hits} of {all}: {found:?}");
    println!(
        "false alarms in {} of {sessions} sessions, {dropped} references dropped",
        alarms.len()
    );
    println!("took {:?}", begun.elapsed());
    assert!(hits * 100 >= all * 95, "missed:\n{}", missed.join("\n====\n"));
    assert!(alarms.len() * 100 <= sessions * 2, "false alarms:\n{}", alarms.join("\n====\n"));
    assert_eq!(dropped, 0, "every reference holds");
    client.shut_down();
}
