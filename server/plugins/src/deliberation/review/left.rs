//! Reviews that their process has left: what their children found is taken from the children's logs.

use std::time::Duration;

use dsh_agent::hooks::{Adopted, ReviewLeft};
use dsh_agent::subagents::outcome;
use dsh_agent::subagents::run::RunResult;
use dsh_protocol::deliberation::{BranchRole, PacketStatus};
use dsh_protocol::event::ReviewSettled;
use dsh_protocol::ids::SessionId;
use dsh_protocol::review::{ReviewBy, ReviewReason, ReviewStatus};
use dsh_protocol::session::SessionStatus;
use dsh_protocol::subagent::StopReason;
use dsh_protocol::turn::TurnEnd;
use dsh_session::repair::repair;
use dsh_session::reviews::Review;
use dsh_session::store::StoreError;
use dsh_session::writer::AcquireError;
use tokio::time::Instant;

use super::{Reviews, notice};
use crate::deliberation::config::Publish;
use crate::deliberation::outcome::Verdict;
use crate::deliberation::refs;

/// How long the references of an adopted packet may be checked.
const CHECKING: Duration = Duration::from_millis(500);

/// How long after its claim a person's review may be without a child before it is taken for dead, in
/// milliseconds: another process may be starting it.
const STARTING_MS: u64 = 30_000;

/// What is known of the child of a review that was left.
enum Found {
    /// It is at work, or may be about to begin.
    Alive,
    /// It never came to be, or its log cannot be read.
    Nothing,
    Ended(Box<RunResult>),
}

impl Reviews {
    /// How a review that was left comes out. `None`: it may still be at work.
    pub(super) async fn adopt(&self, left: &ReviewLeft) -> Option<Adopted> {
        let review = &left.review;
        if self.is_running(&review.id) {
            return None;
        }
        let verdict = match self.child(review).await {
            Found::Alive => return None,
            Found::Nothing => return Some(failed(review, ReviewReason::Interrupted)),
            Found::Ended(result) => verdict(*result),
        };
        let Ok(verdict) = verdict else {
            return Some(failed(review, ReviewReason::Interrupted));
        };
        let Some(packet) = verdict.packet else {
            return Some(failed(review, notice::reason(&verdict.stop_reason)));
        };
        let until = Instant::now() + CHECKING;
        let (packet, _) = refs::verified(packet, self.services.files.as_ref(), until).await;
        let is_silent = match self.services.config.auto_review.publish {
            Publish::ObserveOnly => true,
            Publish::UpdatesOnly | Publish::All => false,
        };
        let is_due = review.by == ReviewBy::Auto
            && packet.status == PacketStatus::Update
            && !is_silent
            && !left.is_told;
        let settled = ReviewSettled {
            published: left.is_told || is_due,
            items: packet.items.clone(),
            ..settled(review, notice::status(&packet), None)
        };
        let notice = is_due.then(|| notice::of(&review.id, &packet));
        Some(Adopted { settled, notice })
    }

    async fn child(&self, review: &Review) -> Found {
        let named = SessionId::from(review.id.as_str());
        let id = review.child.clone().unwrap_or(named);
        let live = self.services.agents.live(&id);
        if live.is_some_and(|agent| agent.status() == SessionStatus::Running) {
            return Found::Alive;
        }
        let writer = match self.services.sessions.open(id).await {
            Ok(writer) => writer,
            Err(StoreError::NotFound(_)) => {
                let age = (self.services.host.clock)().saturating_sub(review.claimed_at);
                let may_begin = review.by == ReviewBy::User && age < STARTING_MS;
                return if may_begin { Found::Alive } else { Found::Nothing };
            }
            Err(StoreError::Storage(_) | StoreError::Written(_)) => return Found::Alive,
            Err(StoreError::Taken(_) | StoreError::Damaged { .. } | StoreError::Unsupported(_)) => {
                return Found::Nothing;
            }
        };
        // Whoever runs it holds the right to append.
        match writer.acquire().await {
            Ok(()) => {}
            Err(AcquireError::Lease(_)) => return Found::Alive,
            Err(AcquireError::Violation(_)) => return Found::Nothing,
        }
        if let Err(violation) = repair(&writer) {
            tracing::warn!(%violation, "the log of a review's child could not be closed");
        }
        writer.release().await;
        Found::Ended(Box::new(outcome::of(writer.log())))
    }
}

/// What a child's log says. An error: the server stopped while it worked.
fn verdict(mut result: RunResult) -> Result<Verdict, ()> {
    if matches!(result.turn_end, None | Some(TurnEnd::Interrupted)) {
        // What it handed in was taken, which ends a child's turn: nothing could come after it.
        if result.structured.is_none() {
            return Err(());
        }
        result.stop_reason = StopReason::Completed;
    }
    Ok(Verdict::of_result(result, BranchRole::MaskedReview))
}

fn failed(review: &Review, reason: ReviewReason) -> Adopted {
    Adopted { settled: settled(review, ReviewStatus::Failed, Some(reason)), notice: None }
}

fn settled(review: &Review, status: ReviewStatus, reason: Option<ReviewReason>) -> ReviewSettled {
    ReviewSettled {
        review_id: review.id.clone(),
        turn: review.turn,
        status,
        published: false,
        reason,
        items: None,
        draft_seq: review.draft_seq,
    }
}
