//! `dsh-ls sessions …`: what is kept of a folder's sessions, whether a server runs beside it or not.
//!
//! Exit codes: 0 done, 1 a session is not there or cannot be used, 2 bad usage or configuration.

use std::process::ExitCode;

use clap::Subcommand;
use dsh_protocol::ids::SessionId;
use dsh_runtime::agent::agent::Agent;
use dsh_runtime::runtime::{EDITOR_PROFILE, Runtime};

use crate::cli::{ServerArgs, complain, printable};
use crate::{Folders, logging};

mod delete;
mod export;
mod list;
mod review_stats;
mod show;

#[derive(Subcommand)]
pub(crate) enum SessionsCommand {
    /// Lists the folder's sessions, last updated first
    List(list::ListArgs),
    /// Prints a session as people read it
    Show(show::ShowArgs),
    /// Writes a whole session as a log file or as a Markdown document
    Export(export::ExportArgs),
    /// Deletes sessions and those that their agents started, for good
    Delete(delete::DeleteArgs),
    /// Counts what reviews of turns have found, what was said of it and what it cost
    ReviewStats(review_stats::ReviewStatsArgs),
}

/// What a command has to say of a session that it could not do anything with.
const FAILED: u8 = 1;

impl SessionsCommand {
    fn server(&self) -> &ServerArgs {
        match self {
            Self::List(args) => &args.server,
            Self::Show(args) => &args.server,
            Self::Export(args) => &args.server,
            Self::Delete(args) => &args.server,
            Self::ReviewStats(args) => &args.server,
        }
    }
}

pub(crate) fn run(command: SessionsCommand) -> anyhow::Result<ExitCode> {
    logging::start(command.server().log.as_deref())?;
    // A server waits for a folder that comes to be later; here nobody would.
    for folder in &command.server().workspace {
        anyhow::ensure!(folder.is_dir(), "there is no folder `{}`", folder.display());
    }
    let runtime = crate::runtime(command.server(), Folders::OrCurrent, EDITOR_PROFILE)?;
    crate::block_on(async {
        let done = match command {
            SessionsCommand::List(args) => list::run(&runtime, args).await,
            SessionsCommand::Show(args) => show::run(&runtime, args).await,
            SessionsCommand::Export(args) => export::run(&runtime, args).await,
            SessionsCommand::Delete(args) => delete::run(&runtime, args).await,
            SessionsCommand::ReviewStats(args) => review_stats::run(&args),
        };
        // Whoever appends here is told of it by the method that does.
        let _ = runtime.close().await;
        done
    })?
}

/// The agent of a session, for reading; says why there is none.
async fn agent(runtime: &Runtime, id: &str) -> anyhow::Result<Option<Agent>> {
    // What is wrong with the folder or its configuration is not the session's fault.
    runtime.workspaces().await?;
    match runtime.session(&SessionId::from(id)).await {
        Ok((_, agent)) => {
            // Where it cannot, what was read before is shown.
            if let Err(error) = agent.refresh().await {
                tracing::warn!(%error, "the log was not read again");
            }
            Ok(Some(agent))
        }
        Err(error) => {
            complain(&printable(&error.to_string()));
            Ok(None)
        }
    }
}
