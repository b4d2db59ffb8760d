//! One request to a provider and its answer.

use std::sync::Arc;
use std::time::Duration;

use dsh_llm::adapter::{Chunks, Request, failure};
use dsh_llm::credentials::{CredentialError, Credentials, Secret};
use dsh_llm::http::events::Events;
use dsh_llm::http::{self, Answer, Bytes, KeyHeader, Post, Transport};
use dsh_llm::sse::Event;
use dsh_protocol::content::{Chunk, FinishReason, ModelFailure};
use dsh_protocol::session::Header;
use futures_util::{StreamExt, stream};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::body;
use super::decode::{Asked, Decoder, Flow};
use super::dialect::Dialect;
use super::failure as refusal;

/// How long the cost and the mark of the end may take after the reason of the end: the answer is complete
/// without them.
const AFTER_FINISH: Duration = Duration::from_secs(5);

/// The most of an error's body that is read.
const MAX_ERROR: usize = 64 * 1024;

/// The most of an answer that is not streamed.
const MAX_WHOLE: usize = 8 * 1024 * 1024;

/// White space at the start of an answer beyond which it is taken for a stream.
const MAX_BLANK: usize = 256;

/// The headers in which providers name a request.
const REQUEST_IDS: [&str; 3] = ["x-request-id", "request-id", "x-ds-trace-id"];

/// A provider as it is asked.
pub(super) struct Provider {
    /// Its name.
    pub name: Arc<str>,
    /// How it differs from the others.
    pub dialect: &'static Dialect,
    /// Where it is, or why that is not known.
    pub transport: Result<Transport, String>,
    /// The name of its credential; `None`: it takes none.
    pub key: Option<String>,
    /// Where credentials are found.
    pub credentials: Arc<dyn Credentials>,
}

impl Provider {
    /// The key to send, as it is now.
    pub(super) fn secret(&self) -> Result<Option<Secret>, CredentialError> {
        let Some(name) = &self.key else { return Ok(None) };
        match self.credentials.resolve(name) {
            Err(CredentialError::Missing(_)) if self.dialect.key_optional => Ok(None),
            resolved => resolved.map(Some),
        }
    }
}

/// One request and its answer.
pub(super) struct Exchange {
    provider: Arc<Provider>,
    header: Arc<Header>,
    body: Arc<Vec<u8>>,
    decoder: Decoder,
    stage: Stage,
    /// What must not be repeated in a failure.
    secret: Option<Secret>,
    request_id: Option<String>,
}

enum Stage {
    Ask,
    Read(Box<Events<Bytes>>),
}

/// What a status of success came with.
enum Opened {
    /// A stream of events.
    Events(Bytes),
    /// One JSON text.
    Whole(Bytes),
    /// A page for people.
    Page(Bytes),
}

impl Exchange {
    pub(super) fn new(
        provider: Arc<Provider>,
        request: &Request,
        body: Arc<Vec<u8>>,
        context_window: Option<u64>,
    ) -> Self {
        let asked = Asked {
            provider: Arc::clone(&provider.name),
            dialect: provider.dialect,
            context_window,
            tools: request.header.tools.as_ref().is_some_and(|tools| !tools.is_empty()),
        };
        Self {
            provider,
            header: Arc::clone(&request.header),
            body,
            decoder: Decoder::new(asked),
            stage: Stage::Ask,
            secret: None,
            request_id: None,
        }
    }

    /// The answer. Nothing happens before it is read; a cancel drops the connection.
    pub(super) fn chunks(self, cancel: CancellationToken) -> Chunks {
        let state = Some((Box::new(self), cancel));
        let pieces = stream::unfold(state, |state| async move {
            let (mut exchange, cancel) = state?;
            let mut chunks = Vec::new();
            let flow = tokio::select! {
                biased;
                () = cancel.cancelled() => {
                    chunks.push(aborted());
                    Flow::Over
                }
                flow = exchange.advance(&mut chunks) => flow,
            };
            let next = (flow == Flow::Continue).then_some((exchange, cancel));
            Some((stream::iter(chunks), next))
        });
        Box::pin(pieces.flatten())
    }

    /// Does one thing that waits.
    async fn advance(&mut self, chunks: &mut Vec<Chunk>) -> Flow {
        let flow = match &mut self.stage {
            Stage::Ask => Box::pin(self.open(chunks)).await,
            Stage::Read(events) => {
                let patience =
                    if self.decoder.is_complete() { AFTER_FINISH } else { Duration::MAX };
                match events.next(patience).await {
                    Ok(Some(event)) => self.decoder.event(&event, chunks),
                    Ok(None) => self.decoder.end(chunks),
                    Err(failure) => self.decoder.fail(failure, chunks),
                }
            }
        };
        if let Some(Chunk::Finish { error: Some(error), .. }) = chunks.last_mut() {
            self.complete_failure(error);
        }
        flow
    }

