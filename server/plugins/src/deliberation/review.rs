//! Masked reviews of a turn: automatic ones before a turn ends, and those that a person asks for. Each is one child
//! agent that reads what was done without the reasoning that led to it.
//!
//! A review stands in the session's log from its claim to its settlement, so that a turn is reviewed once and what a
//! child found is not lost when the server stops in between (`review/left.rs`).

use std::sync::Arc;

use dsh_agent::agent::Agent;
use dsh_agent::subagents::provider::Capability;
use dsh_agent::subagents::request::{History, Window};
use dsh_protocol::deliberation::{BranchRole, Packet};
use dsh_protocol::event::{EventData, ReviewChild, ReviewClaimed, ReviewReleased, ReviewSettled};
use dsh_protocol::ids::{ReviewId, SessionId};
use dsh_protocol::review::{ReleaseReason, ReviewBy, ReviewReason, ReviewStatus};
use serde_json::json;
use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;

use super::child::{Asking, Brief, Finished, NotStarted, Span};
use super::config::{CapabilityProfile, NAME};
use super::outcome::Verdict;
use super::prompts;
use super::round::{Services, debug};
use super::running::{Entry, Running};

mod automatic;
pub(super) mod command;
mod guard;
mod left;
mod notice;
mod person;
mod readiness;
mod skip;

pub(super) use automatic::listen;

/// The provider, the route and the capability profile of reviews where the configuration names none.
const PROVIDER: &str = "mid-fork-current-turn";
const ROUTE: &str = "same";
const CAPABILITY: &str = "read-only";

/// What a capability profile of that name allows where the configuration has none.
const READ_ONLY: [&str; 3] = ["read", "grep", "glob"];

/// Runs reviews.
pub(super) struct Reviews {
    services: Arc<Services>,
    readiness: readiness::Readiness,
    running: Running<ReviewId, ()>,
}

/// One review.
#[derive(Clone)]
struct Review {
    agent: Agent,
    id: ReviewId,
    turn: u64,
    by: ReviewBy,
    /// Whether a person wants the model to be told of an update.
    publish: bool,
    draft_seq: Option<u64>,
    cancel: CancellationToken,
}

/// How a child's work came out.
enum Examined {
    /// It does not count.
    Released(ReleaseReason),
    Packet(Packet),
    Failed(ReviewReason),
    Cancelled,
}

impl Review {
    fn claimed(&self, config_hash: String) -> EventData {
        EventData::ReviewClaimed(ReviewClaimed {
            review_id: self.id.clone(),
            turn: self.turn,
            by: self.by,
            config_hash,
            publish: self.publish.then_some(true),
            draft_seq: self.draft_seq,
        })
    }

    fn released(&self, reason: ReleaseReason) -> EventData {
        let (review_id, turn) = (self.id.clone(), self.turn);
        EventData::ReviewReleased(ReviewReleased { review_id, turn, reason })
    }

    fn settled(&self, status: ReviewStatus, reason: Option<ReviewReason>) -> ReviewSettled {
        ReviewSettled {
            review_id: self.id.clone(),
            turn: self.turn,
            status,
            published: false,
            reason,
            items: None,
            draft_seq: self.draft_seq,
        }
    }

    fn settled_with(&self, packet: &Packet, published: bool) -> ReviewSettled {
        let settled = self.settled(notice::status(packet), None);
        ReviewSettled { published, items: packet.items.clone(), ..settled }
    }
}

impl Reviews {
    pub(super) fn new(services: Arc<Services>) -> Self {
        let readiness = readiness::Readiness::new(Arc::clone(&services));
        Self { services, readiness, running: Running::new() }
    }

    /// Cancels the reviews of a session, or all of them, and waits until they have come out.
    pub(super) async fn close(&self, session: Option<&SessionId>) {
        self.running.close(session).await;
    }

    fn new_id(&self) -> ReviewId {
        ReviewId::from((self.services.host.new_id)())
    }

    /// Takes a review for running until the guard goes.
    fn enter(self: &Arc<Self>, review: &Review) -> Entered {
        let (session, cancel) = (review.agent.id().clone(), review.cancel.clone());
        self.running.add(review.id.clone(), Entry { session, cancel, of: () });
        Entered { reviews: Arc::clone(self), id: review.id.clone() }
    }

    fn is_running(&self, id: &ReviewId) -> bool {
        self.running.has(id)
    }

    fn provider(&self) -> &str {
        self.services.config.auto_review.provider.as_deref().unwrap_or(PROVIDER)
    }

    fn profile(&self) -> CapabilityProfile {
        let config = &self.services.config;
        let name = config.auto_review.capability.as_deref().unwrap_or(CAPABILITY);
        config.profile(name).cloned().unwrap_or_else(|| CapabilityProfile {
            name: name.to_owned(),
            description: "Read, grep and glob in the workspace.".to_owned(),
            allow: Some(READ_ONLY.map(str::to_owned).to_vec()),
            deny: None,
        })
    }

