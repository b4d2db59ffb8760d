//! A composition as a patch file that boots the same tree, and as rows for clients.

use std::fmt::Write as _;
use std::sync::Arc;

use dsh_kernel::plugin::Isolation;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::apply::full_id;
use crate::compose::{Composed, ComposedRow};
use crate::emit;
use crate::evaluate::Environment;
use crate::rows::is_disabled;
use crate::setting::Setting;
use crate::source::Source;

/// What a dump shows.
#[derive(Clone, Copy, Debug, Default)]
pub struct DumpOptions {
    /// Comments say which layers rows come from and which changed them.
    pub origin: bool,
    /// The bundles alone.
    pub default: bool,
}

/// The composition as a patch file. With the profile `none` it boots the same tree. Expressions stay as they are;
/// credentials stand in it by name, as in every configuration.
pub fn dump(composed: &Composed, options: DumpOptions) -> String {
    let rows = if options.default { &composed.defaults } else { &composed.rows };
    let mut out = "- insert:".to_owned();
    list(&mut out, rows, 4, "", options);
    out
}

fn list(out: &mut String, rows: &[ComposedRow], indent: usize, above: &str, options: DumpOptions) {
    if rows.is_empty() {
        out.push_str(" []\n");
        return;
    }
    out.push('\n');
    let mut last = above.to_owned();
    for row in rows {
        let layers = provenance(row);
        if options.origin && layers != last {
            let _ = writeln!(out, "{}# {layers}", " ".repeat(indent));
            last.clone_from(&layers);
        }
        let mut block = String::new();
        self::row(&mut block, row, indent + 2, &last, options);
        let _ = write!(out, "{}-{}", " ".repeat(indent), &block[indent + 1..]);
    }
}

fn provenance(row: &ComposedRow) -> String {
    let mut layers = format!("origin: {}", row.origin());
    if !row.patched_by.is_empty() {
        let names: Vec<&str> = row.patched_by.iter().map(|layer| layer.name.as_str()).collect();
        let _ = write!(layers, "; patched by: {}", names.join(", "));
    }
    layers.chars().map(|char| if char.is_control() { ' ' } else { char }).collect()
}

/// The fields in their order: `id`, `name`, the others by name, `config`.
fn row(out: &mut String, row: &ComposedRow, indent: usize, above: &str, options: DumpOptions) {
    let literal = |value: Value| Setting::from_json(&value, &row.place);
    emit::entry(out, "id", &literal(row.id.as_str().into()), indent);
    emit::entry(out, "name", &literal(row.name.as_str().into()), indent);
    if let Some(disabled) = row.disabled.as_ref().filter(|it| it.to_json() != Value::Bool(false)) {
        emit::entry(out, "disabled", disabled, indent);
    }
    if row.children.is_some() {
        emit::entry(out, "group", &literal(true.into()), indent);
    }
    if !row.inject.is_empty() {
        emit::entry(out, "inject", &literal(row.inject.clone().into()), indent);
    }
    if !row.intercept.is_empty() {
        let intercept: Map<String, Value> = row.intercept.clone().into_iter().collect();
        emit::entry(out, "intercept", &literal(intercept.into()), indent);
    }
    if !row.isolate.is_empty() {
        let isolate: Map<String, Value> =
            row.isolate.iter().map(|(service, realm)| (service.clone(), written(realm))).collect();
        emit::entry(out, "isolate", &literal(isolate.into()), indent);
    }
    if let Some(children) = &row.children {
        let _ = write!(out, "{}config:", " ".repeat(indent));
        list(out, children, indent + 2, above, options);
    } else if let Some(config) = &row.config {
        emit::entry(out, "config", config, indent);
    }
}

fn written(realm: &Isolation) -> Value {
    match realm {
        Isolation::Private => true.into(),
        Isolation::Label(label) => label.as_str().into(),
    }
}

/// A row as clients see it: `{id, name, config, disabled, origin, patchedBy}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedRow {
    /// The ids on the way to it, joined with `:`.
    pub id: String,
    /// Its plugin.
    pub name: String,
    /// Its configuration; an expression is a mapping like `{"!env": "NAME"}`. `null` for a group.
    pub config: Value,
    /// Whether it stays down by what it says itself.
    pub disabled: bool,
    /// The layer that it comes from.
    pub origin: String,
    /// The layers that changed it.
    pub patched_by: Vec<String>,
}

/// The rows as clients see them, those of groups behind their group.
pub fn list_rows(composed: &Composed, environment: &Environment) -> Vec<ListedRow> {
    let mut listed = Vec::new();
    collect(&composed.rows, "", environment, &mut listed);
    listed
}

fn collect(
    rows: &[ComposedRow],
    above: &str,
    environment: &Environment,
    listed: &mut Vec<ListedRow>,
) {
    for row in rows {
        let id = full_id(above, &row.id);
        let name = |layer: &Arc<Source>| layer.name.clone();
        let disabled = row.disabled.as_ref();
        // What does not come to a boolean is a problem that `check` reports.
        let is_down = |it: &Setting| is_disabled(it, &id, environment, &mut Vec::new());
        listed.push(ListedRow {
            name: row.name.clone(),
            config: row.config.as_ref().map_or(Value::Null, Setting::to_json),
            disabled: disabled.is_some_and(is_down),
            origin: row.origin().to_owned(),
            patched_by: row.patched_by.iter().map(name).collect(),
            id: id.clone(),
        });
        collect(row.children.as_deref().unwrap_or_default(), &id, environment, listed);
    }
}
