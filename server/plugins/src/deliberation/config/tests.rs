//! Every refusal of a configuration, by its exact text.

use dsh_kernel::plugin::read_config;
use serde_json::{Value, json};

use super::*;

/// A configuration in which nothing is wrong.
pub(in crate::deliberation) fn good() -> Value {
    json!({
        "maxBranches": 4,
        "maxDepth": 1,
        "maxRecentSteps": 4,
        "branchTimeoutMs": 10_000,
        "routes": [
            { "name": "same", "description": "The primary's own model." },
            {
                "name": "strong",
                "description": "A stronger model.",
                "provider": "secret-provider",
                "model": "secret-model",
                "maxTokens": 2048,
            },
        ],
        "capabilityProfiles": [
            { "name": "reason-only", "description": "No tools.", "allow": [] },
            {
                "name": "evidence-only",
                "description": "Reads.",
                "allow": ["fixture_read"],
                "deny": ["fixture_write"],
            },
        ],
    })
}

fn problems(config: &Value) -> Vec<String> {
    SPEC.problems(config).iter().map(ToString::to_string).collect()
}

/// The configuration with one value set, or with one key removed where the value is absent.
fn with(path: &str, value: Option<Value>) -> Value {
    let mut config = good();
    let path = dsh_kernel::config::KeyPath::from(path);
    if let Some(value) = value {
        assert!(path.set(&mut config, value), "{path}");
        return config;
    }
    let (last, above) = path.steps.split_last().unwrap();
    let mut parent = &mut config;
    for step in above {
        parent = match step {
            dsh_kernel::config::PathStep::Key(key) => &mut parent[key.as_str()],
            dsh_kernel::config::PathStep::Index(index) => &mut parent[*index],
        };
    }
    let dsh_kernel::config::PathStep::Key(key) = last else { panic!("{path}") };
    parent.as_object_mut().unwrap().remove(key);
    config
}

fn review(own: &Value) -> Value {
    let mut review = json!({
        "enabled": true,
        "provider": "mid-fork-current-turn",
        "route": "same",
        "capability": "reason-only",
    });
    for (key, value) in own.as_object().unwrap() {
        review[key] = value.clone();
    }
    with("autoReview", Some(review))
}

/// Each configuration is refused, first of all with its text.
fn check_refused(bad: &[(Value, &str)]) {
    for (config, text) in bad {
        let found = SPEC.problems(config);
        let first = found.first().unwrap_or_else(|| panic!("{text}: {config} is accepted"));
        assert_eq!(first.message, format!("tool-deliberation: {text}"), "{config}");
    }
}

#[test]
fn d27_names_and_limits_are_refused_with_their_text() {
    let recent = "maxRecentSteps must be a positive safe integer no greater than 32";
    let distinct =
        "freshProvider, forkProvider and the providers of midForkProvider must be distinct";
    let timeout = "branchTimeoutMs must be a positive safe integer no greater than 2147483647";
    check_refused(&[
        (with("freshProvider", Some(json!(" "))), "freshProvider must be non-empty"),
        (with("forkProvider", Some(json!(""))), "forkProvider must be non-empty"),
        (with("midForkProvider", Some(json!("\u{feff}"))), "midForkProvider must be non-empty"),
        (with("toolName", Some(json!("\t"))), "toolName must be non-empty"),
        (with("maxRecentSteps", Some(json!(0))), recent),
        (with("maxRecentSteps", Some(json!(33))), recent),
        (with("maxRecentSteps", Some(json!(1.5))), recent),
        (with("forkProvider", Some(json!("spawn"))), distinct),
        (with("freshProvider", Some(json!("mid-fork-step-4"))), distinct),
        (with("forkProvider", Some(json!("mid-fork-step-1"))), distinct),
        (with("maxBranches", Some(json!(0))), "maxBranches must be a positive safe integer"),
        (
            with("maxBranches", Some(json!(9_007_199_254_740_992_u64))),
            "maxBranches must be a positive safe integer",
        ),
        (with("maxBranches", None), "maxBranches must be a positive safe integer"),
        (with("maxDepth", Some(json!(0))), "maxDepth must be a positive safe integer"),
        (with("maxDepth", Some(json!(1.5))), "maxDepth must be a positive safe integer"),
        (with("maxDepth", None), "maxDepth must be a positive safe integer"),
        (with("branchTimeoutMs", Some(json!(0))), timeout),
        (with("branchTimeoutMs", Some(json!(2_147_483_648_u64))), timeout),
        (with("branchTimeoutMs", Some(json!("10s"))), timeout),
        (with("toolName", Some(json!("a b"))), "toolName must be 1 to 64 of A-Z a-z 0-9 _ -"),
    ]);
}

