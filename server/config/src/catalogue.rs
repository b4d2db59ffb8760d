//! The catalogue of configuration: every plugin, its keys and the rows that have it, as Markdown.

use std::fmt::Write as _;

use dsh_kernel::plugin::Plugin;
use serde_json::Value;

use crate::schema::{KnownRow, known_rows};

const OPENING: &str = include_str!("catalogue/opening.md");

/// The catalogue of a program with these plugins.
pub fn catalogue(plugins: &[Plugin]) -> String {
    let known = known_rows();
    let mut out = OPENING.to_owned();
    out.push_str("\n## Rows\n\n| row | plugin | comes from |\n|---|---|---|\n");
    for KnownRow { id, name, origin } in &known {
        let _ = writeln!(out, "| `{id}` | `{name}` | {origin} |");
    }
    let mut sorted: Vec<&Plugin> = plugins.iter().collect();
    sorted.sort_by_key(|plugin| plugin.name);
    for plugin in sorted {
        let _ = write!(out, "\n## `{}`\n\n", plugin.name);
        let schema = (plugin.config.schema)();
        let mut lines = Vec::new();
        Keys { root: &schema, lines: &mut lines }.list(&schema, None, "", 0);
        let description = schema.get("description").and_then(Value::as_str);
        if let Some(text) = description.filter(|_| !lines.is_empty()) {
            let _ = write!(out, "{text}\n\n");
        }
        let rows = known.iter().filter(|row| row.name == plugin.name);
        let rows: Vec<String> = rows.map(|row| format!("`{}`", row.id)).collect();
        line(&mut out, "Rows", &rows);
        line(&mut out, "Needs", &quoted(plugin.inject));
        line(&mut out, "Uses", &quoted(plugin.optional));
        line(&mut out, "Provides", &quoted(plugin.provides));
        if lines.is_empty() {
            out.push_str("No configuration.\n");
        } else {
            out.push_str("| key | type | default | meaning |\n|---|---|---|---|\n");
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

/// The lines of one plugin's keys.
struct Keys<'a> {
    root: &'a Value,
    lines: &'a mut Vec<String>,
}

impl Keys<'_> {
    /// Lists the keys of a mapping, for which another value may stand when it is absent.
    fn list(&mut self, schema: &Value, absent: Option<&Value>, above: &str, depth: usize) {
        let schema = resolved(self.root, schema).clone();
        let required: Vec<&str> = match schema.get("required").and_then(Value::as_array) {
            Some(names) => names.iter().filter_map(Value::as_str).collect(),
            None => Vec::new(),
        };
        let properties = schema.get("properties").and_then(Value::as_object);
        for (key, value) in properties.into_iter().flatten() {
            let path = crate::setting::join(above, key);
            let default = value.get("default").or_else(|| absent.and_then(|it| it.get(key)));
            let default = default.filter(|default| !default.is_null());
            let inner = given(self.root, value);
            let is_listed = inner.get("properties").is_some() && depth < DEPTH;
            let shown = match default {
                Some(default) if !is_listed => format!("`{default}`"),
                None if required.contains(&key.as_str()) => "required".to_owned(),
                Some(_) | None => String::new(),
            };
            self.line(&path, value, &shown);
            if depth < DEPTH {
                let items = inner.get("items");
                let path = if items.is_some() { format!("{path}[]") } else { path };
                let inner = items.unwrap_or(inner).clone();
                self.list(&inner, default, &path, depth + 1);
            }
        }
    }

    fn line(&mut self, path: &str, schema: &Value, default: &str) {
        let description =
            schema.get("description").or_else(|| resolved(self.root, schema).get("description"));
        let description = description.and_then(Value::as_str).unwrap_or_default();
        let cell = |text: &str| text.replace('|', "\\|").replace('\n', " ");
        let (kind, default) = (cell(&kind(self.root, schema)), cell(default));
        self.lines.push(format!("| `{path}` | {kind} | {default} | {} |\n", cell(description)));
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
        names => format!("{}{}", names.join(" or "), limits(schema)),
    }
}

/// What numbers may be.
fn limits(schema: &Value) -> String {
    let limit = |key: &str| schema.get(key).filter(|limit| limit.as_u64() != Some(0));
    match (limit("minimum"), limit("maximum")) {
        (Some(least), Some(most)) => format!(", {least} to {most}"),
        (Some(least), None) => format!(", at least {least}"),
        (None, Some(most)) => format!(", at most {most}"),
        (None, None) => String::new(),
    }
}
