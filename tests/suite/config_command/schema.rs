//! The schema of patch files and the catalogue: they are those of the plugins, and the schema tells good files from
//! bad ones as `config check` does.

use std::fs;

use dsh_plugins::PLUGINS;
use dsh_runtime::config::catalogue::catalogue;
use dsh_runtime::config::schema::schema;
use dsh_runtime::config::setting::Setting;
use dsh_runtime::config::source::Source;
use dsh_runtime::config::yaml;
use dsh_tests::world::World;
use expect_test::expect_file;
use serde_json::Value;

use super::validate::fits;
use super::{run, write};

#[test]
fn the_committed_ones_are_those_of_the_plugins() {
    let schema = format!("{:#}\n", schema(PLUGINS));
    expect_file!["../../../server/configuration.schema.json"].assert_eq(&schema);
    expect_file!["../../../server/CONFIGURATION.md"].assert_eq(&catalogue(PLUGINS));
}

/// The schema that the program prints.
fn printed(world: &World) -> Value {
    let (code, schema, complaints) = run(world, &["schema", "--config"]);
    assert_eq!((code, complaints.as_str()), (0, ""));
    serde_json::from_str(&schema).unwrap()
}

/// A patch file as an editor hands it to a validator.
fn read(text: &str) -> Value {
    let node = yaml::parse(&Source::built_in("patch", text)).unwrap().unwrap();
    Setting::read_literal(&node, "", &mut Vec::new())
}

#[test]
fn the_program_prints_the_schema_of_its_own_plugins() {
    assert_eq!(printed(&World::new()), schema(PLUGINS), "build the program anew");
}

const GOOD: [&str; 16] = [
    "[]",
    "- insert: []",
    "- insert: [{id: mine, name: tool-read, disabled: true}]",
    "- insert: [{id: tool-read}]",
    "- insert: [{id: g, group: true, config: [{id: h, group: true, config: [{id: tools, disabled: true}]}]}]",
    "- insert: [{id: far, name: openai-compatible, config: {provider: far, dialect: openai, models: [{id: m}]}}]",
    "- insert: [{id: far, name: llm, inject: [fs], isolate: {llm: true, fs: shared}, intercept: {llm: {a: 1}}}]",
    "- {id: tool-grep, disabled: true}",
    "- {id: tool-grep, disabled: null, inject: null}",
    "- {id: agent-loop, config: {maxParallelToolCalls: 3, budgets: {steps: 5}}}",
    "- {id: agent-loop, merge: {budgets: {steps: null}, maxParallelToolCalls: null}}",
    "- {id: agent-loop, merge: {budgets: null}}",
    "- {id: llm-deepseek, merge: {models: [{id: m, contextWindow: null}], retry: {maxRetries: 0}}}",
    "- {id: agent-default-model, merge: {model: m}}",
    "- {id: agent-loop, name: agent-loop, disabled: false}",
    "- {id: tool-grep, merge: {}}",
];

const BAD: [&str; 23] = [
    "{}",
    "- tools",
    "- {}",
    "- {disabled: true}",
    "- {insert: [{id: tools}], disabled: true}",
    "- {id: 5}",
    "- {id: tools, disbaled: true}",
    "- {id: tools, disabled: 5}",
    "- {id: tools, disabled: yes}",
    "- {id: tools, inject: fs}",
    "- {id: tools, isolate: {fs: 5}}",
    "- insert: {id: tools}",
    "- insert: [{name: tools}]",
    "- insert: [{id: far, name: openai-compatible, config: {models: [{}]}}]",
    "- insert: [{id: agent-loop, config: {budgets: {stepz: 1}}}]",
    "- insert: [{id: g, group: true, config: [{id: agent-loop, config: {budgetz: 1}}]}]",
    "- {id: agent-loop, config: {maxParallelToolCalls: many}}",
    "- {id: agent-loop, merge: {maxParallelToolCalls: 0}}",
    "- {id: agent-loop, merge: {budgets: {steps: many}}}",
    "- {id: agent-loop, merge: {budgets: {stepz: 1}}}",
    "- {id: agent-loop, merge: [1]}",
    "- {id: agent-loop, merge: {budgets: {}}, config: {budgets: {}}}",
    "- {id: llm-deepseek, merge: {models: [{contextWindow: 5}]}}",
];

