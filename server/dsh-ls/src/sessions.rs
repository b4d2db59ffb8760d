//! `dsh-ls sessions`: looks at the sessions of a folder.

use std::process::ExitCode;

use crate::cli::SessionsCommand;

mod review_stats;

pub(crate) fn run(command: &SessionsCommand) -> anyhow::Result<ExitCode> {
    match command {
        SessionsCommand::ReviewStats(args) => review_stats::run(args),
    }
}
