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
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        // A reader that has seen enough, as `head` has, is no error.
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        Ok(()) | Err(_) => Ok(ExitCode::SUCCESS),
    }
}
