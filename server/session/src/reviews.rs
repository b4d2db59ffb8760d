//! The reviews of a session: which have begun and how each came out.

use dsh_protocol::deliberation::PacketItem;
use dsh_protocol::event::{Event, EventData, ReviewClaimed, ReviewSettled};
use dsh_protocol::ids::{ReviewId, SessionId};
use dsh_protocol::review::{
    ReleaseReason, ReviewBy, ReviewInfo, ReviewItem, ReviewItemState, ReviewReason, ReviewStatus,
};

/// A session's own reviews, in the order in which they began. What a session inherited is not among them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reviews(Vec<Review>);

/// One review.
#[derive(Clone, Debug, PartialEq)]
pub struct Review {
    /// Names it.
    pub id: ReviewId,
    /// The turn that it looks at.
    pub turn: u64,
    /// Who asked for it.
    pub by: ReviewBy,
    /// Whether a person asked for the session's model to be told of an update.
    pub publish: bool,
    /// When it began, in epoch milliseconds.
    pub claimed_at: u64,
    /// Seq of the answer that it looks at.
    pub draft_seq: Option<u64>,
    /// Its child agent's session, once there is one.
    pub child: Option<SessionId>,
    /// Where it stands.
    pub state: ReviewState,
}

/// Where a review stands.
#[derive(Clone, Debug, PartialEq)]
pub enum ReviewState {
    /// It runs, or a crash left it.
    Open,
    /// It does not count.
    Released(ReleaseReason),
    /// It came out.
    Settled(Settled),
}

/// How a review came out.
#[derive(Clone, Debug, PartialEq)]
pub struct Settled {
    /// When, in epoch milliseconds.
    pub at: u64,
    /// How.
    pub status: ReviewStatus,
    /// Whether the session's model was told.
    pub published: bool,
    /// Why there is no packet, or why it was not taken in.
    pub reason: Option<ReviewReason>,
    /// What was found, and where each item stands.
    pub items: Vec<(PacketItem, ReviewItemState)>,
}

impl Review {
    /// Whether it runs, or was left by a crash.
    pub fn is_open(&self) -> bool {
        self.state == ReviewState::Open
    }

    /// What a client sees of it, once it came out.
    pub fn info(&self) -> Option<ReviewInfo> {
        let ReviewState::Settled(settled) = &self.state else { return None };
        let item = |(item, state): &(PacketItem, _)| ReviewItem::new(item.clone(), *state);
        Some(ReviewInfo {
            review_id: self.id.clone(),
            turn: self.turn,
            by: self.by,
            status: settled.status,
            published: settled.published,
            items: settled.items.iter().map(item).collect(),
            child_session_id: self.child.clone(),
            settled_at: settled.at,
        })
    }
}

impl Reviews {
    /// The types of the events that say something of reviews.
    pub const TYPES: &[&str] =
        &["review/claimed", "review/child", "review/released", "review/settled", "review/item"];

    /// The reviews that the events of a log tell of.
    pub fn of<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut reviews = Self::default();
        for event in events {
            reviews.apply(&event.data, event.time);
        }
        reviews
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Review> {
        self.0.iter()
    }

    /// One of them.
    pub fn get(&self, id: &ReviewId) -> Option<&Review> {
        // The one that is asked for is nearly always the last.
        self.0.iter().rev().find(|review| review.id == *id)
    }

    /// Those that run, or were left by a crash.
    pub fn open(&self) -> impl Iterator<Item = &Review> {
        self.0.iter().filter(|review| review.is_open())
    }

    /// The automatic review that a turn has had or has; one that was released does not count.
    pub fn automatic(&self, turn: u64) -> Option<&Review> {
        self.0.iter().rev().find(|review| {
            let counts = !matches!(review.state, ReviewState::Released(_));
            review.turn == turn && review.by == ReviewBy::Auto && counts
        })
    }

    /// What is wrong with an event of a review. `turns` is how many turns there are and `open_turn` the one that
    /// is open.
    pub(crate) fn check(
        &self,
        data: &EventData,
        turns: u64,
        open_turn: Option<u64>,
    ) -> Result<(), String> {
        if let EventData::ReviewClaimed(claimed) = data {
            return self.check_claim(claimed, turns, open_turn);
        } else if let EventData::ReviewChild(child) = data {
            let review = self.known(&child.review_id)?;
            if !review.is_open() || review.child.is_some() {
                return Err(format!("review `{}` takes no child agent", review.id));
            }
        } else if let EventData::ReviewReleased(released) = data {
            self.known_open(&released.review_id, released.turn)?;
        } else if let EventData::ReviewSettled(settled) = data {
            self.check_settled(settled)?;
        } else if let EventData::ReviewItemChanged(changed) = data {
            let review = self.known(&changed.review_id)?;
            let items = match &review.state {
                ReviewState::Settled(settled) => settled.items.len() as u64,
                ReviewState::Open | ReviewState::Released(_) => 0,
            };
            if changed.index >= items {
                return Err(format!("review `{}` has no item {}", review.id, changed.index));
            }
        }
        Ok(())
    }