    /// Names what a review runs with.
    fn config_hash(&self) -> String {
        let (config, review) = (&self.services.config, &self.services.config.auto_review);
        let profile = self.profile();
        let route = config.route(review.route.as_deref().unwrap_or(ROUTE));
        let words = json!({
            "provider": self.provider(),
            "route": route.map(|it| json!([it.name, it.provider, it.model, it.max_tokens])),
            "capability": [json!(profile.name), json!(profile.allow), json!(profile.deny)],
            "scope": format!("{:?}", review.scope),
            "publish": format!("{:?}", review.publish),
            "timeoutMs": review.timeout_ms,
            "maxDepth": config.max_depth,
        });
        let digest = Sha256::digest(words.to_string().as_bytes());
        let mut first = [0; 8];
        first.copy_from_slice(&digest[..8]);
        format!("{:016x}", u64::from_be_bytes(first))
    }

    /// Starts the child, waits for it, and fixes what came out. Takes at most the configured time and the child's
    /// grace. A review that is dropped takes its child along.
    async fn examine(&self, review: &Review) -> Examined {
        let config = &self.services.config;
        let asking = Asking {
            services: &self.services,
            role: BranchRole::MaskedReview,
            span: Span::of(config.auto_review.timeout_ms),
            cancel: &review.cancel,
        };
        let profile = self.profile();
        let history = match review.by {
            // The provider's own window, which is the open turn.
            ReviewBy::Auto => None,
            ReviewBy::User => Some(History::MidFork(Window::Turn(review.turn))),
        };
        let request = asking.request(Brief {
            parent: review.agent.id().clone(),
            label: format!("masked review: turn {}", review.turn),
            text: prompts::review(review.turn, review.by, &profile),
            history,
            route: config.route(config.auto_review.route.as_deref().unwrap_or(ROUTE)),
            profile: &profile,
            session_id: Some(SessionId::from(review.id.as_str())),
        });
        debug(config, || format!("auto-review-start {}", skip::facts(review)));
        let mut run = match asking.start(self.provider(), request).await {
            Ok(run) => run,
            Err(failure) => return self.not_started(review, &failure),
        };
        let child_session_id = run.child_session_id().clone();
        let child = ReviewChild { review_id: review.id.clone(), child_session_id };
        if let Err(error) = review.agent.record_on_disk(vec![EventData::ReviewChild(child)]).await {
            // The child can be found by its name all the same.
            tracing::warn!(session = %review.agent.id(), %error, "{NAME}: a review's child was not logged");
        }
        let ended = asking.answer(&mut run, |_| {}).await;
        if matches!(ended, super::child::Ended::Rejected) {
            warn("result rejected");
        }
        let Finished { verdict, cleanup, .. } = asking.finish(run, ended.into()).await;
        if cleanup != dsh_protocol::deliberation::Cleanup::Completed {
            warn("cleanup failed");
        }
        self.examined(review, verdict)
    }

    fn examined(&self, review: &Review, verdict: Verdict) -> Examined {
        if review.cancel.is_cancelled() {
            return Examined::Cancelled;
        }
        if let Some(packet) = verdict.packet {
            let status = notice::status(&packet);
            debug(&self.services.config, || format!("auto-review-observed status={status:?}"));
            return Examined::Packet(packet);
        }
        let reason = notice::reason(&verdict.stop_reason);
        if reason == ReviewReason::Timeout {
            warn("timed out");
        } else {
            warn("returned no valid structured packet");
        }
        Examined::Failed(reason)
    }

    /// What a start that failed means. A turn whose attempt does not count may be claimed again; a person is told
    /// at once.
    fn not_started(&self, review: &Review, failure: &NotStarted) -> Examined {
        if matches!(failure, NotStarted::Cancelled) || review.cancel.is_cancelled() {
            return Examined::Cancelled;
        }
        let verdict = Verdict::from(failure);
        let is_gone = !self.readiness.is_ready(review.by);
        let skipped = match failure {
            NotStarted::Refused(error) => skip::reason(error, is_gone),
            NotStarted::Cancelled | NotStarted::TimedOut => None,
        };
        match (skipped, failure) {
            (Some(reason), NotStarted::Refused(error)) => {
                skip::tell(&self.services.config, review, reason, error);
                if review.by == ReviewBy::Auto {
                    return Examined::Released(reason);
                }
            }
            (_, NotStarted::TimedOut) => warn("timed out before publication"),
            (_, NotStarted::Refused(_) | NotStarted::Cancelled) => {
                warn("failed before publication");
            }
        }
        Examined::Failed(notice::reason(&verdict.stop_reason))
    }
}

/// A review that runs.
struct Entered {
    reviews: Arc<Reviews>,
    id: ReviewId,
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.reviews.running.remove(&self.id);
    }
}

/// What a review asks of its provider.
const NEEDED: [Capability; 3] =
    [Capability::OutputSchema, Capability::DepthLimit, Capability::ToolFilter];

/// Fixed words only: what a child or a provider said goes nowhere.
fn warn(what: &str) {
    tracing::warn!("{NAME}: automatic review {what}");
}
