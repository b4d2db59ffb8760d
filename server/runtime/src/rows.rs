//! The rows that every workspace folder mounts.

use dsh_kernel::plugin::Row;
use serde_json::{Value, json};

/// The tree of the product as it ships.
pub fn default_rows() -> Vec<Row> {
    let plain = |id: &str| Row::new(id, Value::Null);
    vec![
        plain("llm"),
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