    /// Sends the request and looks at what kind of answer begins.
    async fn open(&mut self, chunks: &mut Vec<Chunk>) -> Flow {
        let opened = match self.ask().await {
            Ok(opened) => opened,
            Err(failure) => return self.decoder.fail(failure, chunks),
        };
        match opened {
            Opened::Events(bytes) => {
                self.stage = Stage::Read(Box::new(Events::new(bytes, self.idle())));
                Flow::Continue
            }
            Opened::Whole(bytes) => {
                let whole = http::beginning(bytes, MAX_WHOLE, self.idle()).await;
                self.whole(&whole, chunks)
            }
            Opened::Page(bytes) => {
                let page = http::beginning(bytes, MAX_ERROR, self.idle()).await;
                self.decoder.fail(refusal::of_page(&self.provider.name, &page), chunks)
            }
        }
    }

    async fn ask(&mut self) -> Result<Opened, ModelFailure> {
        let provider = Arc::clone(&self.provider);
        let invalid = |code: &str, why: &str| failure(code, format!("{}: {why}", provider.name));
        if body::effort_members(&self.header, provider.dialect).is_none() {
            return Err(invalid("UNSUPPORTED_REASONING_EFFORT", &unknown_effort(provider.dialect)));
        }
        let transport =
            provider.transport.as_ref().map_err(|why| invalid("INVALID_BASE_URL", why))?;
        self.secret = provider.secret().map_err(|error| match error {
            CredentialError::Missing(_) => invalid("AUTH", &error.to_string()),
            CredentialError::Invalid(_) | CredentialError::File(_) | CredentialError::NotKept => {
                invalid("INVALID_CREDENTIAL", &error.to_string())
            }
        })?;
        let key = self.secret.as_ref();
        let post = Post {
            path: "chat/completions",
            key: key.map(|secret| KeyHeader { name: "authorization", prefix: "Bearer ", secret }),
            headers: &[("accept", "text/event-stream")],
            body: &self.body,
        };
        let answer = transport.post(post).await?;
        self.request_id =
            REQUEST_IDS.iter().find_map(|name| answer.header(name)).map(str::to_owned);
        if (200..300).contains(&answer.status()) {
            return opened(answer.bytes(), transport.patience().idle).await;
        }
        Err(refused(&provider.name, answer, transport.patience().idle).await)
    }

    /// An answer in one piece: an error, or the whole message of a server that does not stream.
    fn whole(&mut self, body: &[u8], chunks: &mut Vec<Chunk>) -> Flow {
        let data = match serde_json::from_slice(body) {
            // Some put an error into a list.
            Ok(Value::Array(list)) => list.into_iter().next(),
            Ok(data) => Some(data),
            Err(_) => None,
        };
        let known = data.filter(|data| data.get("choices").or(data.get("error")).is_some());
        let Some(data) = known else {
            return self.decoder.fail(refusal::of_page(&self.provider.name, body), chunks);
        };
        let event = Event { name: String::new(), data: data.to_string(), terminated: true };
        match self.decoder.event(&event, chunks) {
            Flow::Over => Flow::Over,
            Flow::Continue => self.decoder.end(chunks),
        }
    }

    fn idle(&self) -> Duration {
        self.provider
            .transport
            .as_ref()
            .map_or(Duration::ZERO, |transport| transport.patience().idle)
    }

    /// Names the request in a failure, and takes the key out of it: some providers repeat it.
    fn complete_failure(&self, failure: &mut ModelFailure) {
        if let Some(secret) = &self.secret {
            failure.message = secret.redact(&failure.message);
        }
        failure.message = refusal::short(&failure.message);
        failure.request_id = failure.request_id.take().or_else(|| self.request_id.clone());
    }
}

async fn refused(provider: &str, answer: Answer, idle: Duration) -> ModelFailure {
    let (status, retry_after) = (answer.status(), answer.retry_after_ms());
    let body = http::beginning(answer.bytes(), MAX_ERROR, idle).await;
    refusal::of_status(provider, status, &body, retry_after)
}

/// Tells by its first character what a body is: the type that servers and proxies declare is often wrong.
async fn opened(mut bytes: Bytes, idle: Duration) -> Result<Opened, ModelFailure> {
    let mut begun: Vec<u8> = Vec::new();
    let first = loop {
        let text = begun.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&begun).trim_ascii_start();
        let undecided = text.is_empty() || b"\xEF\xBB".starts_with(&begun);
        if !undecided || begun.len() > MAX_BLANK {
            break text.first().copied();
        }
        let next = tokio::time::timeout(idle, bytes.next()).await;
        match next.map_err(|_elapsed| silent(idle))? {
            Some(piece) => begun.extend_from_slice(&piece?),
            None => break None,
        }
    };
    let whole = stream::iter([Ok(Arc::from(begun))]).chain(bytes).boxed();
    Ok(match first {
        Some(b'<') => Opened::Page(whole),
        Some(b'{' | b'[') => Opened::Whole(whole),
        Some(_) | None => Opened::Events(whole),
    })
}

fn silent(idle: Duration) -> ModelFailure {
    failure("TIMEOUT", format!("the model sent nothing for {} s", idle.as_secs_f64()))
}

fn unknown_effort(dialect: &Dialect) -> String {
    let known: Vec<_> = dialect.efforts.iter().map(|(effort, _)| *effort).collect();
    format!("reasoning effort must be one of {}", known.join(", "))
}

fn aborted() -> Chunk {
    let error = failure("ABORTED", "the request was cancelled");
    Chunk::Finish { reason: FinishReason::Aborted, error: Some(error) }
}

#[cfg(test)]
mod tests;
