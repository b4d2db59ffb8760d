//! Everything that is wrong with a configuration, in the order in which the founding plugin looks: its first
//! refusal is the first problem.

use dsh_agent::names::is_tool_name;
use dsh_kernel::config::{ConfigProblem, ConfigSpec, KeyPath};
use serde_json::{Map, Value};

use super::{Config, MOST_RECENT_STEPS, NAME};
use crate::deliberation::text::is_blank;

/// 2^53 − 1: the largest whole number that JSON carries everywhere.
const MOST: u64 = (1 << 53) - 1;

/// The longest time of a timer, in milliseconds.
const LONGEST: u64 = (1 << 31) - 1;

/// Every problem.
pub(super) fn problems(config: &Value) -> Vec<ConfigProblem> {
    let empty = Map::new();
    let Some(root) = (if config.is_null() { Some(&empty) } else { config.as_object() }) else {
        return (ConfigSpec::of::<Config>().check)(config);
    };
    let mut check = Check { root, problems: Vec::new() };
    check.names();
    check.limits();
    check.routes();
    check.profiles();
    check.auto_review();
    let mut problems = check.problems;
    // What the rules above do not look at: unknown keys, and values of another kind.
    for problem in (ConfigSpec::of::<Config>().check)(config) {
        let is_said = |said: &ConfigProblem| {
            said.path.is_within(&problem.path) || problem.path.is_within(&said.path)
        };
        if !problems.iter().any(is_said) {
            problems.push(problem);
        }
    }
    problems
}

struct Check<'a> {
    root: &'a Map<String, Value>,
    problems: Vec<ConfigProblem>,
}

