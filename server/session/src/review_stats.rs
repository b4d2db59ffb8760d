//! What reviews have come to and what they have cost, from the logs of a folder alone.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use dsh_protocol::content::Usage;
use dsh_protocol::event::EventData;
use dsh_protocol::review::{ReviewBy, ReviewItemState, ReviewStatus};

use crate::jsonl::pick_from;
use crate::reviews::{Review, ReviewState, Reviews};
use crate::store::StoreError;

/// Sums over reviews.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Reviews that began and count; those that were released do not.
    pub reviews: u64,
    /// Those that found something that matters.
    pub updates: u64,
    /// Those that found nothing that matters.
    pub no_updates: u64,
    /// Those without a packet.
    pub failed: u64,
    /// Those that somebody cancelled.
    pub cancelled: u64,
    /// Those that run, or that a crash left and nobody has taken up.
    pub open: u64,
    /// Attempts that were released.
    pub released: u64,
    /// Those of which the session's model was told.
    pub published: u64,
    /// What was found.
    pub items: u64,
    /// Items that a person took for right.
    pub accepted: u64,
    /// Items that a person set aside.
    pub dismissed: u64,
    /// Tokens that reviewers read, those of caches included, as their providers count them.
    pub input_tokens: u64,
    /// Tokens that reviewers wrote.
    pub output_tokens: u64,
    /// How long those took that came out, in milliseconds.
    pub duration_ms: u64,
}

/// The sums of one folder.
#[derive(Debug, Default)]
pub struct ReviewStats {
    /// The sessions that were reviewed.
    pub sessions: u64,
    /// Reviews that the runtime began.
    pub automatic: Sums,
    /// Reviews that a person asked for.
    pub by_person: Sums,
    /// Logs that cannot be read, and why.
    pub unreadable: BTreeMap<PathBuf, String>,
}

impl ReviewStats {
    /// Reads these logs, which lie in one folder. Changes nothing. Blocks.
    pub fn of(logs: &[PathBuf]) -> Self {
        let mut stats = Self::default();
        for log in logs {
            match reviews(log) {
                Ok(reviews) => stats.add(log, &reviews),
                Err(error) => {
                    stats.unreadable.insert(log.clone(), error.to_string());
                }
            }
        }
        stats
    }

    fn add(&mut self, log: &Path, reviews: &Reviews) {
        self.sessions += u64::from(reviews.iter().next().is_some());
        for review in reviews.iter() {
            let sums = match review.by {
                ReviewBy::Auto => &mut self.automatic,
                ReviewBy::User => &mut self.by_person,
            };
            sums.add(review);
            let child = review.child.as_ref().map_or(review.id.as_str(), |child| child.as_str());
            // A child that never came to be, or whose log somebody deleted, has cost nothing that is known.
            for usage in used(&log.with_file_name(format!("{child}.jsonl"))).unwrap_or_default() {
                let cached = [usage.cache_read_tokens, usage.cache_write_tokens];
                sums.input_tokens += usage.input_tokens + cached.iter().flatten().sum::<u64>();
                sums.output_tokens += usage.output_tokens;
            }
        }
    }
}

impl Sums {
    fn add(&mut self, review: &Review) {
        let settled = match &review.state {
            ReviewState::Released(_) => {
                self.released += 1;
                return;
            }
            ReviewState::Open => {
                self.reviews += 1;
                self.open += 1;
                return;
            }
            ReviewState::Settled(settled) => settled,
        };
        self.reviews += 1;
        *match settled.status {
            ReviewStatus::Update => &mut self.updates,
            ReviewStatus::NoUpdate => &mut self.no_updates,
            ReviewStatus::Failed => &mut self.failed,
            ReviewStatus::Cancelled => &mut self.cancelled,
        } += 1;
        self.published += u64::from(settled.published);
        let stands = |wanted| settled.items.iter().filter(|(_, state)| *state == wanted).count();
        self.items += settled.items.len() as u64;
        self.accepted += stands(ReviewItemState::Accepted) as u64;
        self.dismissed += stands(ReviewItemState::Dismissed) as u64;
        self.duration_ms += settled.at.saturating_sub(review.claimed_at);
    }
}

/// A log's own reviews. What it inherited was counted where it happened.
fn reviews(log: &Path) -> Result<Reviews, StoreError> {
    let (header, events) = pick_from(log, Reviews::TYPES)?;
    let first = header.seed_length.unwrap_or_default();
    Ok(Reviews::of(events.iter().filter(|event| event.seq >= first)))
}

/// The tokens of each of a log's own answers.
fn used(log: &Path) -> Result<Vec<Usage>, StoreError> {
    let (header, events) = pick_from(log, &["assistant/message"])?;
    let first = header.seed_length.unwrap_or_default();
    let own = events.into_iter().filter(|event| event.seq >= first);
    let usage = |data| {
        let EventData::AssistantMessage(answer) = data else { return None };
        answer.usage
    };
    Ok(own.filter_map(|event| usage(event.data)).collect())
}
