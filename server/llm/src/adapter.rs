//! What an adapter is given and what it must do.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use dsh_protocol::content::{Chunk, ModelFailure};
use dsh_protocol::ids::SessionId;
use dsh_protocol::message::Message;
use dsh_protocol::params::model::Modality;
use dsh_protocol::session::Header;
use futures_util::Stream;
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

/// A model's answer, piece by piece.
pub type Chunks = Pin<Box<dyn Stream<Item = Chunk> + Send>>;

/// What a model is asked.
#[derive(Clone, Debug)]
pub struct Request {
    /// The session on whose behalf it is asked.
    pub session_id: SessionId,
    /// The turn, counted from 1.
    pub turn: u64,
    /// The step, counted from 1 in each turn.
    pub step: u64,
    /// The attempt, counted from 1 in each step.
    pub attempt: u64,
    /// What is sent beside the messages.
    pub header: Arc<Header>,
    /// The conversation.
    pub messages: Vec<Arc<Message>>,
    /// The bytes to send, as [`Adapter::body`] made them; absent for adapters that send none.
    pub body: Option<Arc<Vec<u8>>>,
}

/// How often and how long after a failure an adapter's requests are tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Retries of one step at most; 0: none.
    pub max_retries: u32,
    /// The first delay; each further one is twice as long.
    pub min_delay: Duration,
    /// The longest delay, also of those that a provider asks for.
    pub max_delay: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_retries: 5,
            min_delay: Duration::from_millis(500),
            max_delay: Duration::from_secs(10),
        }
    }
}

/// A model that an adapter offers.
#[derive(Clone, Debug, PartialEq)]
pub struct Offer {
    /// The adapter's name of the model.
    pub model: String,
    /// The context window in tokens, where known.
    pub context_window: Option<u64>,
    /// What it accepts.
    pub input: Vec<Modality>,
}

/// What can be listed of a provider.
#[derive(Clone, Debug, PartialEq)]
pub struct Listing {
    /// Its models. Others may exist.
    pub offers: Vec<Offer>,
    /// Why it cannot be asked now, if it cannot.
    pub unready: Option<String>,
}

/// Speaks with one provider of models.
pub trait Adapter: Send + Sync {
    /// The provider's name, the part of a model id before the first `/`.
    fn provider(&self) -> &str;

    /// The models that can be listed. Others may exist.
    fn offers(&self) -> Vec<Offer>;

    /// Why the provider cannot be asked now, if it cannot: a key that is missing, say.
    fn unready(&self) -> Option<String> {
        None
    }

    /// What can be listed, looked up where the provider is a server on this machine that can be asked. Whoever
    /// waits for it sets the limit.
    fn look_up(&self) -> BoxFuture<'_, Listing> {
        let listing = Listing { offers: self.offers(), unready: self.unready() };
        Box::pin(std::future::ready(listing))
    }

    /// The facts of a model, listed or not.
    fn offer(&self, model: &str) -> Offer {
        self.offers().into_iter().find(|offer| offer.model == model).unwrap_or_else(|| Offer {
            model: model.to_owned(),
            context_window: None,
            input: vec![Modality::Text],
        })
    }

    /// What will be sent for a request: the same bytes for the same request, from the request alone, so that
    /// they can be made again from the log. `None` when nothing is sent.
    fn body(&self, request: &Request) -> Option<Vec<u8>> {
        let _ = request;
        None
    }

    /// How failed requests are tried again.
    fn retry_policy(&self) -> RetryPolicy {
        RetryPolicy::default()
    }

    /// Asks. The stream should stop soon after `cancel`; a failure is its last chunk.
    fn stream(&self, request: Request, cancel: CancellationToken) -> Chunks;
}

/// A failure without details of a provider.
pub fn failure(code: &str, message: impl Into<String>) -> ModelFailure {
    ModelFailure {
        message: message.into(),
        code: code.to_owned(),
        status: None,
        provider_retry_after_ms: None,
        request_id: None,
    }
}
