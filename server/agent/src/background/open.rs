//! What of a session's children has not come out, and waiting until it has.

use std::time::Duration;

use dsh_session::activations::Activation;

use super::Background;
use super::work::Work;
use crate::agent::Agent;

/// How long it is waited for: what comes out is logged at once.
const PATIENCE: Duration = Duration::from_secs(2);

impl Background {
    /// The work of a session's children that this process attends to and that has not come out, oldest first.
    pub(super) fn open(&self, parent: &Agent) -> Vec<Activation> {
        let held = self.lock();
        parent.log().read(|fold| {
            let open = fold.activations.open().iter();
            open.filter(|it| held.activations.contains(&it.id)).cloned().collect()
        })
    }

    /// Waits until what a child was given before this is told: both may come out at once.
    pub(super) async fn in_order(&self, work: &Work, parent: &Agent) {
        let comes_first = |open: &[Activation]| {
            let first = open.iter().find(|it| it.child == work.child);
            first.is_none_or(|first| first.id == work.id)
        };
        self.until(parent, comes_first).await;
    }

    /// Waits, for a while, until something holds of what is open. Whether it does.
    pub(super) async fn until(
        &self,
        parent: &Agent,
        holds: impl Fn(&[Activation]) -> bool,
    ) -> bool {
        let mut events = parent.log().watch();
        let waiting = async {
            while !holds(&self.open(parent)) {
                if events.changed().await.is_err() {
                    return false;
                }
            }
            true
        };
        tokio::time::timeout(PATIENCE, waiting).await.unwrap_or(false)
    }
}
