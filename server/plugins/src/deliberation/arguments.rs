//! The tool's arguments, and why they are refused. Whatever is refused starts no child.

use dsh_protocol::deliberation::{BranchRequest, BranchRole, DeliberationContext};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::config::{Config, NAME};
use super::text::is_blank;

/// A round that is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct Arguments {
    pub(super) goal: String,
    pub(super) incumbent: String,
    pub(super) context: DeliberationContext,
    pub(super) branches: Vec<BranchRequest>,
}

/// Why arguments are refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// They do not have the shape of the schema.
    Shape(String),
    /// They have it, and something in them is wrong.
    Value(String),
}

impl Refusal {
    /// What is wrong.
    pub(super) fn into_message(self) -> String {
        match self {
            Self::Shape(violations) => format!("invalid arguments: {violations}"),
            Self::Value(message) => message,
        }
    }
}

/// Reads arguments.
pub(super) fn read(value: &Value, config: &Config) -> Result<Arguments, Refusal> {
    let mut shape = Shape { config, violations: Vec::new() };
    shape.root(value);
    if !shape.violations.is_empty() {
        return Err(Refusal::Shape(shape.violations.join("; ")));
    }
    let arguments: Arguments =
        serde_json::from_value(value.clone()).map_err(|error| Refusal::Shape(error.to_string()))?;
    check(&arguments, value, config).map_err(Refusal::Value)?;
    Ok(arguments)
}

/// What the schema says, checked.
struct Shape<'a> {
    config: &'a Config,
    violations: Vec<String>,
}

const CONTEXT: [&str; 3] = ["observations", "constraints", "unknowns"];

impl Shape<'_> {
    fn say(&mut self, at: &str, what: &str) {
        self.violations.push(format!("`{at}` {what}"));
    }

    fn root(&mut self, value: &Value) {
        let Some(root) = value.as_object() else {
            self.violations.push("expected a JSON object".to_owned());
            return;
        };
        self.strings(root, "", &["goal", "incumbent"]);
        match root.get("context").map(Value::as_object) {
            None => self.say("context", "is missing"),
            Some(None) => self.say("context", "must be an object"),
            Some(Some(context)) => self.context(context),
        }
        match root.get("branches").map(Value::as_array) {
            None => self.say("branches", "is missing"),
            Some(None) => self.say("branches", "must be a list"),
            Some(Some(branches)) => {
                for (index, branch) in branches.iter().enumerate() {
                    self.branch(branch, &format!("branches[{index}]"));
                }
            }
        }
    }

    fn strings(&mut self, map: &Map<String, Value>, above: &str, keys: &[&str]) {
        for key in keys {
            match map.get(*key) {
                None => self.say(&format!("{above}{key}"), "is missing"),
                Some(Value::String(_)) => {}
                Some(_) => self.say(&format!("{above}{key}"), "must be a string"),
            }
        }
    }

    fn closed(&mut self, map: &Map<String, Value>, above: &str, keys: &[&str]) {
        for key in map.keys().filter(|key| !keys.contains(&key.as_str())) {
            self.say(&format!("{above}{key}"), "is not known here");
        }
    }

    fn context(&mut self, context: &Map<String, Value>) {
        self.closed(context, "context.", &CONTEXT);
        for key in CONTEXT {
            let at = format!("context.{key}");
            match context.get(key).map(Value::as_array) {
                None => self.say(&at, "is missing"),
                Some(Some(list)) if list.iter().all(Value::is_string) => {}
                Some(_) => self.say(&at, "must be a list of strings"),
            }
        }
    }

    fn branch(&mut self, branch: &Value, at: &str) {
        let Some(branch) = branch.as_object() else {
            self.say(at, "must be an object");
            return;
        };
        let above = format!("{at}.");
        let keys = ["label", "route", "capability", "focus", "role", "recentSteps"];
        self.closed(branch, &above, &keys);
        self.strings(branch, &above, &keys[..5]);
        let names = |list: Vec<&str>| list.join(", ");
        let routes: Vec<&str> = self.config.routes.iter().map(|it| it.name.as_str()).collect();
        let profiles: Vec<&str> =
            self.config.capability_profiles.iter().map(|it| it.name.as_str()).collect();
        let roles = BranchRole::ALL.map(BranchRole::as_str).to_vec();
        for (key, known) in [("route", routes), ("capability", profiles), ("role", roles)] {
            let value = branch.get(key).and_then(Value::as_str);
            if value.is_some_and(|value| !known.contains(&value)) {
                self.say(&format!("{above}{key}"), &format!("must be one of {}", names(known)));
            }
        }
        if branch.get("recentSteps").is_some_and(|steps| !steps.is_u64() && !steps.is_i64()) {
            self.say(&format!("{above}recentSteps"), "must be a whole number");
        } else if branch.get("recentSteps").is_some_and(|steps| !steps.is_u64()) {
            let most = self.config.max_recent_steps;
            self.say(&format!("{above}recentSteps"), &format!("must be from 1 through {most}"));
        }
    }
}