    fn check_claim(
        &self,
        claimed: &ReviewClaimed,
        turns: u64,
        open_turn: Option<u64>,
    ) -> Result<(), String> {
        if self.get(&claimed.review_id).is_some() {
            return Err(format!("review `{}` has begun before", claimed.review_id));
        }
        if !(1..=turns).contains(&claimed.turn) {
            return Err(format!("there is no turn {}", claimed.turn));
        }
        if claimed.by == ReviewBy::User {
            return Ok(());
        }
        if open_turn != Some(claimed.turn) {
            return Err(format!("turn {} is not open", claimed.turn));
        }
        match self.automatic(claimed.turn) {
            Some(other) => {
                Err(format!("turn {} has the automatic review `{}`", claimed.turn, other.id))
            }
            None => Ok(()),
        }
    }

    fn check_settled(&self, settled: &ReviewSettled) -> Result<(), String> {
        let review = self.known(&settled.review_id)?;
        if review.turn == settled.turn
            && let ReviewState::Settled(before) = &review.state
            && before.published
            && before.reason.is_none()
            && settled.reason == Some(ReviewReason::NoticeStepFailed)
        {
            return Ok(());
        }
        self.known_open(&settled.review_id, settled.turn)
    }

    fn known(&self, id: &ReviewId) -> Result<&Review, String> {
        self.get(id).ok_or_else(|| format!("there is no review `{id}`"))
    }

    fn known_open(&self, id: &ReviewId, turn: u64) -> Result<(), String> {
        let review = self.known(id)?;
        if !review.is_open() {
            return Err(format!("review `{id}` is over"));
        }
        if review.turn != turn {
            return Err(format!("review `{id}` looks at turn {}", review.turn));
        }
        Ok(())
    }

    /// Applies a checked event of a review.
    pub(crate) fn apply(&mut self, data: &EventData, time: u64) {
        if let EventData::ReviewClaimed(claimed) = data {
            self.0.push(Review {
                id: claimed.review_id.clone(),
                turn: claimed.turn,
                by: claimed.by,
                publish: claimed.publish.unwrap_or_default(),
                claimed_at: time,
                draft_seq: claimed.draft_seq,
                child: None,
                state: ReviewState::Open,
            });
        } else if let EventData::ReviewChild(child) = data {
            self.change(&child.review_id, |it| it.child = Some(child.child_session_id.clone()));
        } else if let EventData::ReviewReleased(released) = data {
            let state = ReviewState::Released(released.reason);
            self.change(&released.review_id, |it| it.state = state);
        } else if let EventData::ReviewSettled(settled) = data {
            let items = settled.items.iter().flatten();
            let state = ReviewState::Settled(Settled {
                at: time,
                status: settled.status,
                published: settled.published,
                reason: settled.reason,
                items: items.map(|item| (item.clone(), ReviewItemState::Open)).collect(),
            });
            self.change(&settled.review_id, |it| it.state = state);
        } else if let EventData::ReviewItemChanged(changed) = data {
            let at = usize::try_from(changed.index).unwrap_or(usize::MAX);
            self.change(&changed.review_id, |it| {
                if let ReviewState::Settled(settled) = &mut it.state
                    && let Some((_, state)) = settled.items.get_mut(at)
                {
                    *state = changed.state;
                }
            });
        }
    }

    fn change(&mut self, id: &ReviewId, change: impl FnOnce(&mut Review)) {
        if let Some(review) = self.0.iter_mut().rev().find(|review| review.id == *id) {
            change(review);
        }
    }
}

#[cfg(test)]
mod tests {
    use dsh_protocol::deliberation::{Certainty, ItemKind};
    use dsh_protocol::event::{ReviewChild, ReviewItemChanged, ReviewReleased};

    use super::*;

    fn claimed(id: &str, turn: u64, by: ReviewBy) -> EventData {
        let config_hash = "h".to_owned();
        EventData::ReviewClaimed(ReviewClaimed {
            review_id: id.into(),
            turn,
            by,
            config_hash,
            publish: None,
            draft_seq: None,
        })
    }

