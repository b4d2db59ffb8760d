//! Big logs and many of them: what is told without loading, and what loading costs.

use std::fs;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::{Value, json};

use crate::Subject;
use crate::client::Client;
use crate::model::{Answer, Model, Pace};
use crate::scenarios::{Figures, command, ms};

/// Events of the big log, nearly.
const MILLION: u64 = 1_000_000;

/// Deltas of each of its turns.
const DELTAS: u64 = 500;

/// Sessions of the big folder.
const SESSIONS: usize = 10_000;

/// A log of a million events that no index knows, with an event to a line, and then ten thousand small ones.
pub(crate) fn run(product: &Subject) -> anyhow::Result<Figures> {
    let mut figures = Figures::default();
    let pace = Pace { deltas: 1, pause: Duration::ZERO };
    let model = Model::start(vec![Answer::Text(pace)])?;
    let folder = tempfile::tempdir()?;
    let home = folder.path().join("home");
    let start = || -> anyhow::Result<Client> {
        let mut client = Client::start(&mut command(product, &model, folder.path(), &home))?;
        client.call("initialize", &json!({}))?;
        Ok(client)
    };
    let mut client = start()?;
    client.call("session/new", &json!({ "sessionId": "first" }))?;
    client.end()?;
    let first = first_log(&home)?;
    let big = first.with_file_name("big.jsonl");
    lay(&first, &big)?;
    told(start()?, &mut figures)?;
    fs::remove_file(&big)?;

    many(&first)?;
    let mut client = start()?;
    let took = asked(&mut client, "session/list", &json!({}))?;
    figures.add("10,000 sessions: first list, no index", "ms", Some(took));
    client.end()?;
    let mut client = start()?;
    client.call("session/get", &json!({ "sessionId": "first" }))?;
    let took = asked(&mut client, "session/list", &json!({}))?;
    figures.add("10,000 sessions: first list", "ms", Some(took));
    let took = asked(&mut client, "session/list", &json!({}))?;
    figures.add("10,000 sessions: next list", "ms", Some(took));
    let took = asked(&mut client, "session/get", &json!({ "sessionId": "many-5000" }))?;
    figures.add("10,000 sessions: session/get", "ms", Some(took));
    figures.add("10,000 sessions: memory", "MiB", client.memory());
    client.end()?;
    Ok(figures)
}

/// What a server says of the big log: first without loading it, then with all of it in memory.
fn told(mut client: Client, figures: &mut Figures) -> anyhow::Result<()> {
    client.call("session/get", &json!({ "sessionId": "first" }))?;
    let before = client.memory();
    let more = |client: &Client| client.memory().zip(before).map(|(after, before)| after - before);
    let big = json!({ "sessionId": "big" });
    let behind = |after: u64| json!({ "sessionId": "big", "after": after });
    for (name, params) in [
        ("1,000,000 events: first page", big.clone()),
        ("1,000,000 events: a page in the middle", behind(MILLION / 2)),
        ("1,000,000 events: last page", behind(MILLION - 600)),
    ] {
        let took = asked(&mut client, "session/events", &params)?;
        figures.add(name, "ms", Some(took));
    }
    figures.add("1,000,000 events: more memory for pages", "MiB", more(&client));
    for (name, method, params) in [
        ("1,000,000 events: first list, no index", "session/list", json!({})),
        ("1,000,000 events: next list", "session/list", json!({})),
        ("1,000,000 events: session/get", "session/get", big.clone()),
    ] {
        let took = asked(&mut client, method, &params)?;
        figures.add(name, "ms", Some(took));
    }
    figures.add("1,000,000 events: most memory, not loaded", "MiB", client.peak());
    let took = asked(&mut client, "session/subscribe", &big)?;
    figures.add("1,000,000 events: loaded", "ms", Some(took));
    figures.add("1,000,000 events: more memory, loaded", "MiB", more(&client));
    figures.add("1,000,000 events: most memory, loaded", "MiB", client.peak());
    client.end()
}

fn asked(client: &mut Client, method: &str, params: &Value) -> anyhow::Result<f64> {
    let asked = Instant::now();
    let answer = client.call(method, params)?;
    anyhow::ensure!(answer.get("error").is_none(), "{method}: {answer}");
    Ok(ms(asked))
}

fn first_log(home: &Path) -> anyhow::Result<PathBuf> {
    let folder = fs::read_dir(home.join("sessions"))?.next().context("no folder")??;
    Ok(folder.path().join("first.jsonl"))
}

/// The header of a log for another one.
fn header(first: &Path, id: &str) -> anyhow::Result<String> {
    let text = fs::read_to_string(first)?;
    let line = text.lines().next().context("no header")?;
    Ok(line.replacen("\"first\"", &format!("\"{id}\""), 1))
}

fn lay(first: &Path, big: &Path) -> anyhow::Result<()> {
    let mut file = BufWriter::new(fs::File::create(big)?);
    writeln!(file, "{}", header(first, "big")?)?;
    let mut seq = 0;
    let mut turn = 0;
    while seq < MILLION {
        turn += 1;
        let mut line = |kind: &str, data: &str| {
            let written =
                writeln!(file, r#"{{"type":"{kind}","seq":{seq},"time":1,"data":{data}}}"#);
            seq += 1;
            written
        };
        line("turn/start", &format!(r#"{{"turn":{turn}}}"#))?;
        line("step/start", &format!(r#"{{"turn":{turn},"step":1}}"#))?;
        for _ in 0..DELTAS {
            let chunk = r#"{"type":"text-delta","index":0,"text":"twenty bytes of text"}"#;
            line("assistant/chunk", &format!(r#"{{"turn":{turn},"step":1,"chunk":{chunk}}}"#))?;
        }
        line("step/end", &format!(r#"{{"turn":{turn},"step":1}}"#))?;
        line("turn/end", &format!(r#"{{"turn":{turn},"reason":{{"kind":"completed"}}}}"#))?;
    }
    Ok(file.flush()?)
}

fn many(first: &Path) -> anyhow::Result<()> {
    for at in 0..SESSIONS {
        let id = format!("many-{at}");
        let title = r#"{"type":"session/title","seq":0,"time":1,"data":{"title":"One of many"}}"#;
        let text = format!("{}\n{title}\n", header(first, &id)?);
        fs::write(first.with_file_name(format!("{id}.jsonl")), text)?;
    }
    Ok(())
}
