//! `dsh-ls rpc`: the NDJSON door on standard input and output.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use dsh_rpc::Server;
use dsh_rpc::connection::{Connection, Exit};
use dsh_rpc::ndjson;
use dsh_runtime::runtime::Runtime;
use tokio::io::{BufReader, stdin, stdout};

pub(crate) async fn serve(runtime: Runtime) -> ExitCode {
    let server = Server { runtime, version: env!("CARGO_PKG_VERSION"), started: Instant::now() };
    let connection = Connection::new(Arc::new(server));
    match ndjson::serve_process(&connection, BufReader::with_capacity(64 * 1024, stdin()), stdout())
        .await
    {
        Some(Exit::Clean) | None => ExitCode::SUCCESS,
        Some(Exit::Abrupt) => ExitCode::FAILURE,
    }
}
