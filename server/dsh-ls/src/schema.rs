//! `dsh-ls schema`: prints the definition of the wire as the editors have it.

use std::io::Write;
use std::process::ExitCode;

use dsh_protocol::schema::{JSON, LUA, TYPESCRIPT};

use crate::cli::SchemaArgs;

pub(crate) fn print(args: &SchemaArgs) -> anyhow::Result<ExitCode> {
    let text = match (args.json, args.ts) {
        (true, _) => JSON,
        (false, true) => TYPESCRIPT,
        (false, false) => LUA,
    };
    std::io::stdout().lock().write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}
