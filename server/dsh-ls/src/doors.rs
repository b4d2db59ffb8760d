//! The commands that serve a client: `dsh-ls lsp` and `dsh-ls rpc`, on standard input and output.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use dsh_lsp::door::{self, End};
use dsh_rpc::Server;
use dsh_rpc::connection::{Connection, Exit};
use dsh_rpc::ndjson;
use dsh_runtime::runtime::Runtime;
use tokio::io::{BufReader, Stdin, stdin, stdout};

use crate::cli::complain;
use crate::signals::Signals;

/// What the doors of this process share. Its configuration follows the files.
fn server(runtime: Runtime) -> Arc<Server> {
    let version = env!("CARGO_PKG_VERSION");
    let server = Arc::new(Server { runtime, version, started: Instant::now() });
    let following = Arc::clone(&server);
    tokio::spawn(async move { following.runtime.follow_configuration().await });
    server
}

fn input() -> BufReader<Stdin> {
    BufReader::with_capacity(64 * 1024, stdin())
}

/// Serves an editor.
pub(crate) async fn lsp(runtime: Runtime) -> ExitCode {
    match door::serve_process(server(runtime), input(), stdout()).await {
        End::Exit(Exit::Clean) => ExitCode::SUCCESS,
        End::Exit(Exit::Abrupt) => ExitCode::FAILURE,
        End::Framing(what) => {
            complain(&what);
            ExitCode::FAILURE
        }
    }
}

/// Serves a script. The end of its input is a good end.
pub(crate) async fn rpc(runtime: Runtime) -> ExitCode {
    let connection = Connection::new(server(runtime), None);
    end_on_signal(&connection);
    match ndjson::serve_process(&connection, input(), stdout()).await {
        Some(Exit::Clean) | None => ExitCode::SUCCESS,
        Some(Exit::Abrupt) => ExitCode::FAILURE,
    }
}

/// A request to end is taken as the end of the client: running turns are closed in the log first.
fn end_on_signal(connection: &Arc<Connection>) {
    let gone = connection.client_gone().clone();
    match Signals::listen() {
        Ok(mut signals) => {
            tokio::spawn(async move {
                signals.next().await;
                gone.cancel();
            });
        }
        Err(error) => tracing::warn!(%error, "signals are not heard"),
    }
}
