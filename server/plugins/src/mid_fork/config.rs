//! The configuration of a mid-fork row.

use dsh_agent::subagents::request::Window;
use dsh_kernel::config::ConfigProblem;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Number, Value};

use super::projection::Mask;

/// The most steps of a window.
pub(super) const MOST_STEPS: u64 = 32;

/// How many members a family has unless told.
const FAMILY: u64 = 8;

/// The largest whole number that every reader of JSON keeps exactly.
const MAX_SAFE: f64 = 9_007_199_254_740_991.0;

/// Numbers and words are read as they come, so that what is wrong with them is said in this row's words.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Config {
    /// The name of the provider, or the part before `-1`, `-2` … of a family of them.
    provider_name: String,
    /// `recent-steps` or `current-turn`.
    window: String,
    /// How many steps the one provider shows. Absent: a family of providers, one for each number.
    recent_steps: Option<Number>,
    /// How many members the family has.
    max_recent_steps: Option<Number>,
    /// What the window leaves out: `reasoning-only` or `action-only`, which leaves all of a model's words out.
    mask: String,
    /// The most UTF-16 units of the window's text.
    max_snapshot_chars: Number,
    /// The most images of the window.
    max_snapshot_images: Number,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            provider_name: "mid-fork-step".to_owned(),
            window: "recent-steps".to_owned(),
            recent_steps: None,
            max_recent_steps: None,
            mask: "reasoning-only".to_owned(),
            max_snapshot_chars: Number::from(65_536),
            max_snapshot_images: Number::from(20),
        }
    }
}

impl Config {
    /// The providers that the row registers, by name.
    pub(super) fn providers(&self) -> Vec<(String, Window)> {
        let name = self.provider_name.clone();
        if self.window == "current-turn" {
            return vec![(name, Window::CurrentTurn)];
        }
        let steps = |count: &Number| u32::try_from(whole(count).unwrap_or(1)).unwrap_or(1);
        if let Some(count) = &self.recent_steps {
            return vec![(name, Window::RecentSteps(steps(count)))];
        }
        let members = self.max_recent_steps.as_ref().map_or(FAMILY, |most| steps(most).into());
        (1..=u32::try_from(members).unwrap_or(1))
            .map(|member| (format!("{name}-{member}"), Window::RecentSteps(member)))
            .collect()
    }

    pub(super) fn mask(&self) -> Mask {
        if self.mask == "action-only" { Mask::ActionOnly } else { Mask::ReasoningOnly }
    }

    pub(super) fn max_snapshot_chars(&self) -> u64 {
        whole(&self.max_snapshot_chars).unwrap_or(1)
    }

    pub(super) fn max_snapshot_images(&self) -> u64 {
        whole(&self.max_snapshot_images).unwrap_or(1)
    }
}

/// A whole number from 1 on that every reader of JSON keeps exactly, however it is written.
fn whole(number: &Number) -> Option<u64> {
    let value = number.as_f64()?;
    let fits = value.fract() == 0.0 && (1.0..=MAX_SAFE).contains(&value);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "just checked")]
    fits.then_some(value as u64)
}

/// What is wrong with a configuration whose shape is right.
pub(super) fn problems(config: &Value) -> Vec<ConfigProblem> {
    let mut found = Vec::new();
    let mut say = |key: &str, message: &str| {
        found.push(ConfigProblem::new(key, format!("mid-fork {message}")));
    };
    let absent = Value::Null;
    let get = |key: &str| config.get(key).filter(|value| !value.is_null()).unwrap_or(&absent);
    if get("providerName").as_str().is_some_and(|name| name.trim().is_empty()) {
        say("providerName", "providerName must be non-empty");
    }
    let window = get("window").as_str().unwrap_or("recent-steps");
    if !["recent-steps", "current-turn"].contains(&window) {
        say("window", "window must be recent-steps or current-turn");
    }
    let mask = get("mask").as_str().unwrap_or("reasoning-only");
    if !["reasoning-only", "action-only"].contains(&mask) {
        say("mask", "mask must be reasoning-only or action-only");
    }
    let (some, family) = (!get("recentSteps").is_null(), !get("maxRecentSteps").is_null());
    if window == "current-turn" && (some || family) {
        say("window", "current-turn window cannot configure recentSteps or maxRecentSteps");
    } else if some && family {
        say(
            "recentSteps",
            "recent-steps config must choose recentSteps or maxRecentSteps, not both",
        );
    }
    for (key, most) in [
        ("recentSteps", Some(MOST_STEPS)),
        ("maxRecentSteps", Some(MOST_STEPS)),
        ("maxSnapshotChars", None),
        ("maxSnapshotImages", None),
    ] {
        let Value::Number(number) = get(key) else { continue };
        match whole(number) {
            None => say(key, &format!("{key} must be a positive safe integer")),
            Some(value) if most.is_some_and(|most| value > most) => {
                say(key, &format!("{key} must be no greater than {MOST_STEPS}"));
            }
            Some(_) => {}
        }
    }
    found
}
