//! How much later a turn ends because its answer is checked.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::Instant;

use serde_json::json;

use crate::Subject;
use crate::client::Client;
use crate::model::{Answer, Model};
use crate::scenarios::{Figures, command, ms, prompt};

/// Citations of the answer; each is of a file of its own and quotes a line.
const CITATIONS: usize = 50;

/// Lines of each file.
const LINES: usize = 400;

/// Writes the files that are cited.
pub(crate) fn workspace(folder: &Path) -> anyhow::Result<()> {
    for number in 0..CITATIONS {
        let mut text = String::new();
        for line in 1..=LINES {
            writeln!(text, "    let value_{number}_{line} = compute(input, {line});")?;
        }
        fs::write(folder.join(format!("file_{number}.rs")), text)?;
    }
    Ok(())
}

/// An answer with citations, each right.
fn answer() -> anyhow::Result<&'static str> {
    let mut text = String::new();
    for number in 0..CITATIONS {
        let line = number * 7 + 1;
        writeln!(
            text,
            "- `file_{number}.rs:{line}`: `let value_{number}_{line} = compute(input, {line});`"
        )?;
    }
    Ok(text.leak())
}

/// Runs a turn with citations and one of the same length without, in `folder`, which has the workspace in it.
pub(crate) fn run(product: &Subject, folder: &Path) -> anyhow::Result<Figures> {
    let mut figures = Figures::default();
    let cited = answer()?;
    let plain = cited.replace([':', '`', '.'], " ").leak();
    let model = Model::start(vec![Answer::Say(plain), Answer::Say(plain), Answer::Say(cited)])?;
    let home = tempfile::tempdir()?;
    let mut client = Client::start(&mut command(product, &model, folder, home.path()))?;
    client.call("initialize", &json!({}))?;
    client.call("session/new", &json!({ "sessionId": "first" }))?;
    client.call("session/subscribe", &json!({ "sessionId": "first" }))?;
    turn(&mut client)?;
    figures.add("answer to turn end, nothing cited", "ms", Some(turn(&mut client)?));
    client.send("session/prompt", &prompt())?;
    client.until("step/end")?;
    let said = Instant::now();
    let checked = client.until("evidence/checked")?;
    anyhow::ensure!(checked.contains(r#""checked":50,"failures":[]"#), "{checked}");
    client.until("turn/end")?;
    figures.add("answer to turn end, 50 citations", "ms", Some(ms(said)));
    client.end()?;
    Ok(figures)
}

/// From the end of the answer to the end of the turn.
fn turn(client: &mut Client) -> anyhow::Result<f64> {
    client.send("session/prompt", &prompt())?;
    client.until("step/end")?;
    let said = Instant::now();
    client.until("turn/end")?;
    Ok(ms(said))
}
