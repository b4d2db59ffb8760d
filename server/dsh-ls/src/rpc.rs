//! `dsh-ls rpc`: the NDJSON door on standard input and output.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use dsh_rpc::Server;
use dsh_rpc::connection::{Connection, Exit};
use dsh_rpc::ndjson;
use dsh_runtime::runtime::Runtime;
use tokio::io::{BufReader, stdin, stdout};

use crate::signals;

/// A request to end is taken as the end of the client: running turns are closed in the log first.
fn end_on_signal(connection: &Arc<Connection>) {
    let gone = connection.client_gone().clone();
    tokio::spawn(async move {
        match signals::wait().await {
            Ok(()) => gone.cancel(),
            Err(error) => tracing::warn!(%error, "signals are not heard"),
        }
    });
}

pub(crate) async fn serve(runtime: Runtime) -> ExitCode {
    let server = Server { runtime, version: env!("CARGO_PKG_VERSION"), started: Instant::now() };
    let connection = Connection::new(Arc::new(server));
    end_on_signal(&connection);
    match ndjson::serve_process(&connection, BufReader::with_capacity(64 * 1024, stdin()), stdout())
        .await
    {
        Some(Exit::Clean) | None => ExitCode::SUCCESS,
        Some(Exit::Abrupt) => ExitCode::FAILURE,
    }
}
