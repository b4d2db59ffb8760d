//! The schema of what is merged into a configuration: the same keys with the same types, none of them required,
//! and `null` to take one away.

use dsh_kernel::plugin::Plugin;
use serde_json::{Map, Value, json};

/// What a plugin's own definitions are called from.
const OWN: &str = "#/$defs/";

/// Where the schema of a part of a plugin's configuration stands.
pub(super) fn definition(plugin: &str) -> String {
    format!("part of {}", super::definition(plugin))
}

/// The schema of a part of a plugin's configuration. Lists are replaced whole, so what is in them is complete.
pub(super) fn of(plugin: &Plugin) -> Value {
    let below = |name: String| format!("{OWN}{name}/$defs/").replace(' ', "%20");
    let prefixes = Prefixes {
        partial: below(definition(plugin.name)),
        complete: below(super::definition(plugin.name)),
    };
    let mut schema = (plugin.config.schema)();
    prefixes.loosen(&mut schema);
    if let Some(Value::Object(definitions)) = schema.get_mut("$defs") {
        for definition in definitions.values_mut() {
            prefixes.loosen(definition);
        }
    }
    schema
}

/// Where definitions stand: of parts, and of what is complete.
struct Prefixes {
    partial: String,
    complete: String,
}

impl Prefixes {
    fn loosen(&self, schema: &mut Value) {
        let Value::Object(rules) = schema else { return };
        rules.remove("required");
        // Without the key that tells them apart, several alternatives fit.
        if let Some(alternatives) = rules.remove("oneOf") {
            rules.insert("anyOf".to_owned(), alternatives);
        }
        for (key, rule) in rules.iter_mut() {
            match (key.as_str(), rule) {
                ("$ref", Value::String(target)) => {
                    if let Some(name) = target.strip_prefix(OWN) {
                        *target = format!("{}{name}", self.partial);
                    }
                }
                ("properties", Value::Object(keys)) => {
                    for key in keys.values_mut() {
                        self.loosen_key(key);
                    }
                }
                ("additionalProperties", value @ Value::Object(_)) => self.loosen_key(value),
                ("anyOf" | "allOf", Value::Array(alternatives)) => {
                    for schema in alternatives {
                        self.loosen(schema);
                    }
                }
                ("items", items) => super::rebase(items, &self.complete),
                _ => {}
            }
        }
    }

    /// A key may also be taken away.
    fn loosen_key(&self, schema: &mut Value) {
        self.loosen(schema);
        let Value::Object(rules) = schema else { return };
        let takes_null = |rules: &Map<String, Value>| {
            let names = rules.get("type");
            names.and_then(Value::as_array).is_some_and(|names| names.contains(&"null".into()))
        };
        if takes_null(rules) {
            return;
        }
        let description = rules.remove("description");
        let mut either = json!({ "anyOf": [std::mem::take(rules), { "type": "null" }] });
        if let Some(description) = description {
            either["description"] = description;
        }
        *schema = either;
    }
}
