//! One branch: starts a child, waits for it within the branch's own time, fixes the verdict, cleans up.

use std::fmt::Write as _;
use std::sync::Arc;

use dsh_agent::subagents::request::{History, StartRequest, Window};
use dsh_agent::subagents::run::Run;
use dsh_protocol::deliberation::{
    BranchOutcome, BranchRequest, BranchRole, BranchState, Cleanup, HistoryWindow,
};
use dsh_protocol::ids::SessionId;
use tokio_util::sync::CancellationToken;

use super::child::{Asking, Brief, Ended, Finished, NotStarted, Span};
use super::config::NAME;
use super::outcome::{Reason, Verdict};
use super::round::Round;
use super::{left, prompts, window};

/// A branch that is about to run.
pub(super) struct Branch {
    pub(super) round: Arc<Round>,
    /// Its place in the round, counted from 1.
    pub(super) number: usize,
    pub(super) request: BranchRequest,
    /// Cancels this branch.
    pub(super) cancel: CancellationToken,
}

impl Branch {
    /// Runs the branch to its outcome. Takes at most the configured time and the grace of its child.
    pub(super) async fn run(self) -> BranchOutcome {
        let span = Span::of(self.round.services.config.branch_timeout_ms);
        let shown = self.window();
        self.round.debug(|| self.start_line(shown));
        if let Some(HistoryWindow::RecentSteps { projected_steps: 0, .. }) = shown {
            self.round.debug(|| self.line("branch-skipped", "reason=no-completed-step"));
            let verdict = Verdict::from(Reason::NoCompletedStep);
            self.tell(span, BranchState::Settled, None, Some(&verdict)).await;
            return self.outcome(verdict, shown);
        }
        match self.started(span, shown).await {
            Ok(run) => self.attend(run, span, shown).await,
            Err(verdict) => {
                let timed_out = verdict == Verdict::from(Reason::Timeout);
                self.warn(if timed_out {
                    "timed out before publication"
                } else {
                    "failed before publication"
                });
                let reason = format!("reason={}", verdict.stop_reason);
                self.round.debug(|| self.line("branch-start-failed", &reason));
                self.tell(span, BranchState::Settled, None, Some(&verdict)).await;
                self.outcome(verdict, shown)
            }
        }
    }

    fn window(&self) -> Option<HistoryWindow> {
        let requested =
            self.request.recent_steps.filter(|_| self.request.role == BranchRole::MaskedReview)?;
        let most = self.round.services.config.max_recent_steps;
        Some(window::recent_steps(self.round.agent.log(), requested, most))
    }

