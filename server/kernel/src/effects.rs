//! What a plugin has done and how it is undone.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::panics;
use crate::status::Missing;

/// How long one effect may take to undo itself, unless it asks for longer, before the next one's turn comes.
pub(crate) const DISPOSE_DEADLINE: Duration = Duration::from_secs(5);

/// The plugin is not loading or active (`INACTIVE_EFFECT`): nobody would undo what it registers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("row `{row}` is unloading or gone; it cannot register anything")]
pub struct InactiveEffect {
    /// The row.
    pub row: String,
}

/// Why a plugin unloads: its row is replaced, removed or loses a service, or everything is shut down. An effect
/// that waits for running work waits until it ends or the shutdown begins.
#[derive(Clone)]
pub struct Unloading {
    pub(crate) shutdown: CancellationToken,
}

impl Unloading {
    /// Whether everything is being shut down.
    pub fn is_shutdown(&self) -> bool {
        self.shutdown.is_cancelled()
    }

    /// Waits until everything is being shut down; for ever when it never is.
    pub async fn shutdown(&self) {
        self.shutdown.cancelled().await;
    }
}

/// One thing that a plugin did.
pub(crate) struct Effect {
    /// What it is, for people.
    pub(crate) label: String,
    /// How long undoing it may take.
    pub(crate) deadline: Duration,
    /// Undoes it.
    pub(crate) undo: Box<dyn FnOnce(Unloading) -> BoxFuture<'static, ()> + Send>,
}

/// Says what a plugin is without now.
pub(crate) type AskMissing = Arc<dyn Fn() -> Vec<Missing> + Send + Sync>;

/// What a plugin has done so far, in order. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Effects(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    done: Vec<Effect>,
    /// Those that say what it is without.
    missing: Vec<AskMissing>,
    /// Whether undoing has begun; nothing is added from then on.
    closed: bool,
}

impl Effects {
    /// Adds an effect; gives it back when undoing has begun.
    pub(crate) fn push(&self, effect: Effect) -> Result<(), Effect> {
        let mut state = self.lock();
        if state.closed {
            return Err(effect);
        }
        state.done.push(effect);
        Ok(())
    }

    /// What each effect is, in order.
    pub(crate) fn labels(&self) -> Vec<String> {
        self.lock().done.iter().map(|effect| effect.label.clone()).collect()
    }

    /// Adds somebody to ask what the plugin is without.
    pub(crate) fn ask_for_missing(&self, missing: AskMissing) {
        let mut state = self.lock();
        if !state.closed {
            state.missing.push(missing);
        }
    }

    /// What the plugin is without now.
    pub(crate) fn missing(&self) -> Vec<Missing> {
        let asked = self.lock().missing.clone();
        asked.iter().flat_map(|missing| missing()).collect()
    }

    /// Undoes everything, last first, one after the other. One that panics or hangs does not keep the others
    /// from being undone; what went wrong is returned.
    pub(crate) async fn undo(&self, row: &str, why: &Unloading) -> Vec<String> {
        let mut troubles = Vec::new();
        while let Some(Effect { label, deadline, undo }) = self.close_and_pop() {
            let why = why.clone();
            let undone = AssertUnwindSafe(async move { undo(why).await }).catch_unwind();
            let trouble = match tokio::time::timeout(deadline, undone).await {
                Ok(Ok(())) => continue,
                Ok(Err(panic)) => {
                    format!("`{label}` panicked while it was undone: {}", panics::message(&*panic))
                }
                Err(_) => format!("`{label}` was not undone within {deadline:?}"),
            };
            tracing::error!(row, "{trouble}");
            troubles.push(trouble);
        }
        troubles
    }

    /// Drops everything without waiting: registrations are undone, what would have to be awaited is not.
    pub(crate) fn abandon(&self) {
        while let Some(effect) = self.close_and_pop() {
            drop(effect);
        }
    }

    fn close_and_pop(&self) -> Option<Effect> {
        let mut state = self.lock();
        state.closed = true;
        state.missing.clear();
        state.done.pop()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
