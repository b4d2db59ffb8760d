//! The command line.

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::sessions::SessionsCommand;

/// An agent server for editors: it reads, greps and globs in one folder, and every answer can be checked.
#[derive(Parser)]
#[command(
    name = "dsh-ls",
    version = env!("CARGO_PKG_VERSION"),
    arg_required_else_help = true,
    after_help = "`dsh-ls --dump-config` is `dsh-ls config dump`."
)]
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
    /// Prints, checks or changes the configuration
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Lists, shows, exports or deletes the folder's sessions, and counts what reviews have found
    #[command(subcommand)]
    Sessions(SessionsCommand),
    /// Says what is configured, what runs, what a model sees, what was used, and what needs attention
    Doctor(DoctorArgs),
    /// Prints the definition of the wire or of the configuration
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

#[derive(Subcommand)]
pub(crate) enum ConfigCommand {
    /// Prints the rows as they would be mounted, as a patch file
    Dump(DumpArgs),
    /// Prints everything that is wrong with the configuration
    Check(CheckArgs),
    /// Sets one value of a row in the home's patch file
    Set(SetArgs),
}

#[derive(Args)]
pub(crate) struct DumpArgs {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    /// Say in comments which file each row comes from and which changed it
    #[arg(long)]
    pub(crate) origin: bool,
    /// The rows that come with the program, without anybody's patches
    #[arg(long)]
    pub(crate) default: bool,
}

#[derive(Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

#[derive(Args)]
pub(crate) struct SetArgs {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    /// The row's id and the key of its configuration
    #[arg(value_name = "ROW.KEY")]
    pub(crate) key: String,
    /// `true`, `5`, `text`, `"text"`, `[a, b]` or `{a: 1}`; `null` takes the key away
    #[arg(allow_negative_numbers = true)]
    pub(crate) value: String,
}

#[derive(Args)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
#[group(required = true, multiple = false)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "clap reads one flag into each, and one is given"
)]
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
    /// JSON Schema of patch files
    #[arg(long)]
    pub(crate) config: bool,
}

/// The command line with `--dump-config` in the place of a command spelled out.
pub(crate) fn spelled_out(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = arguments.collect();
    let names_a_command =
        arguments.get(1).is_none_or(|first| !first.as_encoded_bytes().starts_with(b"-"));
    let at = arguments
        .iter()
        .take_while(|argument| *argument != "--")
        .position(|argument| argument == "--dump-config");
    if let (false, Some(at)) = (names_a_command, at) {
        arguments.remove(at);
        arguments.splice(1..1, ["config".into(), "dump".into()]);
    }
    arguments
}

/// Writes to standard output. A reader that has seen enough, as `head` has, is no error.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(anyhow::Error::new(error).context("cannot write to standard output"))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Text that cannot command a terminal.
pub(crate) fn printable(text: &str) -> String {
    text.chars()
        .map(|char| if char.is_control() && !"\n\t".contains(char) { '\u{fffd}' } else { char })
        .collect()
}

/// Tells a person on standard error. That it cannot be told is no reason to fail.
pub(crate) fn complain(message: &str) {
    let _ = writeln!(std::io::stderr().lock(), "dsh-ls: {message}");
}
