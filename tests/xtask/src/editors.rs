//! The plugins of the editors, in the real editors.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use crate::steps::run;

/// Tests both plugins with the program. The editors are installed under `target/editors`, once.
pub(crate) fn check(program: &Path) -> anyhow::Result<()> {
    let program = absolute(program)?;
    run(Command::new("tests/editors/nvim/run.sh").arg(&program))?;
    vscode("run.mjs", &program)
}

/// Measures how fast each editor stays while an answer floods it.
pub(crate) fn soak(program: &Path) -> anyhow::Result<()> {
    let program = absolute(program)?;
    run(Command::new("python3").arg("tests/editors/nvim/soak.py").arg(&program))?;
    vscode("soak.mjs", &program)
}

fn vscode(script: &str, program: &Path) -> anyhow::Result<()> {
    run(Command::new("node").arg(Path::new("tests/editors/vscode").join(script)).arg(program))
}

fn absolute(program: &Path) -> anyhow::Result<PathBuf> {
    fs::canonicalize(program).context("the program is not built")
}
