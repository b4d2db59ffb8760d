//! The `dsh-ls` command: reads the command line, sets up logging, and starts a door.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, anyhow};
use clap::Parser;
use dsh_protocol::ids::ModelId;
use dsh_runtime::runtime::{EDITOR_PROFILE, HEADLESS_PROFILE, Runtime, RuntimeConfig};

mod cli;
mod config;
mod doctor;
mod doors;
mod logging;
mod run;
mod schema;
mod sessions;
mod signals;

use cli::{Cli, Command, ServerArgs};

/// Exit code for bad usage or configuration, clap's own for the former.
const BAD_USAGE: u8 = 2;

fn main() -> ExitCode {
    let cli = Cli::parse_from(cli::spelled_out(std::env::args_os()));
    match start(cli.command) {
        Ok(code) => code,
        Err(error) => {
            cli::complain(&format!("{error:#}"));
            ExitCode::from(BAD_USAGE)
        }
    }
}

fn start(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Run(args) => {
            logging::start(args.server.log.as_deref())?;
            let runtime = runtime(&args.server, Folders::OrCurrent, HEADLESS_PROFILE)?;
            Ok(block_on(run::run(runtime, args))?)
        }
        Command::Rpc(args) => {
            logging::start(args.server.log.as_deref())?;
            let runtime = runtime(&args.server, Folders::OrCurrent, EDITOR_PROFILE)?;
            block_on(doors::rpc(runtime))
        }
        Command::Lsp(args) => {
            logging::start(args.server.log.as_deref())?;
            let runtime = runtime(&args.server, Folders::Named, EDITOR_PROFILE)?;
            block_on(doors::lsp(runtime))
        }
        Command::Config(command) => config::run(command),
        Command::Sessions(command) => sessions::run(command),
        Command::Doctor(args) => doctor::run(&args),
        Command::Schema(args) => schema::print(&args),
    }
}

/// Runs the program's future. What still waits for the terminal afterwards must not keep the process.
fn block_on<T>(future: impl Future<Output = T>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(64)
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    let output = runtime.block_on(future);
    runtime.shutdown_background();
    Ok(output)
}

/// Which folders are open from the start.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Folders {
    /// Those on the command line; an editor says which it has open.
    Named,
    /// Those on the command line, or the current one.
    OrCurrent,
}

fn runtime(args: &ServerArgs, which: Folders, profile: &str) -> anyhow::Result<Runtime> {
    let runtime = Runtime::new(runtime_config(args, profile)?);
    for folder in folders(args, which)? {
        runtime.open_folder(&folder.to_string_lossy())?;
    }
    Ok(runtime)
}

/// The folders that are open from the start, absolute.
fn folders(args: &ServerArgs, which: Folders) -> anyhow::Result<Vec<PathBuf>> {
    let mut folders = args.workspace.clone();
    if folders.is_empty() && which == Folders::OrCurrent {
        folders.push(PathBuf::from("."));
    }
    let absolute = |folder: &PathBuf| {
        std::path::absolute(folder)
            .with_context(|| format!("`{}` is not a folder's name", folder.display()))
    };
    folders.iter().map(absolute).collect()
}

/// What the command line and the environment say of a runtime.
fn runtime_config(args: &ServerArgs, profile: &str) -> anyhow::Result<RuntimeConfig> {
    let mut config = RuntimeConfig::new(home(args)?);
    config.sources.profile = args.profile.clone().unwrap_or_else(|| profile.to_owned());
    let absolute = |path| std::path::absolute(path).context("--patch");
    config.sources.patches = args.patch.iter().map(absolute).collect::<anyhow::Result<_>>()?;
    config.forced_model = args.model.as_deref().map(parse_model).transpose()?;
    if let Some(name) = std::env::var("DSH_LS_MODEL").ok().filter(|name| !name.trim().is_empty()) {
        config.environment_model = Some(parse_model(&name).context("DSH_LS_MODEL")?);
    }
    Ok(config)
}

fn parse_model(name: &str) -> anyhow::Result<ModelId> {
    ModelId::parse(name).ok_or_else(|| anyhow!("`{name}` is not PROVIDER/MODEL"))
}

/// `--home`, else `$DSH_LS_HOME`, else `~/.dsh-ls`.
fn home(args: &ServerArgs) -> anyhow::Result<PathBuf> {
    let named = |name: &str| std::env::var_os(name).filter(|value: &OsString| !value.is_empty());
    let home = match (&args.home, named("DSH_LS_HOME"), named("HOME")) {
        (Some(home), _, _) => home.clone(),
        (None, Some(home), _) => PathBuf::from(home),
        (None, None, Some(user)) => PathBuf::from(user).join(".dsh-ls"),
        (None, None, None) => {
            return Err(anyhow!("HOME is not set; say where to keep sessions with --home"));
        }
    };
    std::path::absolute(&home)
        .with_context(|| format!("`{}` is not a folder's name", home.display()))
}
