//! Keys that stand in a configuration by mistake, and texts without them.

use dsh_runtime::kernel::plugin::Row;
use serde_json::Value;

/// What rows have where the name of a credential belongs. Who puts the credential itself there must not find it
/// in a report.
pub(super) struct Keys(Vec<String>);

impl Keys {
    /// Those of some rows, expressions evaluated.
    pub(super) fn of(rows: &[Row]) -> Self {
        let mut keys = Vec::new();
        for row in rows {
            collect(&row.config, &mut keys);
            keys.extend(Self::of(row.children.as_deref().unwrap_or_default()).0);
        }
        // Longer ones first: one may begin with another.
        keys.sort_by_key(|key: &String| std::cmp::Reverse(key.len()));
        Self(keys)
    }

    /// A text without them.
    pub(super) fn left_out_of(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, key| text.replace(key.as_str(), "[key]"))
    }
}

fn collect(config: &Value, keys: &mut Vec<String>) {
    if let Value::Array(elements) = config {
        for element in elements {
            collect(element, keys);
        }
    }
    let Value::Object(entries) = config else { return };
    for (name, value) in entries {
        let name = name.to_ascii_lowercase();
        let is_for_keys =
            ["key", "token", "secret", "password"].iter().any(|word| name.contains(word));
        if let Some(text) = value.as_str().filter(|text| is_for_keys && !is_variable(text)) {
            keys.push(text.to_owned());
        }
        collect(value, keys);
    }
}

/// Whether a text is spelled as variables are.
fn is_variable(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}
