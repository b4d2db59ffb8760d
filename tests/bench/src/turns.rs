//! What only the product does: cancels, tools, many sessions.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::Subject;
use crate::client::Client;
use crate::model::{Answer, Model, Pace};
use crate::scenarios::{Figures, command, ms, prompt};

/// Steps of the long turn.
const STEPS: usize = 200;

/// Sessions that are opened and left alone.
const SESSIONS: usize = 200;

/// What the tools are let loose on.
const FILES: usize = 64;
const FILE_BYTES: usize = 1 << 20;

/// A folder in which a search takes far longer than a cancel may.
pub(crate) fn workspace(folder: &Path) -> anyhow::Result<()> {
    let line = "fn the_quick_brown_fox(jumps: &Over) -> Lazy { the(dog) }\n";
    let text = line.repeat(FILE_BYTES / line.len());
    for number in 0..FILES {
        fs::write(folder.join(format!("file{number}.rs")), &text)?;
    }
    fs::write(folder.join("small.rs"), line)?;
    Ok(())
}

/// Runs every scenario of this file once, in `folder`, which has the workspace in it.
pub(crate) fn run(product: &Subject, folder: &Path) -> anyhow::Result<Figures> {
    let mut figures = Figures::default();
    let slow = Pace { deltas: 10_000, pause: Duration::from_millis(2) };
    let short = Pace { deltas: 1, pause: Duration::ZERO };
    let mut answers =
        vec![Answer::Text(slow), Answer::Call("grep", r#"{"pattern":"[a-z]+_lazy_[a-z]+_dog"}"#)];
    answers.extend(vec![Answer::Call("read", r#"{"file_path":"small.rs"}"#); STEPS - 1]);
    answers.push(Answer::Text(short));
    let model = Model::start(answers)?;
    let home = tempfile::tempdir()?;
    let mut client = Client::start(&mut command(product, &model, folder, home.path()))?;
    client.call("initialize", &json!({}))?;
    client.call("session/new", &json!({ "sessionId": "first" }))?;
    client.call("session/subscribe", &json!({ "sessionId": "first" }))?;
    let in_stream = cancel(&mut client, "text-delta")?;
    figures.add("cancel in a stream to turn end", "ms", Some(in_stream));
    let in_grep = cancel(&mut client, "tool/call")?;
    figures.add("cancel in a grep to turn end", "ms", Some(in_grep));
    let asked = Instant::now();
    client.send("session/prompt", &prompt())?;
    client.until("turn/end")?;
    #[expect(clippy::cast_precision_loss, reason = "a small number")]
    figures.add("a step with a read, of a turn of 200", "ms", Some(ms(asked) / STEPS as f64));
    figures.add("an idle session more", "KiB", idle_sessions(&mut client)?);
    let ending = Instant::now();
    client.end()?;
    figures.add("end of input to gone, 201 sessions", "ms", Some(ms(ending)));
    Ok(figures)
}

/// Prompts, and cancels as soon as a frame with `begun` comes.
fn cancel(client: &mut Client, begun: &str) -> anyhow::Result<f64> {
    client.send("session/prompt", &prompt())?;
    client.until(begun)?;
    let asked = Instant::now();
    client.send("session/cancel", &json!({ "sessionId": "first" }))?;
    let end = client.until("turn/end")?;
    anyhow::ensure!(end.contains("aborted"), "the turn was over before the cancel: {end}");
    let took = ms(asked);
    client.until(r#""status":"idle""#)?;
    Ok(took)
}

fn idle_sessions(client: &mut Client) -> anyhow::Result<Option<f64>> {
    let before = client.memory();
    for _ in 0..SESSIONS {
        client.call("session/new", &json!({}))?;
    }
    #[expect(clippy::cast_precision_loss, reason = "a small number")]
    let share = |mib: f64| mib * 1024.0 / SESSIONS as f64;
    Ok(client.memory().zip(before).map(|(after, before)| share(after - before)))
}
