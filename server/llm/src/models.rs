//! The adapters that are mounted: the `llm` service.

use std::sync::Arc;
use std::time::Duration;

use dsh_kernel::registration::Registration;
use dsh_kernel::registry::{Registry, Taken};
use dsh_kernel::service::Key;
use dsh_protocol::ids::ModelId;
use dsh_protocol::params::model::ModelInfo;
use futures_util::future::join_all;

use crate::adapter::{Adapter, Listing};

/// The service's name.
pub const LLM: Key<Models> = Key::new("llm");

/// How long a list waits for servers on this machine; they are asked side by side.
const LOOK_UP: Duration = Duration::from_millis(300);

/// The adapters by provider.
#[derive(Clone, Default)]
pub struct Models {
    adapters: Registry<Arc<dyn Adapter>>,
}

impl Models {
    /// The adapters as they are now, for work that must not see them change.
    pub fn snapshot(&self) -> Self {
        Self { adapters: self.adapters.snapshot() }
    }

    /// Adds an adapter for as long as the registration is kept.
    pub fn register(&self, adapter: Arc<dyn Adapter>) -> Result<Registration, Taken> {
        let provider = adapter.provider().to_owned();
        self.adapters.register(&provider, adapter)
    }

    /// A provider's adapter.
    pub fn adapter(&self, provider: &str) -> Option<Arc<dyn Adapter>> {
        self.adapters.get(provider)
    }

    /// The names of the providers, in order.
    pub fn providers(&self) -> Vec<String> {
        self.adapters.names()
    }

    /// Every model that is offered, by provider and then in the adapter's order. Takes at most 300 ms.
    pub async fn list(&self, default: &ModelId) -> Vec<ModelInfo> {
        let adapters = self.adapters.all();
        let listings = join_all(adapters.iter().map(|adapter| look_up(&**adapter))).await;
        let mut models = Vec::new();
        for (adapter, listing) in adapters.iter().zip(listings) {
            for offer in listing.offers {
                models.push(ModelInfo {
                    provider: adapter.provider().to_owned(),
                    default: default.provider == adapter.provider() && default.model == offer.model,
                    model: offer.model,
                    context_window: offer.context_window,
                    input: offer.input,
                    ready: listing.unready.is_none(),
                    reason: listing.unready.clone(),
                });
            }
        }
        models
    }
}

async fn look_up(adapter: &dyn Adapter) -> Listing {
    let late = || Listing {
        offers: adapter.offers(),
        unready: Some(format!("did not say within {} ms which models it has", LOOK_UP.as_millis())),
    };
    tokio::time::timeout(LOOK_UP, adapter.look_up()).await.unwrap_or_else(|_elapsed| late())
}
