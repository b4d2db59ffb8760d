//! The catalogue of configuration: every plugin, its keys and the rows that have it, as Markdown.

use std::fmt::Write as _;

use dsh_kernel::plugin::Plugin;
use serde_json::Value;

use crate::schema::known_rows;

/// The catalogue of a program with these plugins.
pub fn catalogue(plugins: &[Plugin]) -> String {
    let known = known_rows();
    let mut sorted: Vec<&Plugin> = plugins.iter().collect();
    sorted.sort_by_key(|plugin| plugin.name);
    let mut out = "# Configuration\n\nEach row of the tree has a plugin, and the plugin's keys in `config`.\n".to_owned();
    for plugin in sorted {
        let _ = write!(out, "\n## `{}`\n\n", plugin.name);
        let schema = (plugin.config.schema)();
        let mut lines = Vec::new();
        keys(&schema, &schema, "", 0, &mut lines);
        let description = schema.get("description").and_then(Value::as_str);
        if let Some(text) = description.filter(|_| !lines.is_empty()) {
            let _ = write!(out, "{text}\n\n");
        }
        let rows = known.iter().filter(|(_, name)| name == plugin.name);
        let rows: Vec<String> = rows.map(|(id, _)| format!("`{id}`")).collect();
        line(&mut out, "Rows", &rows);
        line(&mut out, "Needs", &quoted(plugin.inject));
        line(&mut out, "Uses", &quoted(plugin.optional));
        line(&mut out, "Provides", &quoted(plugin.provides));
        if lines.is_empty() {
            out.push_str("No configuration.\n");
        } else {
            out.push_str("| key | type | default | |\n|---|---|---|---|\n");
            out.extend(lines);
        }
    }
    out
}

fn quoted(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| format!("`{name}`")).collect()
}

fn line(out: &mut String, title: &str, names: &[String]) {
    if !names.is_empty() {
        let _ = write!(out, "{title}: {}.\n\n", names.join(", "));
    }
}

/// How far down keys are listed: a type may hold itself.
const DEPTH: usize = 4;

fn keys(root: &Value, schema: &Value, above: &str, depth: usize, lines: &mut Vec<String>) {
    let schema = resolved(root, schema);
    let required: Vec<&str> = match schema.get("required").and_then(Value::as_array) {
        Some(names) => names.iter().filter_map(Value::as_str).collect(),
        None => Vec::new(),
    };
    let properties = schema.get("properties").and_then(Value::as_object);
    for (key, value) in properties.into_iter().flatten() {
        let path = crate::setting::join(above, key);
        let description =
            value.get("description").or_else(|| resolved(root, value).get("description"));
        let description = description.and_then(Value::as_str).unwrap_or_default();
        let default = match value.get("default") {
            Some(Value::Null) | None if required.contains(&key.as_str()) => "required".to_owned(),
            Some(Value::Null) | None => String::new(),
            Some(default) => format!("`{default}`"),
        };
        let kind = kind(root, value);
        let cell = |text: &str| text.replace('|', "\\|").replace('\n', " ");
        lines.push(format!(
            "| `{path}` | {} | {} | {} |\n",
            cell(&kind),
            cell(&default),
            cell(description)
        ));
        if depth < DEPTH {
            let inner = given(root, value);
            let items = inner.get("items");
            let path = if items.is_some() { format!("{path}[]") } else { path };
            keys(root, items.unwrap_or(inner), &path, depth + 1, lines);
        }
    }
}

/// What a reference points to.
fn resolved<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let target = schema.get("$ref").and_then(Value::as_str);
    let target = target.and_then(|target| root.pointer(target.strip_prefix('#')?));
    target.unwrap_or(schema)
}

/// The one alternative that is not `null`.
fn given<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let schema = resolved(root, schema);
    let is_given = |schema: &&Value| schema.get("type") != Some(&Value::from("null"));
    let choices = schema.get("anyOf").and_then(Value::as_array);
    match choices.map(|choices| choices.iter().filter(is_given).collect::<Vec<_>>()).as_deref() {
        Some([one]) => resolved(root, one),
        _ => schema,
    }
}

fn kind(root: &Value, schema: &Value) -> String {
    let schema = given(root, schema);
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        let values: Vec<String> = values.iter().map(|value| format!("`{value}`")).collect();
        return values.join(" or ");
    }
    if let Some(choices) = schema.get("oneOf").and_then(Value::as_array) {
        let value = |choice: &Value| choice.get("const").map(|value| format!("`{value}`"));
        if let Some(values) = choices.iter().map(value).collect::<Option<Vec<String>>>() {
            return values.join(" or ");
        }
    }
    let names: Vec<&str> = match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => {
            names.iter().filter_map(Value::as_str).filter(|name| *name != "null").collect()
        }
        _ => Vec::new(),
    };
    match &names[..] {
        ["array"] => {
            let items = schema.get("items").map(|items| kind(root, items)).unwrap_or_default();
            format!("list of {items}").trim_end_matches(" of ").to_owned()
        }
        names => names.join(" or "),
    }
}
