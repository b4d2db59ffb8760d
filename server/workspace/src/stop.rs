//! How a call is told to end early: a flag that another thread sets, a deadline, or both.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Why a call has to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// Somebody called [`Stop::cancel`]: nobody waits for the result any more.
    Cancelled,
    /// The time is up: what was found so far is still wanted.
    Deadline,
}

/// The end of a call's patience. Clones share one flag.
#[derive(Clone, Debug)]
pub struct Stop {
    cancelled: Arc<AtomicBool>,
    deadline: Option<Instant>,
}

impl Stop {
    /// Ends only when it is cancelled.
    pub fn never() -> Stop {
        Stop::new(None)
    }

    /// Ends when it is cancelled or when `patience`, counted from now, is over.
    pub fn new(patience: Option<Duration>) -> Stop {
        // An unrepresentable deadline is as good as none.
        let deadline = patience.and_then(|patience| Instant::now().checked_add(patience));
        Stop { cancelled: Arc::new(AtomicBool::new(false)), deadline }
    }

    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether [`Stop::cancel`] was called; says nothing about the deadline.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Why the call has to end now, if it has to. A cancel outranks a deadline.
    pub fn reason(&self) -> Option<StopReason> {
        if self.is_cancelled() {
            return Some(StopReason::Cancelled);
        }
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline => Some(StopReason::Deadline),
            Some(_) | None => None,
        }
    }
}

impl Default for Stop {
    fn default() -> Stop {
        Stop::never()
    }
}
