//! One round: its branches side by side, and what the session's log and clients hear of them.

use std::sync::Arc;

use dsh_agent::agent::{Agent, Notice};
use dsh_agent::agents::Agents;
use dsh_agent::files::FileSystem;
use dsh_agent::host::Host;
use dsh_agent::sessions::Sessions;
use dsh_agent::subagents::Subagents;
use dsh_agent::tool::Caller;
use dsh_agent::tools::Tools;
use dsh_protocol::content::ContentBlock;
use dsh_protocol::deliberation::{BranchOutcome, BranchPlan, BranchState, RoundBy};
use dsh_protocol::event::{
    DeliberationBranch, DeliberationSettled, DeliberationStarted, EventData,
};
use dsh_protocol::ids::{RoundId, SessionId};
use dsh_protocol::notifications::{DeliberateBranch, Notification};
use tokio_util::sync::CancellationToken;

use super::arguments::Arguments;
use super::branch::{self, Branch};
use super::child::Span;
use super::config::{Config, NAME};
use super::outcome::rendered;

/// What rounds and reviews work with.
pub(super) struct Services {
    pub(super) config: Config,
    pub(super) host: Arc<Host>,
    pub(super) agents: Arc<Agents>,
    pub(super) sessions: Arc<Sessions>,
    pub(super) subagents: Arc<Subagents>,
    pub(super) tools: Arc<Tools>,
    pub(super) files: Option<Arc<dyn FileSystem>>,
}

/// A round that runs.
pub(super) struct Round {
    pub(super) services: Arc<Services>,
    pub(super) id: RoundId,
    /// The session that it is over.
    pub(super) agent: Agent,
    /// The model's call; `None`: a person asked.
    pub(super) caller: Option<Caller>,
    pub(super) arguments: Arguments,
    /// Whether its packets join the session's inbox.
    pub(super) publish: bool,
}

impl Round {
    /// What the log says when the round begins.
    pub(super) fn started(&self) -> EventData {
        let at = self.caller.as_ref().map(|caller| &caller.at);
        let plan = |branch: &dsh_protocol::deliberation::BranchRequest| BranchPlan {
            label: branch.label.clone(),
            role: branch.role,
            history: branch.role.history(),
            route: branch.route.clone(),
            capability: branch.capability.clone(),
            recent_steps: branch.recent_steps,
        };
        EventData::DeliberationStarted(DeliberationStarted {
            round_id: self.id.clone(),
            turn: at.map(|at| at.turn),
            step: at.map(|at| at.step),
            call_id: self.caller.as_ref().map(|caller| caller.call_id.clone()),
            by: if self.caller.is_some() { RoundBy::Model } else { RoundBy::User },
            goal: Some(self.arguments.goal.clone()),
            publish: self.publish,
            branches: self.arguments.branches.iter().map(plan).collect(),
        })
    }

    /// Runs every branch, each with its own cancel, to its outcome; in the order in which they were asked for.
    /// None waits for another, and one that breaks takes nobody along.
    pub(super) async fn run(
        self: Arc<Self>,
        cancels: Vec<CancellationToken>,
    ) -> Vec<BranchOutcome> {
        let branches = self.arguments.branches.clone();
        let running: Vec<_> = (1..)
            .zip(&branches)
            .zip(cancels)
            .map(|((number, request), cancel)| {
                let (round, request) = (Arc::clone(&self), request.clone());
                let branch = Branch { round, number, request, cancel };
                tokio::spawn(branch.run())
            })
            .collect();
        let mut outcomes = Vec::new();
        for (request, running) in branches.iter().zip(running) {
            outcomes.push(running.await.unwrap_or_else(|_| {
                tracing::error!("{NAME}: branch {:?} broke", request.label);
                branch::broken(request)
            }));
        }
        // Before it is settled: a crash in between loses no packet and tells nobody twice.
        self.tell(&outcomes).await;
        self.record(EventData::DeliberationSettled(DeliberationSettled {
            round_id: self.id.clone(),
            call_id: self.caller.as_ref().map(|caller| caller.call_id.clone()),
            outcomes: outcomes.clone(),
        }))
        .await;
        self.debug(|| format!("round-complete branches={}", outcomes.len()));
        outcomes
    }

    /// Logs where a branch stands.
    pub(super) async fn record_branch(
        &self,
        label: &str,
        state: BranchState,
        child: Option<&SessionId>,
        stop_reason: Option<String>,
    ) {
        self.record(EventData::DeliberationBranch(DeliberationBranch {
            round_id: self.id.clone(),
            label: label.to_owned(),
            state,
            child_session_id: child.cloned(),
            stop_reason,
        }))
        .await;
    }

    async fn tell(&self, outcomes: &[BranchOutcome]) {
        let Some(notice) = self.publish.then(|| notice(&self.id, outcomes)).flatten() else {
            return;
        };
        if let Err(error) = self.agent.inject(notice).await {
            tracing::warn!(session = %self.agent.id(), %error, "{NAME}: a round's packets were not published");
        }
    }

    /// A log that takes nothing more does not keep the branches from coming out.
    async fn record(&self, data: EventData) {
        if let Err(error) = self.agent.record(vec![data]).await {
            tracing::warn!(session = %self.agent.id(), %error, "{NAME}: an event of a round was not logged");
        }
    }

    /// Tells clients where a branch stands, without the log.
    pub(super) fn notify(
        &self,
        label: &str,
        state: BranchState,
        span: Span,
        child: Option<&SessionId>,
        activity: Option<String>,
    ) {
        let (elapsed_ms, remaining_ms) = span.now();
        self.services.host.observer.notice(&Notification::DeliberateBranch(DeliberateBranch {
            session_id: self.agent.id().clone(),
            round_id: self.id.clone(),
            label: label.to_owned(),
            state,
            child_session_id: child.cloned(),
            activity,
            elapsed_ms,
            remaining_ms,
        }));
    }

    /// Logs what the round does, where the configuration wants it. Never what is said in it.
    pub(super) fn debug(&self, line: impl FnOnce() -> String) {
        debug(&self.services.config, line);
    }
}

/// What the model is told of a round that a person published; nothing where nothing was handed in.
pub(super) fn notice(id: &RoundId, outcomes: &[BranchOutcome]) -> Option<Notice> {
    outcomes.iter().any(|outcome| outcome.packet.is_some()).then(|| Notice {
        plugin: NAME.to_owned(),
        form: Some("notice".to_owned()),
        content: vec![ContentBlock::Text { text: rendered(outcomes) }],
        once: Some(id.to_string()),
        ..Notice::default()
    })
}

/// Logs what is done, where the configuration wants it.
pub(super) fn debug(config: &Config, line: impl FnOnce() -> String) {
    if config.debug {
        tracing::info!("[{NAME}][debug] {}", line());
    }
}
