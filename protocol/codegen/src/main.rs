//! `cargo codegen`: writes what is generated from the wire's Rust types; with `--check`, fails if any of it is stale.

mod files;
mod lua;
mod page;
mod reference;
mod typescript;
mod wire;

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, bail, ensure};

fn main() -> ExitCode {
    let Err(error) = run() else { return ExitCode::SUCCESS };
    // Nothing is left to tell it to when stderr is closed.
    let _ = writeln!(std::io::stderr(), "{error:#}");
    ExitCode::FAILURE
}

fn run() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => write(),
        ["--check"] => check(),
        _ => bail!("usage: cargo codegen [--check]"),
    }
}

fn write() -> Result<()> {
    let mut stderr = std::io::stderr().lock();
    for file in files::generate(protocol()?)? {
        if file.write()? {
            writeln!(stderr, "wrote {}", file.path().display())?;
        }
    }
    Ok(())
}

fn check() -> Result<()> {
    let problems: Vec<String> = files::generate(protocol()?)?
        .iter()
        .filter_map(|file| file.check().err())
        .map(|error| error.to_string())
        .collect();
    ensure!(
        problems.is_empty(),
        "generated files are stale; run `cargo codegen`\n\n{}",
        problems.join("\n")
    );
    Ok(())
}

/// The folder of `dsh-protocol`, in which this crate lives.
fn protocol() -> Result<&'static Path> {
    match Path::new(env!("CARGO_MANIFEST_DIR")).parent() {
        Some(folder) => Ok(folder),
        None => bail!("the codegen crate has no parent folder"),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn committed_files_are_current() {
        if let Err(error) = super::check() {
            panic!("{error}");
        }
    }
}