/// What the schema cannot say.
fn check(arguments: &Arguments, sent: &Value, config: &Config) -> Result<(), String> {
    for (key, text) in [("goal", &arguments.goal), ("incumbent", &arguments.incumbent)] {
        if is_blank(text) {
            return Err(format!("{NAME}: {key} must be non-empty"));
        }
    }
    // In the order in which they were sent.
    for (list, entries) in sent["context"].as_object().into_iter().flatten() {
        for (index, entry) in entries.as_array().into_iter().flatten().enumerate() {
            if entry.as_str().is_some_and(is_blank) {
                return Err(format!("{NAME}: context.{list}[{index}] must be non-empty"));
            }
        }
    }
    let (tool, count) = (&config.tool_name, arguments.branches.len() as u64);
    if !(1..=config.max_branches).contains(&count) {
        return Err(format!("{tool} requires 1 through {} branches", config.max_branches));
    }
    let mut labels: Vec<&str> = Vec::new();
    for branch in &arguments.branches {
        let label = branch.label.as_str();
        if is_blank(label) {
            return Err(format!("{NAME}: branch.label must be non-empty"));
        }
        if is_blank(&branch.focus) {
            return Err(format!("{NAME}: branch \"{label}\" focus must be non-empty"));
        }
        if labels.contains(&label) {
            return Err(format!("{tool} requires unique branch labels; duplicate \"{label}\""));
        }
        labels.push(label);
        let fits = |steps| (1..=config.max_recent_steps).contains(&steps);
        match (branch.role, branch.recent_steps) {
            (BranchRole::MaskedReview, steps) if !steps.is_some_and(fits) => {
                let most = config.max_recent_steps;
                return Err(format!(
                    "{tool}: masked-review recentSteps must be an integer from 1 through {most}"
                ));
            }
            (BranchRole::IndependentAlternative | BranchRole::TrajectoryAudit, Some(_)) => {
                return Err(format!("{tool}: recentSteps is valid only for masked-review"));
            }
            (_, _) => {}
        }
    }
    Ok(())
}

#[cfg(test)]
pub(super) mod tests {
    use dsh_kernel::plugin::read_config;
    use serde_json::json;

    use super::super::config::tests::good;
    use super::*;

    /// Arguments in which nothing is wrong.
    pub(in crate::deliberation) fn round() -> Value {
        json!({
            "goal": "Which lock?",
            "incumbent": "The mutex.",
            "context": { "observations": ["It stalls."], "constraints": [], "unknowns": [] },
            "branches": [{
                "label": "other",
                "route": "same",
                "capability": "reason-only",
                "focus": "fairness",
                "role": "independent-alternative",
            }],
        })
    }

    fn config(tool: &str) -> Config {
        let mut own = good();
        own["toolName"] = tool.into();
        read_config(own).unwrap()
    }

