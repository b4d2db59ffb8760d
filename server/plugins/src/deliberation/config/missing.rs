//! The names in a configuration that nobody has: of providers, models and tools.

use dsh_agent::names::Names;
use dsh_kernel::Missing;

use super::Config;

impl Config {
    /// Each of them, in words. Without one of its own providers there is no tool; without the reviews' no review.
    pub(in crate::deliberation) fn missing(&self, names: &Names) -> Vec<Missing> {
        let mut missing = Vec::new();
        missing.extend(names.subagents("freshProvider", &self.fresh_provider));
        missing.extend(names.subagents("forkProvider", &self.fork_provider));
        let mut family = 1..=self.max_recent_steps;
        missing.extend(family.find_map(|steps| {
            let key = if steps == 1 { "midForkProvider" } else { "maxRecentSteps" };
            names.subagents(key, &self.mid_fork_name(steps))
        }));
        if let Some(provider) = self.auto_review.provider.as_ref() {
            missing.extend(names.reviewers("autoReview.provider", provider));
        }
        for (at, route) in self.routes.iter().enumerate() {
            missing
                .extend(names.models(&format!("routes[{at}].provider"), route.provider.as_ref()));
        }
        for (at, profile) in self.capability_profiles.iter().enumerate() {
            for (list, tools) in [("allow", &profile.allow), ("deny", &profile.deny)] {
                let key = format!("capabilityProfiles[{at}].{list}");
                missing.extend(names.tools(&key, tools.as_deref().unwrap_or_default()));
            }
        }
        missing
    }
}
