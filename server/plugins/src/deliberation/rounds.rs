//! The rounds that run, and a memory of those that have ended: starts them and cancels them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use dsh_agent::agent::{Agent, CommandError};
use dsh_agent::deliberation::{Deliberation, ReviewError, RoundError, RoundRequest};
use dsh_agent::tool::Caller;
use dsh_protocol::deliberation::BranchOutcome;
use dsh_protocol::ids::{ReviewId, RoundId, SessionId};
use dsh_session::store::BoxFuture;
use serde_json::json;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::arguments::{self, Arguments};
use super::gate::Gate;
use super::review::Reviews;
use super::round::{Round, Services};
use super::running::{Entry, Running};

/// How many ended rounds are remembered, so that cancelling one is no error.
const REMEMBERED: usize = 1_024;

/// Starts rounds and cancels them.
pub(super) struct Rounds {
    pub(super) services: Arc<Services>,
    gate: Arc<Gate>,
    /// What a person asks for beside rounds.
    pub(super) reviews: Arc<Reviews>,
    /// For what outlives a call.
    own: Weak<Self>,
    /// What cancels each branch, by its label.
    running: Running<RoundId, Vec<(String, CancellationToken)>>,
    /// The last that have ended.
    ended: Mutex<VecDeque<RoundId>>,
}

/// A round that has begun.
pub(super) struct Begun {
    pub(super) id: RoundId,
    /// Cancels it.
    pub(super) cancel: CancellationToken,
    /// Its outcomes.
    pub(super) outcomes: JoinHandle<Vec<BranchOutcome>>,
}

impl Rounds {
    pub(super) fn new(services: Arc<Services>, gate: Arc<Gate>) -> Arc<Self> {
        let reviews = Arc::new(Reviews::new(Arc::clone(&services)));
        Arc::new_cyclic(|own| Self {
            services,
            gate,
            reviews,
            own: Weak::clone(own),
            running: Running::new(),
            ended: Mutex::default(),
        })
    }

    /// Begins a round. It stands in the session's log when this returns, and runs to its end by itself.
    pub(super) async fn begin(
        self: &Arc<Self>,
        agent: Agent,
        caller: Option<Caller>,
        arguments: Arguments,
        publish: bool,
    ) -> Result<Begun, CommandError> {
        let id = RoundId::from((self.services.host.new_id)());
        let labels: Vec<String> =
            arguments.branches.iter().map(|branch| branch.label.clone()).collect();
        let cancel = CancellationToken::new();
        let branches: Vec<(String, CancellationToken)> =
            labels.into_iter().map(|label| (label, cancel.child_token())).collect();
        let cancels = branches.iter().map(|(_, cancel)| cancel.clone()).collect();
        // Before it is logged: whoever takes the session over must not take it for one that was left.
        let session = agent.id().clone();
        self.running.add(id.clone(), Entry { session, cancel: cancel.clone(), of: branches });
        let ended = Ended { rounds: Arc::clone(self), id: id.clone() };
        let services = Arc::clone(&self.services);
        let round = Round { services, id: id.clone(), agent, caller, arguments, publish };
        let started = vec![round.started()];
        match &round.caller {
            Some(_) => round.agent.record(started).await?,
            // No turn looks after it: whoever takes the session over must find it.
            None => round.agent.record_on_disk(started).await?,
        }
        let outcomes = tokio::spawn(async move {
            // Also when something in it breaks.
            let _ended = ended;
            Arc::new(round).run(cancels).await
        });
        Ok(Begun { id, cancel, outcomes })
    }

    pub(super) fn is_running(&self, id: &RoundId) -> bool {
        self.running.has(id)
    }

    /// Cancels the rounds and the reviews of a session, or all of them, and waits until they have come out.
    pub(super) async fn close(&self, session: Option<&SessionId>) {
        tokio::join!(self.running.close(session), self.reviews.close(session));
    }

    fn ended(&self) -> MutexGuard<'_, VecDeque<RoundId>> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes a round off the list when it has come out.
struct Ended {
    rounds: Arc<Rounds>,
    id: RoundId,
}

impl Drop for Ended {
    fn drop(&mut self) {
        let mut ended = self.rounds.ended();
        ended.push_back(self.id.clone());
        if ended.len() > REMEMBERED {
            ended.pop_front();
        }
        drop(ended);
        self.rounds.running.remove(&self.id);
    }
}

impl Rounds {
    /// Begins a person's round over an idle session.
    pub(super) async fn begin_for_person(
        self: &Arc<Self>,
        agent: Agent,
        request: RoundRequest,
    ) -> Result<Begun, RoundError> {
        let RoundRequest { goal, incumbent, context, branches, publish } = request;
        let asked = json!({
            "goal": goal, "incumbent": incumbent, "context": context, "branches": branches,
        });
        let arguments = arguments::read(&asked, &self.services.config)
            .map_err(|refusal| RoundError::Invalid(refusal.into_message()))?;
        if let Some(missing) = self.gate.missing() {
            return Err(RoundError::Unavailable(missing));
        }
        // The log says when a turn is over; the agent's status follows a little later.
        if agent.log().read(|fold| fold.open_turn.is_some()) {
            return Err(RoundError::OpenTurn);
        }
        Ok(self.begin(agent, None, arguments, publish).await?)
    }
}

impl Deliberation for Rounds {
    fn start(
        &self,
        agent: Agent,
        request: RoundRequest,
    ) -> BoxFuture<'static, Result<RoundId, RoundError>> {
        let own = self.own.upgrade();
        Box::pin(async move {
            // Whoever calls holds it.
            let own =
                own.ok_or_else(|| RoundError::Unavailable("rounds cannot be run now".to_owned()))?;
            own.begin_for_person(agent, request).await.map(|begun| begun.id)
        })
    }

    fn review(
        &self,
        agent: Agent,
        publish: bool,
    ) -> BoxFuture<'static, Result<ReviewId, ReviewError>> {
        let reviews = Arc::clone(&self.reviews);
        Box::pin(async move { reviews.begin_for_person(agent, publish).await })
    }

    fn cancel(&self, round: &RoundId, label: Option<&str>) -> bool {
        let cancelled = self.running.with(round, |entry| {
            let Some(label) = label else {
                entry.cancel.cancel();
                return true;
            };
            let branch = entry.of.iter().find(|(own, _)| own == label);
            branch.inspect(|(_, cancel)| cancel.cancel()).is_some()
        });
        cancelled.unwrap_or_else(|| self.ended().contains(round))
    }
}
