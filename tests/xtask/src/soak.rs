//! `cargo xtask soak`: what takes too long for every change. Prints figures for `tests/soak/RESULTS.md`.

use std::path::Path;
use std::process::Command;

use crate::steps::{self, cargo};
use crate::{ci, editors};

/// How often the benchmark runs; it prints medians.
const RUNS: &str = "9";

/// Measures the offline model's answers on trees that nobody here wrote, how fast each editor stays, and the program
/// beside its floor.
pub(crate) fn run() -> anyhow::Result<()> {
    ci::install_ripgrep()?;
    steps::run(&mut cargo(&["build", "--locked", "--release", "-p", "dsh-ls", "-p", "dsh-bench"]))?;
    steps::run(Command::new("python3").args([
        "tests/offline/measure.py",
        "--binary",
        "target/release/dsh-ls",
        "--cache",
        "target/offline",
    ]))?;
    editors::soak(Path::new("target/release/dsh-ls"))?;
    // Every byte, two hundred kills and whole trees, where each change is tested with some of them.
    let tests = [
        "test",
        "--locked",
        "--release",
        "-p",
        "dsh-tests",
        "--test",
        "suite",
        "--",
        "log_",
        "two_processes",
        "files_",
    ];
    steps::run(cargo(&tests).env("DSH_TESTS_SOAK", "1").env("DSH_TESTS_RG", "1"))?;
    steps::run(Command::new("target/release/dsh-bench").args([RUNS, "long"]))
}
