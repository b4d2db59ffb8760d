//! The row's configuration.

use dsh_kernel::config::ConfigSpec;
use schemars::JsonSchema;
use serde::Deserialize;

mod check;
mod missing;

/// The plugin's name, which begins every message about its configuration.
pub(super) const NAME: &str = "tool-deliberation";

/// The most steps that a masked review may be asked to read.
pub(super) const MOST_RECENT_STEPS: u64 = 32;

/// What rows may say, and every problem of what they do say.
pub(super) const SPEC: ConfigSpec =
    ConfigSpec { check: check::problems, ..ConfigSpec::of::<Config>() };

/// Rounds of isolated child agents at a fork in the road.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Config {
    /// The provider of children that know nothing of the session.
    #[serde(default = "spawn")]
    pub(super) fresh_provider: String,
    /// The provider of children that inherit the completed turns.
    #[serde(default = "fork")]
    pub(super) fork_provider: String,
    /// What the names of the providers of masked reviews begin with: `PREFIX-1` to `PREFIX-N`.
    #[serde(default = "mid_fork_step")]
    pub(super) mid_fork_provider: String,
    /// The most steps that a masked review may be asked to read: N, at most 32.
    #[serde(default = "eight")]
    pub(super) max_recent_steps: u64,
    /// The name of the tool.
    #[serde(default = "deliberate")]
    pub(super) tool_name: String,
    /// The most branches of a round.
    pub(super) max_branches: u64,
    /// How deep a child may stand; 1: only the agent of a person's session deliberates.
    pub(super) max_depth: u64,
    /// How long a branch may take, in milliseconds.
    #[serde(default = "ten_minutes")]
    pub(super) branch_timeout_ms: u64,
    /// The models that a branch can be sent to, under the names that the model chooses from.
    pub(super) routes: Vec<Route>,
    /// The tools that a branch can be given, under the names that the model chooses from.
    pub(super) capability_profiles: Vec<CapabilityProfile>,
    /// The review that the runtime can force at the end of a turn.
    #[serde(default)]
    pub(super) auto_review: AutoReview,
    /// Whether each step of a round is logged. Never what is said in it.
    #[serde(default)]
    pub(super) debug: bool,
}

/// Which model answers. What is left out is the session's own.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Route {
    /// The name that the model chooses it by: lower case, digits and dashes.
    pub(super) name: String,
    /// What it is, for the model.
    pub(super) description: String,
    /// The provider that is asked.
    #[serde(default)]
    pub(super) provider: Option<String>,
    /// The model that is asked.
    #[serde(default)]
    pub(super) model: Option<String>,
    /// The most tokens of an answer.
    #[serde(default)]
    pub(super) max_tokens: Option<u64>,
}

/// Which tools a branch has.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct CapabilityProfile {
    /// The name that the model chooses it by: lower case, digits and dashes.
    pub(super) name: String,
    /// What it allows, for the model.
    pub(super) description: String,
    /// Only these tools; an empty list: none. Absent: all but those of `deny`. One of both must be there.
    #[serde(default)]
    pub(super) allow: Option<Vec<String>>,
    /// Not these tools.
    #[serde(default)]
    pub(super) deny: Option<Vec<String>>,
}

/// The review that the runtime can force at the end of a turn.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct AutoReview {
    /// Whether turns are reviewed.
    pub(super) enabled: bool,
    /// Which turns.
    pub(super) scope: ReviewScope,
    /// The provider of the reviewing child. Required when enabled.
    pub(super) provider: Option<String>,
    /// The name of its route. Required when enabled.
    pub(super) route: Option<String>,
    /// The name of its capability profile. Required when enabled.
    pub(super) capability: Option<String>,
    /// What of a review the model is told.
    pub(super) publish: Publish,
    /// How long a review may take, in milliseconds.
    pub(super) timeout_ms: u64,
}

/// Which turns are reviewed.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ReviewScope {
    /// Every turn of a person's session.
    AllPrimaryTurns,
    /// Those in which a tool was called.
    ToolBearingTurns,
}

/// What of a review the model is told.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Publish {
    /// Only that something was found.
    UpdatesOnly,
    /// That nothing was found, too.
    All,
    /// Nothing.
    ObserveOnly,
}

impl Default for AutoReview {
    fn default() -> Self {
        Self {
            enabled: false,
            scope: ReviewScope::ToolBearingTurns,
            provider: None,
            route: None,
            capability: None,
            publish: Publish::UpdatesOnly,
            timeout_ms: 300_000,
        }
    }
}

impl Config {
    /// The provider of masked reviews of so many steps.
    pub(super) fn mid_fork_name(&self, steps: u64) -> String {
        format!("{}-{steps}", self.mid_fork_provider)
    }

    /// The names of all providers that rounds need.
    pub(super) fn providers(&self) -> Vec<String> {
        let family = (1..=self.max_recent_steps).map(|steps| self.mid_fork_name(steps));
        [self.fresh_provider.clone(), self.fork_provider.clone()]
            .into_iter()
            .chain(family)
            .collect()
    }

    /// A route by its name.
    pub(super) fn route(&self, name: &str) -> Option<&Route> {
        self.routes.iter().find(|route| route.name == name)
    }

    /// A capability profile by its name.
    pub(super) fn profile(&self, name: &str) -> Option<&CapabilityProfile> {
        self.capability_profiles.iter().find(|profile| profile.name == name)
    }
}

fn spawn() -> String {
    "spawn".to_owned()
}

fn fork() -> String {
    "fork".to_owned()
}

fn mid_fork_step() -> String {
    "mid-fork-step".to_owned()
}

fn deliberate() -> String {
    "deliberate".to_owned()
}

fn eight() -> u64 {
    8
}

fn ten_minutes() -> u64 {
    600_000
}

#[cfg(test)]
pub(in crate::deliberation) mod tests;
