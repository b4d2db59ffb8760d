//! The founding document's rows load as they are.

use std::fs;

use dsh_config::dump::{DumpOptions, dump};
use dsh_config::problem::ProblemKind;
use serde_json::{Value, json};

use crate::world::{World, config, environment};

const FOUNDING: &str = include_str!("founding.patch.yml");

fn reviewed(enabled: bool) -> Value {
    json!({
        "freshProvider": "spawn",
        "forkProvider": "fork",
        "midForkProvider": "mid-fork-step",
        "maxRecentSteps": 8,
        "maxBranches": 3,
        "maxDepth": 1,
        "branchTimeoutMs": 600_000,
        "routes": [{ "name": "same", "description": "The model that the primary agent uses." }],
        "capabilityProfiles": [
            { "name": "reason-only", "description": "No tools.", "allow": [] },
            {
                "name": "read-only",
                "description": "Read, grep and glob in the workspace.",
                "allow": ["read", "grep", "glob"],
            },
        ],
        "autoReview": {
            "enabled": enabled,
            "scope": "tool-bearing-turns",
            "provider": "mid-fork-current-turn",
            "route": "same",
            "capability": "read-only",
            "publish": "updates-only",
            "timeoutMs": 300_000,
        },
    })
}

#[test]
fn it_loads_over_every_profile() {
    let world = World::new();
    world.write("founding.yml", FOUNDING);
    for profile in ["editor", "headless", "web", "none"] {
        let composed = world.compose(profile, &["founding.yml"]);
        let errors = composed.problems.iter().filter(|problem| problem.is_error()).count();
        assert_eq!(errors, 0, "{:?}", composed.problems);
        let rows = composed.rows(&environment(&[])).unwrap();
        let names: Vec<_> =
            rows[rows.len() - 3..].iter().map(|row| (row.id.as_str(), row.name.as_str())).collect();
        assert_eq!(
            names,
            [
                ("subagent-mid-fork-step-family-in-process", "dsh-deliberation/mid-fork-provider"),
                ("subagent-mid-fork-current-turn-in-process", "dsh-deliberation/mid-fork-provider"),
                ("tool-deliberation", "dsh-deliberation"),
            ]
        );
        assert_eq!(config(&composed, "tool-deliberation"), reviewed(false));
    }
}

#[test]
fn a_second_file_turns_its_review_on_and_changes_nothing_else() {
    let world = World::new();
    world.write("founding.yml", FOUNDING);
    world.write("on.yml", "- id: tool-deliberation\n  merge: {autoReview: {enabled: true}}\n");
    let composed = world.compose("editor", &["founding.yml", "on.yml"]);
    assert_eq!(config(&composed, "tool-deliberation"), reviewed(true));
    let row = composed.rows.last().unwrap();
    let place = |key: &str| {
        let place = row.place_of(&key.into());
        let file = place.source.path.as_ref().unwrap().file_name().unwrap().to_string_lossy();
        format!("{file}:{}:{}", place.line, place.column)
    };
    assert_eq!(place("autoReview.enabled"), "on.yml:2:33");
    assert_eq!(place("autoReview.scope"), "founding.yml:42:18");
    assert_eq!(place("routes[0].name"), "founding.yml:31:19");
    assert_eq!(place("routes[0].model"), "founding.yml:31:13");
    assert_eq!(place("autoReview.nothing"), "on.yml:2:23");
}

#[test]
fn it_survives_a_dump() {
    let world = World::new();
    world.write("founding.yml", FOUNDING);
    let composed = world.compose("editor", &["founding.yml"]);
    let text = dump(&composed, DumpOptions { origin: true, default: false });
    fs::write(world.path("dump.yml"), text).unwrap();
    let again = world.compose("none", &["dump.yml"]);
    let environment = environment(&[]);
    assert_eq!(again.rows(&environment).unwrap(), composed.rows(&environment).unwrap());
}

#[test]
fn without_its_plugin_each_row_is_said_to_be_unknown() {
    let world = World::new();
    world.write("founding.yml", FOUNDING);
    let composed = world.compose("none", &["founding.yml"]);
    let problems = dsh_config::check::check(&composed, &environment(&[]), &[]);
    let kinds: Vec<_> = problems.iter().map(|problem| (problem.kind, problem.line)).collect();
    let unknown = ProblemKind::UnknownPlugin;
    assert_eq!(kinds, [(unknown, Some(4)), (unknown, Some(13)), (unknown, Some(21))]);
}
