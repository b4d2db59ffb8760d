//! What rows may say, and which providers they make.

use dsh_agent::subagents::request::Window;
use serde_json::{Value, json};

use super::super::PLUGIN;
use super::super::config::Config;

fn problems(config: &Value) -> Vec<String> {
    let problems = PLUGIN.config.problems(config);
    problems.iter().map(|problem| problem.message.clone()).collect()
}

#[test]
fn what_is_wrong_is_said_in_these_words() {
    let not_whole = "mid-fork recentSteps must be a positive safe integer";
    for (config, expected) in [
        (json!({ "providerName": " " }), "mid-fork providerName must be non-empty"),
        (json!({ "window": "all" }), "mid-fork window must be recent-steps or current-turn"),
        (json!({ "mask": "none" }), "mid-fork mask must be reasoning-only or action-only"),
        (json!({ "recentSteps": 0 }), not_whole),
        (json!({ "recentSteps": 1.5 }), not_whole),
        (json!({ "recentSteps": 33 }), "mid-fork recentSteps must be no greater than 32"),
        (json!({ "maxRecentSteps": 33 }), "mid-fork maxRecentSteps must be no greater than 32"),
        (
            json!({ "maxSnapshotChars": 0 }),
            "mid-fork maxSnapshotChars must be a positive safe integer",
        ),
        (
            json!({ "maxSnapshotImages": 9_007_199_254_740_992_u64 }),
            "mid-fork maxSnapshotImages must be a positive safe integer",
        ),
        (
            json!({ "window": "current-turn", "maxRecentSteps": 4 }),
            "mid-fork current-turn window cannot configure recentSteps or maxRecentSteps",
        ),
        (
            json!({ "recentSteps": 2, "maxRecentSteps": 4 }),
            "mid-fork recent-steps config must choose recentSteps or maxRecentSteps, not both",
        ),
    ] {
        assert_eq!(problems(&config), [expected], "{config}");
    }
    assert_eq!(problems(&json!({})), Vec::<String>::new());
    assert_eq!(problems(&json!({ "stepz": 1 })).len(), 1, "an unknown key is a mistake");
}

fn providers(config: Value) -> Vec<(String, Window)> {
    serde_json::from_value::<Config>(config).unwrap().providers()
}

#[test]
fn a_row_makes_one_provider_or_a_family() {
    let names =
        |config| -> Vec<String> { providers(config).into_iter().map(|(name, _)| name).collect() };
    assert_eq!(names(json!({ "maxRecentSteps": 2 })), ["mid-fork-step-1", "mid-fork-step-2"]);
    assert_eq!(names(json!({})).len(), 8);
    assert_eq!(
        providers(json!({ "providerName": "x", "recentSteps": 3.0 })),
        [("x".to_owned(), Window::RecentSteps(3))]
    );
    assert_eq!(
        providers(json!({ "providerName": "now", "window": "current-turn" })),
        [("now".to_owned(), Window::CurrentTurn)]
    );
}
