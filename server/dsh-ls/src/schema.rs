//! `dsh-ls schema`: prints the definition of the wire as the editors have it, and of the configuration.

use std::process::ExitCode;

use dsh_protocol::schema::{JSON, LUA, TYPESCRIPT};

use crate::cli::{self, SchemaArgs};

/// The JSON Schema of patch files. The suite compares it with the plugins and rewrites it.
const CONFIGURATION: &str = include_str!("../../configuration.schema.json");

pub(crate) fn print(args: &SchemaArgs) -> anyhow::Result<ExitCode> {
    let text = match (args.json, args.ts, args.lua) {
        (true, _, _) => JSON,
        (false, true, _) => TYPESCRIPT,
        (false, false, true) => LUA,
        (false, false, false) => CONFIGURATION,
    };
    cli::print(text)?;
    Ok(ExitCode::SUCCESS)
}
