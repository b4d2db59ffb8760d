//! The schema of patch files and the catalogue.

use dsh_config::catalogue::catalogue;
use dsh_config::schema::schema;
use dsh_kernel::Context;
use dsh_kernel::config::ConfigSpec;
use dsh_kernel::plugin::{Plugin, StartError};
use expect_test::expect;
use serde_json::{Value, json};

type Started = std::pin::Pin<Box<dyn Future<Output = Result<(), StartError>> + Send>>;

fn start(_: Context, _: Value) -> Started {
    Box::pin(async { Ok(()) })
}

fn config() -> Value {
    json!({
        "description": "Reads files.",
        "type": "object",
        "required": ["root"],
        "properties": {
            "root": { "description": "Where | it begins.", "type": "string" },
            "limit": { "type": ["integer", "null"], "default": 2000 },
            "mode": { "oneOf": [{ "const": "fast" }, { "const": "safe" }] },
            "rules": { "type": "array", "items": { "$ref": "#/$defs/Rule" } },
            "retry": { "anyOf": [{ "$ref": "#/$defs/Retry" }, { "type": "null" }] },
        },
        "$defs": {
            "Rule": { "type": "object", "properties": { "name": { "type": "string" } } },
            "Retry": { "type": "object", "properties": { "max": { "type": "integer", "default": 3 } } },
        },
    })
}

const SPEC: ConfigSpec = ConfigSpec { schema: config, check: |_| Vec::new(), also: |_| Vec::new() };

const PLUGINS: &[Plugin] = &[
    Plugin {
        config: SPEC,
        inject: &["clock"],
        provides: &["files"],
        ..Plugin::new("tool-read", start)
    },
    Plugin::new("a/b", start),
];

#[test]
fn the_schema_leads_from_a_rows_name_and_a_patchs_id_to_its_configuration() {
    let schema = schema(PLUGINS);
    let pointer = |path: &str| schema.pointer(path).cloned().unwrap_or_default();
    assert_eq!(pointer("/type"), "array");
    let row = pointer("/$defs/row/allOf/0");
    assert_eq!(row["then"]["properties"]["config"]["$ref"], "#/$defs/config%20of%20tool-read");
    let patch = pointer("/$defs/patch/allOf");
    let rule = patch
        .as_array()
        .unwrap()
        .iter()
        .find(|rule| rule["if"]["properties"]["id"]["const"] == "tool-read");
    let part = "#/$defs/part%20of%20config%20of%20tool-read";
    assert_eq!(rule.unwrap()["then"]["properties"]["merge"]["$ref"], part);
    let items = pointer("/$defs/config of tool-read/properties/rules/items/$ref");
    assert_eq!(items, "#/$defs/config%20of%20tool-read/$defs/Rule");
    let ids = pointer("/$defs/patch/properties/id/anyOf/0/enum");
    assert!(ids.as_array().unwrap().contains(&"agent-loop".into()));
    let dangling = references(&schema).into_iter().find(|target| {
        let target = target.replace("%20", " ");
        schema.pointer(target.trim_start_matches('#')).is_none()
    });
    assert_eq!(dangling, None);
}

#[test]
fn a_part_of_a_configuration_has_its_types_and_none_of_its_duties_but_in_lists() {
    let schema = schema(PLUGINS);
    let part = &schema["$defs"]["part of config of tool-read"];
    let below = "#/$defs/part%20of%20config%20of%20tool-read/$defs";
    assert_eq!(part.get("required"), None);
    let nothing = json!({ "type": "null" });
    assert_eq!(
        part["properties"],
        json!({
            "root": {
                "anyOf": [{ "type": "string" }, nothing],
                "description": "Where | it begins.",
            },
            "limit": { "type": ["integer", "null"], "default": 2000 },
            "mode": { "anyOf": [{ "anyOf": [{ "const": "fast" }, { "const": "safe" }] }, nothing] },
            "rules": {
                "anyOf": [
                    {
                        "type": "array",
                        "items": { "$ref": "#/$defs/config%20of%20tool-read/$defs/Rule" },
                    },
                    nothing,
                ],
            },
            "retry": {
                "anyOf": [
                    { "anyOf": [{ "$ref": format!("{below}/Retry") }, nothing] },
                    nothing,
                ],
            },
        })
    );
}

fn references(schema: &Value) -> Vec<String> {
    let below = |values: &mut dyn Iterator<Item = &Value>| values.flat_map(references).collect();
    match schema {
        Value::Object(map) => {
            let mut found: Vec<String> = below(&mut map.values());
            found.extend(map.get("$ref").and_then(Value::as_str).map(str::to_owned));
            found
        }
        Value::Array(items) => below(&mut items.iter()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}

#[test]
fn the_catalogue_lists_every_key() {
    let catalogue = catalogue(PLUGINS);
    let (opening, plugins) = catalogue.split_at(catalogue.find("## `a/b`").unwrap());
    assert!(opening.contains("\n| `llm-openai` | `openai-compatible` | bundle dsh-base |\n"));
    expect![[r#"
        ## `a/b`

        No configuration.

        ## `tool-read`

        Reads files.

        Rows: `tool-read`.

        Needs: `clock`.

        Provides: `files`.

        | key | type | default | meaning |
        |---|---|---|---|
        | `root` | string | required | Where \| it begins. |
        | `limit` | integer | `2000` |  |
        | `mode` | `"fast"` or `"safe"` |  |  |
        | `rules` | list of object |  |  |
        | `rules[].name` | string |  |  |
        | `retry` | object |  |  |
        | `retry.max` | integer | `3` |  |
    "#]]
    .assert_eq(plugins);
}
