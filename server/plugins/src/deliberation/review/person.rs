//! Reviews that a person asks for: of the last completed turn of a session that rests.

use std::sync::Arc;

use dsh_agent::agent::Agent;
use dsh_agent::deliberation::ReviewError;
use dsh_protocol::deliberation::PacketStatus;
use dsh_protocol::event::{EventData, ReviewSettled};
use dsh_protocol::ids::ReviewId;
use dsh_protocol::review::{ReviewBy, ReviewStatus};
use dsh_protocol::turn::TurnEnd;
use dsh_session::fold::Fold;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::{Entered, Examined, Review, Reviews, notice};
use crate::deliberation::config::NAME;

/// A review that has begun.
pub(super) struct Begun {
    pub(super) id: ReviewId,
    /// Cancels it.
    pub(super) cancel: CancellationToken,
    /// How it came out.
    pub(super) settled: JoinHandle<ReviewSettled>,
}

impl Reviews {
    /// Begins a review. It stands in the session's log when this returns, and runs to its end by itself.
    pub(super) async fn begin(
        self: &Arc<Self>,
        agent: Agent,
        publish: bool,
    ) -> Result<Begun, ReviewError> {
        if let Some(missing) = self.readiness.missing(ReviewBy::User) {
            return Err(ReviewError::Unavailable(missing));
        }
        if agent.log().read(|fold| fold.open_turn.is_some()) {
            return Err(ReviewError::OpenTurn);
        }
        let (turn, draft_seq) = agent.log().read(last_completed).ok_or(ReviewError::NoTurn)?;
        let (id, cancel) = (self.new_id(), CancellationToken::new());
        let review = Review {
            agent,
            id: id.clone(),
            turn,
            by: ReviewBy::User,
            publish,
            draft_seq,
            cancel: cancel.clone(),
        };
        let running = self.enter(&review);
        review.agent.record_on_disk(vec![review.claimed(self.config_hash())]).await?;
        let reviews = Arc::clone(self);
        let settled = tokio::spawn(reviews.run(review, running));
        Ok(Begun { id, cancel, settled })
    }

    /// The same, for whoever waits for its events.
    pub(in crate::deliberation) async fn begin_for_person(
        self: &Arc<Self>,
        agent: Agent,
        publish: bool,
    ) -> Result<ReviewId, ReviewError> {
        self.begin(agent, publish).await.map(|begun| begun.id)
    }

    async fn run(self: Arc<Self>, review: Review, _running: Entered) -> ReviewSettled {
        let settled = match self.examine(&review).await {
            Examined::Packet(packet) => {
                let is_told = review.publish && packet.status == PacketStatus::Update;
                // Before it is settled: a crash in between loses no packet and tells nobody twice.
                let is_told = is_told && self.told(&review, &packet).await;
                review.settled_with(&packet, is_told)
            }
            Examined::Failed(reason) => review.settled(ReviewStatus::Failed, Some(reason)),
            // Attempts that a person asked for always count.
            Examined::Cancelled | Examined::Released(_) => {
                review.settled(ReviewStatus::Cancelled, None)
            }
        };
        let event = EventData::ReviewSettled(settled.clone());
        if let Err(error) = review.agent.record_on_disk(vec![event]).await {
            tracing::warn!(session = %review.agent.id(), %error, "{NAME}: a review was not settled; whoever opens the session next does it");
        }
        settled
    }

    async fn told(&self, review: &Review, packet: &dsh_protocol::deliberation::Packet) -> bool {
        let injected = review.agent.inject(notice::of(&review.id, packet)).await;
        if let Err(error) = &injected {
            tracing::warn!(session = %review.agent.id(), %error, "{NAME}: a review was not published");
        }
        injected.is_ok()
    }
}

/// The last turn that completed, and the seq of its answer.
fn last_completed(fold: &Fold) -> Option<(u64, Option<u64>)> {
    let at = fold.turns.iter().rposition(|turn| turn.end == Some(TurnEnd::Completed))?;
    Some((at as u64 + 1, fold.turns[at].text_seq))
}
