//! Closes and deletes sessions.

use std::collections::BTreeSet;

use dsh_protocol::ids::SessionId;
use dsh_protocol::session::{SessionInfo, SessionStatus};
use dsh_protocol::turn::AbortReason;
use dsh_session::store::{Listed, Summary};

use super::{Agents, OpenError, session_info};
use crate::agent::{Agent, Cancel, CommandError};
use crate::hooks::{SESSION_CLOSING, SessionClosing};

/// Keeps a session from being loaded while it is deleted.
struct Deleting<'a> {
    agents: &'a Agents,
    ids: BTreeSet<SessionId>,
}

impl Drop for Deleting<'_> {
    fn drop(&mut self) {
        let mut live = self.agents.lock();
        for id in &self.ids {
            live.deleting.remove(id);
        }
    }
}

impl Deleting<'_> {
    fn add(&mut self, id: &SessionId) {
        self.agents.lock().deleting.insert(id.clone());
        self.ids.insert(id.clone());
    }
}

impl Agents {
    /// Ends the work on a session and forgets its agent: a running turn is cancelled and the queue behind it
    /// dropped, and so is what plugins do for it beside its turns. Returns what clients see of it now.
    pub async fn close(&self, agent: &Agent) -> Result<SessionInfo, CommandError> {
        if agent.status() == SessionStatus::Running {
            let cancel = Cancel { turn: None, keep_queue: false, reason: AbortReason::Disposed };
            agent.cancel(cancel).await?;
        }
        self.dismiss(agent).await;
        let log = agent.log();
        let summary = log.read(|fold| Summary::of(log.header(), fold));
        let parked = log.read(dsh_session::fold::Fold::is_parked);
        let status = if parked { SessionStatus::Parked } else { SessionStatus::Idle };
        Ok(session_info(&self.host, &self.default_model, summary, status, false))
    }

    /// Deletes a session and those that its agents started, running turns cancelled first; returns which, the
    /// session last, and none where there is no such session. None are deleted while another process runs a turn in one of them.
    pub async fn delete(&self, id: &SessionId) -> Result<Vec<SessionId>, OpenError> {
        let mut deleting = Deleting { agents: self, ids: BTreeSet::new() };
        deleting.add(id);
        self.end(id).await;
        // Its agent can start no more of them now.
        let children = self.descendants(id).await?;
        for child in &children {
            deleting.add(child);
            self.end(child).await;
        }
        let mut family: Vec<SessionId> = children.into_iter().rev().collect();
        family.push(id.clone());
        Ok(self.sessions.delete(family).await?)
    }

    /// Ends a session's agent, if it is loaded.
    async fn end(&self, id: &SessionId) {
        if let Some(agent) = self.live(id) {
            self.dismiss(&agent).await;
        }
    }

    /// Ends what plugins do for a session, then its agent.
    async fn dismiss(&self, agent: &Agent) {
        let closing = SessionClosing { session_id: agent.id().clone() };
        SESSION_CLOSING.dispatch(&self.hooks, closing).await;
        self.unload(agent, AbortReason::Disposed).await;
    }

    /// The sessions that a session's agents started, and theirs: each behind its parent.
    async fn descendants(&self, id: &SessionId) -> Result<Vec<SessionId>, OpenError> {
        let logs = self.sessions.list(BTreeSet::new()).await?;
        let mut family = vec![id.clone()];
        let mut at = 0;
        while let Some(parent) = family.get(at).cloned() {
            at += 1;
            let headers = logs.iter().filter_map(Listed::header);
            let of_parent = headers.filter(|header| {
                header.origin.is_some() && header.parent_session.as_ref() == Some(&parent)
            });
            for header in of_parent {
                if !family.contains(&header.id) {
                    family.push(header.id.clone());
                }
            }
        }
        family.remove(0);
        Ok(family)
    }
}