    fn refusal(change: impl Fn(&mut Value)) -> String {
        let mut arguments = round();
        change(&mut arguments);
        read(&arguments, &config("fork_road")).unwrap_err().into_message()
    }

    #[test]
    fn d25_each_wrong_value_is_refused_with_its_text() {
        let masked = |steps: Option<Value>| {
            refusal(|it| {
                it["branches"][0]["role"] = "masked-review".into();
                if let Some(steps) = &steps {
                    it["branches"][0]["recentSteps"] = steps.clone();
                }
            })
        };
        let window = "fork_road: masked-review recentSteps must be an integer from 1 through 4";
        let many = |count: usize| {
            refusal(|it| {
                let one = it["branches"][0].clone();
                it["branches"] = json!(vec![one; count]);
            })
        };
        let blank = "tool-deliberation: ";
        let cases = [
            (refusal(|it| it["goal"] = " ".into()), format!("{blank}goal must be non-empty")),
            (
                refusal(|it| it["incumbent"] = "".into()),
                format!("{blank}incumbent must be non-empty"),
            ),
            (
                refusal(|it| it["context"]["observations"] = json!(["a", "\u{feff}"])),
                format!("{blank}context.observations[1] must be non-empty"),
            ),
            (many(0), "fork_road requires 1 through 4 branches".to_owned()),
            (many(5), "fork_road requires 1 through 4 branches".to_owned()),
            (
                refusal(|it| it["branches"][0]["label"] = " ".into()),
                format!("{blank}branch.label must be non-empty"),
            ),
            (
                refusal(|it| it["branches"][0]["focus"] = "".into()),
                format!("{blank}branch \"other\" focus must be non-empty"),
            ),
            (many(2), "fork_road requires unique branch labels; duplicate \"other\"".to_owned()),
            (masked(None), window.to_owned()),
            (masked(Some(json!(0))), window.to_owned()),
            (masked(Some(json!(5))), window.to_owned()),
            (
                refusal(|it| it["branches"][0]["recentSteps"] = json!(1)),
                "fork_road: recentSteps is valid only for masked-review".to_owned(),
            ),
        ];
        for (found, expected) in cases {
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn d25_context_is_looked_at_in_the_order_in_which_it_was_sent() {
        let message = refusal(|it| {
            it["context"] = json!({ "unknowns": [" "], "observations": [" "], "constraints": [] });
        });
        assert_eq!(message, "tool-deliberation: context.unknowns[0] must be non-empty");
    }

    #[test]
    fn d25_a_wrong_shape_names_everything_that_is_wrong() {
        let message = refusal(|it| {
            it["incumbent"] = json!(3);
            it["context"]["hopes"] = json!([]);
            it["context"]["unknowns"] = json!("none");
            it["branches"][0]["route"] = "secret-model".into();
            it["branches"][0]["role"] = "judge".into();
            it["branches"][0]["history"] = "fresh".into();
            it["branches"][0]["recentSteps"] = json!("all");
        });
        assert_eq!(
            message,
            "invalid arguments: `incumbent` must be a string; `context.hopes` is not known here; \
             `context.unknowns` must be a list of strings; `branches[0].history` is not known here; \
             `branches[0].route` must be one of same, strong; `branches[0].role` must be one of \
             independent-alternative, trajectory-audit, masked-review; `branches[0].recentSteps` must be a \
             whole number"
        );
        let message = read(&json!([]), &config("fork_road")).unwrap_err().into_message();
        assert_eq!(message, "invalid arguments: expected a JSON object");
    }

    #[test]
    fn unknown_keys_of_the_root_are_passed_over() {
        let mut arguments = round();
        arguments["note"] = json!("mine");
        let read = read(&arguments, &config("deliberate")).unwrap();
        assert_eq!(read.branches[0].role, BranchRole::IndependentAlternative);
    }
}
