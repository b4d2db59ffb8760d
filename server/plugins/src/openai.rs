//! Rows `llm-deepseek`, `llm-openai`, `llm-local` and any other provider of the chat-completions API.
//!
//! A request becomes bytes (`body`), the bytes of an answer become events (`dsh_llm::sse`) and these become chunks
//! (`decode`); all three are pure. The conversation over the network is `exchange`. How providers differ is
//! a table (`dialect`), and what a row says is `config`.

mod body;
mod config;
mod decode;
mod dialect;
mod exchange;
mod failure;
mod listing;

use std::sync::Arc;

use dsh_agent::host::HOST;
use dsh_kernel::Context;
use dsh_kernel::config::ConfigSpec;
use dsh_kernel::plugin::{Plugin, StartError, read_config};
use dsh_llm::adapter::{Adapter, Chunks, Listing, Offer, Request, RetryPolicy};
use dsh_llm::credentials::{CREDENTIALS, Credentials, Environment};
use dsh_llm::http::Transport;
use dsh_llm::http::proxy::Proxies;
use dsh_llm::models::LLM;
use dsh_protocol::params::model::Modality;
use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use config::{Config, Preset};
use exchange::{Exchange, Provider};

pub(crate) const PLUGIN: Plugin = Plugin {
    inject: INJECT,
    config: ConfigSpec::of::<Config>().and(|config| config::problems(config, ANY)),
    ..Plugin::new("openai-compatible", |context, config| start(context, config, ANY))
};
pub(crate) const DEEPSEEK: Plugin = Plugin {
    inject: INJECT,
    config: ConfigSpec::of::<Config>().and(|config| config::problems(config, OF_DEEPSEEK)),
    ..Plugin::new("llm-deepseek", |context, config| start(context, config, OF_DEEPSEEK))
};
pub(crate) const LOCAL: Plugin = Plugin {
    inject: INJECT,
    config: ConfigSpec::of::<Config>().and(|config| config::problems(config, OF_LOCAL)),
    ..Plugin::new("llm-local", |context, config| start(context, config, OF_LOCAL))
};
pub(crate) const OPENAI: Plugin = Plugin {
    inject: INJECT,
    config: ConfigSpec::of::<Config>().and(|config| config::problems(config, OF_OPENAI)),
    ..Plugin::new("llm-openai", |context, config| start(context, config, OF_OPENAI))
};

const INJECT: &[&str] = &["host", "llm", "credentials"];

const ANY: Preset = Preset { provider: None, dialect: "openai" };
const OF_DEEPSEEK: Preset = Preset { provider: Some("deepseek"), dialect: "deepseek" };
const OF_LOCAL: Preset = Preset { provider: Some("local"), dialect: "ollama" };
const OF_OPENAI: Preset = Preset { provider: Some("openai"), dialect: "openai" };

fn start(
    context: Context,
    config: Value,
    preset: Preset,
) -> BoxFuture<'static, Result<(), StartError>> {
    Box::pin(async move {
        let config: Config = read_config(config)?;
        let (host, credentials) = (context.get(&HOST)?, context.get(&CREDENTIALS)?);
        let surroundings = Surroundings {
            credentials,
            environment: &*host.environment,
            proxies: Proxies::of_system(),
        };
        let adapter = Compatible::new(&config, preset, surroundings)?;
        context.keep(context.get(&LLM)?.register(Arc::new(adapter))?)?;
        Ok(())
    })
}

/// What is around a provider and not in its row.
struct Surroundings<'a> {
    credentials: Arc<dyn Credentials>,
    environment: &'a dyn Environment,
    proxies: Proxies,
}

/// A provider of the chat-completions API.
struct Compatible {
    provider: Arc<Provider>,
    offers: Vec<Offer>,
    retry: RetryPolicy,
}

impl Compatible {
    fn new(config: &Config, preset: Preset, around: Surroundings<'_>) -> Result<Self, StartError> {
        let name = config.provider(preset)?;
        let dialect = config.dialect(preset)?;
        let patience = config.patience()?;
        let place = config.place(dialect, around.environment)?;
        let provider = Provider {
            name: name.as_str().into(),
            dialect,
            transport: place.map(|address| Transport::new(address, patience, around.proxies)),
            key: config.api_key.clone(),
            credentials: around.credentials,
        };
        Ok(Self { provider: Arc::new(provider), offers: config.offers()?, retry: config.retry()? })
    }
}

impl Adapter for Compatible {
    fn provider(&self) -> &str {
        &self.provider.name
    }

    fn offers(&self) -> Vec<Offer> {
        self.offers.clone()
    }

    fn unready(&self) -> Option<String> {
        if let Err(why) = &self.provider.transport {
            return Some(why.clone());
        }
        self.provider.secret().err().map(|error| error.to_string())
    }

    fn look_up(&self) -> BoxFuture<'_, Listing> {
        Box::pin(async {
            let mut listing = Listing { offers: self.offers(), unready: self.unready() };
            if listing.unready.is_none() && self.provider.dialect.lists_models {
                match listing::ask(&self.provider).await {
                    Ok(found) => listing::add(&mut listing.offers, found),
                    Err(why) => listing.unready = Some(why.message),
                }
            }
            listing
        })
    }

    fn body(&self, request: &Request) -> Option<Vec<u8>> {
        let images = self.offer(&request.header.model).input.contains(&Modality::Image);
        body::bytes(request, self.provider.dialect, images)
    }

    fn retry_policy(&self) -> RetryPolicy {
        self.retry
    }

    fn stream(&self, request: Request, cancel: CancellationToken) -> Chunks {
        let body = request.body.clone().or_else(|| self.body(&request).map(Arc::new));
        let context_window = self.offer(&request.header.model).context_window;
        let provider = Arc::clone(&self.provider);
        Exchange::new(provider, &request, body.unwrap_or_default(), context_window).chunks(cancel)
    }
}

#[cfg(test)]
mod tests;
