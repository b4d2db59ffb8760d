//! Ends what the children of a session do in the background when the session is closed.

use dsh_protocol::ids::SessionId;
use dsh_protocol::turn::AbortReason;
use dsh_session::activations::Activation;

use super::Background;
use super::outcome::Stop;
use crate::agent::Cancel;

impl Background {
    /// Stops the children of a session and those below them, drops what waits in them, and waits until that is
    /// logged. The session is told nothing: whoever closes it wants no more of it.
    pub async fn close(&self, session: &SessionId) -> Result<(), String> {
        let Some(parent) = self.agents.live(session) else { return Ok(()) };
        // It may be a child itself, which has no turn while it waits for its own.
        self.stopped(session, Stop::Closed);
        for Activation { child, .. } in self.open(&parent) {
            self.stopped(&child, Stop::ByParent);
            let Some(agent) = self.agents.live(&child) else { continue };
            let stopped = self.stop(&agent).await;
            stopped.map_err(|refused| refused.to_string())?;
            let cancel = Cancel { turn: None, keep_queue: false, reason: AbortReason::Parent };
            agent.cancel(cancel).await.map_err(|error| error.to_string())?;
        }
        if self.until(&parent, <[Activation]>::is_empty).await {
            return Ok(());
        }
        Err("children in the background did not end in time".to_owned())
    }
}
