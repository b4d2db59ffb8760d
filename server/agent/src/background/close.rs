//! Ends what the children of a session do in the background when the session is closed.

use dsh_protocol::ids::SessionId;
use dsh_protocol::turn::AbortReason;

use super::outcome::Stop;
use super::{BETWEEN_LOOKS, Background, LOOKS};
use crate::agent::{Agent, Cancel};

impl Background {
    /// Stops the children of a session and those below them, drops what waits in them, and waits until that is
    /// logged. The session is told nothing: whoever closes it wants no more of it.
    pub async fn close(&self, session: &SessionId) -> Result<(), String> {
        let Some(parent) = self.agents.live(session) else { return Ok(()) };
        // It may be a child itself, which has no turn while it waits for its own.
        self.stopped(session, Stop::Closed);
        for child in self.at_work(&parent) {
            self.stopped(&child, Stop::ByParent);
            let Some(agent) = self.agents.live(&child) else { continue };
            let stopped = self.stop(&agent).await;
            stopped.map_err(|refused| refused.to_string())?;
            let cancel = Cancel { turn: None, keep_queue: false, reason: AbortReason::Parent };
            agent.cancel(cancel).await.map_err(|error| error.to_string())?;
        }
        for _ in 0..LOOKS {
            if self.at_work(&parent).is_empty() {
                return Ok(());
            }
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
        Err("children in the background did not end in time".to_owned())
    }

    /// The children of a session that this process has at work.
    fn at_work(&self, parent: &Agent) -> Vec<SessionId> {
        let held = self.lock();
        parent.log().read(|fold| {
            let open = fold.activations.open().iter();
            let ours = open.filter(|it| held.activations.contains(&it.id));
            ours.map(|it| it.child.clone()).collect()
        })
    }
}
