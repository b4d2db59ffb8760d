//! What a row says of its provider.

use std::collections::BTreeSet;
use std::time::Duration;

use dsh_kernel::config::ConfigProblem;
use dsh_kernel::plugin::read_config;
use dsh_llm::adapter::{Offer, RetryPolicy};
use dsh_llm::credentials::{Environment, ProcessEnvironment};
use dsh_llm::http::Patience;
use dsh_llm::http::address::Address;
use dsh_protocol::params::model::Modality;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::dialect::{self, Dialect};

/// Longer waits than a day are a slip of the pen.
const LONGEST_MS: u64 = 24 * 60 * 60 * 1000;

/// A row's configuration.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Config {
    /// The part of a model id before the first `/`.
    pub provider: Option<String>,
    /// Where it is asked. Absent: the dialect's variable, then the dialect's own address.
    base_url: Option<String>,
    /// The name of the credential. Absent: no key is sent.
    pub api_key: Option<String>,
    /// How it differs from the others: `deepseek`, `llama-cpp`, `ollama`, `openai`, `openrouter` or `vllm`.
    dialect: Option<String>,
    /// The models that are listed.
    #[serde(default)]
    models: Vec<ModelConfig>,
    /// How long a connection may take, in milliseconds.
    #[serde(default = "connect_timeout_ms")]
    connect_timeout_ms: u64,
    /// How long it may be silent, in milliseconds.
    #[serde(default = "idle_timeout_ms")]
    idle_timeout_ms: u64,
    /// How failed requests are tried again.
    #[serde(default)]
    retry: RetryConfig,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ModelConfig {
    /// Its name at the provider.
    id: String,
    /// How many tokens it takes in.
    context_window: Option<u64>,
    /// What may be sent to it; text alone unless said.
    input: Option<Vec<Modality>>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RetryConfig {
    /// How often at most; 5 unless said, 0 for never.
    max_retries: Option<u32>,
    /// The first wait in milliseconds, doubled each time; 500 unless said.
    min_delay_ms: Option<u64>,
    /// The longest wait in milliseconds; 10,000 unless said.
    max_delay_ms: Option<u64>,
}

fn connect_timeout_ms() -> u64 {
    10_000
}

fn idle_timeout_ms() -> u64 {
    300_000
}

/// What a row's name stands for when its configuration does not say it.
#[derive(Clone, Copy)]
pub(super) struct Preset {
    /// The provider.
    pub provider: Option<&'static str>,
    /// The dialect.
    pub dialect: &'static str,
}

/// Where to ask, or why that is not known: a variable that holds no address must not cost the person the row.
pub(super) type Place = Result<Address, String>;

impl Config {
    pub(super) fn provider(&self, preset: Preset) -> Result<String, ConfigProblem> {
        let provider = self.provider.as_deref().or(preset.provider);
        let named = provider.filter(|name| !name.trim().is_empty() && !name.contains('/'));
        let wrong = || wrong("provider", "a name without `/`");
        named.map(str::to_owned).ok_or_else(wrong)
    }

    pub(super) fn dialect(&self, preset: Preset) -> Result<&'static Dialect, ConfigProblem> {
        let known = || wrong("dialect", &format!("one of {}", dialect::names()));
        dialect::named(self.dialect.as_deref().unwrap_or(preset.dialect)).ok_or_else(known)
    }

    pub(super) fn place(
        &self,
        dialect: &Dialect,
        environment: &dyn Environment,
    ) -> Result<Place, ConfigProblem> {
        if let Some(text) = &self.base_url {
            let address = Address::parse(text, dialect.path);
            return address
                .map(Ok)
                .map_err(|error| ConfigProblem::new("baseUrl", error.to_string()));
        }
        let variable = dialect.base_url_variable.and_then(|name| {
            let value = environment.variable(name)?.into_string().unwrap_or_default();
            (!value.trim().is_empty()).then_some((name, value))
        });
        if let Some((name, text)) = variable {
            let address = Address::parse(&text, dialect.path);
            return Ok(address.map_err(|error| format!("{name}: {error}")));
        }
        let own = dialect.base_url.ok_or_else(|| wrong("baseUrl", "an address"))?;
        Ok(Address::parse(own, dialect.path).map_err(|error| error.to_string()))
    }

    pub(super) fn patience(&self) -> Result<Patience, ConfigProblem> {
        Ok(Patience {
            connect: wait("connectTimeoutMs", self.connect_timeout_ms)?,
            idle: wait("idleTimeoutMs", self.idle_timeout_ms)?,
        })
    }

    pub(super) fn retry(&self) -> Result<RetryPolicy, ConfigProblem> {
        let usual = RetryPolicy::default();
        let min = self.retry.min_delay_ms.map(|ms| wait("retry.minDelayMs", ms)).transpose()?;
        let max = self.retry.max_delay_ms.map(|ms| wait("retry.maxDelayMs", ms)).transpose()?;
        let max_delay = max.unwrap_or(usual.max_delay.max(min.unwrap_or_default()));
        let min_delay = min.unwrap_or(usual.min_delay.min(max_delay));
        if min_delay > max_delay {
            return Err(wrong("retry.minDelayMs", "at most retry.maxDelayMs"));
        }
        let max_retries = self.retry.max_retries.unwrap_or(usual.max_retries);
        Ok(RetryPolicy { max_retries, min_delay, max_delay })
    }

    pub(super) fn offers(&self) -> Result<Vec<Offer>, ConfigProblem> {
        let mut ids = BTreeSet::new();
        for model in &self.models {
            if model.id.trim().is_empty() || !ids.insert(&model.id) {
                return Err(wrong("models", "models with an id each, and no id twice"));
            }
        }
        let offer = |model: &ModelConfig| Offer {
            model: model.id.clone(),
            context_window: model.context_window,
            input: model.input.clone().unwrap_or_else(|| vec![Modality::Text]),
        };
        Ok(self.models.iter().map(offer).collect())
    }
}

/// What no schema says of a row: names, limits and what must fit together.
pub(super) fn problems(config: &Value, preset: Preset) -> Vec<ConfigProblem> {
    let Ok(config) = read_config::<Config>(config.clone()) else { return Vec::new() };
    let mut problems = Vec::new();
    problems.extend(config.provider(preset).err());
    let place =
        config.dialect(preset).and_then(|dialect| config.place(dialect, &ProcessEnvironment));
    problems.extend(place.err());
    problems.extend(config.patience().err());
    problems.extend(config.retry().err());
    problems.extend(config.offers().err());
    problems
}

fn wait(key: &str, millis: u64) -> Result<Duration, ConfigProblem> {
    if (1..=LONGEST_MS).contains(&millis) {
        Ok(Duration::from_millis(millis))
    } else {
        Err(wrong(key, &format!("between 1 and {LONGEST_MS}")))
    }
}

fn wrong(key: &str, expected: &str) -> ConfigProblem {
    ConfigProblem::new(key, format!("expected {expected}"))
}

#[cfg(test)]
mod tests;
