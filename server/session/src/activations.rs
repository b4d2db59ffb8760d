//! The work that a session's agent has given to children in the background.

use std::collections::BTreeMap;

use dsh_protocol::event::{EventData, SubagentActivated};
use dsh_protocol::ids::{ActivationId, SessionId};

/// A session's own children in the background. What a session inherited is not among them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Activations {
    open: Vec<Activation>,
    children: BTreeMap<SessionId, Child>,
}

/// Work that has not come out: it waits, runs, or was left by a crash.
#[derive(Clone, Debug, PartialEq)]
pub struct Activation {
    /// Names it; the child's message has the same name.
    pub id: ActivationId,
    /// Who does it.
    pub child: SessionId,
    /// When it was given, in epoch milliseconds.
    pub since: u64,
}

/// A child that was given work.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Child {
    /// A short name for people.
    pub label: Option<String>,
    /// How many pieces of work have come out.
    pub settled: u64,
}

impl Activations {
    /// What has not come out, in the order in which it was given.
    pub fn open(&self) -> &[Activation] {
        &self.open
    }

    /// Every child that was ever given work, by the name of its session.
    pub fn children(&self) -> &BTreeMap<SessionId, Child> {
        &self.children
    }

    /// What is wrong with an event of such work: it is given once and comes out once.
    pub(crate) fn check(&self, data: &EventData) -> Result<(), String> {
        let is_open = |id: &ActivationId| self.open.iter().any(|open| open.id == *id);
        if let EventData::SubagentActivated(it) = data
            && is_open(&it.activation_id)
        {
            return Err(format!("activation `{}` has begun before", it.activation_id));
        }
        if let EventData::SubagentSettled(it) = data
            && !is_open(&it.activation_id)
        {
            return Err(format!("no activation `{}` is open", it.activation_id));
        }
        Ok(())
    }

    pub(crate) fn begin(&mut self, it: &SubagentActivated, time: u64) {
        let child = self.children.entry(it.child_session_id.clone()).or_default();
        child.label = it.label.clone().or(child.label.take());
        let (id, child) = (it.activation_id.clone(), it.child_session_id.clone());
        self.open.push(Activation { id, child, since: time });
    }

    pub(crate) fn settle(&mut self, id: &ActivationId) {
        let Some(at) = self.open.iter().position(|open| open.id == *id) else { return };
        let over = self.open.remove(at);
        self.children.entry(over.child).or_default().settled += 1;
    }
}
