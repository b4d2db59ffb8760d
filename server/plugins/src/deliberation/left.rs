//! Rounds that their process has left: what their children found is taken from the children's logs.

use std::sync::Arc;
use std::time::Duration;

use dsh_agent::hooks::{ROUND_LEFT, RoundAdopted, RoundLeft};
use dsh_agent::subagents::left::{Left, look, may_be_starting};
use dsh_agent::subagents::outcome;
use dsh_agent::subagents::run::RunResult;
use dsh_kernel::Context;
use dsh_kernel::hooks::Position;
use dsh_kernel::plugin::StartError;
use dsh_protocol::deliberation::{BranchOutcome, BranchPlan, BranchRole, Cleanup};
use dsh_protocol::event::DeliberationSettled;
use dsh_protocol::ids::{RoundId, SessionId};
use dsh_protocol::subagent::StopReason;
use dsh_protocol::turn::TurnEnd;
use dsh_session::rounds::OpenRound;
use tokio::time::Instant;

use super::outcome::{Reason, Verdict};
use super::round::{self, Services};
use super::rounds::Rounds;
use super::{refs, window};

/// How long the references of adopted packets may be checked.
pub(super) const CHECKING: Duration = Duration::from_millis(500);

/// What is known of a child whose process may be gone.
pub(super) enum Found {
    /// It is at work, or may be about to begin.
    Alive,
    /// It never came to be, or its log cannot be read.
    Nothing,
    Ended(Box<RunResult>),
}

/// The name of a branch's child: it is found even if nothing more was logged of it than its round.
pub(super) fn child_of(round: &RoundId, number: usize) -> SessionId {
    SessionId::from(format!("{round}-{number}"))
}

/// Looks for a child. `begun` is when it was to begin, in epoch milliseconds, where it may still be about to.
pub(super) async fn child(services: &Services, id: SessionId, begun: Option<u64>) -> Found {
    match look(&services.agents, &services.sessions, &id).await {
        Left::Closed(writer) => Found::Ended(Box::new(outcome::of(writer.log()))),
        Left::AtWork => Found::Alive,
        Left::Missing if begun.is_some_and(|at| may_be_starting(&services.host, at)) => {
            Found::Alive
        }
        Left::Missing | Left::Unreadable => Found::Nothing,
    }
}

/// What a child's log says. `None`: the server stopped while it worked.
pub(super) fn verdict(mut result: RunResult, role: BranchRole) -> Option<Verdict> {
    if matches!(result.turn_end, None | Some(TurnEnd::Interrupted)) {
        // What it handed in was taken, which ends a child's turn: nothing could come after it.
        result.structured.as_ref()?;
        result.stop_reason = StopReason::Completed;
    }
    Some(Verdict::of_result(result, role))
}

/// Takes part in what becomes of a person's rounds that were left. Those of a model go with its turn.
pub(super) fn listen(context: &Context, rounds: &Arc<Rounds>) -> Result<(), StartError> {
    let rounds = Arc::clone(rounds);
    ROUND_LEFT.listen(context, Position::Last, move |left| {
        let rounds = Arc::clone(&rounds);
        async move { Ok(rounds.adopt(&left).await) }
    })?;
    Ok(())
}

impl Rounds {
    /// How a round that was left comes out. `None`: it may still be at work.
    async fn adopt(&self, left: &RoundLeft) -> Option<RoundAdopted> {
        let round = &left.round;
        let id = &round.started.round_id;
        if self.is_running(id) {
            return None;
        }
        let until = Instant::now() + CHECKING;
        let mut outcomes = Vec::new();
        for (number, branch) in (1..).zip(&round.started.branches) {
            let verdict = self.verdict_of(round, branch, number).await?;
            outcomes.push(self.outcome(left, branch, verdict, until).await);
        }
        let notice = round.started.publish.then(|| round::notice(id, &outcomes)).flatten();
        let settled = DeliberationSettled { round_id: id.clone(), call_id: None, outcomes };
        Some(RoundAdopted { settled, notice })
    }

    /// What a branch came to, and its child. `None`: it may still be at work.
    async fn verdict_of(
        &self,
        round: &OpenRound,
        branch: &BranchPlan,
        number: usize,
    ) -> Option<(Option<Verdict>, Option<SessionId>)> {
        let known = round.branches.get(&branch.label);
        let named = child_of(&round.started.round_id, number);
        let id = known.and_then(|it| it.child.clone()).unwrap_or(named);
        let fixed = known.and_then(|it| it.stop_reason.as_deref());
        // A branch that came out without a child had none.
        let begun = fixed.is_none().then_some(round.began_at);
        let own = fixed.and_then(Reason::of).map(Verdict::from);
        match child(&self.services, id.clone(), begun).await {
            Found::Alive => None,
            Found::Nothing => Some((own, known.and_then(|it| it.child.clone()))),
            Found::Ended(result) => {
                let verdict = own.or_else(|| verdict(*result, branch.role));
                Some((verdict, Some(id)))
            }
        }
    }

    async fn outcome(
        &self,
        left: &RoundLeft,
        branch: &BranchPlan,
        (verdict, child_session_id): (Option<Verdict>, Option<SessionId>),
        until: Instant,
    ) -> BranchOutcome {
        let interrupted = left.round.interrupted(branch);
        let history_window = branch.recent_steps.and_then(|requested| {
            // Nothing was added since: no turn runs beside a person's round, and none has yet.
            let agent = self.services.agents.live(&left.session_id)?;
            let most = self.services.config.max_recent_steps;
            Some(window::recent_steps(agent.log(), requested, most))
        });
        let base = BranchOutcome { history_window, ..interrupted };
        let Some(Verdict { stop_reason, packet, diagnostic, usage }) = verdict else {
            let cleanup = child_session_id.as_ref().map_or(base.cleanup, |_| Cleanup::Abandoned);
            return BranchOutcome { child_session_id, cleanup, ..base };
        };
        let (packet, dropped_refs) = match packet {
            Some(packet) => {
                let files = self.services.files.as_ref();
                let (packet, dropped) = refs::verified(packet, files, until).await;
                (Some(packet), Some(dropped).filter(|dropped| *dropped > 0))
            }
            None => (None, None),
        };
        let cleanup =
            if child_session_id.is_some() { Cleanup::Completed } else { Cleanup::NotStarted };
        BranchOutcome {
            child_session_id,
            stop_reason,
            cleanup,
            packet,
            dropped_refs,
            diagnostic,
            usage,
            ..base
        }
    }
}
