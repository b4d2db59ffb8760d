//! Reviews that their process has left: what their children found is taken from the children's logs.

use dsh_agent::hooks::{Adopted, ReviewLeft};
use dsh_protocol::deliberation::{BranchRole, PacketStatus};
use dsh_protocol::event::ReviewSettled;
use dsh_protocol::ids::SessionId;
use dsh_protocol::review::{ReviewBy, ReviewReason, ReviewStatus};
use dsh_session::reviews::Review;
use tokio::time::Instant;

use super::{Reviews, notice};
use crate::deliberation::config::Publish;
use crate::deliberation::left::{self, Found};
use crate::deliberation::refs;

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
            Found::Ended(result) => left::verdict(*result, BranchRole::MaskedReview),
        };
        let Some(verdict) = verdict else {
            return Some(failed(review, ReviewReason::Interrupted));
        };
        let Some(packet) = verdict.packet else {
            return Some(failed(review, notice::reason(&verdict.stop_reason)));
        };
        let until = Instant::now() + left::CHECKING;
        let (packet, _) = refs::verified(packet, self.services.files.as_ref(), until).await;
        let is_wanted = match (review.by, self.services.config.auto_review.publish) {
            (ReviewBy::User, _) => review.publish,
            (ReviewBy::Auto, Publish::ObserveOnly) => false,
            (ReviewBy::Auto, Publish::UpdatesOnly | Publish::All) => true,
        };
        let is_due = is_wanted && packet.status == PacketStatus::Update && !left.is_told;
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
        // The turn of an automatic review is over: nobody starts its child any more.
        let may_begin = review.by == ReviewBy::User;
        left::child(&self.services, id, may_begin.then_some(review.claimed_at)).await
    }
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
