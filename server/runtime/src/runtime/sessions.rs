//! Which folder a session works in: those that were found are remembered, and the others are looked for.

use std::sync::Arc;

use dsh_agent::agent::Agent;
use dsh_agent::agents::{Agents, OpenError, SessionOnDisk};
use dsh_protocol::ids::SessionId;
use dsh_session::log::Page;
use dsh_session::store::{PageWanted, StoreError};

use super::{Runtime, SessionError};
use crate::workspace::Workspace;

impl Runtime {
    /// A session's agent and the folder that it works in; loaded if it was not. Nothing is appended.
    pub async fn session(&self, id: &SessionId) -> Result<(Arc<Workspace>, Agent), SessionError> {
        let found = self.lock().found.get(id).cloned();
        if let Some(workspace) = found {
            match workspace.agents().await?.open(id).await {
                Ok(agent) => return Ok((workspace, agent)),
                Err(OpenError::Store(StoreError::NotFound(_))) => self.forget(id),
                Err(error) => return Err(error.into()),
            }
        }
        // An id that no client could have chosen is the name of no file.
        if id.is_choosable() {
            for workspace in self.workspaces().await.unwrap_or_default() {
                match workspace.agents().await?.open(id).await {
                    Ok(agent) => {
                        self.remember(id.clone(), &workspace);
                        return Ok((workspace, agent));
                    }
                    Err(OpenError::Store(StoreError::NotFound(_))) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Err(SessionError::NotFound(id.clone()))
    }

    /// The folder that a session works in.
    pub async fn workspace_of(&self, id: &SessionId) -> Option<Arc<Workspace>> {
        let found = self.lock().found.get(id).cloned();
        match found {
            Some(workspace) => Some(workspace),
            None => self.session(id).await.ok().map(|(workspace, _)| workspace),
        }
    }

    /// What is known of a session without loading it; `None` if only its agent can say, or nobody.
    pub async fn session_on_disk(
        &self,
        id: &SessionId,
    ) -> Result<Option<SessionOnDisk>, SessionError> {
        for agents in self.agents_of(id).await? {
            match agents.at_rest_on_disk(id).await {
                Err(StoreError::NotFound(_)) => {}
                // Loading it says what is wrong.
                answer => return Ok(answer.unwrap_or_default()),
            }
        }
        Ok(None)
    }

    /// Some events of a session that is not loaded; `None` if only its agent can tell them, or nobody.
    pub async fn page_on_disk(
        &self,
        id: &SessionId,
        wanted: PageWanted,
    ) -> Result<Option<Page>, SessionError> {
        for agents in self.agents_of(id).await? {
            match agents.page_on_disk(id, wanted.clone()).await {
                Err(StoreError::NotFound(_)) => {}
                answer => return Ok(answer.unwrap_or_default()),
            }
        }
        Ok(None)
    }

    /// The agents of the folders that may have a session.
    async fn agents_of(&self, id: &SessionId) -> Result<Vec<Arc<Agents>>, SessionError> {
        let found = self.lock().found.get(id).cloned();
        let folders = match found {
            Some(workspace) => vec![workspace],
            // An id that no client could have chosen is the name of no file.
            None if id.is_choosable() => self.workspaces().await.unwrap_or_default(),
            None => Vec::new(),
        };
        let mut agents = Vec::new();
        for folder in folders {
            agents.push(folder.agents().await?);
        }
        Ok(agents)
    }

    /// Deletes a session and those that its agents started; returns which. Telling others of it is the caller's
    /// part.
    pub async fn delete(&self, id: &SessionId) -> Result<Vec<SessionId>, SessionError> {
        // An id that no client could have chosen is the name of no file.
        if id.is_choosable() {
            for workspace in self.workspaces().await.unwrap_or_default() {
                let deleted = workspace.agents().await?.delete(id).await?;
                for id in &deleted {
                    self.forget(id);
                }
                if !deleted.is_empty() {
                    return Ok(deleted);
                }
            }
        }
        Err(SessionError::NotFound(id.clone()))
    }

    fn forget(&self, id: &SessionId) {
        self.lock().found.remove(id);
    }

    /// Remembers where a session is.
    pub fn remember(&self, id: SessionId, workspace: &Arc<Workspace>) {
        self.lock().found.insert(id, Arc::clone(workspace));
    }
}
