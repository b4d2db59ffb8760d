//! What takes long and is measured once: a million deltas, and a client that does not read.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::Subject;
use crate::client::Client;
use crate::model::{Answer, Model, Pace};
use crate::scenarios::{Figures, command, count, ms, prompt};

const MILLION: usize = 1_000_000;

/// Ten thousand a second, for longer than nobody reads.
const FAST: Pace = Pace { deltas: 120_000, pause: Duration::from_micros(100) };

/// How long nobody reads.
const UNREAD: Duration = Duration::from_secs(10);

/// Requests that wait for their answers meanwhile.
const WAITING: u64 = 300;

/// A million deltas to a client that reads them all.
pub(crate) fn million(subject: &Subject) -> anyhow::Result<Figures> {
    let mut figures = Figures::default();
    let burst = Pace { deltas: MILLION, pause: Duration::ZERO };
    let (_model, _folder, mut client) = subscribed(subject, burst)?;
    figures.add("memory before", "MiB", client.memory());
    let (asked, cpu) = (Instant::now(), client.cpu());
    client.send("session/prompt", &prompt())?;
    count(&mut client, MILLION)?;
    figures.add("1,000,000 deltas", "ms", Some(ms(asked)));
    let used = client.cpu().zip(cpu).map(|(after, before)| after - before);
    figures.add("1,000,000 deltas, processor", "s", used);
    figures.add("1,000,000 deltas, most memory", "MiB", client.peak());
    client.end()?;
    Ok(figures)
}

/// A fast answer of twelve seconds to a client that does not read during the first ten, and asks meanwhile.
pub(crate) fn unread(product: &Subject) -> anyhow::Result<Figures> {
    let mut figures = Figures::default();
    let (_model, _folder, mut client) = subscribed(product, FAST)?;
    client.send("session/prompt", &prompt())?;
    client.until("text-delta")?;
    let pause = Instant::now();
    let mut last = 0;
    for number in 1..=WAITING {
        last = client.send("session/get", &json!({ "sessionId": "first" }))?;
        let due = UNREAD * u32::try_from(number)? / u32::try_from(WAITING)?;
        std::thread::sleep(due.saturating_sub(pause.elapsed()));
    }
    let resumed = Instant::now();
    client.until(&format!("\"id\":{last},"))?;
    figures.add("10 s unread: then to the last of 300 answers", "ms", Some(ms(resumed)));
    client.until("turn/end")?;
    figures.add("10 s unread: then to the turn's end", "ms", Some(ms(resumed)));
    figures.add("10 s unread: most memory", "MiB", client.peak());
    client.end()?;
    Ok(figures)
}

fn subscribed(subject: &Subject, pace: Pace) -> anyhow::Result<(Model, tempfile::TempDir, Client)> {
    let model = Model::start(vec![Answer::Text(pace)])?;
    let folder = tempfile::tempdir()?;
    let home = folder.path().join("home");
    let mut client = Client::start(&mut command(subject, &model, folder.path(), &home))?;
    client.call("initialize", &json!({}))?;
    client.call("session/new", &json!({ "sessionId": "first" }))?;
    client.call("session/subscribe", &json!({ "sessionId": "first" }))?;
    Ok((model, folder, client))
}
