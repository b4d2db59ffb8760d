//! Rounds of child agents and reviews that a person asks for: the `deliberation` service.

use dsh_kernel::service::Key;
use dsh_protocol::deliberation::{BranchRequest, DeliberationContext};
use dsh_protocol::ids::{ReviewId, RoundId};
use dsh_session::store::BoxFuture;

use crate::agent::{Agent, CommandError};

/// The service's name.
pub const DELIBERATION: Key<dyn Deliberation> = Key::new("deliberation");

/// A round that a person asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoundRequest {
    /// The question to decide.
    pub goal: String,
    /// The present answer.
    pub incumbent: String,
    /// What all branches are told.
    pub context: DeliberationContext,
    /// The branches.
    pub branches: Vec<BranchRequest>,
    /// Whether the packets join the session's inbox as one notice, which wakes nobody.
    pub publish: bool,
}

/// Why a round did not begin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RoundError {
    /// Something about the request is wrong; nothing was started.
    #[error("{0}")]
    Invalid(String),
    /// The session runs a turn.
    #[error("the session runs a turn; deliberate when it rests")]
    OpenTurn,
    /// No round can be run now.
    #[error("{0}")]
    Unavailable(String),
    /// The session's log did not take it.
    #[error(transparent)]
    Command(#[from] CommandError),
}

/// Why a review did not begin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReviewError {
    /// The session runs a turn.
    #[error("the session runs a turn; review it when it rests")]
    OpenTurn,
    /// There is nothing to review.
    #[error("the session has no completed turn to review")]
    NoTurn,
    /// No review can be run now.
    #[error("{0}")]
    Unavailable(String),
    /// The session's log did not take it.
    #[error(transparent)]
    Command(#[from] CommandError),
}

/// Runs rounds and reviews, and cancels rounds.
pub trait Deliberation: Send + Sync {
    /// Begins a round over an idle session; returns when it stands in the session's log.
    fn start(
        &self,
        agent: Agent,
        request: RoundRequest,
    ) -> BoxFuture<'static, Result<RoundId, RoundError>>;

    /// Cancels a round or one branch of it. What has come out already stays. Whether there was such a round.
    fn cancel(&self, round: &RoundId, label: Option<&str>) -> bool;

    /// Begins a review of the last completed turn of an idle session; returns when it stands in the session's
    /// log. With `publish`, what it finds joins the session's inbox, which wakes nobody.
    fn review(
        &self,
        agent: Agent,
        publish: bool,
    ) -> BoxFuture<'static, Result<ReviewId, ReviewError>>;
}
