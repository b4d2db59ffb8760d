//! Row `llm-replay`: plays a recorded session as a model, at the pace at which it was recorded. Model ids are
//! `replay/PATH`, where PATH is a session's log file. For tests and bug reports.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use dsh_kernel::Context;
use dsh_kernel::plugin::{Plugin, StartError};
use dsh_llm::adapter::{Adapter, Chunks, Offer, Request, failure};
use dsh_llm::models::LLM;
use dsh_llm::pairing;
use dsh_protocol::content::{Chunk, FinishReason};
use dsh_protocol::event::EventData;
use dsh_session::jsonl;
use futures_util::future::BoxFuture;
use futures_util::{StreamExt, stream};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

pub(crate) const PLUGIN: Plugin = Plugin { inject: &["llm"], ..Plugin::new("llm-replay", start) };

/// The longest pause between two chunks: nobody waits out a recorded lunch break.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

fn start(context: Context, _config: Value) -> BoxFuture<'static, Result<(), StartError>> {
    Box::pin(async move {
        context.keep(context.get(&LLM)?.register(Arc::new(Replay))?)?;
        Ok(())
    })
}

struct Replay;

/// A chunk and how long after the one before it was recorded.
type Paced = (Duration, Chunk);

impl Adapter for Replay {
    fn provider(&self) -> &str {
        "replay"
    }

    fn offers(&self) -> Vec<Offer> {
        Vec::new()
    }

    fn stream(&self, request: Request, _cancel: CancellationToken) -> Chunks {
        let loading = tokio::task::spawn_blocking(move || recorded(&request));
        let chunks = stream::once(async move {
            let chunks =
                loading.await.unwrap_or_else(|error| refusal("UNKNOWN", &error.to_string()));
            stream::iter(chunks)
        });
        Box::pin(chunks.flatten().then(|(pause, chunk)| async move {
            if !pause.is_zero() {
                tokio::time::sleep(pause).await;
            }
            chunk
        }))
    }
}

/// The chunks that were recorded for this attempt of a step, up to its finish. A request that a provider would
/// refuse is refused here as well.
fn recorded(request: &Request) -> Vec<Paced> {
    if let Err(reason) = pairing::check(&request.messages) {
        return refusal("INVALID_REQUEST", &reason);
    }
    let events = match jsonl::read_file(Path::new(&request.header.model)) {
        Ok((_, events)) => events,
        Err(error) => return refusal("REPLAY_UNREADABLE", &error.to_string()),
    };
    let mut chunks = Vec::new();
    let mut before = None;
    let mut attempt = 1;
    for event in events {
        let last = before.replace(event.time).unwrap_or(event.time);
        let EventData::AssistantChunk(recorded) = event.data else { continue };
        if (recorded.turn, recorded.step) != (request.turn, request.step) {
            continue;
        }
        let finished = matches!(recorded.chunk, Chunk::Finish { .. });
        if attempt == request.attempt {
            let pause = Duration::from_millis(event.time.saturating_sub(last)).min(LONGEST_PAUSE);
            chunks.push((pause, recorded.chunk));
            if finished {
                return chunks;
            }
        }
        attempt += u64::from(finished);
    }
    let Request { turn, step, attempt, .. } = request;
    let missing = format!(
        "the recording has no complete answer for turn {turn}, step {step}, attempt {attempt}"
    );
    chunks.extend(refusal("REPLAY_EXHAUSTED", &missing));
    chunks
}

fn refusal(code: &str, message: &str) -> Vec<Paced> {
    let error = Some(failure(code, message));
    vec![(Duration::ZERO, Chunk::Finish { reason: FinishReason::Error, error })]
}
