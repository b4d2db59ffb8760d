//! Requests to end the process.

use tokio::signal::unix::{SignalKind, signal};

/// Waits for Ctrl-C or a request to terminate.
pub(crate) async fn wait() -> std::io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted,
        _ = terminate.recv() => Ok(()),
    }
}
