//! Measures the program beside a floor: the thinnest relay that could do the same, with no product in it.
//!
//! Usage: `cargo run --release -p dsh-bench -- [RUNS]`. Build `dsh-ls` in release mode first. Figures are
//! medians over the runs; read ratios to the floor, not absolute numbers.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;

mod client;
mod model;
mod scenarios;

use scenarios::Figures;

/// What is measured.
enum Subject {
    Product(PathBuf),
    Floor(PathBuf),
}

fn main() -> anyhow::Result<()> {
    let runs: usize = std::env::args().nth(1).map_or(Ok(9), |runs| runs.parse())?;
    let beside = std::env::current_exe()?;
    let folder = beside.parent().context("no folder")?;
    let product = Subject::Product(program(folder, "dsh-ls")?);
    let floor = Subject::Floor(program(folder, "dsh-floor")?);
    let mut out = std::io::stdout().lock();
    writeln!(out, "{:44} {:>12} {:>12}", "", "dsh-ls", "floor")?;
    let (ours, bare) = (measure(&product, runs)?, measure(&floor, runs)?);
    for ((name, unit, ours), (_, _, bare)) in ours.rows().into_iter().zip(bare.rows()) {
        let cell = |value: Option<f64>| {
            value.map_or("–".to_owned(), |value| format!("{value:.2} {unit}"))
        };
        writeln!(out, "{name:44} {:>12} {:>12}", cell(ours), cell(bare))?;
    }
    Ok(())
}

fn program(folder: &Path, name: &str) -> anyhow::Result<PathBuf> {
    let path = folder.join(name);
    anyhow::ensure!(path.exists(), "`{}` is not built", path.display());
    Ok(path)
}

fn measure(subject: &Subject, runs: usize) -> anyhow::Result<Figures> {
    let mut all = Vec::new();
    for _ in 0..runs {
        all.push(scenarios::run(subject)?);
    }
    Ok(Figures::medians(&all))
}
