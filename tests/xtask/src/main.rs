//! `cargo xtask`: the fixed entry points of development. Each installs what it needs.

use std::io::Write;

mod ci;
mod clients;
mod editors;
mod soak;
mod steps;

fn main() -> anyhow::Result<()> {
    let task = std::env::args().nth(1);
    match task.as_deref() {
        Some("ci") => ci::run(),
        Some("soak") => soak::run(),
        Some(_) | None => {
            let usage = "usage: cargo xtask ci | soak\n\n\
                ci    format, lints, tests, foreign clients, Neovim, documentation: what every change must pass\n\
                soak  what takes too long for every change; prints figures for tests/soak/RESULTS.md\n";
            std::io::stderr().write_all(usage.as_bytes())?;
            anyhow::bail!("no such task")
        }
    }
}
