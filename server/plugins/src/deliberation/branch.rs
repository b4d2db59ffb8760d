//! One branch: starts a child, waits for it within the branch's own time, fixes the verdict, cleans up.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use dsh_agent::subagents::request::{History, OutputContract, Route, StartRequest, Window};
use dsh_agent::subagents::run::{self, Run};
use dsh_protocol::content::ContentBlock;
use dsh_protocol::deliberation::{
    BranchOutcome, BranchRequest, BranchRole, BranchState, Cleanup, HistoryWindow,
};
use dsh_protocol::event::EventData;
use dsh_protocol::ids::SessionId;
use dsh_protocol::subagent::ToolFilter;
use dsh_session::log::Log;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::config::NAME;
use super::outcome::{Reason, Verdict};
use super::round::Round;
use super::{packet, prompts, refs, window};

/// How long a branch's child may take to go, and its references to be checked, once the branch's time is over or it
/// was cancelled. Whoever waits for the round waits that much longer.
const GRACE: Duration = Duration::from_millis(300);

/// How long they may take while the branch still has time.
const CLEANUP: Duration = Duration::from_secs(5);

/// A branch that is about to run.
pub(super) struct Branch {
    pub(super) round: Arc<Round>,
    pub(super) request: BranchRequest,
    /// Cancels this branch.
    pub(super) cancel: CancellationToken,
}

/// The time that a branch has.
#[derive(Clone, Copy)]
pub(super) struct Span {
    began: Instant,
    deadline: Instant,
}

impl Span {
    fn of(timeout_ms: u64) -> Self {
        let began = Instant::now();
        Self { began, deadline: began + Duration::from_millis(timeout_ms) }
    }

    /// How long it has run and how long it may go on, in milliseconds.
    pub(super) fn now(self) -> (u64, u64) {
        let now = Instant::now();
        let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        (ms(now - self.began), ms(self.deadline.saturating_duration_since(now)))
    }

    /// How long what comes after the verdict may take.
    fn rest(self, is_cancelled: bool) -> Duration {
        if is_cancelled {
            return GRACE;
        }
        self.deadline.saturating_duration_since(Instant::now()).clamp(GRACE, CLEANUP)
    }
}

impl Branch {
    /// Runs the branch to its outcome. Takes at most the configured time and [`GRACE`].
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

    /// Starts the child, unless the branch is cancelled or out of time first.
    async fn started(&self, span: Span, shown: Option<HistoryWindow>) -> Result<Run, Verdict> {
        let services = &self.round.services;
        let provider = self.provider(shown);
        let request = self.start_request(shown)?;
        // A start that is given up takes its child along.
        let starting = services.subagents.start(&provider, request);
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(Reason::Aborted.into()),
            () = sleep_until(span.deadline) => Err(Reason::Timeout.into()),
            started = starting => started.map_err(|error| Verdict::of_start(&error)),
        }
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

    fn start_request(&self, shown: Option<HistoryWindow>) -> Result<StartRequest, Reason> {
        let Round { services, arguments, .. } = &*self.round;
        let (config, role) = (&services.config, self.request.role);
        // Both names were checked with the arguments.
        let broken = Reason::InfrastructureError;
        let route = config.route(&self.request.route).ok_or(broken)?;
        let profile = config.profile(&self.request.capability).ok_or(broken)?;
        let mut deny: Vec<String> = Vec::new();
        let own = services.tools.has(&config.tool_name).then(|| config.tool_name.clone());
        for name in profile.deny.iter().flatten().cloned().chain(own) {
            if !deny.contains(&name) {
                deny.push(name);
            }
        }
        let text = prompts::branch(arguments, &self.request, profile, shown);
        let mut request =
            StartRequest::new(self.round.agent.id().clone(), vec![ContentBlock::Text { text }]);
        request.history = match shown {
            Some(HistoryWindow::RecentSteps { projected_steps, .. }) => {
                let steps = u32::try_from(projected_steps).unwrap_or(u32::MAX);
                Some(History::MidFork(Window::RecentSteps(steps)))
            }
            None => None,
        };
        request.route = Route {
            provider: route.provider.clone(),
            model: route.model.clone(),
            max_tokens: route.max_tokens,
        };
        request.tool_filter = Some(ToolFilter { allow: profile.allow.clone(), deny });
        request.output = Some(OutputContract {
            schema: packet::schema(role),
            check: Arc::new(move |value| packet::read(value, role).map(|_| ())),
        });
        request.max_depth = Some(u32::try_from(config.max_depth).unwrap_or(u32::MAX));
        request.label = Some(format!("deliberation: {}", self.request.label));
        request.cancel = self.cancel.clone();
        Ok(request)
    }

