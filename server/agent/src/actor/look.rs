//! When to look again for what became of what is left open in a log.
//!
//! A process that was killed keeps its locks until its last file is closed, and another one may work on a child for
//! minutes before it is killed in turn. Nobody says so: it is looked for, ever less often.

use std::future::pending;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// The pause before the second look; each further one is twice as long, up to [`LONGEST`].
const FIRST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(10);

/// The next look, if there is to be one.
#[derive(Default)]
pub(super) struct Look {
    at: Option<Instant>,
    /// The pause before the look that comes after a fruitless one.
    pause: Option<Duration>,
}

impl Look {
    /// Plans the next look, if something is left.
    pub(super) fn plan(&mut self, is_left: bool) {
        if !is_left {
            *self = Self::default();
            return;
        }
        let pause = self.pause.unwrap_or(FIRST);
        self.at = Some(Instant::now() + pause);
        self.pause = Some((pause * 2).min(LONGEST));
    }

    /// Whether there is to be another look.
    pub(super) fn is_planned(&self) -> bool {
        self.at.is_some()
    }

    /// A look begins: there is no next one until it is planned.
    pub(super) fn begin(&mut self) {
        self.at = None;
    }

    /// Waits for the next look.
    pub(super) async fn due(&self) {
        match self.at {
            Some(at) => sleep_until(at).await,
            None => pending().await,
        }
    }
}
