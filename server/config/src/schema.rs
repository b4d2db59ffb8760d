//! The JSON Schema of patch files, so that editors complete ids, names and configuration.

use dsh_kernel::plugin::Plugin;
use serde_json::{Map, Value, json};

use crate::apply::full_id;
use crate::compose::{ComposedRow, compose_layers};
use crate::expression::PLATFORMS;
use crate::{bundle, expression};

mod partial;

/// The schema of a patch file for a program with these plugins. What a row's configuration may be follows from
/// its name, and in a patch from the id that the bundles give it.
pub fn schema(plugins: &[Plugin]) -> Value {
    let known = known_rows();
    let names: Vec<&str> = plugins.iter().map(|plugin| plugin.name).collect();
    let ids: Vec<&str> = known.iter().map(|row| row.id.as_str()).collect();
    let mut definitions = Map::new();
    for plugin in plugins {
        definitions.insert(definition(plugin.name), inlined(plugin));
        definitions.insert(partial::definition(plugin.name), partial::of(plugin));
    }
    definitions.insert("row".to_owned(), row(plugins, &names, &ids));
    definitions.insert("patch".to_owned(), patch(plugins, &known, &names));
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "dsh-ls patch file",
        "description": format!(
            "A list of patches. Values in `config` may be expressions: {}; `!platform` chooses by {}.",
            expression::TAGS.join(", "),
            PLATFORMS.join(", "),
        ),
        "type": "array",
        "items": { "$ref": "#/$defs/patch" },
        "$defs": definitions,
    })
}

/// A row of the bundles.
pub(crate) struct KnownRow {
    /// The ids on the way to it, joined with `:`.
    pub(crate) id: String,
    /// Its plugin.
    pub(crate) name: String,
    /// Its bundle.
    pub(crate) origin: String,
}

/// The bundles' rows, each once.
pub(crate) fn known_rows() -> Vec<KnownRow> {
    let bundles: Vec<_> = bundle::names().filter_map(bundle::source).collect();
    let mut known = Vec::new();
    collect(&compose_layers(&bundles, &[]).rows, "", &mut known);
    known
}

fn collect(rows: &[ComposedRow], above: &str, known: &mut Vec<KnownRow>) {
    for row in rows {
        let id = full_id(above, &row.id);
        let (name, origin) = (row.name.clone(), row.origin().to_owned());
        known.push(KnownRow { id: id.clone(), name, origin });
        collect(row.children.as_deref().unwrap_or_default(), &id, known);
    }
}

fn definition(plugin: &str) -> String {
    format!("config of {plugin}").replace('/', " in ")
}

/// A plugin's schema with its own definitions reachable from where it will stand.
fn inlined(plugin: &Plugin) -> Value {
    let prefix = format!("#/$defs/{}/$defs/", definition(plugin.name)).replace(' ', "%20");
    let mut schema = (plugin.config.schema)();
    rebase(&mut schema, &prefix);
    schema
}

fn rebase(schema: &mut Value, prefix: &str) {
    match schema {
        Value::Object(map) => {
            for (key, value) in map {
                match value {
                    Value::String(target) if key == "$ref" => {
                        if let Some(name) = target.strip_prefix("#/$defs/") {
                            *target = format!("{prefix}{name}");
                        }
                    }
                    value => rebase(value, prefix),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| rebase(item, prefix)),
        _ => {}
    }
}

fn reference(definition: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{definition}").replace(' ', "%20") })
}

/// The fields that rows and patches share.
fn fields() -> Map<String, Value> {
    let Value::Object(fields) = json!({
        "disabled": {
            "description": "Whether the row stays down.",
            "type": ["boolean", "null", "string", "object", "array"],
            // Bare words that were booleans once; a text is what an editor sees of an expression.
            "not": { "enum": ["yes", "no", "on", "off", "true", "false", "y", "n"] },
        },
        "group": { "description": "Whether `config` is a list of rows.", "type": "boolean" },
        "inject": {
            "description": "Services that the row waits for beside its plugin's own.",
            "type": ["array", "null"],
            "items": { "type": "string" },
        },
        "intercept": {
            "description": "More configuration for services, read by what uses them.",
            "type": ["object", "null"],
        },
        "isolate": {
            "description": "Services that are looked up in another realm: `true` for the row's own, or a label.",
            "type": ["object", "null"],
            "additionalProperties": { "type": ["boolean", "string"] },
        },
        "config": { "description": "The plugin's configuration, or the rows of a group." },
    }) else {
        return Map::new();
    };
    fields
}

/// A text that is completed from a list and may be another.
fn suggested(description: &str, known: &[&str]) -> Value {
    json!({
        "description": description,
        "type": "string",
        "anyOf": [{ "enum": known }, {}],
    })
}

fn row(plugins: &[Plugin], names: &[&str], ids: &[&str]) -> Value {
    let mut properties = fields();
    properties.insert("id".to_owned(), suggested("Names the row.", ids));
    properties.insert("name".to_owned(), suggested("Its plugin; the id if there is none.", names));
    let by_name = plugins.iter().map(|plugin| {
        let by_itself =
            json!({ "required": ["name"], "properties": { "name": { "const": plugin.name } } });
        let same = json!({
            "not": { "required": ["name"] },
            "properties": { "id": { "const": plugin.name } },
        });
        json!({
            "if": { "anyOf": [by_itself, same] },
            "then": { "properties": { "config": reference(&definition(plugin.name)) } },
        })
    });
    let group = json!({
        "if": { "required": ["group"], "properties": { "group": { "const": true } } },
        "then": {
            "properties": { "config": { "type": "array", "items": { "$ref": "#/$defs/row" } } },
        },
    });
    let rules: Vec<Value> = by_name.chain([group]).collect();
    json!({
        "type": "object",
        "required": ["id"],
        "properties": properties,
        "additionalProperties": false,
        "allOf": rules,
    })
}

fn patch(plugins: &[Plugin], known: &[KnownRow], names: &[&str]) -> Value {
    let ids: Vec<&str> = known.iter().map(|row| row.id.as_str()).collect();
    let mut properties = fields();
    properties.insert("id".to_owned(), suggested("The row that is changed.", &ids));
    let guard = "Applies the patch only if the row has this plugin.";
    properties.insert("name".to_owned(), suggested(guard, names));
    properties.insert(
        "insert".to_owned(),
        json!({
            "description": "Rows to add: to the root, or with `id` to that group.",
            "type": "array",
            "items": { "$ref": "#/$defs/row" },
        }),
    );
    properties.insert(
        "merge".to_owned(),
        json!({
            "description": "Merged into `config`: mappings key by key, `null` removes a key.",
            "type": "object",
        }),
    );
    let is_here = |name: &str| plugins.iter().any(|plugin| plugin.name == name);
    let by_id = known.iter().filter(|row| is_here(&row.name)).map(|KnownRow { id, name, .. }| {
        let (config, merge) = (definition(name), partial::definition(name));
        json!({
            "if": { "required": ["id"], "properties": { "id": { "const": id } } },
            "then": { "properties": { "config": reference(&config), "merge": reference(&merge) } },
        })
    });
    let one_of_them = json!({ "not": { "required": ["config", "merge"] } });
    let rules: Vec<Value> = by_id.chain([one_of_them]).collect();
    json!({
        "type": "object",
        "anyOf": [{ "required": ["id"] }, { "required": ["insert"], "maxProperties": 1 }],
        "properties": properties,
        "additionalProperties": false,
        "allOf": rules,
    })
}
