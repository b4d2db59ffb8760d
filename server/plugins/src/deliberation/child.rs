//! A child agent that is asked for a packet: what branches of rounds and reviews have in common.

use std::sync::Arc;
use std::time::Duration;

use dsh_agent::subagents::error::StartError;
use dsh_agent::subagents::request::{History, OutputContract, Route, StartRequest};
use dsh_agent::subagents::run::{self, Run};
use dsh_protocol::content::ContentBlock;
use dsh_protocol::deliberation::{BranchRole, Cleanup};
use dsh_protocol::event::EventData;
use dsh_protocol::ids::SessionId;
use dsh_protocol::subagent::ToolFilter;
use dsh_session::log::Log;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::config::{self, CapabilityProfile};
use super::outcome::{Reason, Verdict};
use super::round::Services;
use super::{packet, refs};

/// How long a child may take to go, and its references to be checked, once its time is over or it was cancelled.
/// Whoever waits for it waits that much longer.
const GRACE: Duration = Duration::from_millis(300);

/// How long they may take while there is still time.
const CLEANUP: Duration = Duration::from_secs(5);

/// The time that a child has.
#[derive(Clone, Copy)]
pub(super) struct Span {
    began: Instant,
    deadline: Instant,
}

impl Span {
    pub(super) fn of(timeout_ms: u64) -> Self {
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

/// Why there is no child.
pub(super) enum NotStarted {
    Cancelled,
    TimedOut,
    Refused(StartError),
}

impl From<&NotStarted> for Verdict {
    fn from(failure: &NotStarted) -> Self {
        match failure {
            NotStarted::Cancelled => Reason::Aborted.into(),
            NotStarted::TimedOut => Reason::Timeout.into(),
            NotStarted::Refused(error) => Self::of_start(error),
        }
    }
}

/// How the wait for a child's answer ended.
pub(super) enum Ended {
    Answered {
        verdict: Verdict,
        /// Whether it handed its answer in, or wrote it as text.
        structured: bool,
    },
    /// What runs it broke.
    Rejected,
    Cancelled,
    TimedOut,
}

impl From<Ended> for Verdict {
    fn from(ended: Ended) -> Self {
        match ended {
            Ended::Answered { verdict, .. } => verdict,
            Ended::Rejected => Reason::InfrastructureError.into(),
            Ended::Cancelled => Reason::Aborted.into(),
            Ended::TimedOut => Reason::Timeout.into(),
        }
    }
}

/// A child that is over.
pub(super) struct Finished {
    /// With the references that hold.
    pub(super) verdict: Verdict,
    /// How many references did not hold; `None`: all did.
    pub(super) dropped_refs: Option<u64>,
    pub(super) cleanup: Cleanup,
}

/// What a child is asked, and with what.
pub(super) struct Brief<'a> {
    pub(super) parent: SessionId,
    pub(super) label: String,
    pub(super) text: String,
    pub(super) history: Option<History>,
    /// `None`: what the parent has.
    pub(super) route: Option<&'a config::Route>,
    pub(super) profile: &'a CapabilityProfile,
    /// The name of its session; `None`: a new one.
    pub(super) session_id: Option<SessionId>,
}

/// Asks one child for a packet of a role.
pub(super) struct Asking<'a> {
    pub(super) services: &'a Services,
    pub(super) role: BranchRole,
    pub(super) span: Span,
    pub(super) cancel: &'a CancellationToken,
}

impl Asking<'_> {
    /// The request that a brief makes.
    pub(super) fn request(&self, brief: Brief<'_>) -> StartRequest {
        let Brief { parent, label, text, history, route, profile, session_id } = brief;
        let (config, role) = (&self.services.config, self.role);
        let mut deny: Vec<String> = Vec::new();
        let own = self.services.tools.has(&config.tool_name).then(|| config.tool_name.clone());
        for name in profile.deny.iter().flatten().cloned().chain(own) {
            if !deny.contains(&name) {
                deny.push(name);
            }
        }
        let mut request = StartRequest::new(parent, vec![ContentBlock::Text { text }]);
        request.session_id = session_id;
        request.history = history;
        request.route = route.map_or_else(Route::default, |route| Route {
            provider: route.provider.clone(),
            model: route.model.clone(),
            max_tokens: route.max_tokens,
        });
        request.tool_filter = Some(ToolFilter { allow: profile.allow.clone(), deny });
        request.output = Some(OutputContract {
            schema: packet::schema(role),
            check: Arc::new(move |value| packet::read(value, role).map(|_| ())),
        });
        request.max_depth = Some(u32::try_from(config.max_depth).unwrap_or(u32::MAX));
        request.label = Some(label);
        request.cancel = self.cancel.clone();
        request
    }

    /// Starts the child, unless it is cancelled or out of time first.
    pub(super) async fn start(
        &self,
        provider: &str,
        request: StartRequest,
    ) -> Result<Run, NotStarted> {
        // A start that is given up takes its child along.
        let starting = self.services.subagents.start(provider, request);
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(NotStarted::Cancelled),
            () = sleep_until(self.span.deadline) => Err(NotStarted::TimedOut),
            started = starting => started.map_err(NotStarted::Refused),
        }
    }

    /// Waits for the child's answer. `heard` is told of each tool that it calls meanwhile.
    pub(super) async fn answer(&self, run: &mut Run, mut heard: impl FnMut(String)) -> Ended {
        let mut activity = Activity::of(run.log());
        let mut result = std::pin::pin!(run.result());
        let result = loop {
            tokio::select! {
                biased;
                result = &mut result => break result,
                () = self.cancel.cancelled() => return Ended::Cancelled,
                () = sleep_until(self.span.deadline) => return Ended::TimedOut,
                tool = activity.next() => heard(tool),
            }
        };
        let Ok(result) = result else { return Ended::Rejected };
        let structured = result.structured.is_some();
        Ended::Answered { verdict: Verdict::of_result(result, self.role), structured }
    }

    /// Checks the references of what the child handed in and ends the child, side by side.
    pub(super) async fn finish(&self, run: Run, verdict: Verdict) -> Finished {
        let rest = self.span.rest(self.cancel.is_cancelled());
        let Verdict { stop_reason, packet, diagnostic, usage } = verdict;
        let files = self.services.files.as_ref();
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
        let verdict = Verdict { stop_reason, packet, diagnostic, usage };
        Finished { verdict, dropped_refs, cleanup }
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