#[test]
fn d27_routes_and_profiles_are_refused_with_their_text() {
    let no_routes = "routes must contain at least one model route";
    let no_profiles = "capabilityProfiles must contain at least one capability profile";
    let mut twice = good();
    twice["routes"][1]["name"] = "same".into();
    let mut profile_twice = good();
    profile_twice["capabilityProfiles"][1]["name"] = "reason-only".into();
    let mut neither = good();
    neither["capabilityProfiles"][0].as_object_mut().unwrap().remove("allow");
    check_refused(&[
        (with("routes", Some(json!([]))), no_routes),
        (with("routes", Some(Value::Null)), no_routes),
        (with("routes", Some(json!("same"))), no_routes),
        (with("routes", None), no_routes),
        (with("capabilityProfiles", Some(json!([]))), no_profiles),
        (with("capabilityProfiles", Some(Value::Null)), no_profiles),
        (with("capabilityProfiles", None), no_profiles),
        (with("routes[0].name", Some(json!(" "))), "route.name must be non-empty"),
        (with("routes[0].name", None), "route.name must be non-empty"),
        (
            with("routes[0].description", Some(json!(""))),
            "route \"same\" description must be non-empty",
        ),
        (
            with("routes[0].name", Some(json!("Same"))),
            "route name \"Same\" must be lower-kebab-case",
        ),
        (with("routes[0].name", Some(json!("a\n"))), "route name \"a\n\" must be lower-kebab-case"),
        (twice, "duplicate route name \"same\""),
        (
            with("routes[1].provider", Some(json!(" "))),
            "route \"strong\" provider must be non-empty",
        ),
        (with("routes[1].model", Some(json!(""))), "route \"strong\" model must be non-empty"),
        (
            with("routes[1].maxTokens", Some(json!(0))),
            "route \"strong\" maxTokens must be a positive safe integer",
        ),
        (
            with("capabilityProfiles[0].name", Some(json!(""))),
            "capabilityProfiles.name must be non-empty",
        ),
        (
            with("capabilityProfiles[0].description", Some(json!(" "))),
            "capability profile \"reason-only\" description must be non-empty",
        ),
        (
            with("capabilityProfiles[0].name", Some(json!("1a"))),
            "capability profile name \"1a\" must be lower-kebab-case",
        ),
        (profile_twice, "duplicate capability profile name \"reason-only\""),
        (neither, "capability profile \"reason-only\" must configure allow and/or deny"),
        (
            with("capabilityProfiles[0].allow", Some(json!(["read", " "]))),
            "capability profile \"reason-only\" allow must be non-empty",
        ),
        (
            with("capabilityProfiles[0].allow", Some(json!(["read", "read"]))),
            "capability profile \"reason-only\" allow contains duplicate tool \"read\"",
        ),
        (
            with("capabilityProfiles[0].deny", Some(json!([""]))),
            "capability profile \"reason-only\" deny must be non-empty",
        ),
        (
            with("capabilityProfiles[0].deny", Some(json!(["x", "x"]))),
            "capability profile \"reason-only\" deny contains duplicate tool \"x\"",
        ),
        (
            with("capabilityProfiles[1].deny", Some(json!(["fixture_read"]))),
            "capability profile \"evidence-only\" both allows and denies tool \"fixture_read\"",
        ),
        (
            with("capabilityProfiles[0].allow", Some(json!(["deliberate"]))),
            "capability profile \"reason-only\" cannot allow recursive tool \"deliberate\"",
        ),
    ]);
}

