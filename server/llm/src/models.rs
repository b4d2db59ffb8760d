//! The adapters that are mounted: the `llm` service.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dsh_kernel::registration::Registration;
use dsh_kernel::service::Key;
use dsh_protocol::ids::ModelId;
use dsh_protocol::params::model::ModelInfo;

use crate::adapter::Adapter;

/// The service's name.
pub const LLM: Key<Models> = Key::new("llm");

type Adapters = BTreeMap<String, Arc<dyn Adapter>>;

/// The adapters by provider.
#[derive(Clone, Default)]
pub struct Models {
    adapters: Arc<Mutex<Adapters>>,
}

/// A provider has an adapter already.
#[derive(Debug, thiserror::Error)]
#[error("provider `{0}` has an adapter already")]
pub struct DuplicateAdapter(pub String);

impl Models {
    /// Adds an adapter for as long as the registration is kept.
    pub fn register(&self, adapter: Arc<dyn Adapter>) -> Result<Registration, DuplicateAdapter> {
        let provider = adapter.provider().to_owned();
        let mut adapters = self.lock();
        if adapters.contains_key(&provider) {
            return Err(DuplicateAdapter(provider));
        }
        adapters.insert(provider.clone(), adapter);
        drop(adapters);
        let models = self.clone();
        Ok(Registration::new(move || {
            models.lock().remove(&provider);
        }))
    }

    /// A provider's adapter.
    pub fn adapter(&self, provider: &str) -> Option<Arc<dyn Adapter>> {
        self.lock().get(provider).cloned()
    }

    /// Every model that is offered, by provider and then in the adapter's order.
    pub fn list(&self, default: &ModelId) -> Vec<ModelInfo> {
        let adapters: Vec<_> = self.lock().values().cloned().collect();
        let mut models = Vec::new();
        for adapter in adapters {
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

    fn lock(&self) -> MutexGuard<'_, Adapters> {
        self.adapters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
