//! The adapters that are mounted: the `llm` service.

use std::sync::Arc;

use dsh_kernel::registration::Registration;
use dsh_kernel::registry::{Registry, Taken};
use dsh_kernel::service::Key;
use dsh_protocol::ids::ModelId;
use dsh_protocol::params::model::ModelInfo;

use crate::adapter::Adapter;

/// The service's name.
pub const LLM: Key<Models> = Key::new("llm");

/// The adapters by provider.
#[derive(Clone, Default)]
pub struct Models {
    adapters: Registry<Arc<dyn Adapter>>,
}

impl Models {
    /// Adds an adapter for as long as the registration is kept.
    pub fn register(&self, adapter: Arc<dyn Adapter>) -> Result<Registration, Taken> {
        let provider = adapter.provider().to_owned();
        self.adapters.register(&provider, adapter)
    }

    /// A provider's adapter.
    pub fn adapter(&self, provider: &str) -> Option<Arc<dyn Adapter>> {
        self.adapters.get(provider)
    }

    /// Every model that is offered, by provider and then in the adapter's order.
    pub fn list(&self, default: &ModelId) -> Vec<ModelInfo> {
        let mut models = Vec::new();
        for adapter in self.adapters.all() {
            let reason = adapter.unready();
            for offer in adapter.offers() {
                models.push(ModelInfo {
                    provider: adapter.provider().to_owned(),
                    default: default.provider == adapter.provider() && default.model == offer.model,
                    model: offer.model,
                    context_window: offer.context_window,
                    input: offer.input,
                    ready: reason.is_none(),
                    reason: reason.clone(),
                });
            }
        }
        models
    }
}