#[test]
fn d27_the_automatic_review_is_refused_with_its_text() {
    check_refused(&[
        (
            with("autoReview", Some(json!({ "scope": "some" }))),
            "autoReview.scope must be all-primary-turns or tool-bearing-turns",
        ),
        (
            with("autoReview", Some(json!({ "publish": "some" }))),
            "autoReview.publish must be updates-only, all, or observe-only",
        ),
        (
            with("autoReview", Some(json!({ "timeoutMs": 0 }))),
            "autoReview.timeoutMs must be a positive safe integer no greater than 2147483647",
        ),
        (
            with("autoReview", Some(json!({ "enabled": true }))),
            "autoReview.provider is required when enabled",
        ),
        (review(&json!({ "route": null })), "autoReview.route is required when enabled"),
        (review(&json!({ "capability": null })), "autoReview.capability is required when enabled"),
        (review(&json!({ "provider": " " })), "autoReview.provider must be non-empty"),
        (review(&json!({ "route": "other" })), "autoReview route \"other\" is not configured"),
        (
            review(&json!({ "capability": "other" })),
            "autoReview capability \"other\" is not configured",
        ),
    ]);
}

#[test]
fn what_is_right_is_accepted() {
    assert_eq!(problems(&good()), Vec::<String>::new());
    for name in ["a", "a1", "a-", "a--b"] {
        assert_eq!(problems(&with("routes[0].name", Some(json!(name)))), Vec::<String>::new());
    }
    for name in ["A", "1a", "-a", "a_b", "a\n", ""] {
        assert_eq!(problems(&with("routes[0].name", Some(json!(name)))).len(), 1, "{name:?}");
    }
    let denied = with("capabilityProfiles[0].deny", Some(json!(["deliberate"])));
    assert_eq!(problems(&denied), Vec::<String>::new());
    assert_eq!(problems(&review(&json!({ "provider": "mid-fork-step-1" }))), Vec::<String>::new());
    assert_eq!(
        problems(&with("branchTimeoutMs", Some(json!(2_147_483_647)))),
        Vec::<String>::new()
    );
}

#[test]
fn d31_what_is_left_out_has_the_founding_defaults() {
    let mut least = good();
    let own = least.as_object_mut().unwrap();
    own.retain(|key, _| {
        ["maxBranches", "maxDepth", "routes", "capabilityProfiles"].contains(&key.as_str())
    });
    assert_eq!(problems(&least), Vec::<String>::new());
    let config: Config = read_config(least).unwrap();
    assert_eq!((config.tool_name.as_str(), config.branch_timeout_ms), ("deliberate", 600_000));
    let family = (1..=8).map(|steps| format!("mid-fork-step-{steps}"));
    let expected: Vec<String> =
        ["spawn".to_owned(), "fork".to_owned()].into_iter().chain(family).collect();
    assert_eq!(config.providers(), expected);
    assert!(!config.auto_review.enabled && !config.debug);
    let own_list = |name| config.profile(name).unwrap().allow.clone();
    assert_eq!(own_list("reason-only"), Some(Vec::new()));
}

#[test]
fn everything_is_said_at_once_with_its_place() {
    let mut config = good();
    config["maxBranches"] = json!(0);
    config["routes"][1]["maxTokens"] = json!("many");
    config["autoReview"] = json!({ "publish": 3, "wait": true });
    config["debug"] = json!("yes");
    config["voting"] = json!(true);
    let found = problems(&config);
    let begins: Vec<&str> = found.iter().map(|text| text.split('`').nth(1).unwrap()).collect();
    assert_eq!(
        begins,
        [
            "maxBranches",
            "routes[1].maxTokens",
            "autoReview.publish",
            "autoReview.wait",
            "debug",
            "voting",
        ]
    );
}
