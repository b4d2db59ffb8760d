//! How a branch comes out: the reasons, what is said of each, and what the model reads of a round.

use dsh_agent::subagents::error::{ProjectionCode, StartError};
use dsh_agent::subagents::run::RunResult;
use dsh_protocol::content::Usage;
use dsh_protocol::deliberation::{BranchOutcome, BranchRole, HistoryWindow, Packet};
use dsh_protocol::subagent::StopReason;
use dsh_protocol::turn::TurnEnd;
use serde::Serialize;

use super::packet;

/// Why a branch has no packet, for reasons that are ours. Each has a fixed sentence: what a provider or a model
/// said when it failed goes nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    Aborted,
    Timeout,
    StartupError,
    InfrastructureError,
    NoCompletedStep,
    ProjectionImageLimit,
    ProjectionOverBudget,
    InvalidHistoryWindow,
    MissingStructuredResult,
    InvalidStructuredResult,
}

impl Reason {
    const ALL: [Self; 10] = [
        Self::Aborted,
        Self::Timeout,
        Self::StartupError,
        Self::InfrastructureError,
        Self::NoCompletedStep,
        Self::ProjectionImageLimit,
        Self::ProjectionOverBudget,
        Self::InvalidHistoryWindow,
        Self::MissingStructuredResult,
        Self::InvalidStructuredResult,
    ];

    /// The reason of a word of the log; `None` where it is a child's own.
    pub(super) fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == word)
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Aborted => "aborted",
            Self::Timeout => "timeout",
            Self::StartupError => "startup-error",
            Self::InfrastructureError => "infrastructure-error",
            Self::NoCompletedStep => "no-completed-step",
            Self::ProjectionImageLimit => "projection-image-limit",
            Self::ProjectionOverBudget => "projection-over-budget",
            Self::InvalidHistoryWindow => "invalid-history-window",
            Self::MissingStructuredResult => "missing-structured-result",
            Self::InvalidStructuredResult => "invalid-structured-result",
        }
    }

    fn sentence(self) -> &'static str {
        match self {
            Self::Aborted => "The branch was cancelled.",
            Self::Timeout => "The branch did not answer within its time.",
            Self::StartupError => "The branch could not be started.",
            Self::InfrastructureError => "The branch broke before it could answer.",
            Self::NoCompletedStep => "No complete step of the primary was there to review.",
            Self::ProjectionImageLimit => {
                "The selected snapshot exceeds the configured image limit."
            }
            Self::ProjectionOverBudget => {
                "The selected snapshot exceeds the configured character budget."
            }
            Self::InvalidHistoryWindow => "The configured history window was not available.",
            Self::MissingStructuredResult => "The branch ended without handing in a packet.",
            Self::InvalidStructuredResult => {
                "What the branch handed in is not a packet of its role."
            }
        }
    }
}

/// What is fixed of a branch when its child has answered or will not any more.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Verdict {
    pub(super) stop_reason: String,
    pub(super) packet: Option<Packet>,
    pub(super) diagnostic: Option<String>,
    pub(super) usage: Option<Usage>,
}

impl From<Reason> for Verdict {
    fn from(reason: Reason) -> Self {
        Self {
            stop_reason: reason.as_str().to_owned(),
            packet: None,
            diagnostic: Some(reason.sentence().to_owned()),
            usage: None,
        }
    }
}

impl Verdict {
    /// Of a child that did not start.
    pub(super) fn of_start(error: &StartError) -> Self {
        match error {
            StartError::Images(refusal) => Self {
                stop_reason: "unsupported-content".to_owned(),
                diagnostic: Some(refusal.to_string()),
                ..Self::from(Reason::StartupError)
            },
            StartError::Projection(projection) => match projection.code {
                ProjectionCode::ImageLimit => Reason::ProjectionImageLimit,
                ProjectionCode::OverBudget => Reason::ProjectionOverBudget,
                ProjectionCode::NoCompletedStep => Reason::NoCompletedStep,
                ProjectionCode::NoOpenTurn => Reason::InvalidHistoryWindow,
            }
            .into(),
            StartError::Depth { .. } => Self {
                diagnostic: Some("The branch would stand too deep below the primary.".to_owned()),
                ..Self::from(Reason::StartupError)
            },
            StartError::NoProvider(_)
            | StartError::Unsupported { .. }
            | StartError::Cancelled
            | StartError::ParentUnavailable(_)
            | StartError::Invalid(_)
            | StartError::Open(_)
            | StartError::Command(_) => Reason::StartupError.into(),
        }
    }

    /// Of a child that has ended. Its life is judged before its packet: a child that was cut off may hand in
    /// something well formed and half done.
    pub(super) fn of_result(result: RunResult, role: BranchRole) -> Self {
        // A provider that does not say what a request cost says nothing.
        let usage = Some(result.usage.usage).filter(|usage| *usage != Usage::default());
        let ended_well = match result.stop_reason {
            StopReason::Completed => true,
            // A child that ended its own turn well and wrote its packet as text instead of handing it in.
            StopReason::Error => {
                result.structured.is_none() && result.turn_end == Some(TurnEnd::Completed)
            }
            StopReason::Aborted | StopReason::MaxTokens | StopReason::Refusal => false,
        };
        let candidate = result.structured.or_else(|| packet::from_answer(&result.content));
        let stop_reason = result.stop_reason.as_str().to_owned();
        if !ended_well || (candidate.is_none() && result.stop_reason == StopReason::Error) {
            return Self { stop_reason, packet: None, diagnostic: result.diagnostic, usage };
        }
        let own = |reason: Reason| {
            let fixed = Self::from(reason);
            Self { diagnostic: result.diagnostic.clone().or(fixed.diagnostic), usage, ..fixed }
        };
        match candidate.map(|candidate| packet::read(&candidate, role)) {
            None => own(Reason::MissingStructuredResult),
            Some(Err(_)) => own(Reason::InvalidStructuredResult),
            Some(Ok(packet)) => Self {
                stop_reason: StopReason::Completed.as_str().to_owned(),
                packet: Some(packet),
                // What is said of a missing call does not hold of a packet that was found.
                diagnostic: result
                    .diagnostic
                    .filter(|_| result.stop_reason == StopReason::Completed),
                usage,
            },
        }
    }
}

#[derive(Serialize)]
struct Rendered<'a> {
    branches: Vec<RenderedBranch<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RenderedBranch<'a> {
    label: &'a str,
    role: BranchRole,
    stop_reason: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    history_window: Option<HistoryWindow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    packet: Option<&'a Packet>,
    #[serde(skip_serializing_if = "Option::is_none")]
    diagnostic: Option<&'a str>,
}

/// What the model reads of a round: nothing of sessions, routes and tools, and of a branch with a packet nothing
/// but that.
pub(super) fn rendered(outcomes: &[BranchOutcome]) -> String {
    let branches = outcomes
        .iter()
        .map(|outcome| RenderedBranch {
            label: &outcome.label,
            role: outcome.role,
            stop_reason: &outcome.stop_reason,
            history_window: outcome.history_window,
            packet: outcome.packet.as_ref(),
            diagnostic: outcome.diagnostic.as_deref().filter(|_| outcome.packet.is_none()),
        })
        .collect();
    serde_json::to_string(&Rendered { branches }).unwrap_or_default()
}

#[cfg(test)]
mod tests;
