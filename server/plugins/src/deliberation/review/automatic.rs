//! The review that the runtime forces before a turn ends.
//!
//! It runs inside the turn, never fails it, and goes with it when it is cancelled.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use dsh_agent::hooks::{GoOn, Notes, REVIEW_LEFT, TURN_STOPPING, TurnStopping};
use dsh_agent::subagents::provider::{PROVIDER_ADDED, PROVIDER_REMOVED};
use dsh_kernel::Context;
use dsh_kernel::hooks::Position;
use dsh_kernel::plugin::StartError;
use dsh_protocol::deliberation::Packet;
use dsh_protocol::event::{EventData, ReviewSettled};
use dsh_protocol::review::{ReviewBy, ReviewReason, ReviewStatus};
use futures_util::FutureExt as _;

use super::{Examined, Review, Reviews, guard, notice, warn};
use crate::deliberation::config::NAME;
use crate::deliberation::round::debug;

/// Takes part in the ends of turns, if the configuration wants it, and in what becomes of reviews that were left.
pub(in crate::deliberation) fn listen(
    context: &Context,
    reviews: &Arc<Reviews>,
) -> Result<(), StartError> {
    let own = Arc::clone(reviews);
    REVIEW_LEFT.listen(context, Position::Last, move |left| {
        let reviews = Arc::clone(&own);
        async move { Ok(reviews.adopt(&left).await) }
    })?;
    if !reviews.services.config.auto_review.enabled {
        return Ok(());
    }
    for hook in [&PROVIDER_ADDED, &PROVIDER_REMOVED] {
        let reviews = Arc::clone(reviews);
        hook.listen(context, Position::Last, move |changed| {
            if changed.name == reviews.readiness.name() {
                reviews.readiness.look();
            }
            async { Ok(()) }
        })?;
    }
    reviews.readiness.look();
    let own = Arc::clone(reviews);
    TURN_STOPPING.listen(context, Position::Last, move |event| {
        let reviews = Arc::clone(&own);
        async move { Ok(reviews.turn_stops(&event).await) }
    })?;
    Ok(())
}

impl Reviews {
    /// Reviews a turn that is about to end, unless something holds it back.
    pub(in crate::deliberation) async fn turn_stops(
        self: &Arc<Self>,
        event: &TurnStopping,
    ) -> Option<GoOn> {
        let agent = self.services.agents.live(&event.at.session_id)?;
        let scope = self.services.config.auto_review.scope;
        let is_ready = || self.readiness.is_ready(ReviewBy::Auto);
        if let Some(held) = guard::held(event, agent.log(), scope, is_ready) {
            debug(&self.services.config, || format!("auto-review-held by={held:?}"));
            return None;
        }
        let review = Review {
            agent,
            id: self.new_id(),
            turn: event.at.turn,
            by: ReviewBy::Auto,
            publish: false,
            draft_seq: event.answer.as_ref().map(|answer| answer.seq),
            cancel: event.cancel.child_token(),
        };
        let _running = self.enter(&review);
        let mut open = Open::new(&review, &event.notes);
        let contained = AssertUnwindSafe(self.claimed(&review)).catch_unwind();
        let examined = contained.await.unwrap_or_else(|_| {
            warn("contained an unexpected internal failure");
            Some(Examined::Failed(ReviewReason::InfrastructureError))
        });
        match examined? {
            Examined::Released(reason) => {
                open.close(review.released(reason));
                None
            }
            Examined::Failed(reason) => {
                open.settle(review.settled(ReviewStatus::Failed, Some(reason)));
                None
            }
            // The guard says so.
            Examined::Cancelled => None,
            Examined::Packet(packet) => self.publish(event, &review, &packet, open),
        }
    }

    /// Claims the turn and has it looked at. `None`: the log does not take the claim.
    async fn claimed(&self, review: &Review) -> Option<Examined> {
        let claimed = review.claimed(self.config_hash());
        if let Err(error) = review.agent.record_on_disk(vec![claimed]).await {
            tracing::warn!(session = %review.agent.id(), %error, "{NAME}: a turn was not claimed for its review");
            return None;
        }
        Some(self.examine(review).await)
    }

    /// What the turn goes on with, if the model is told.
    fn publish(
        &self,
        event: &TurnStopping,
        review: &Review,
        packet: &Packet,
        mut open: Open,
    ) -> Option<GoOn> {
        let publish = self.services.config.auto_review.publish;
        if !event.may_go_on || !notice::is_published(publish, packet) {
            debug(&self.services.config, || "auto-review-not-published".to_owned());
            open.settle(review.settled_with(packet, false));
            return None;
        }
        open.forget();
        debug(&self.services.config, || "auto-review-steered".to_owned());
        let settled = review.settled_with(packet, true);
        let failed =
            ReviewSettled { reason: Some(ReviewReason::NoticeStepFailed), ..settled.clone() };
        Some(GoOn {
            notice: notice::of(&review.id, packet),
            then: vec![EventData::ReviewSettled(settled)],
            if_failed: Some(EventData::ReviewSettled(failed)),
        })
    }
}

/// Settles a review as cancelled when it is dropped before it came out: with its turn.
struct Open {
    review: Review,
    notes: Notes,
    armed: bool,
}

impl Open {
    fn new(review: &Review, notes: &Notes) -> Self {
        Self { review: review.clone(), notes: notes.clone(), armed: true }
    }

    fn settle(&mut self, settled: ReviewSettled) {
        self.close(EventData::ReviewSettled(settled));
    }

    fn close(&mut self, data: EventData) {
        self.forget();
        self.notes.add(data);
    }

    fn forget(&mut self) {
        self.armed = false;
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let log = self.review.agent.log();
        // A claim that the log did not take has nothing to settle.
        let is_claimed = || log.read(|fold| fold.reviews.get(&self.review.id).is_some());
        if self.armed && is_claimed() {
            let status = ReviewStatus::Cancelled;
            self.notes.add(EventData::ReviewSettled(self.review.settled(status, None)));
        }
    }
}
