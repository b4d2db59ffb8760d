//! `cargo xtask ci`: format, lints, tests, foreign clients, Neovim, documentation.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use crate::steps::{self, cargo, run_and_watch, say, works};
use crate::{clients, editors};

/// The test runner's version, so that two machines run the same one.
const NEXTEST: &str = "0.9.143";

/// What the search is compared with, line by line.
const RIPGREP: &str = "15.1.0";

/// How many of the slowest tests are named.
const SLOWEST: usize = 5;

fn check() -> anyhow::Result<Vec<String>> {
    install_nextest()?;
    install_ripgrep()?;
    steps::run(&mut cargo(&["fmt", "--all", "--check"]))?;
    steps::run(&mut cargo(&[
        "clippy",
        "--locked",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ]))?;
    // The suite drives the program itself.
    steps::run(&mut cargo(&["build", "--locked", "-p", "dsh-ls"]))?;
    let mut tests = cargo(&["nextest", "run", "--locked", "--workspace"]);
    let lines = run_and_watch(tests.env("DSH_TESTS_RG", "1"))?;
    let program = Path::new("target/debug/dsh-ls");
    clients::check(program)?;
    editors::check(program)?;
    steps::run(&mut cargo(&["test", "--locked", "--workspace", "--doc", "--quiet"]))?;
    let mut doc =
        cargo(&["doc", "--locked", "--workspace", "--no-deps", "--document-private-items"]);
    steps::run(doc.env("RUSTDOCFLAGS", "-D warnings"))?;
    Ok(lines)
}

pub(crate) fn run() -> anyhow::Result<()> {
    let started = Instant::now();
    let lines = check()?;
    say(&format!("\nAll passed in {:.0} s. The slowest tests:", started.elapsed().as_secs_f64()));
    for (seconds, name) in slowest(&lines) {
        say(&format!("  {seconds:>7.2} s  {name}"));
    }
    Ok(())
}

fn install_nextest() -> anyhow::Result<()> {
    if works(&mut cargo(&["nextest", "--version"])) {
        return Ok(());
    }
    steps::run(&mut cargo(&["install", "--locked", "cargo-nextest", "--version", NEXTEST]))
}

/// Installs `rg` where there is none.
pub(crate) fn install_ripgrep() -> anyhow::Result<()> {
    if works(Command::new("rg").arg("--version")) {
        return Ok(());
    }
    steps::run(&mut cargo(&["install", "--locked", "ripgrep", "--version", RIPGREP]))
}

/// The slowest tests, from the runner's lines such as `PASS [   0.123s] (1/9) package test`.
fn slowest(lines: &[String]) -> Vec<(f64, String)> {
    let mut tests = Vec::new();
    for line in lines {
        let Some((_, timed)) = line.split_once("PASS [") else { continue };
        let Some((seconds, name)) = timed.split_once("s]") else { continue };
        if let Ok(seconds) = seconds.trim().parse::<f64>() {
            tests.push((seconds, name.trim().to_owned()));
        }
    }
    tests.sort_by(|a, b| b.0.total_cmp(&a.0));
    tests.truncate(SLOWEST);
    tests
}