    /// Waits for the child, fixes the verdict, then checks references and cleans up side by side.
    async fn attend(self, mut run: Run, span: Span, shown: Option<HistoryWindow>) -> BranchOutcome {
        let child = run.child_session_id().clone();
        let degraded = run.degraded().to_vec();
        self.round.debug(|| self.line("branch-published", &format!("runId={child}")));
        self.tell(span, BranchState::Running, Some(&child), None).await;
        let verdict = self.verdict(&mut run, span, &child).await;
        self.tell(span, BranchState::Settled, Some(&child), Some(&verdict)).await;
        let rest = span.rest(self.cancel.is_cancelled());
        let Verdict { stop_reason, packet, diagnostic, usage } = verdict;
        let files = self.round.services.files.as_ref();
        let checking = async {
            match packet {
                Some(packet) => {
                    let (packet, dropped) =
                        refs::verified(packet, files, Instant::now() + rest).await;
                    (Some(packet), Some(dropped).filter(|dropped| *dropped > 0))
                }
                None => (None, None),
            }
        };
        let ((packet, dropped_refs), cleanup) = tokio::join!(checking, run.dispose(rest));
        let cleanup = match cleanup {
            run::Cleanup::Completed => Cleanup::Completed,
            run::Cleanup::Failed => Cleanup::Failed,
            run::Cleanup::Abandoned => Cleanup::Abandoned,
        };
        if cleanup != Cleanup::Completed {
            self.warn("cleanup failed");
        }
        self.round.debug(|| self.line("branch-cleanup", &format!("status={cleanup:?}")));
        let verdict = Verdict { stop_reason, packet, diagnostic, usage };
        BranchOutcome {
            child_session_id: Some(child),
            cleanup,
            degraded,
            dropped_refs,
            ..self.outcome(verdict, shown)
        }
    }

    async fn verdict(&self, run: &mut Run, span: Span, child: &SessionId) -> Verdict {
        let mut activity = Activity::of(run.log());
        let mut result = std::pin::pin!(run.result());
        let result = loop {
            tokio::select! {
                biased;
                result = &mut result => break result,
                () = self.cancel.cancelled() => return Reason::Aborted.into(),
                () = sleep_until(span.deadline) => return Reason::Timeout.into(),
                tool = activity.next() => {
                    self.round.notify(&self.request.label, BranchState::Running, span, Some(child), Some(tool));
                }
            }
        };
        let Ok(result) = result else {
            self.warn("result rejected");
            return Reason::InfrastructureError.into();
        };
        let is_text = result.structured.is_none();
        let verdict = Verdict::of_result(result, self.request.role);
        let facts = format!(
            "stopReason={} structured={}",
            verdict.stop_reason,
            if is_text { "no" } else { "yes" }
        );
        self.round.debug(|| self.line("branch-result", &facts));
        verdict
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
        let request = &self.request;
        BranchOutcome {
            label: request.label.clone(),
            role: request.role,
            history: request.role.history(),
            route: request.route.clone(),
            capability: request.capability.clone(),
            child_session_id: None,
            stop_reason: verdict.stop_reason,
            cleanup: Cleanup::NotStarted,
            degraded: Vec::new(),
            history_window: shown,
            packet: verdict.packet,
            dropped_refs: None,
            diagnostic: verdict.diagnostic,
            usage: verdict.usage,
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
    let verdict = Verdict::from(Reason::InfrastructureError);
    BranchOutcome {
        label: request.label.clone(),
        role: request.role,
        history: request.role.history(),
        route: request.route.clone(),
        capability: request.capability.clone(),
        child_session_id: None,
        stop_reason: verdict.stop_reason,
        cleanup: Cleanup::Abandoned,
        degraded: Vec::new(),
        history_window: None,
        packet: None,
        dropped_refs: None,
        diagnostic: verdict.diagnostic,
        usage: None,
    }
}

/// The tools that a child calls, as they come.
struct Activity {
    log: Option<Arc<Log>>,
    seen: i64,
}

impl Activity {
    fn of(log: Option<&Arc<Log>>) -> Self {
        // What is inherited is nothing that the child does.
        let inherited = log.map_or(0, |log| log.header().seed_length.unwrap_or(0));
        Self { log: log.cloned(), seen: i64::try_from(inherited).unwrap_or(i64::MAX) - 1 }
    }

    /// The tool that was called last, once one was. Never, where the child's log is not here.
    async fn next(&mut self) -> String {
        let Some(log) = self.log.clone() else { return std::future::pending().await };
        let mut changes = log.watch();
        loop {
            changes.mark_unchanged();
            let page = log
                .page(self.seen, usize::MAX, |event| matches!(event.data, EventData::ToolCall(_)));
            self.seen = page.last_seq;
            if let Some(EventData::ToolCall(call)) = page.events.last().map(|event| &event.data) {
                return call.name.clone();
            }
            if changes.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
    }
}