impl Check<'_> {
    fn say(&mut self, path: KeyPath, message: &str) {
        self.problems.push(ConfigProblem { path, message: format!("{NAME}: {message}") });
    }

    /// The text of a key, where it is one; its default where it is absent.
    fn text(&self, key: &str, default: &str) -> Option<String> {
        match self.root.get(key) {
            None => Some(default.to_owned()),
            Some(Value::String(text)) => Some(text.clone()),
            Some(_) => None,
        }
    }

    fn names(&mut self) {
        let root = self.root;
        for key in ["freshProvider", "forkProvider", "midForkProvider", "toolName"] {
            if given(root, key).and_then(Value::as_str).is_some_and(is_blank) {
                self.say(KeyPath::from(key), &format!("{key} must be non-empty"));
            }
        }
        let tool = self.text("toolName", "deliberate");
        if tool.is_some_and(|name| !is_blank(&name) && !is_tool_name(&name)) {
            let message = "toolName must be 1 to 64 of A-Z a-z 0-9 _ -";
            self.say(KeyPath::from("toolName"), message);
        }
    }

    fn limits(&mut self) {
        let root = self.root;
        let recent = root.get("maxRecentSteps").map_or(Some(8), whole);
        let recent = recent.filter(|steps| *steps <= MOST_RECENT_STEPS);
        if recent.is_none() {
            let message = "maxRecentSteps must be a positive safe integer no greater than 32";
            self.say(KeyPath::from("maxRecentSteps"), message);
        }
        self.distinct(recent.unwrap_or(0));
        for key in ["maxBranches", "maxDepth"] {
            if root.get(key).and_then(whole).is_none() {
                self.say(KeyPath::from(key), &format!("{key} must be a positive safe integer"));
            }
        }
        self.timer(&KeyPath::default(), root, "branchTimeoutMs", "branchTimeoutMs");
    }

    fn distinct(&mut self, recent: u64) {
        let fresh = self.text("freshProvider", "spawn");
        let fork = self.text("forkProvider", "fork");
        let Some(prefix) = self.text("midForkProvider", "mid-fork-step") else { return };
        let is_of_family =
            |name: &Option<String>| (1..=recent).any(|k| *name == Some(format!("{prefix}-{k}")));
        let wrong = if fresh.is_some() && fresh == fork {
            Some("forkProvider")
        } else if is_of_family(&fresh) {
            Some("freshProvider")
        } else {
            is_of_family(&fork).then_some("forkProvider")
        };
        if let Some(key) = wrong {
            let message =
                "freshProvider, forkProvider and the providers of midForkProvider must be distinct";
            self.say(KeyPath::from(key), message);
        }
    }

    fn timer(&mut self, above: &KeyPath, map: &Map<String, Value>, key: &str, named: &str) {
        let fits = |value| whole(value).is_some_and(|ms| ms <= LONGEST);
        if !map.get(key).is_none_or(fits) {
            let message =
                format!("{named} must be a positive safe integer no greater than {LONGEST}");
            self.say(above.key(key), &message);
        }
    }

    fn routes(&mut self) {
        let path = KeyPath::from("routes");
        let routes = list(self.root, "routes");
        if routes.is_empty() {
            self.say(path.clone(), "routes must contain at least one model route");
        }
        // One kind of refusal after the other as far as the lists themselves go.
        if list(self.root, "capabilityProfiles").is_empty() {
            let message = "capabilityProfiles must contain at least one capability profile";
            self.say(KeyPath::from("capabilityProfiles"), message);
        }
        let mut names = Vec::new();
        for (index, route) in routes.iter().enumerate() {
            let Some(route) = route.as_object() else { continue };
            let at = path.index(index);
            let name = self.entry_name(&at, route, ("route.name", "route"), &mut names);
            for key in ["provider", "model"] {
                if given(route, key).and_then(Value::as_str).is_some_and(is_blank) {
                    self.say(at.key(key), &format!("route \"{name}\" {key} must be non-empty"));
                }
            }
            if given(route, "maxTokens").is_some_and(|tokens| whole(tokens).is_none()) {
                let message = format!("route \"{name}\" maxTokens must be a positive safe integer");
                self.say(at.key("maxTokens"), &message);
            }
        }
    }

    fn profiles(&mut self) {
        let path = KeyPath::from("capabilityProfiles");
        let tool = self.text("toolName", "deliberate").unwrap_or_default();
        let mut names = Vec::new();
        for (index, profile) in list(self.root, "capabilityProfiles").iter().enumerate() {
            let Some(profile) = profile.as_object() else { continue };
            let at = path.index(index);
            let words = ("capabilityProfiles.name", "capability profile");
            let name = self.entry_name(&at, profile, words, &mut names);
            let who = format!("capability profile \"{name}\"");
            let (allow, deny) = (given(profile, "allow"), given(profile, "deny"));
            if allow.is_none() && deny.is_none() {
                self.say(at.clone(), &format!("{who} must configure allow and/or deny"));
            }
            let allow = self.tools(&at.key("allow"), allow, &format!("{who} allow"));
            let deny = self.tools(&at.key("deny"), deny, &format!("{who} deny"));
            for name in allow.iter().filter(|name| deny.contains(name)) {
                let message = format!("{who} both allows and denies tool \"{name}\"");
                self.say(at.key("deny"), &message);
            }
            if allow.contains(&tool.as_str()) {
                let message = format!("{who} cannot allow recursive tool \"{tool}\"");
                self.say(at.key("allow"), &message);
            }
        }
    }

    /// Checks the name and the description of a route or profile; returns the name.
    fn entry_name<'v>(
        &mut self,
        at: &KeyPath,
        entry: &'v Map<String, Value>,
        (key, who): (&str, &str),
        names: &mut Vec<&'v str>,
    ) -> &'v str {
        let text = |key: &str| entry.get(key).map_or(Some(""), Value::as_str);
        let name = text("name").unwrap_or_default();
        if text("name").is_some_and(is_blank) {
            self.say(at.key("name"), &format!("{key} must be non-empty"));
        }
        if text("description").is_some_and(is_blank) {
            self.say(
                at.key("description"),
                &format!("{who} \"{name}\" description must be non-empty"),
            );
        }
        if !is_blank(name) && !is_kebab_case(name) {
            self.say(at.key("name"), &format!("{who} name \"{name}\" must be lower-kebab-case"));
        }
        if names.contains(&name) && !is_blank(name) {
            self.say(at.key("name"), &format!("duplicate {who} name \"{name}\""));
        }
        names.push(name);
        name
    }

    /// Checks a list of tools; returns their names.
    fn tools<'v>(&mut self, at: &KeyPath, list: Option<&'v Value>, who: &str) -> Vec<&'v str> {
        let mut names: Vec<&str> = Vec::new();
        for (index, name) in list.and_then(Value::as_array).into_iter().flatten().enumerate() {
            let Some(name) = name.as_str() else { continue };
            if is_blank(name) {
                self.say(at.index(index), &format!("{who} must be non-empty"));
            } else if names.contains(&name) {
                self.say(at.index(index), &format!("{who} contains duplicate tool \"{name}\""));
            }
            names.push(name);
        }
        names
    }

    fn auto_review(&mut self) {
        let Some(review) = given(self.root, "autoReview").and_then(Value::as_object) else {
            return;
        };
        let at = KeyPath::from("autoReview");
        let mut one_of = |key: &str, words: &[&str], message: &str| {
            let is_one = |value: &Value| value.as_str().is_some_and(|word| words.contains(&word));
            if !review.get(key).is_none_or(is_one) {
                self.say(at.key(key), &format!("autoReview.{key} must be {message}"));
            }
        };
        let scopes = ["all-primary-turns", "tool-bearing-turns"];
        one_of("scope", &scopes, "all-primary-turns or tool-bearing-turns");
        let forms = ["updates-only", "all", "observe-only"];
        one_of("publish", &forms, "updates-only, all, or observe-only");
        self.timer(&at, review, "timeoutMs", "autoReview.timeoutMs");
        if review.get("enabled") != Some(&Value::Bool(true)) {
            return;
        }
        let keys = ["provider", "route", "capability"];
        for key in keys.iter().filter(|key| given(review, key).is_none()) {
            self.say(at.key(key), &format!("autoReview.{key} is required when enabled"));
        }
        for key in keys {
            if given(review, key).and_then(Value::as_str).is_some_and(is_blank) {
                self.say(at.key(key), &format!("autoReview.{key} must be non-empty"));
            }
        }
        for (key, entries) in [("route", "routes"), ("capability", "capabilityProfiles")] {
            let Some(name) = given(review, key).and_then(Value::as_str) else { continue };
            let is_it = |entry: &Value| entry.get("name").and_then(Value::as_str) == Some(name);
            if !is_blank(name) && !list(self.root, entries).iter().any(is_it) {
                let message = format!("autoReview {key} \"{name}\" is not configured");
                self.say(at.key(key), &message);
            }
        }
    }
}

/// What stands at a key; `null` is as good as nothing.
fn given<'a>(map: &'a Map<String, Value>, key: &str) -> Option<&'a Value> {
    map.get(key).filter(|value| !value.is_null())
}

fn list<'a>(map: &'a Map<String, Value>, key: &str) -> &'a [Value] {
    map.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// A positive safe integer.
fn whole(value: &Value) -> Option<u64> {
    value.as_u64().filter(|number| (1..=MOST).contains(number))
}

fn is_kebab_case(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_lowercase())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}
