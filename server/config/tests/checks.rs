//! All problems at once, each where it was written.

use dsh_config::check::check;
use dsh_kernel::Context;
use dsh_kernel::config::{ConfigProblem, ConfigSpec};
use dsh_kernel::plugin::{Plugin, StartError};
use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::world::{World, environment};

type Started = std::pin::Pin<Box<dyn Future<Output = Result<(), StartError>> + Send>>;

fn start(_: Context, _: Value) -> Started {
    Box::pin(async { Ok(()) })
}

/// Wants `enabled` to be a boolean and `review.scope` to be known, and requires `rounds`.
fn problems_of(config: &Value) -> Vec<ConfigProblem> {
    let mut problems = Vec::new();
    for (key, value) in config.as_object().into_iter().flatten() {
        match key.as_str() {
            "enabled" if !value.is_boolean() => {
                problems.push(ConfigProblem::new(key, "expected a boolean"));
            }
            "enabled" | "rounds" | "review" | "path" => {}
            unknown => problems.push(ConfigProblem::new(unknown, "is no key of this plugin")),
        }
    }
    if config.get("rounds").is_none() {
        problems.push(ConfigProblem::new("", "`rounds` is missing"));
    }
    if config["review"]["scope"].as_str().is_some_and(|scope| scope != "all") {
        problems.push(ConfigProblem::new("review.scope", "expected `all`"));
    }
    if config.get("path").is_some_and(|path| !path.is_string()) {
        problems.push(ConfigProblem::new("path", "expected a text"));
    }
    problems
}

const SPEC: ConfigSpec =
    ConfigSpec { schema: || json!({}), check: problems_of, also: |_| Vec::new() };

const PLUGINS: &[Plugin] = &[
    Plugin { config: SPEC, ..Plugin::new("review", start) },
    Plugin { config: SPEC, ..Plugin::new("tool-read", start) },
];

fn checked(files: &[&str], expected: Expect) {
    let world = World::new();
    let mut names = Vec::new();
    for (at, text) in files.iter().enumerate() {
        let name = format!("{at}.yml");
        world.write(&name, text);
        names.push(name);
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let composed = world.compose("none", &names);
    let environment = environment(&[("SCOPE", "some")]);
    expected.assert_eq(&world.show(&check(&composed, &environment, PLUGINS)));
}

#[test]
fn a_problem_is_shown_in_the_layer_that_set_the_value_last() {
    checked(
        &[
            "- insert:\n    - id: a\n      name: review\n      config:\n        rounds: 1\n        review: {scope: all}\n",
            "- id: a\n  merge:\n    review:\n      scope: tools\n",
        ],
        expect![[r"
            ./1.yml:4:14: error: a.review.scope: expected `all`
              |
            4 |       scope: tools
              |              ^^^^^
        "]],
    );
}

#[test]
fn all_problems_are_there_at_once_and_in_order() {
    checked(
        &[
            "- insert:\n    - id: a\n      name: reviw\n    - id: tool-read\n      config: {enabled: yes, extra: 1}\n    - id: g\n      group: true\n      config:\n        - id: b\n          name: review\n          config: {rounds: 1, review: {scope: !env SCOPE}}\n        - id: zzz\n",
            "- id: nobody\n  disabled: true\n- id: tool-read\n  bogus: 1\n",
        ],
        expect![[r"
            ./0.yml:3:13: error: a: there is no plugin `reviw` in this program; did you mean `review`?
              |
            3 |       name: reviw
              |             ^^^^^
            ./0.yml:5:15: error: tool-read: `rounds` is missing
              |
            5 |       config: {enabled: yes, extra: 1}
              |               ^^^^^^^^^^^^^^^^^^^^^^^^
            ./0.yml:5:25: error: tool-read.enabled: expected a boolean; `yes` is a text, write `true`
              |
            5 |       config: {enabled: yes, extra: 1}
              |                         ^^^
            ./0.yml:5:37: error: tool-read.extra: is no key of this plugin
              |
            5 |       config: {enabled: yes, extra: 1}
              |                                     ^
            ./0.yml:11:47: error: g:b.review.scope: expected `all`
               |
            11 |           config: {rounds: 1, review: {scope: !env SCOPE}}
               |                                               ^^^^^^^^^^
            ./0.yml:12:15: error: g:zzz: there is no plugin `zzz` in this program
               |
            12 |         - id: zzz
               |               ^^^
            ./1.yml:1:7: warning: nobody: no earlier layer has a row `nobody`, so the patch is left out
              |
            1 | - id: nobody
              |       ^^^^^^
            ./1.yml:4:3: error: a patch has no `bogus`; it has id, name, disabled, group, inject, intercept, isolate, config, insert, merge
              |
            4 |   bogus: 1
              |   ^^^^^
        "]],
    );
}

#[test]
fn rows_that_stay_down_are_not_asked_about() {
    checked(
        &[
            "- insert:\n    - {id: a, name: gone, disabled: true}\n    - {id: g, group: true, disabled: true, config: [{id: b}]}\n",
        ],
        expect![[""]],
    );
}

#[test]
fn what_a_service_fills_in_is_not_wrong() {
    checked(
        &[
            "- insert:\n    - {id: a, name: review, config: {rounds: 1, path: !service store.path}}\n",
        ],
        expect![[""]],
    );
}

#[test]
fn a_problem_has_the_wires_shape() {
    let world = World::new();
    world.write(
        "rows.yml",
        "- insert:\n    - {id: a, name: review, config: {rounds: 1, enabled: off}}\n",
    );
    let composed = world.compose("none", &["rows.yml"]);
    let problems = check(&composed, &environment(&[]), PLUGINS);
    let mut wire = serde_json::to_value(&problems).unwrap();
    wire[0]["file"] = "rows.yml".into();
    assert_eq!(
        wire,
        json!([{
            "file": "rows.yml",
            "line": 2,
            "column": 58,
            "key": "a.enabled",
            "severity": "error",
            "message": "expected a boolean; `off` is a text, write `false`",
        }])
    );
}
