//! Language clients that others wrote drive the program's lsp door.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use crate::steps::{run, works};

/// Installs the clients under `target`, once, and lets each drive a whole turn.
pub(crate) fn check(program: &Path) -> anyhow::Result<()> {
    let program = fs::canonicalize(program).context("the program is not built")?;
    let folder = installed()?;
    run(Command::new("node").current_dir(&folder).arg("turn.mjs").arg(&program))?;
    let home = folder.join("home");
    run(Command::new(folder.join("venv/bin/pytest"))
        .current_dir(&folder)
        .args(["-q", "test_turn.py"])
        .env("DSH_LS_BIN", &program)
        .env("DSH_LS_TEST_HOME", &home))
}

/// A copy of `tests/clients` with what its manifests name: nothing is installed into the tree itself.
fn installed() -> anyhow::Result<PathBuf> {
    let folder = PathBuf::from("target/clients");
    fs::create_dir_all(&folder)?;
    let mut manifests_changed = false;
    for entry in fs::read_dir("tests/clients")? {
        let from = entry?.path();
        let Some(name) = from.file_name() else { continue };
        let to = folder.join(name);
        let same = fs::read(&to).is_ok_and(|old| fs::read(&from).is_ok_and(|new| old == new));
        if !same {
            fs::copy(&from, &to)?;
            manifests_changed |= name == "requirements.txt" || name == "package.json";
        }
    }
    let folder = fs::canonicalize(folder)?;
    let venv = folder.join("venv");
    let ready = works(Command::new(venv.join("bin/pytest")).arg("--version"))
        && folder.join("node_modules").exists();
    if manifests_changed || !ready {
        run(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
        run(Command::new(venv.join("bin/pip"))
            .args(["install", "--quiet", "-r"])
            .arg(folder.join("requirements.txt")))?;
        run(Command::new("npm").current_dir(&folder).args([
            "install",
            "--silent",
            "--no-audit",
            "--no-fund",
        ]))?;
    }
    Ok(folder)
}
