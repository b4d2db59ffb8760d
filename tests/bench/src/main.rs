//! Measures the program beside a floor: the thinnest relay that could do the same, with no product in it.
//!
//! Usage: `cargo run --release -p dsh-bench -- [RUNS [long | evidence | review | branches | logs | search | limits]]`. Build `dsh-ls` in
//! release mode first. Figures are medians over the runs; read ratios to the floor, not absolute numbers. `long` adds
//! what is measured once; `evidence` measures the checks of answers alone, `review` turns with and without the row that
//! reviews them, `branches` how soon branches of rounds are heard of, `logs` big logs alone, `search` grep and glob beside
//! `rg`, which must be on the PATH, `limits` what hostile folders cost.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;

mod client;
mod evidence;
mod limits;
mod logs;
mod long;
mod model;
mod review;
mod rounds;
mod scenarios;
mod search;
mod turns;

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
    writeln!(out, "{:46} {:>12} {:>12}", "", "dsh-ls", "floor")?;
    let what = std::env::args().nth(2).unwrap_or_default();
    let empty = tempfile::tempdir()?;
    if what == "branches" {
        let heard = medians(runs, || rounds::run(&product, empty.path()))?;
        return print(&mut out, &heard, None);
    }
    let reviews = || medians(runs, || review::run(&product, empty.path()));
    if what == "review" {
        return print(&mut out, &reviews()?, None);
    }
    if what == "logs" {
        return print(&mut out, &medians(runs, || logs::run(&product))?, None);
    }
    if what == "limits" {
        return print(&mut out, &medians(runs, || limits::run(&product))?, None);
    }
    if what == "search" {
        return print(&mut out, &searches(runs, &product)?, None);
    }
    let cited = tempfile::tempdir()?;
    evidence::workspace(cited.path())?;
    let checks = medians(runs, || evidence::run(&product, cited.path()))?;
    if what == "evidence" {
        return print(&mut out, &checks, None);
    }
    let beside = |runs, scenario: fn(&Subject) -> anyhow::Result<Figures>| {
        anyhow::Ok((medians(runs, || scenario(&product))?, medians(runs, || scenario(&floor))?))
    };
    let (ours, bare) = beside(runs, scenarios::relay)?;
    print(&mut out, &ours, Some(&bare))?;
    let folder = tempfile::tempdir()?;
    turns::workspace(folder.path())?;
    print(&mut out, &medians(runs, || turns::run(&product, folder.path()))?, None)?;
    print(&mut out, &checks, None)?;
    print(&mut out, &reviews()?, None)?;
    print(&mut out, &medians(runs, || rounds::run(&product, empty.path()))?, None)?;
    if what == "long" {
        let (ours, bare) = beside(1, long::million)?;
        print(&mut out, &ours, Some(&bare))?;
        print(&mut out, &long::unread(&product)?, None)?;
        print(&mut out, &logs::run(&product)?, None)?;
        print(&mut out, &searches(runs, &product)?, None)?;
        print(&mut out, &limits::run(&product)?, None)?;
    }
    Ok(())
}

fn searches(runs: usize, product: &Subject) -> anyhow::Result<Figures> {
    let folder = tempfile::tempdir()?;
    search::workspace(folder.path())?;
    medians(runs, || search::run(product, folder.path()))
}

/// Each figure on its line, beside the floor's where it has one.
fn print(out: &mut impl Write, ours: &Figures, floor: Option<&Figures>) -> anyhow::Result<()> {
    let floor: Vec<_> = floor.map(Figures::rows).unwrap_or_default();
    let cell = |value: Option<f64>, unit| {
        value.map_or("–".to_owned(), |value| format!("{value:.2} {unit}"))
    };
    for (at, (name, unit, value)) in ours.rows().into_iter().enumerate() {
        let bare = floor.get(at).and_then(|(_, _, value)| *value);
        writeln!(out, "{name:46} {:>12} {:>12}", cell(value, unit), cell(bare, unit))?;
    }
    Ok(())
}

fn program(folder: &Path, name: &str) -> anyhow::Result<PathBuf> {
    let path = folder.join(name);
    anyhow::ensure!(path.exists(), "`{}` is not built", path.display());
    Ok(path)
}

fn medians(
    runs: usize,
    mut scenario: impl FnMut() -> anyhow::Result<Figures>,
) -> anyhow::Result<Figures> {
    let all: anyhow::Result<Vec<_>> = (0..runs).map(|_| scenario()).collect();
    Ok(Figures::medians(&all?))
}
