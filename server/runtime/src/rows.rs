//! The rows that every workspace folder mounts.

use dsh_kernel::plugin::Row;
use serde_json::{Value, json};

/// The tree of the product as it ships.
pub fn default_rows() -> Vec<Row> {
    let plain = |id: &str| Row::new(id, Value::Null);
    let adapter = |id: &str, config| {
        let name = "openai-compatible".to_owned();
        Row { name, ..Row::new(id, config) }
    };
    vec![
        plain("llm"),
        plain("credentials"),
        adapter(
            "llm-deepseek",
            json!({
                "provider": "deepseek",
                "dialect": "deepseek",
                "apiKey": "DEEPSEEK_API_KEY",
                "models": [
                    { "id": "deepseek-v4-flash", "contextWindow": 1_000_000 },
                    { "id": "deepseek-v4-pro", "contextWindow": 1_000_000 },
                    {
                        "id": "deepseek-v4-flash-vision-exp",
                        "contextWindow": 1_000_000,
                        "input": ["text", "image"],
                    },
                ],
            }),
        ),
        adapter(
            "llm-openai",
            json!({ "provider": "openai", "dialect": "openai", "apiKey": "OPENAI_API_KEY" }),
        ),
        adapter("llm-local", json!({ "provider": "local", "dialect": "ollama" })),
        plain("llm-offline"),
        plain("llm-replay"),
        Row::new("agent-default-model", json!({ "provider": "offline", "model": "retrieval" })),
        plain("session-store"),
        plain("sessions"),
        plain("system-prompt"),
        plain("tools"),
        plain("agents"),
        plain("agent-loop"),
        plain("fs"),
        plain("tool-read"),
        plain("tool-grep"),
        plain("tool-glob"),
    ]
}