#[test]
fn it_tells_good_files_from_bad_ones_as_a_check_does() {
    let world = World::new();
    let schema = printed(&world);
    let cases = GOOD.map(|text| (text, true)).into_iter().chain(BAD.map(|text| (text, false)));
    for (text, is_good) in cases {
        assert_eq!(fits(&schema, &schema, &read(text)), is_good, "the schema: {text}");
        let patch = write(&world, "mine.yml", text);
        let (code, found, _) = run(&world, &["config", "check", "--patch", &patch]);
        let expected = if is_good { 0 } else { 2 };
        assert_eq!(code, expected, "the check: {text}\n{found}");
    }
}

#[test]
fn what_the_program_dumps_and_the_bundles_say_fits() {
    let world = World::new();
    let schema = printed(&world);
    let dump = run(&world, &["config", "dump"]).1;
    assert!(fits(&schema, &schema, &read(&dump)), "{dump}");
    let bundles = concat!(env!("CARGO_MANIFEST_DIR"), "/../server/config/bundles");
    for bundle in fs::read_dir(bundles).unwrap() {
        let text = fs::read_to_string(bundle.unwrap().path()).unwrap();
        assert!(fits(&schema, &schema, &read(&text)), "{text}");
    }
}

/// The keys that are completed below a place of the schema.
fn completed(schema: &Value, at: &Value) -> Vec<String> {
    let at = match at["$ref"].as_str() {
        Some(reference) => schema.pointer(&reference[1..].replace("%20", " ")).unwrap(),
        None => at,
    };
    let keys = at["properties"].as_object().into_iter().flatten().map(|(key, _)| key.clone());
    let inner = ["anyOf", "allOf"].into_iter().filter_map(|key| at[key].as_array());
    keys.chain(inner.flatten().flat_map(|inner| completed(schema, inner))).collect()
}

#[test]
fn keys_are_completed_with_their_types_in_config_and_in_merge() {
    let schema = printed(&World::new());
    let rules = schema["$defs"]["patch"]["allOf"].as_array().unwrap();
    let rule = rules.iter().find(|rule| rule["if"]["properties"]["id"]["const"] == "agent-loop");
    for field in ["config", "merge"] {
        let place = &rule.unwrap()["then"]["properties"][field];
        assert_eq!(completed(&schema, place), ["maxParallelToolCalls", "budgets"], "{field}");
        let reference = place["$ref"].as_str().unwrap()[1..].replace("%20", " ");
        let budgets = &schema.pointer(&reference).unwrap()["properties"]["budgets"];
        let keys = completed(&schema, budgets);
        assert_eq!(keys, ["steps", "minutes", "tokens", "stoppingRounds"], "{field}");
    }
    for (of, name) in [("row", "plugin"), ("patch", "row")] {
        let id = &schema["$defs"][of]["properties"]["id"]["anyOf"][0]["enum"];
        assert!(id.as_array().unwrap().contains(&"tool-read".into()), "{name}");
    }
}

#[test]
fn the_examples_of_the_catalogue_are_good_files() {
    let world = World::new();
    let catalogue = catalogue(PLUGINS);
    let examples: Vec<&str> =
        catalogue.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert_eq!(examples.len(), 2);
    for example in examples {
        let patch = write(&world, "example.yml", example);
        let (code, found, _) = run(&world, &["config", "check", "--patch", &patch]);
        assert_eq!((code, found.as_str()), (0, "0 errors, 0 warnings\n"), "{example}");
    }
}
