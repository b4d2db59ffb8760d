//! Serves the editor that started this process.

use std::sync::Arc;
use std::time::Duration;

use dsh_rpc::Server;
use dsh_rpc::connection::{Connection, Exit};
use dsh_rpc::outbox::Outbox;
use tokio::io::{AsyncBufRead, AsyncWrite};
use tokio::time::Instant;

use crate::frames::{self, FramingError};
use crate::service::Lsp;

/// How long running turns may take to be closed once the editor is gone.
const LAST_TURNS: Duration = Duration::from_millis(180);

/// How long that and the last frames may take together: the process is to be gone within 300 ms.
const LAST_FRAMES: Duration = Duration::from_millis(230);

/// How the connection ended.
#[derive(Debug)]
pub enum End {
    /// The client said `exit`, or its input ended.
    Exit(Exit),
    /// The input is no LSP: says what was found.
    Framing(String),
}

/// Serves one client until it says `exit`, its input ends or its process is gone. Running turns are aborted
/// and what was said is sent when this returns.
pub async fn serve_process<R, W>(server: Arc<Server>, input: R, output: W) -> End
where
    R: AsyncBufRead + Unpin,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let lsp = Arc::new(Lsp::new(Arc::clone(&server)));
    let connection = Connection::new(server, Some(lsp));
    let writing =
        tokio::spawn(Outbox::write(Arc::clone(connection.outbox()), output, frames::write));
    let end = tokio::select! {
        end = read(&connection, input) => end,
        () = connection.client_gone().cancelled() => End::Exit(Exit::Abrupt),
    };
    let ended = Instant::now();
    let mut is_saved = true;
    match tokio::time::timeout_at(ended + LAST_TURNS, connection.end_sessions()).await {
        Ok(Ok(())) => {}
        Ok(Err(unwritten)) => {
            is_saved = false;
            tracing::error!("{unwritten}");
        }
        Err(_) => tracing::warn!("running turns were left to be closed by the next start"),
    }
    connection.close();
    if tokio::time::timeout_at(ended + LAST_FRAMES, writing).await.is_err() {
        tracing::warn!("the client did not read the last frames");
    }
    match end {
        End::Exit(_) if !is_saved => End::Exit(Exit::Abrupt),
        end @ (End::Exit(_) | End::Framing(_)) => end,
    }
}

async fn read<R: AsyncBufRead + Unpin>(connection: &Arc<Connection>, mut input: R) -> End {
    let mut body = Vec::new();
    loop {
        match frames::read(&mut input, &mut body).await {
            Ok(true) => connection.receive(&body).await,
            Ok(false) => return End::Exit(connection.end_of_input()),
            Err(error @ FramingError::Io(_)) => {
                tracing::warn!(%error, "the input broke off");
                return End::Exit(connection.end_of_input());
            }
            Err(error) => return End::Framing(error.to_string()),
        }
        if let Some(exit) = connection.exit() {
            return End::Exit(exit);
        }
    }
}
