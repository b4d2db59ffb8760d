//! Begins a session with the first events of another one.

use std::sync::Arc;

use dsh_protocol::event::{EventData, SessionTitle};
use dsh_session::fork::{ForkError, seed};
use dsh_session::store::StorageError;

use super::{Agents, OpenError};
use crate::agent::{Agent, CommandError};
use crate::setup::Setup;

/// Why a session was not forked.
#[derive(Debug, thiserror::Error)]
pub enum ForkFailed {
    /// Not at this place.
    #[error(transparent)]
    Place(#[from] ForkError),
    /// The new session could not be created.
    #[error(transparent)]
    Open(#[from] OpenError),
}

impl Agents {
    /// Begins a session with the events of another one up to `boundary`, which is the last one there is unless
    /// said, on disk when this returns. Its title is that of the other one unless said.
    ///
    /// It stands as deep and is limited as the other one is. Telling others of it is the caller's part.
    pub async fn fork(
        &self,
        parent: &Agent,
        boundary: Option<i64>,
        title: Option<String>,
    ) -> Result<Agent, ForkFailed> {
        let log = Arc::clone(parent.log());
        let seed = tokio::task::spawn_blocking(move || seed(&log, boundary))
            .await
            .map_err(|error| CommandError::Storage(StorageError(error.to_string())))
            .map_err(OpenError::from)??;
        let of_parent = parent.log().header();
        let mut header = self.header(None);
        header.parent_session = Some(of_parent.id.clone());
        header.seed_length = Some(seed.len() as u64);
        header.delegation_depth = of_parent.delegation_depth;
        header.additional_workspaces.clone_from(&of_parent.additional_workspaces);
        let title = title.or_else(|| parent.log().read(|fold| fold.title.clone()));
        let first = title.map(|title| EventData::SessionTitle(SessionTitle { title }));
        let setup = Setup { extra_tools: Vec::new(), ..Setup::of(parent.log()) };
        Ok(self.create_child(header, seed, first.into_iter().collect(), setup).await?)
    }
}
