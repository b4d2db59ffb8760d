//! Which children in the background there are, and what each is doing.

use std::collections::BTreeSet;

use dsh_protocol::event::SubagentMode;
use dsh_protocol::ids::SessionId;
use dsh_protocol::session::SessionStatus;
use dsh_session::activations::{Activations, Child};
use dsh_session::fold::Fold;
use dsh_session::store::StoreError;
use dsh_session::writer::AcquireError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Background;
use super::error::Refused;

/// The most agents that are listed.
const MOST: usize = 200;

/// Whose children are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// The caller's own.
    #[default]
    Children,
    /// Theirs as well, however deep.
    Descendants,
}

/// What a child is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It works, or waits for its own children.
    Running,
    /// It is loaded and rests.
    Idle,
    /// It rests on disk and is loaded when it gets a message.
    Ready,
}

/// Why nothing can be said of a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Problem {
    /// Its log is gone or damaged.
    Corrupt,
    /// Its log cannot be read now.
    Unavailable,
}

/// A child that can be given work or stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// Its session, which is its name.
    pub agent: SessionId,
    /// Whose child it is.
    pub parent: SessionId,
    /// What it was started for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// What it is doing.
    pub state: State,
}

/// A child of which nothing can be said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// Its session.
    pub agent: SessionId,
    /// Why.
    pub problem: Problem,
}

/// The children of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct List {
    /// Those that are there.
    pub agents: Vec<Listed>,
    /// Those that should be.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub diagnostics: Vec<Diagnostic>,
    /// Whether there are more than are listed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

/// What a log says of its agent.
struct Facts {
    mode: Option<SubagentMode>,
    activations: Activations,
    is_running: bool,
}

impl Facts {
    fn of(fold: &Fold) -> Self {
        Self {
            mode: fold.descriptor.as_ref().map(|descriptor| descriptor.mode),
            activations: fold.activations.clone(),
            is_running: fold.open_turn.is_some() || !fold.activations.open().is_empty(),
        }
    }
}

impl Background {
    /// Lists an agent's children in the background. One that was started for one task is listed while it works.
    pub async fn list(&self, parent: &SessionId, scope: Scope) -> Result<List, Refused> {
        let parent = self.parent(parent)?;
        let own = parent.log().read(|fold| fold.activations.clone());
        let mut list = List::default();
        let mut seen: BTreeSet<SessionId> = BTreeSet::from([parent.id().clone()]);
        let mut open = vec![(parent.id().clone(), own)];
        while let Some((parent, activations)) = open.pop() {
            for (id, child) in activations.children() {
                if !seen.insert(id.clone()) {
                    continue;
                }
                if list.agents.len() + list.diagnostics.len() == MOST {
                    list.truncated = true;
                    return Ok(list);
                }
                let is_busy = activations.open().iter().any(|it| it.child == *id);
                if let Some(below) = self.add(&mut list, &parent, id, child, is_busy).await
                    && scope == Scope::Descendants
                {
                    open.push((id.clone(), below));
                }
            }
        }
        Ok(list)
    }

    /// Adds a child to the list; returns its own children.
    async fn add(
        &self,
        list: &mut List,
        parent: &SessionId,
        id: &SessionId,
        child: &Child,
        is_busy: bool,
    ) -> Option<Activations> {
        let (facts, state) = match self.facts(id).await {
            Ok(found) => found,
            Err(problem) => {
                list.diagnostics.push(Diagnostic { agent: id.clone(), problem });
                return None;
            }
        };
        if is_busy || facts.mode == Some(SubagentMode::Continuable) {
            let (agent, parent, label) = (id.clone(), parent.clone(), child.label.clone());
            list.agents.push(Listed { agent, parent, label, state });
        }
        Some(facts.activations)
    }

    /// What a child that is not loaded here is doing.
    pub(super) async fn looked_at(&self, id: &SessionId) -> Result<State, Problem> {
        self.facts(id).await.map(|(_, state)| state)
    }

    async fn facts(&self, id: &SessionId) -> Result<(Facts, State), Problem> {
        if let Some(agent) = self.agents.live(id) {
            let facts = agent.log().read(Facts::of);
            let is_running = facts.is_running || agent.status() == SessionStatus::Running;
            return Ok((facts, if is_running { State::Running } else { State::Idle }));
        }
        let writer = self.sessions.open(id.clone()).await.map_err(|error| match error {
            StoreError::Storage(_) | StoreError::Written(_) => Problem::Unavailable,
            StoreError::NotFound(_)
            | StoreError::Taken(_)
            | StoreError::Damaged { .. }
            | StoreError::Unsupported(_) => Problem::Corrupt,
        })?;
        let facts = writer.log().read(Facts::of);
        if !facts.is_running {
            return Ok((facts, State::Ready));
        }
        // Another process runs it, or a crash has left it as it is.
        match writer.acquire().await {
            Ok(()) => {
                // Nothing was appended.
                let _ = writer.release().await;
                Ok((facts, State::Ready))
            }
            Err(AcquireError::Lease(_)) => Ok((facts, State::Running)),
            Err(AcquireError::Violation(_)) => Err(Problem::Corrupt),
        }
    }
}
