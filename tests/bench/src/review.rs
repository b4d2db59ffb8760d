//! What reviews cost a turn when they are off: nothing. The same turns with the row that has them and without it.

use std::fs;
use std::path::Path;
use std::time::Instant;

use serde_json::json;
use tempfile::TempDir;

use crate::Subject;
use crate::client::Client;
use crate::model::{Answer, Model};
use crate::scenarios::{Figures, command, ms, prompt};

/// Turns of each side. They alternate, so that whatever else the machine does falls on both.
const TURNS: usize = 60;

/// The patch of a server without the row.
const WITHOUT: &str = "- id: tool-deliberation\n  disabled: true\n";

/// A server, its model and its home.
struct Side {
    client: Client,
    model: Model,
    _home: TempDir,
    took: Vec<f64>,
}

/// Runs turns of a read and an answer in `folder`, on both sides.
pub(crate) fn run(product: &Subject, folder: &Path) -> anyhow::Result<Figures> {
    fs::write(folder.join("small.rs"), "fn small() {}\n")?;
    let (mut with, mut without) = (side(product, folder, "[]\n")?, side(product, folder, WITHOUT)?);
    for _ in 0..TURNS {
        with.turn()?;
        without.turn()?;
    }
    let mut figures = Figures::default();
    figures.add("a turn with a read, review off", "ms", Some(with.median()));
    figures.add("a turn with a read, no tool-deliberation", "ms", Some(without.median()));
    figures.add("requests of such a turn, review off", "", Some(with.requests()));
    figures.add("requests of such a turn, no tool-deliberation", "", Some(without.requests()));
    with.client.end()?;
    without.client.end()?;
    Ok(figures)
}

fn side(product: &Subject, folder: &Path, patch: &str) -> anyhow::Result<Side> {
    let home = tempfile::tempdir()?;
    fs::write(home.path().join("cordis.patch.yml"), patch)?;
    let turn = [Answer::Call("read", r#"{"file_path":"small.rs"}"#), Answer::Say("Done.")];
    let model = Model::start(turn.repeat(TURNS))?;
    let mut client = Client::start(&mut command(product, &model, folder, home.path()))?;
    client.call("initialize", &json!({}))?;
    client.call("session/new", &json!({ "sessionId": "first" }))?;
    client.call("session/subscribe", &json!({ "sessionId": "first" }))?;
    Ok(Side { client, model, _home: home, took: Vec::new() })
}

impl Side {
    fn turn(&mut self) -> anyhow::Result<()> {
        let asked = Instant::now();
        self.client.send("session/prompt", &prompt())?;
        let end = self.client.until("turn/end")?;
        anyhow::ensure!(end.contains("completed"), "the turn did not complete: {end}");
        self.took.push(ms(asked));
        self.client.call("session/wait", &json!({ "sessionId": "first" }))?;
        Ok(())
    }

    fn median(&mut self) -> f64 {
        self.took.sort_by(f64::total_cmp);
        self.took[self.took.len() / 2]
    }

    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    fn requests(&self) -> f64 {
        self.model.written().len() as f64 / TURNS as f64
    }
}
