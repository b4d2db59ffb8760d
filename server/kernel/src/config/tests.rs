//! What is said of configurations that do not fit.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{ConfigProblem, ConfigSpec, KeyPath};

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "only its shape matters")]
struct Config {
    rounds: u8,
    model: Option<String>,
    #[serde(default)]
    agents: Vec<Agent>,
    #[serde(default)]
    labels: BTreeMap<String, u32>,
    #[serde(default)]
    speed: Speed,
    policy: Option<Policy>,
    #[serde(default)]
    anything: Value,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its shape matters")]
struct Agent {
    name: String,
    depth: Option<u32>,
}

/// Documented variants have another schema than plain ones.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Speed {
    /// Quick.
    #[default]
    Fast,
    /// Not quick.
    Slow,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
#[expect(dead_code, reason = "only its shape matters")]
enum Policy {
    Never,
    Ask { tools: Vec<String> },
}

const SPEC: ConfigSpec = ConfigSpec::of::<Config>();

fn problems(config: &Value) -> Vec<String> {
    SPEC.problems(config).iter().map(ToString::to_string).collect()
}

#[test]
fn what_fits_has_no_problems() {
    let full = json!({
        "rounds": 3, "model": null, "agents": [{ "name": "a", "depth": 1 }], "labels": { "any": 1 },
        "speed": "slow", "policy": { "kind": "ask", "tools": ["read"] }, "anything": { "goes": [1] },
    });
    assert_eq!(problems(&full), Vec::<String>::new());
    assert_eq!(problems(&json!({ "rounds": 1 })), Vec::<String>::new());
}

#[test]
fn every_problem_is_reported_at_once_with_its_place() {
    let config = json!({
        "rounds": "many", "modle": "x", "agents": [{ "name": "a" }, { "nam": "b", "depth": -1 }],
        "labels": { "any": "one" }, "speed": "medium",
    });
    assert_eq!(
        problems(&config),
        [
            "`rounds`: expected a whole number, found a string",
            "`modle`: unknown key; known are `rounds`, `model`, `agents`, `labels`, `speed`, `policy`, \
             `anything`",
            "`agents[1].name`: is missing",
            "`agents[1].nam`: unknown key; known are `name`, `depth`",
            "`agents[1].depth`: must be at least 0",
            "`labels.any`: expected a whole number, found a string",
            "`speed`: expected \"fast\" or \"slow\", found \"medium\"",
        ]
    );
}

#[test]
fn of_several_shapes_the_one_that_was_meant_is_explained() {
    let of = |policy: Value| problems(&json!({ "rounds": 1, "policy": policy }));
    assert_eq!(of(json!({ "kind": "ask" })), ["`policy.tools`: is missing"]);
    assert_eq!(
        of(json!({ "kind": "ask", "tools": [1] })),
        ["`policy.tools[0]`: expected a string, found a number"]
    );
    assert_eq!(of(json!(3)), ["`policy`: expected a mapping or nothing, found 3"]);
}

#[test]
fn a_plugin_without_configuration_refuses_keys() {
    assert!(ConfigSpec::NONE.problems(&Value::Null).is_empty());
    assert!(ConfigSpec::NONE.problems(&json!({})).is_empty());
    let problems = ConfigSpec::NONE.problems(&json!({ "a": 1, "b": 2 }));
    let paths: Vec<String> = problems.iter().map(|problem| problem.path.to_string()).collect();
    assert_eq!(paths, ["a", "b"]);
}

#[test]
fn a_further_check_words_its_own_problems() {
    let spec = SPEC.and(|_| vec![ConfigProblem::new("agents[0].name", "is reserved")]);
    let shown: Vec<String> =
        spec.problems(&json!({ "rounds": 1 })).iter().map(ToString::to_string).collect();
    assert_eq!(shown, ["`agents[0].name`: is reserved"]);
    let broken = SPEC.and(|_| panic!("oh")).problems(&json!({ "rounds": 1 }));
    assert_eq!(broken[0].to_string(), "the check panicked: oh");
}

#[test]
fn what_a_schema_cannot_say_is_found_by_reading() {
    assert_eq!(problems(&json!({ "rounds": 256 })).len(), 1);
    assert_eq!(problems(&json!(["not", "a", "mapping"])), ["expected a mapping, found a list"]);
}

#[test]
fn places_are_written_found_and_filled() {
    let mut value = json!({ "a": { "b": [{}, { "c": 1 }] } });
    let path = KeyPath::from("a.b[1].c");
    assert_eq!((path.to_string().as_str(), path.get(&value)), ("a.b[1].c", Some(&json!(1))));
    assert!(KeyPath::from("a.b[0].new").set(&mut value, json!(2)));
    assert!(!KeyPath::from("a.x.y").set(&mut value, json!(3)));
    assert_eq!(value, json!({ "a": { "b": [{ "new": 2 }, { "c": 1 }] } }));
    assert_eq!(KeyPath::default().key("models").key("v4.1").to_string(), "models[\"v4.1\"]");
}
