//! How soon a client hears of each state of a branch.

use std::path::Path;
use std::time::Instant;

use serde_json::json;

use crate::Subject;
use crate::client::Client;
use crate::model::{Answer, Model};
use crate::scenarios::{Figures, command, prompt};

/// Rounds of one run, and the branches of each.
const ROUNDS: usize = 20;
const BRANCHES: usize = 3;

const CALL: &str = r#"{"goal":"Is it so?","incumbent":"It is.","context":{"observations":[],"constraints":[],"unknowns":[]},"branches":[{"label":"a","route":"same","capability":"reason-only","focus":"x","role":"independent-alternative"},{"label":"b","route":"same","capability":"reason-only","focus":"y","role":"independent-alternative"},{"label":"c","route":"same","capability":"reason-only","focus":"z","role":"independent-alternative"}]}"#;

const PACKET: &str = r#"{"role":"independent-alternative","status":"no_update"}"#;

/// Deliberates again and again, in `folder`. `running` counts from the last byte of the call to the notification that
/// a branch runs, which has a session of its own on disk then; `settled` from the last byte of a branch's answer to
/// the notification that it has come out.
pub(crate) fn run(product: &Subject, folder: &Path) -> anyhow::Result<Figures> {
    let mut answers = Vec::new();
    for _ in 0..ROUNDS {
        answers.push(Answer::Call("deliberate", CALL));
        answers.extend([Answer::Call("structured_output", PACKET); BRANCHES]);
        answers.push(Answer::Say("Done."));
    }
    let model = Model::start(answers)?;
    let home = tempfile::tempdir()?;
    let mut client = Client::start(&mut command(product, &model, folder, home.path()))?;
    client.call("initialize", &json!({}))?;
    client.call("session/new", &json!({ "sessionId": "first" }))?;
    client.call("session/subscribe", &json!({ "sessionId": "first" }))?;
    let (mut running, mut settled) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let heard = round(&mut client)?;
        // The answers of the round: the call, each branch in the order in which they were answered, the end.
        let written = model.written();
        let of_round = &written[written.len() - BRANCHES - 2..];
        running.extend(heard.running.iter().map(|at| ms_between(of_round[0], *at)));
        let branches = of_round[1..=BRANCHES].iter().zip(&heard.settled);
        settled.extend(branches.map(|(written, at)| ms_between(*written, *at)));
    }
    client.end()?;
    let mut figures = Figures::default();
    add(&mut figures, ["branch running p50", "branch running p99", "branch running max"], running);
    add(&mut figures, ["branch settled p50", "branch settled p99", "branch settled max"], settled);
    Ok(figures)
}

/// When the client heard of the branches of one round, in order.
#[derive(Default)]
struct Heard {
    running: Vec<Instant>,
    settled: Vec<Instant>,
}

fn round(client: &mut Client) -> anyhow::Result<Heard> {
    client.send("session/prompt", &prompt())?;
    let mut heard = Heard::default();
    loop {
        let frame = client.frame()?;
        let at = Instant::now();
        if frame.contains("\"deliberate/branch\"") {
            if frame.contains("\"settled\"") {
                heard.settled.push(at);
            } else if !frame.contains("\"activity\"") {
                heard.running.push(at);
            }
        }
        if frame.contains("turn/end") {
            let counts = (heard.running.len(), heard.settled.len());
            anyhow::ensure!(counts == (BRANCHES, BRANCHES), "branches were heard of: {counts:?}");
            return Ok(heard);
        }
    }
}

fn ms_between(from: Instant, to: Instant) -> f64 {
    to.saturating_duration_since(from).as_secs_f64() * 1000.0
}

fn add(figures: &mut Figures, names: [&'static str; 3], mut delays: Vec<f64>) {
    delays.sort_by(f64::total_cmp);
    let last = delays.len().saturating_sub(1);
    for (name, at) in names.into_iter().zip([delays.len() / 2, delays.len() * 99 / 100, last]) {
        figures.add(name, "ms", delays.get(at).copied());
    }
}
