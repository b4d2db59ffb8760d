//! Requests to end the process.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Ctrl-C, requests to terminate and a terminal that is closed. None is missed from its creation on, whoever waits or does not at the moment.
pub(crate) struct Signals {
    interrupt: Signal,
    hangup: Signal,
    terminate: Signal,
}

/// The signal for a write beyond the limit of files' sizes, as Linux and macOS number it.
const FILE_TOO_BIG: i32 = 25;

impl Signals {
    /// Begins to listen.
    pub(crate) fn listen() -> std::io::Result<Self> {
        let interrupt = signal(SignalKind::interrupt())?;
        let hangup = signal(SignalKind::hangup())?;
        let terminate = signal(SignalKind::terminate())?;
        // Caught from now on, whether somebody listens or not: a file that may not grow is an error of its write and
        // not the end of the process.
        drop(signal(SignalKind::from_raw(FILE_TOO_BIG))?);
        Ok(Self { interrupt, hangup, terminate })
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
