//! Unloads sessions that nobody uses. They come back with the next request that names them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use dsh_protocol::ids::SessionId;
use dsh_protocol::session::SessionStatus;
use dsh_protocol::turn::AbortReason;

use super::{Agents, Live, Loaded};
use crate::agent::Agent;

/// How often it is looked for sessions that nobody uses: seldom, and more often while there may be too many.
const LOOK: Duration = Duration::from_secs(30);
const LOOK_AT_MANY: Duration = Duration::from_secs(1);

impl Agents {
    /// Unloads sessions that nobody uses, as the limits of [`crate::sessions::Sessions`] say. Never ends by itself.
    pub async fn unload_unused(&self) {
        let limits = self.sessions.idle_limits();
        loop {
            let pause = if self.count() > limits.most { LOOK_AT_MANY } else { LOOK };
            tokio::select! {
                () = self.loaded.notified(), if self.count() <= limits.most => {}
                () = tokio::time::sleep(pause.min(limits.after.max(LOOK_AT_MANY))) => {}
            }
            for id in self.unused() {
                self.unload_unless_used(&id).await;
            }
        }
    }

    /// The sessions that nobody uses and that are past a limit.
    fn unused(&self) -> Vec<SessionId> {
        let limits = self.sessions.idle_limits();
        let now = Instant::now();
        let mut live = self.lock();
        live.cells.retain(|_, loaded| loaded.is_live() || !loaded.cell.initialized());
        let mut unused: Vec<(Instant, SessionId)> = Vec::new();
        for (id, loaded) in &mut live.cells {
            if is_unused(loaded, 0) {
                unused.push((loaded.used, id.clone()));
            } else {
                loaded.used = now;
            }
        }
        drop(live);
        unused.sort();
        let too_many = unused.len().saturating_sub(limits.most);
        let past = |(at, (used, id)): (usize, (Instant, SessionId))| {
            (at < too_many || now.duration_since(used) >= limits.after).then_some(id)
        };
        unused.into_iter().enumerate().filter_map(past).collect()
    }

    /// Everything that the session has must be on disk, and nobody may have used it since: what is only in memory
    /// would be lost.
    async fn unload_unless_used(&self, id: &SessionId) {
        let Some(agent) = self.live(id) else { return };
        let last_seq = agent.log().last_seq();
        if agent.flush().await.is_err() || agent.log().last_seq() != last_seq {
            return;
        }
        {
            let mut live = self.lock();
            // One handle is ours.
            if !live.cells.get(id).is_some_and(|loaded| is_unused(loaded, 1)) {
                return;
            }
            forget(&mut live, id, &agent);
        }
        tracing::debug!(session = %id, "unloaded: nobody uses it");
        agent.close(AbortReason::Disposed).await;
    }
}

fn forget(live: &mut Live, id: &SessionId, agent: &Agent) {
    let is_it =
        |loaded: &Loaded| loaded.agent().is_some_and(|known| Arc::ptr_eq(known.log(), agent.log()));
    if live.cells.get(id).is_some_and(is_it) {
        live.cells.remove(id);
    }
}

/// Whether nobody holds the session but this list, and `others`, and nothing of it runs or waits: an agent in the
/// background wakes the one that gave it its work.
fn is_unused(loaded: &Loaded, others: usize) -> bool {
    let Some(agent) = loaded.agent() else { return false };
    Arc::strong_count(&loaded.cell) == 1
        && agent.handles() == 1 + others
        && agent.status() == SessionStatus::Idle
        && agent
            .log()
            .read(|fold| fold.inbox.is_empty() && fold.open_turn.is_none() && !fold.has_open_work())
}
