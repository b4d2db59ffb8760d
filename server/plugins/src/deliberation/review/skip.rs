//! Attempts that do not count: what is wrong is said in figures, never in words of a session.

use std::fmt::Write as _;

use dsh_agent::subagents::error::{Measured, ProjectionCode, StartError};
use dsh_agent::subagents::request::Window;
use dsh_protocol::review::ReleaseReason;

use super::Review;
use crate::deliberation::config::{Config, NAME};
use crate::deliberation::round::debug;

/// Why a start that failed does not count; `None`: it does.
pub(super) fn reason(error: &StartError, provider_is_gone: bool) -> Option<ReleaseReason> {
    match error {
        StartError::Projection(projection) => Some(match projection.code {
            ProjectionCode::OverBudget => ReleaseReason::ProjectionOverBudget,
            ProjectionCode::ImageLimit => ReleaseReason::ProjectionImageLimit,
            ProjectionCode::NoCompletedStep => ReleaseReason::NoCompletedStep,
            ProjectionCode::NoOpenTurn => ReleaseReason::NoOpenTurn,
        }),
        StartError::Images(_) => Some(ReleaseReason::UnsupportedContent),
        StartError::NoProvider(_) => Some(ReleaseReason::ProviderNotReady),
        StartError::Unsupported { .. }
        | StartError::Depth { .. }
        | StartError::Cancelled
        | StartError::ParentUnavailable(_)
        | StartError::Invalid(_)
        | StartError::Open(_)
        | StartError::Command(_) => provider_is_gone.then_some(ReleaseReason::ProviderNotReady),
    }
}

/// Logs that an attempt was skipped.
pub(super) fn tell(config: &Config, review: &Review, reason: ReleaseReason, error: &StartError) {
    if reason == ReleaseReason::ProviderNotReady {
        debug(config, || format!("auto-review-provider-race {}", facts(review)));
        return;
    }
    tracing::warn!("{NAME}: automatic review skipped {}", line(review, reason, error));
}

/// Which review it is.
pub(super) fn facts(review: &Review) -> String {
    format!("parentSessionId={} turn={}", review.agent.id(), review.turn)
}

fn line(review: &Review, reason: ReleaseReason, error: &StartError) -> String {
    let word = serde_json::to_value(reason).unwrap_or_default();
    let mut line = format!("reason={}", word.as_str().unwrap_or_default());
    if let StartError::Images(refusal) = error {
        let _ = write!(
            line,
            " code={} {} images={} imageBytes={}",
            refusal.code.as_str(),
            facts(review),
            refusal.images,
            refusal.image_bytes
        );
    } else if let StartError::Projection(projection) = error {
        let window = match projection.window {
            Window::RecentSteps(_) => "recent-steps",
            Window::CurrentTurn | Window::Turn(_) => "current-turn",
        };
        let _ = write!(
            line,
            " {} window={window} steps={} snapshotChars={} images={} imageBytes={}",
            facts(review),
            projection.projected_steps,
            measured(projection.chars, "maxSnapshotChars"),
            measured(projection.images, "maxSnapshotImages"),
            projection.image_bytes
        );
    }
    line
}

fn measured(figure: Option<Measured>, limit: &str) -> String {
    let Some(Measured { actual, most }) = figure else { return format!("unknown {limit}=unknown") };
    let most = most.map_or("unknown".to_owned(), |most| most.to_string());
    format!("{actual} {limit}={most}")
}
