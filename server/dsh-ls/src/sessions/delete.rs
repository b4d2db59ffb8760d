//! `dsh-ls sessions delete`.

use std::process::ExitCode;

use clap::Args;
use dsh_protocol::ids::SessionId;
use dsh_runtime::runtime::Runtime;

use super::FAILED;
use crate::cli::{self, ServerArgs, complain, printable};

#[derive(Args)]
pub(crate) struct DeleteArgs {
    #[command(flatten)]
    pub(super) server: ServerArgs,
    /// The sessions
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
}

pub(super) async fn run(runtime: &Runtime, args: DeleteArgs) -> anyhow::Result<ExitCode> {
    runtime.workspaces().await?;
    let mut code = ExitCode::SUCCESS;
    for id in args.ids {
        match runtime.delete(&SessionId::from(id)).await {
            Ok(deleted) => {
                for id in deleted {
                    cli::print(&printable(&format!("deleted {id}\n")))?;
                }
            }
            Err(error) => {
                complain(&printable(&error.to_string()));
                code = ExitCode::from(FAILED);
            }
        }
    }
    Ok(code)
}
