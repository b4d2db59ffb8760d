//! Rounds of deliberation that have not come out: they run, or a crash left them.

use std::collections::{BTreeMap, BTreeSet};

use dsh_protocol::deliberation::{BranchOutcome, BranchPlan, BranchState, Cleanup};
use dsh_protocol::event::{DeliberationBranch, DeliberationStarted, EventData};
use dsh_protocol::ids::{RoundId, SessionId};

/// Rounds of one turn, or those that a person asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rounds {
    open: Vec<OpenRound>,
    over: BTreeSet<RoundId>,
}

/// A round that has not come out.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenRound {
    /// How it began.
    pub started: DeliberationStarted,
    /// When, in epoch milliseconds.
    pub began_at: u64,
    /// What is known of its branches, by label.
    pub branches: BTreeMap<String, OpenBranch>,
}

/// A branch of a round that has not come out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OpenBranch {
    /// Its child agent's session, once it has started.
    pub child: Option<SessionId>,
    /// Why it ended, once it has.
    pub stop_reason: Option<String>,
}

impl Rounds {
    /// Those that have not come out, in the order in which they began.
    pub fn open(&self) -> &[OpenRound] {
        &self.open
    }

    /// What is wrong with an event of a round: it begins once and comes out once.
    pub(crate) fn check(&self, data: &EventData) -> Result<(), String> {
        let is_known = |id: &RoundId| self.open.iter().any(|round| round.started.round_id == *id);
        if let EventData::DeliberationStarted(started) = data
            && (is_known(&started.round_id) || self.over.contains(&started.round_id))
        {
            return Err(format!("round `{}` has begun before", started.round_id));
        }
        if let EventData::DeliberationSettled(settled) = data
            && self.over.contains(&settled.round_id)
        {
            return Err(format!("round `{}` is over", settled.round_id));
        }
        Ok(())
    }

    pub(crate) fn begin(&mut self, started: &DeliberationStarted, time: u64) {
        let (started, branches) = (started.clone(), BTreeMap::new());
        self.open.push(OpenRound { started, began_at: time, branches });
    }

    pub(crate) fn branch(&mut self, event: &DeliberationBranch) {
        let mut open = self.open.iter_mut();
        let Some(round) = open.find(|round| round.started.round_id == event.round_id) else {
            return;
        };
        let branch = round.branches.entry(event.label.clone()).or_default();
        branch.child = event.child_session_id.clone().or(branch.child.take());
        if event.state == BranchState::Settled {
            branch.stop_reason.clone_from(&event.stop_reason);
        }
    }

    pub(crate) fn settle(&mut self, id: &RoundId) {
        let open = self.open.len();
        self.open.retain(|round| round.started.round_id != *id);
        if self.open.len() < open {
            self.over.insert(id.clone());
        }
    }
}

impl OpenRound {
    /// The end of a branch that a crash took along. What was said of it before stays.
    pub fn interrupted(&self, branch: &BranchPlan) -> BranchOutcome {
        let known = self.branches.get(&branch.label);
        let child_session_id = known.and_then(|it| it.child.clone());
        let said = known.and_then(|it| it.stop_reason.clone());
        let is_found = said.as_deref() == Some("completed");
        BranchOutcome {
            label: branch.label.clone(),
            role: branch.role,
            history: branch.history,
            route: branch.route.clone(),
            capability: branch.capability.clone(),
            cleanup: match child_session_id {
                Some(_) if said.is_some() => Cleanup::Completed,
                Some(_) => Cleanup::Abandoned,
                None => Cleanup::NotStarted,
            },
            // What it found is not in this log, and nothing is not what it found.
            stop_reason: said.filter(|_| !is_found).unwrap_or_else(|| "interrupted".to_owned()),
            child_session_id,
            degraded: Vec::new(),
            history_window: None,
            packet: None,
            dropped_refs: None,
            diagnostic: Some(format!(
                "The server stopped before the round came out{}.",
                if is_found { "; its session has what it found" } else { "" }
            )),
            usage: None,
        }
    }
}
