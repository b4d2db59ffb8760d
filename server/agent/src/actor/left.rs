//! Settles what a process has left open that has a life beside turns: as far as somebody knows what became of it.

use std::sync::Arc;
use std::time::Duration;

use dsh_kernel::hooks::Serial;
use dsh_protocol::event::EventData;
use dsh_session::activations::Activation;
use dsh_session::fold::Fold;
use dsh_session::reviews::Review;
use dsh_session::rounds::OpenRound;

use super::{Actor, injected};
use crate::agent::{CommandError, Notice};
use crate::hooks::{
    ACTIVATION_LEFT, ActivationLeft, REVIEW_LEFT, ROUND_LEFT, ReviewLeft, RoundLeft,
};

/// How long somebody may take to say what became of one thing that was left.
const ADOPTION: Duration = Duration::from_secs(2);

/// Whether a crash may have left something open.
pub(super) fn is_left_open(fold: &Fold) -> bool {
    fold.open_turn.is_some()
        || fold.reviews.open().next().is_some()
        || !fold.rounds.open().is_empty()
        || !fold.activations.open().is_empty()
}

impl Actor {
    /// Settles what a crash left open. Nobody may ask the agent for anything meanwhile.
    pub(super) async fn adopt(&mut self) {
        self.adopt_reviews().await;
        self.adopt_rounds().await;
        self.adopt_activations().await;
        let is_left = self.writer.log().read(is_left_open);
        self.look.plan(is_left);
    }

    /// What another process has left open is looked after: that process may be killed.
    pub(super) fn expect_an_end(&mut self) {
        if self.turn.is_none() && !self.look.is_planned() && self.writer.log().read(is_left_open) {
            self.look.plan(true);
        }
    }

    /// Looks again for what became of what is left open: whoever was at work on it may be gone by now.
    pub(super) async fn look_again(&mut self) {
        self.look.begin();
        if self.refresh().await.is_err() || !self.writer.log().read(is_left_open) {
            self.look.plan(false);
            return;
        }
        match self.lease().await {
            Ok(()) => self.rest().await,
            // Another process runs a turn here, or the log cannot be written now.
            Err(_) => self.look.plan(!self.deleted),
        }
    }

    async fn adopt_reviews(&mut self) {
        let log = Arc::clone(self.writer.log());
        let left: Vec<Review> = log.read(|fold| fold.reviews.open().cloned().collect());
        for review in left {
            let is_told = log.read(|fold| fold.client_messages.contains_key(review.id.as_str()));
            let session_id = log.header().id.clone();
            let left = ReviewLeft { session_id, review, is_told };
            if let Some(adopted) = self.asked(&REVIEW_LEFT, left).await {
                self.settle(adopted.notice, EventData::ReviewSettled(adopted.settled));
            }
        }
    }

    async fn adopt_rounds(&mut self) {
        let log = Arc::clone(self.writer.log());
        let left: Vec<OpenRound> = log.read(|fold| fold.rounds.open().to_vec());
        for round in left {
            let left = RoundLeft { session_id: log.header().id.clone(), round };
            if let Some(adopted) = self.asked(&ROUND_LEFT, left).await {
                self.settle(adopted.notice, EventData::DeliberationSettled(adopted.settled));
            }
        }
    }

    async fn adopt_activations(&mut self) {
        let log = Arc::clone(self.writer.log());
        let left: Vec<(Activation, Option<String>)> = log.read(|fold| {
            let known = fold.activations.children();
            let open = fold.activations.open().iter().cloned();
            open.map(|it| (it.clone(), known.get(&it.child).and_then(|child| child.label.clone())))
                .collect()
        });
        for (activation, label) in left {
            let left = ActivationLeft { session_id: log.header().id.clone(), activation, label };
            if let Some(adopted) = self.asked(&ACTIVATION_LEFT, left).await {
                self.settle(adopted.notice, EventData::SubagentSettled(adopted.settled));
            }
        }
    }

    /// What somebody says of what was left, in time.
    async fn asked<E: Send + Sync + 'static, D: Send + 'static>(
        &mut self,
        hook: &Serial<E, D>,
        left: E,
    ) -> Option<D> {
        let hooks = self.shared.hooks.clone();
        if !hook.is_heard(&hooks) {
            return None;
        }
        let asked = tokio::time::timeout(ADOPTION, hook.dispatch(&hooks, left)).await;
        let (session, name) = (&self.writer.log().header().id, hook.declaration().name);
        match asked {
            Ok(Ok(adopted)) => adopted,
            Ok(Err(error)) => {
                tracing::error!(%session, %error, "{name}: it is left as it is");
                None
            }
            Err(_) => {
                tracing::warn!(%session, "{name}: it is left as it is: nobody said in time what became of it");
                None
            }
        }
    }

    /// The notice first: a crash between the two leaves what is settled later, and no notice twice.
    fn settle(&self, notice: Option<Notice>, settled: EventData) {
        let logged = || {
            if let Some(notice) = notice {
                let source = notice.source();
                self.queue(&injected(notice), source)?;
            }
            self.writer.append(settled)?;
            Ok::<_, CommandError>(())
        };
        if let Err(error) = logged() {
            let session = &self.writer.log().header().id;
            tracing::error!(%session, %error, "what was left could not be settled");
        }
    }
}
