//! The rows: what they register, and that it goes with them.

use std::collections::BTreeMap;

use dsh_kernel::plugin::Row;
use dsh_kernel::{Kernel, PluginState};
use dsh_protocol::ids::ModelId;
use serde_json::json;

use crate::PLUGINS;
use crate::testing::host;

use super::*;

fn row(id: &str, name: &str, config: Value) -> Row {
    Row { name: name.to_owned(), ..Row::new(id, config) }
}

async fn mounted(rows: Vec<Row>) -> Kernel {
    let plain = [row("llm", "llm", Value::Null), row("credentials", "credentials", Value::Null)];
    let rows = plain.into_iter().chain(rows).collect();
    Kernel::mount(rows, PLUGINS, &HOST, Arc::new(host(&[]))).await
}

#[tokio::test]
async fn a_row_offers_its_models_for_as_long_as_it_is_mounted() {
    let models =
        json!([{ "id": "a" }, { "id": "b", "contextWindow": 9, "input": ["text", "image"] }]);
    let rows = vec![
        row("llm-x", "openai-compatible", json!({ "provider": "x", "models": models })),
        row("llm-deepseek", "llm-deepseek", json!({ "apiKey": "NO_SUCH_KEY", "models": models })),
        row("llm-local", "llm-local", Value::Null),
        row("llm-openai", "llm-openai", json!({ "dialects": "openai" })),
    ];
    let kernel = mounted(rows).await;
    let llm = kernel.get(&LLM).unwrap();
    let default = ModelId { provider: "x".to_owned(), model: "b".to_owned() };
    let listed: Vec<_> = llm
        .list(&default)
        .await
        .into_iter()
        .map(|model| (model.provider, model.model, model.context_window, model.ready, model.reason))
        .collect();
    let entry = |provider: &str, model: &str, window, reason: Option<&str>| {
        let reason = reason.map(str::to_owned);
        (provider.to_owned(), model.to_owned(), window, reason.is_none(), reason)
    };
    assert_eq!(
        listed,
        [
            entry("deepseek", "a", None, Some("set NO_SUCH_KEY")),
            entry("deepseek", "b", Some(9), Some("set NO_SUCH_KEY")),
            entry("x", "a", None, None),
            entry("x", "b", Some(9), None),
        ]
    );
    assert!(llm.adapter("local").is_some() && llm.adapter("openai").is_none());
    let failed = kernel.plugins().into_iter().find(|plugin| plugin.id == "llm-openai").unwrap();
    assert!(failed.state == PluginState::Failed, "{failed:?}");
    kernel.dispose().await;
    assert!(llm.adapter("x").is_none());
}

#[test]
fn a_variable_that_is_no_address_makes_a_provider_unready() {
    let variables = BTreeMap::from([("DEEPSEEK_BASE_URL".to_owned(), "nowhere".to_owned())]);
    let around = Surroundings {
        credentials: Arc::new(dsh_llm::credentials::FromEnvironment(BTreeMap::new())),
        environment: &variables,
        proxies: Proxies::given("", ""),
    };
    let config: Config = serde_json::from_value(json!({})).unwrap();
    let adapter = Compatible::new(&config, OF_DEEPSEEK, around).ok().unwrap();
    let why = "DEEPSEEK_BASE_URL: an address begins with http:// or https://";
    assert_eq!(adapter.unready().as_deref(), Some(why));
}
