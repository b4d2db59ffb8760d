//! What is measured, the same for the product and the floor.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::Subject;
use crate::client::Client;
use crate::model::{Answer, Model, Pace};

/// How many deltas a burst has.
const BURST: usize = 20_000;

/// Deltas at the pace of a fast model.
const PACED: Pace = Pace { deltas: 400, pause: Duration::from_millis(2) };

/// The figures of one run, in the units of [`Figures::rows`].
#[derive(Clone, Default)]
pub(crate) struct Figures(Vec<(&'static str, &'static str, Option<f64>)>);

impl Figures {
    pub(crate) fn add(&mut self, name: &'static str, unit: &'static str, value: Option<f64>) {
        self.0.push((name, unit, value));
    }

    pub(crate) fn rows(&self) -> Vec<(&'static str, &'static str, Option<f64>)> {
        self.0.clone()
    }

    /// The median of each figure.
    pub(crate) fn medians(all: &[Self]) -> Self {
        let Some(first) = all.first() else { return Self::default() };
        let rows = first.0.iter().enumerate().map(|(at, (name, unit, _))| {
            let mut values: Vec<f64> = all.iter().filter_map(|figures| figures.0[at].2).collect();
            values.sort_by(f64::total_cmp);
            (*name, *unit, values.get(values.len() / 2).copied())
        });
        Self(rows.collect())
    }
}

/// Runs what the floor can do as well: the start, one paced answer, one burst, the end.
pub(crate) fn relay(subject: &Subject) -> anyhow::Result<Figures> {
    let mut figures = Figures::default();
    let burst = Pace { deltas: BURST, pause: Duration::ZERO };
    let model = Model::start(vec![Answer::Text(PACED), Answer::Text(burst)])?;
    let folder = tempfile::tempdir()?;
    let started = Instant::now();
    let home = folder.path().join("home");
    let mut client = Client::start(&mut command(subject, &model, folder.path(), &home))?;
    client.call("initialize", &json!({}))?;
    figures.add("spawn to initialize", "ms", Some(ms(started)));
    figures.add("memory after initialize", "MiB", client.memory());
    for name in ["first session/new", "second session/new"] {
        let asked = Instant::now();
        client.call("session/new", &json!({ "sessionId": name.split(' ').next() }))?;
        figures.add(name, "ms", matches!(subject, Subject::Product(_)).then(|| ms(asked)));
    }
    client.call("session/subscribe", &json!({ "sessionId": "first" }))?;
    latencies(&mut client, &model, &mut figures)?;
    sustained(&mut client, &mut figures)?;
    figures.add("memory after the burst", "MiB", client.memory());
    let ending = Instant::now();
    client.end()?;
    figures.add("end of input to gone", "ms", Some(ms(ending)));
    Ok(figures)
}

/// The subject, told where the model is; the product also where the code and its home are.
pub(crate) fn command(subject: &Subject, model: &Model, folder: &Path, home: &Path) -> Command {
    match subject {
        Subject::Product(program) => {
            let mut command = Command::new(program);
            command.args(["rpc", "--model", "local/bench", "--workspace"]).arg(folder);
            command.arg("--home").arg(home).env("DSH_LS_LOCAL_URL", &model.url);
            command
        }
        Subject::Floor(program) => {
            let mut command = Command::new(program);
            command.arg(&model.url);
            command
        }
    }
}

/// From the moment that the model writes a delta to the moment that the client has its frame.
fn latencies(client: &mut Client, model: &Model, figures: &mut Figures) -> anyhow::Result<()> {
    let asked = Instant::now();
    client.send("session/prompt", &prompt())?;
    let mut first = None;
    let mut delays = Vec::new();
    loop {
        let frame = client.frame()?;
        let now = model.epoch.elapsed().as_nanos();
        if frame.contains("turn/end") {
            break;
        }
        if let Some(sent) = sent(frame) {
            first.get_or_insert_with(|| ms(asked));
            #[expect(
                clippy::cast_precision_loss,
                reason = "microseconds of a run are far below 2^52"
            )]
            delays.push(now.saturating_sub(sent) as f64 / 1e6);
        }
    }
    delays.sort_by(f64::total_cmp);
    figures.add("prompt to first delta", "ms", first);
    for (name, percent) in [("delta p50", 50), ("delta p95", 95), ("delta p99", 99)] {
        figures.add(name, "ms", delays.get(delays.len() * percent / 100).copied());
    }
    Ok(())
}

fn sustained(client: &mut Client, figures: &mut Figures) -> anyhow::Result<()> {
    let (asked, cpu) = (Instant::now(), client.cpu());
    client.send("session/prompt", &prompt())?;
    count(client, BURST)?;
    figures.add("20,000 deltas", "ms", Some(ms(asked)));
    let used = client.cpu().zip(cpu).map(|(after, before)| after - before);
    figures.add("20,000 deltas, processor", "s", used);
    Ok(())
}

/// Reads to the end of the turn; each delta has to come.
pub(crate) fn count(client: &mut Client, expected: usize) -> anyhow::Result<()> {
    let mut deltas = 0;
    loop {
        let frame = client.frame()?;
        deltas += usize::from(sent(frame).is_some());
        if frame.contains("turn/end") {
            anyhow::ensure!(deltas == expected, "{deltas} of {expected} deltas arrived");
            return Ok(());
        }
    }
}

pub(crate) fn prompt() -> Value {
    json!({ "sessionId": "first", "text": "go" })
}

/// When the model wrote the delta in a frame.
fn sent(frame: &str) -> Option<u128> {
    let (_, text) = frame.split_once("\"text-delta\"")?;
    let (_, text) = text.split_once("\"text\":\"")?;
    text.split('"').next()?.trim().parse().ok()
}

pub(crate) fn ms(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1000.0
}
