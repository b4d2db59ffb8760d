//! What a model was sent, made again from the log.

use std::sync::Arc;

use dsh_llm::adapter::Request;
use dsh_llm::models::Models;
use dsh_protocol::event::{Event, EventData, ModelRequest};
use dsh_protocol::session::Header;
use dsh_session::fold::{Fold, Violation};
use dsh_session::log::Log;
use sha2::{Digest, Sha256};

/// Which request is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// The turn, counted from 1.
    pub turn: u64,
    /// The step, counted from 1 in each turn.
    pub step: u64,
    /// The attempt, counted from 1 in each step; `None`: the last one.
    pub attempt: Option<u64>,
}

/// A request as it was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rebuilt {
    /// The provider that was asked.
    pub provider: String,
    /// The model that was asked.
    pub model: String,
    /// The body.
    pub body: Vec<u8>,
    /// Whether these are the very bytes that were sent, by their logged digest.
    pub exact: bool,
}

/// Why a request cannot be made again.
#[derive(Debug, thiserror::Error)]
pub enum RebuildError {
    /// The log has no such request.
    #[error(
        "the log has no such request; requests are logged for models that are asked over the network"
    )]
    NotFound,
    /// The provider's adapter is not mounted.
    #[error("no adapter serves the provider `{0}` any more")]
    NoAdapter(String),
    /// The log breaks its rules.
    #[error(transparent)]
    Damaged(#[from] Violation),
}

/// The digest under which a body is logged.
pub(crate) fn digest(body: &[u8]) -> String {
    use std::fmt::Write as _;
    Sha256::digest(body).iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// Makes a request again from the events before it, and from nothing else.
pub fn rebuild(log: &Log, models: &Models, which: Attempt) -> Result<Rebuilt, RebuildError> {
    let events = log.page(-1, usize::MAX, |_| true).events;
    let (at, sent) = find(&events, which).ok_or(RebuildError::NotFound)?;
    let fold = Fold::of(events.iter().take(at).map(AsRef::as_ref))?;
    let header: Header = fold.header.clone().ok_or(RebuildError::NotFound)?;
    let adapter = models
        .adapter(&header.provider)
        .ok_or_else(|| RebuildError::NoAdapter(header.provider.clone()))?;
    let request = Request {
        session_id: log.header().id.clone(),
        turn: sent.turn,
        step: sent.step,
        attempt: sent.attempt,
        header: Arc::new(header),
        messages: fold.surface.messages(),
        body: None,
    };
    let body = adapter.body(&request).ok_or(RebuildError::NotFound)?;
    let exact = digest(&body) == sent.sha256;
    let Header { provider, model, .. } = Header::clone(&request.header);
    Ok(Rebuilt { provider, model, body, exact })
}

/// The event of a request and its place.
fn find(events: &[Arc<Event>], which: Attempt) -> Option<(usize, &ModelRequest)> {
    events.iter().enumerate().rev().find_map(|(at, event)| {
        let EventData::ModelRequest(sent) = &event.data else { return None };
        let meant = (sent.turn, sent.step) == (which.turn, which.step)
            && which.attempt.is_none_or(|attempt| attempt == sent.attempt);
        meant.then_some((at, sent))
    })
}
