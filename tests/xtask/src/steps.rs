//! Runs commands one after another and tells which one fails.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, bail};

/// Says what happens now.
pub(crate) fn say(text: &str) {
    // Progress that cannot be shown is no reason to stop.
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Runs a command to its end; its output is passed on.
pub(crate) fn run(command: &mut Command) -> anyhow::Result<()> {
    let (shown, started) = announce(command);
    let status = command.status().with_context(|| format!("cannot run `{shown}`"))?;
    if !status.success() {
        bail!("`{shown}` failed: {status}");
    }
    say(&format!("   {:.1} s", started.elapsed().as_secs_f64()));
    Ok(())
}

/// Runs a command to its end, passes its standard error on and returns its lines.
pub(crate) fn run_and_watch(command: &mut Command) -> anyhow::Result<Vec<String>> {
    let (shown, started) = announce(command);
    let mut child =
        command.stderr(Stdio::piped()).spawn().with_context(|| format!("cannot run `{shown}`"))?;
    let output = child.stderr.take().context("no standard error")?;
    let mut lines = Vec::new();
    for line in BufReader::new(output).lines() {
        let line = line?;
        say(&line);
        lines.push(line);
    }
    let status = child.wait()?;
    if !status.success() {
        bail!("`{shown}` failed: {status}");
    }
    say(&format!("   {:.1} s", started.elapsed().as_secs_f64()));
    Ok(lines)
}

/// Whether a command can be run and succeeds; its output is dropped.
pub(crate) fn works(command: &mut Command) -> bool {
    command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// The `cargo` that runs this, with arguments.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments);
    command
}

fn announce(command: &Command) -> (String, Instant) {
    let words: Vec<_> = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let shown = words.join(" ");
    say(&format!("\n== {shown}"));
    (shown, Instant::now())
}
