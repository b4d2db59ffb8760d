//! `cargo xtask soak`: what takes too long for every change. Prints figures for `tests/soak/RESULTS.md`.

use std::process::Command;

use crate::steps::{self, cargo};

/// Measures the offline model's answers on trees that nobody here wrote.
pub(crate) fn run() -> anyhow::Result<()> {
    steps::run(&mut cargo(&["build", "--locked", "--release", "-p", "dsh-ls"]))?;
    steps::run(Command::new("python3").arg("tests/offline/measure.py"))
}
