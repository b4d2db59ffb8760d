//! The command line.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// An agent server for editors: it reads, greps and globs in one folder, and every answer can be checked.
#[derive(Parser)]
#[command(name = "dsh-ls", version = env!("CARGO_PKG_VERSION"), arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Asks one question and prints the answer
    Run(RunArgs),
    /// Serves an editor over stdio, as a language server
    Lsp(LspArgs),
    /// Serves a script over stdio, one JSON object to a line
    Rpc(RpcArgs),
    /// Prints the definition of the wire
    Schema(SchemaArgs),
}

/// What every command that works in a folder takes.
#[derive(Args, Clone)]
pub(crate) struct ServerArgs {
    /// Folder to work in; may be given several times. Default: the current one
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Vec<PathBuf>,
    /// Where sessions are kept. Default: $DSH_LS_HOME, else ~/.dsh-ls
    #[arg(long, value_name = "DIR")]
    pub(crate) home: Option<PathBuf>,
    /// Profile: the bundles that make the configuration. Default: `headless` for `run`, else `editor`
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// Patch file on top of the configuration; may be given several times
    #[arg(long, value_name = "FILE")]
    pub(crate) patch: Vec<PathBuf>,
    /// Model to ask, before every other choice
    #[arg(long, value_name = "PROVIDER/MODEL")]
    pub(crate) model: Option<String>,
    /// Append the server's log to a file instead of standard error
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    /// Print each session event as one line of JSON instead of the answer
    #[arg(long)]
    pub(crate) json: bool,
    /// No progress on standard error
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Go on with the folder's last session
    #[arg(long, conflicts_with = "session")]
    pub(crate) r#continue: bool,
    /// Go on with this session
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// What to ask; `-` or nothing reads it from standard input
    #[arg(value_name = "PROMPT")]
    pub(crate) prompt: Option<String>,
}

#[derive(Args)]
pub(crate) struct LspArgs {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    /// Accepted because editors pass it; there is no other way
    #[arg(long, hide = true)]
    pub(crate) stdio: bool,
}

#[derive(Args)]
pub(crate) struct RpcArgs {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

#[derive(Args)]
#[group(required = true, multiple = false)]
pub(crate) struct SchemaArgs {
    /// JSON Schema
    #[arg(long)]
    pub(crate) json: bool,
    /// TypeScript
    #[arg(long)]
    pub(crate) ts: bool,
    /// Lua annotations
    #[arg(long)]
    pub(crate) lua: bool,
}

/// Tells a person on standard error. That it cannot be told is no reason to fail.
pub(crate) fn complain(message: &str) {
    let _ = writeln!(std::io::stderr().lock(), "dsh-ls: {message}");
}
