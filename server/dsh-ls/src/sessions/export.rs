//! `dsh-ls sessions export`.

use std::fs::OpenOptions;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use dsh_runtime::runtime::Runtime;
use dsh_runtime::session::export;
use dsh_runtime::session::log::Log;

use super::{FAILED, agent};
use crate::cli::{ServerArgs, complain};

#[derive(Args)]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    pub(super) server: ServerArgs,
    /// The session
    #[arg(value_name = "ID")]
    id: String,
    /// As a log file, or as a document
    #[arg(long, value_enum, default_value_t = Format::Jsonl)]
    format: Format,
    /// Write to a file, which only its owner may read, instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// The log, one event to a line
    Jsonl,
    /// The transcript
    Markdown,
}

pub(super) async fn run(runtime: &Runtime, args: ExportArgs) -> anyhow::Result<ExitCode> {
    let Some(agent) = agent(runtime, &args.id).await? else {
        return Ok(ExitCode::from(FAILED));
    };
    let written = match &args.output {
        Some(path) => create(path).and_then(|file| write(agent.log(), args.format, file)),
        None => write(agent.log(), args.format, io::stdout().lock()),
    };
    match written {
        // A reader that has seen enough, as `head` has, is no error.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            complain(&format!("the session cannot be written: {error}"));
            Ok(ExitCode::from(FAILED))
        }
        Ok(()) | Err(_) => Ok(ExitCode::SUCCESS),
    }
}

fn create(path: &Path) -> io::Result<std::fs::File> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}

fn write(log: &Log, format: Format, out: impl Write) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    match format {
        Format::Jsonl => export::jsonl(log, &mut out)?,
        Format::Markdown => out.write_all(export::markdown(log).as_bytes())?,
    }
    out.flush()
}