    fn released(id: &str) -> EventData {
        let (review_id, turn) = (id.into(), 1);
        let reason = ReleaseReason::NoCompletedStep;
        EventData::ReviewReleased(ReviewReleased { review_id, turn, reason })
    }

    fn settled(id: &str, published: bool, reason: Option<ReviewReason>) -> EventData {
        let item = PacketItem {
            kind: ItemKind::Unknown,
            certainty: Certainty::Likely,
            content: "c".to_owned(),
            refs: None,
        };
        EventData::ReviewSettled(ReviewSettled {
            review_id: id.into(),
            turn: 1,
            status: ReviewStatus::Update,
            published,
            reason,
            items: Some(vec![item]),
            draft_seq: None,
        })
    }

    fn changed(id: &str, index: u64) -> EventData {
        let state = ReviewItemState::Dismissed;
        EventData::ReviewItemChanged(ReviewItemChanged { review_id: id.into(), index, state })
    }

    fn child(id: &str) -> EventData {
        let child_session_id = "k".into();
        EventData::ReviewChild(ReviewChild { review_id: id.into(), child_session_id })
    }

    /// Takes events in turn 1, which is open; returns what is wrong with the first that breaks a rule.
    fn take(reviews: &mut Reviews, events: &[EventData]) -> Result<(), String> {
        events.iter().try_for_each(|event| {
            reviews.check(event, 1, Some(1))?;
            reviews.apply(event, 7);
            Ok(())
        })
    }

    #[test]
    fn a_turn_has_one_automatic_review_that_counts() {
        let mut reviews = Reviews::default();
        let auto = |id| claimed(id, 1, ReviewBy::Auto);
        take(&mut reviews, &[auto("a"), released("a"), auto("b"), child("b")]).unwrap();
        let again = take(&mut reviews, &[auto("c")]).unwrap_err();
        assert_eq!(again, "turn 1 has the automatic review `b`");
        take(&mut reviews, &[settled("b", false, None)]).unwrap();
        assert!(take(&mut reviews, &[auto("c")]).is_err());
        take(&mut reviews, &[claimed("c", 1, ReviewBy::User)]).unwrap();
        assert_eq!(reviews.open().map(|review| review.id.as_str()).collect::<Vec<_>>(), ["c"]);
    }

    #[test]
    fn a_review_comes_out_once_and_may_say_that_its_notice_failed() {
        let failed = Some(ReviewReason::NoticeStepFailed);
        let mut reviews = Reviews::default();
        let begun = [claimed("a", 1, ReviewBy::User), settled("a", true, None)];
        take(&mut reviews, &begun).unwrap();
        assert!(take(&mut reviews, &[settled("a", true, None)]).is_err());
        assert!(take(&mut reviews, &[released("a")]).is_err());
        assert!(take(&mut reviews, &[child("a")]).is_err());
        take(&mut reviews, &[settled("a", true, failed)]).unwrap();
        assert!(take(&mut reviews, &[settled("a", true, failed)]).is_err());
        let silent = [claimed("b", 1, ReviewBy::User), settled("b", false, None)];
        take(&mut reviews, &silent).unwrap();
        assert!(take(&mut reviews, &[settled("b", true, failed)]).is_err());
    }

    #[test]
    fn what_names_nothing_is_refused() {
        let mut reviews = Reviews::default();
        for event in [
            child("a"),
            released("a"),
            settled("a", true, None),
            changed("a", 0),
            claimed("a", 2, ReviewBy::User),
            claimed("a", 0, ReviewBy::User),
        ] {
            assert!(reviews.check(&event, 1, Some(1)).is_err(), "{event:?}");
        }
        assert!(reviews.check(&claimed("a", 1, ReviewBy::Auto), 1, None).is_err());
        let begun = [claimed("a", 1, ReviewBy::Auto), child("a")];
        take(&mut reviews, &begun).unwrap();
        assert!(reviews.check(&child("a"), 1, Some(1)).is_err());
        assert!(reviews.check(&changed("a", 0), 1, Some(1)).is_err());
        take(&mut reviews, &[settled("a", false, None), changed("a", 0)]).unwrap();
        assert!(reviews.check(&changed("a", 1), 1, Some(1)).is_err());
        let info = reviews.get(&"a".into()).unwrap().info().unwrap();
        assert_eq!((info.items[0].state, info.settled_at), (ReviewItemState::Dismissed, 7));
        assert_eq!(info.child_session_id, Some("k".into()));
    }
}
