//! Requests to end the process.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Ctrl-C, requests to terminate and a terminal that is closed. None is missed from its creation on, whoever waits or does not at the moment.
pub(crate) struct Signals {
    interrupt: Signal,
    hangup: Signal,
    terminate: Signal,
}

impl Signals {
    /// Begins to listen.
    pub(crate) fn listen() -> std::io::Result<Self> {
        let interrupt = signal(SignalKind::interrupt())?;
        let hangup = signal(SignalKind::hangup())?;
        Ok(Self { interrupt, hangup, terminate: signal(SignalKind::terminate())? })
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.hangup.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
