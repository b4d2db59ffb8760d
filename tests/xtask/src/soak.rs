//! `cargo xtask soak`: what takes too long for every change. Prints figures for `tests/soak/RESULTS.md`.

use std::path::Path;
use std::process::Command;

use crate::editors;
use crate::steps::{self, cargo};

/// How often the benchmark runs; it prints medians.
const RUNS: &str = "9";

/// Measures the offline model's answers on trees that nobody here wrote, how fast each editor stays, and the program
/// beside its floor.
pub(crate) fn run() -> anyhow::Result<()> {
    steps::run(&mut cargo(&["build", "--locked", "--release", "-p", "dsh-ls", "-p", "dsh-bench"]))?;
    steps::run(Command::new("python3").args([
        "tests/offline/measure.py",
        "--binary",
        "target/release/dsh-ls",
        "--cache",
        "target/offline",
    ]))?;
    editors::soak(Path::new("target/release/dsh-ls"))?;
    steps::run(Command::new("target/release/dsh-bench").args([RUNS, "long"]))
}
