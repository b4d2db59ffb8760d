//! The model that needs no network and no key: it searches the workspace and answers with what it found.
//!
//! It keeps nothing between requests. A request is read (`turn`, `question`), the next step is decided
//! (`plan`), and the step is said as chunks (`reply`): calls of the real tools, or the answer. A question
//! about identifiers is answered by their definitions (`definition`, `rank`), one in prose by passages
//! (`passages`). All that is quoted was read out of a tool's result (`results`). As a child agent with a role it
//! hands in a packet instead of an answer (`child`).

mod answer;
mod child;
mod definition;
mod language;
mod passages;
mod place;
mod plan;
mod question;
mod rank;
mod reply;
mod results;
#[cfg(test)]
mod tests;
mod turn;
mod words;

use std::collections::BTreeSet;
use std::sync::Arc;

use dsh_agent::evidence::Evidence;
use dsh_agent::files::Search;
use dsh_llm::adapter::{Adapter, Chunks, Offer, Request, failure};
use dsh_protocol::content::{Chunk, FinishReason};
use dsh_protocol::params::model::Modality;
use futures_util::{StreamExt, stream};
use regex::Regex;
use tokio_util::sync::CancellationToken;

use child::Child;
use plan::Plan;
use question::Question;
use turn::Turn;

/// Answers questions about the workspace by searching it.
pub(crate) struct Retrieval {
    search: Arc<dyn Search>,
    evidence: Option<Arc<dyn Evidence>>,
}

impl Retrieval {
    /// An adapter over one workspace. Without `evidence` it reviews nothing, and says so.
    pub(crate) fn new(search: Arc<dyn Search>, evidence: Option<Arc<dyn Evidence>>) -> Self {
        Self { search, evidence }
    }
}

impl Adapter for Retrieval {
    fn provider(&self) -> &str {
        "offline"
    }

    fn offers(&self) -> Vec<Offer> {
        vec![Offer {
            model: "retrieval".to_owned(),
            context_window: None,
            input: vec![Modality::Text],
        }]
    }

    fn stream(&self, request: Request, cancel: CancellationToken) -> Chunks {
        let (search, evidence) = (Arc::clone(&self.search), self.evidence.clone());
        let answering = async move {
            tokio::select! {
                biased;
                () = cancel.cancelled() => vec![aborted()],
                chunks = answer_to(&search, evidence.as_ref(), &request, &cancel) => chunks,
            }
        };
        Box::pin(stream::once(answering).map(stream::iter).flatten())
    }
}

async fn answer_to(
    search: &Arc<dyn Search>,
    evidence: Option<&Arc<dyn Evidence>>,
    request: &Request,
    cancel: &CancellationToken,
) -> Vec<Chunk> {
    let turn = Turn::of(&request.messages);
    let offered = request.header.tools.as_deref().unwrap_or_default();
    let tools: BTreeSet<&str> = offered.iter().map(|tool| tool.name.as_str()).collect();
    if let Some(role) = child::role(offered) {
        let messages = &request.messages;
        let child = Child { role, messages, turn: &turn, tools, search, evidence, cancel };
        return reply::chunks(&child.next().await, request);
    }
    let question = Question::read(&turn.prompt, &turn.earlier);
    let plan = Plan { search, turn: &turn, question: &question, tools, cancel };
    reply::chunks(&plan.next().await, request)
}

fn aborted() -> Chunk {
    let error = failure("ABORTED", "the request was cancelled");
    Chunk::Finish { reason: FinishReason::Aborted, error: Some(error) }
}

/// A pattern that is a constant of this module.
#[expect(
    clippy::expect_used,
    reason = "the patterns are constants, and the tests compile each of them"
)]
fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a constant pattern")
}