    fn asking(&self, span: Span) -> Asking<'_> {
        Asking {
            services: &self.round.services,
            role: self.request.role,
            span,
            cancel: &self.cancel,
        }
    }

    /// Starts the child, unless the branch is cancelled or out of time first.
    async fn started(&self, span: Span, shown: Option<HistoryWindow>) -> Result<Run, Verdict> {
        let asking = self.asking(span);
        let request = self.start_request(&asking, shown)?;
        let started = asking.start(&self.provider(shown), request).await;
        started.map_err(|failure: NotStarted| Verdict::from(&failure))
    }

    fn provider(&self, shown: Option<HistoryWindow>) -> String {
        let config = &self.round.services.config;
        match (self.request.role, shown) {
            (BranchRole::IndependentAlternative, _) => config.fresh_provider.clone(),
            (BranchRole::TrajectoryAudit, _) => config.fork_provider.clone(),
            (
                BranchRole::MaskedReview,
                Some(HistoryWindow::RecentSteps { projected_steps, .. }),
            ) => config.mid_fork_name(projected_steps),
            (BranchRole::MaskedReview, None) => config.mid_fork_name(1),
        }
    }

    fn start_request(
        &self,
        asking: &Asking<'_>,
        shown: Option<HistoryWindow>,
    ) -> Result<StartRequest, Reason> {
        let Round { services, arguments, .. } = &*self.round;
        let config = &services.config;
        // Both names were checked with the arguments.
        let broken = Reason::InfrastructureError;
        let route = config.route(&self.request.route).ok_or(broken)?;
        let profile = config.profile(&self.request.capability).ok_or(broken)?;
        Ok(asking.request(Brief {
            parent: self.round.agent.id().clone(),
            label: format!("deliberation: {}", self.request.label),
            text: prompts::branch(arguments, &self.request, profile, shown),
            history: shown.map(|HistoryWindow::RecentSteps { projected_steps, .. }| {
                let steps = u32::try_from(projected_steps).unwrap_or(u32::MAX);
                History::MidFork(Window::RecentSteps(steps))
            }),
            route: Some(route),
            profile,
            session_id: Some(left::child_of(&self.round.id, self.number)),
        }))
    }

    /// Waits for the child, fixes the verdict, then checks references and cleans up side by side.
    async fn attend(self, mut run: Run, span: Span, shown: Option<HistoryWindow>) -> BranchOutcome {
        let child = run.child_session_id().clone();
        let degraded = run.degraded().to_vec();
        self.round.debug(|| self.line("branch-published", &format!("runId={child}")));
        self.tell(span, BranchState::Running, Some(&child), None).await;
        let asking = self.asking(span);
        let verdict = self.verdict(&asking, &mut run, &child).await;
        self.tell(span, BranchState::Settled, Some(&child), Some(&verdict)).await;
        let Finished { verdict, dropped_refs, cleanup } = asking.finish(run, verdict).await;
        if cleanup != Cleanup::Completed {
            self.warn("cleanup failed");
        }
        self.round.debug(|| self.line("branch-cleanup", &format!("status={cleanup:?}")));
        BranchOutcome {
            child_session_id: Some(child),
            cleanup,
            degraded,
            dropped_refs,
            ..self.outcome(verdict, shown)
        }
    }

    async fn verdict(&self, asking: &Asking<'_>, run: &mut Run, child: &SessionId) -> Verdict {
        let heard = |tool: String| {
            let (label, running) = (&self.request.label, BranchState::Running);
            self.round.notify(label, running, asking.span, Some(child), Some(tool));
        };
        let ended = asking.answer(run, heard).await;
        match &ended {
            Ended::Answered { verdict, structured } => {
                let facts = format!(
                    "stopReason={} structured={}",
                    verdict.stop_reason,
                    if *structured { "yes" } else { "no" }
                );
                self.round.debug(|| self.line("branch-result", &facts));
            }
            Ended::Rejected => self.warn("result rejected"),
            Ended::Cancelled | Ended::TimedOut => {}
        }
        ended.into()
    }

    /// Logs where the branch stands and tells clients.
    async fn tell(
        &self,
        span: Span,
        state: BranchState,
        child: Option<&SessionId>,
        verdict: Option<&Verdict>,
    ) {
        let stop_reason = verdict.map(|verdict| verdict.stop_reason.clone());
        self.round.notify(&self.request.label, state, span, child, None);
        self.round.record_branch(&self.request.label, state, child, stop_reason).await;
    }

    /// The outcome without a child.
    fn outcome(&self, verdict: Verdict, shown: Option<HistoryWindow>) -> BranchOutcome {
        BranchOutcome {
            history_window: shown,
            ..outcome(&self.request, verdict, Cleanup::NotStarted)
        }
    }

    fn warn(&self, what: &str) {
        tracing::warn!("{NAME}: branch {:?} {what}", self.request.label);
    }

    fn line(&self, what: &str, facts: &str) -> String {
        format!("{what} label={:?} {facts}", self.request.label)
    }

    fn start_line(&self, shown: Option<HistoryWindow>) -> String {
        let BranchRequest { role, route, capability, .. } = &self.request;
        let mut facts = format!("role={} route={route} capability={capability}", role.as_str());
        if let Some(HistoryWindow::RecentSteps { requested_steps, projected_steps }) = shown {
            let _ =
                write!(facts, " requestedSteps={requested_steps} projectedSteps={projected_steps}");
        }
        self.line("branch-start", &facts)
    }
}

/// What a branch whose task broke comes out as.
pub(super) fn broken(request: &BranchRequest) -> BranchOutcome {
    outcome(request, Verdict::from(Reason::InfrastructureError), Cleanup::Abandoned)
}

/// An outcome that says nothing of a child.
fn outcome(request: &BranchRequest, verdict: Verdict, cleanup: Cleanup) -> BranchOutcome {
    BranchOutcome {
        label: request.label.clone(),
        role: request.role,
        history: request.role.history(),
        route: request.route.clone(),
        capability: request.capability.clone(),
        child_session_id: None,
        stop_reason: verdict.stop_reason,
        cleanup,
        degraded: Vec::new(),
        history_window: None,
        packet: verdict.packet,
        dropped_refs: None,
        diagnostic: verdict.diagnostic,
        usage: verdict.usage,
    }
}
