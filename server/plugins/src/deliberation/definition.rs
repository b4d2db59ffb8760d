//! What the model is told of the tool: its description, its arguments and the policy in the system prompt. No real
//! provider, model or tool stands behind the names that it may choose from.

use std::fmt::Write as _;

use dsh_protocol::deliberation::BranchRole;
use dsh_protocol::tool::ToolDefinition;
use serde_json::{Value, json};

use super::config::Config;

/// The tool as the model sees it.
pub(super) fn tool(config: &Config) -> ToolDefinition {
    ToolDefinition {
        name: config.tool_name.clone(),
        description: description(config),
        input_schema: schema(config),
    }
}

fn description(config: &Config) -> String {
    let mut text = format!(
        "Primary-controlled, isolated branches at a live fork in the road. Each branch is a child agent of its \
         own that sees only what its role gives it:\n\
         - independent-alternative: starts fresh with what you write here and is not told the incumbent.\n\
         - trajectory-audit: inherits the completed turns, is told the incumbent and tries to falsify it.\n\
         - masked-review: inherits what came before a window of complete recent steps, and reads that window \
         without the reasoning that led to it.\n\
         Branches run side by side, each for at most {} ms. They return sparse packets; you keep control and \
         decide what changes.\n\nRoutes:\n",
        config.branch_timeout_ms
    );
    for route in &config.routes {
        let _ = writeln!(text, "- {}: {}", route.name, route.description);
    }
    text.push_str("\nCapabilities:\n");
    for profile in &config.capability_profiles {
        let _ = writeln!(text, "- {}: {}", profile.name, profile.description);
    }
    text.trim_end().to_owned()
}

/// The arguments. Flat, because models follow that better than a choice of shapes; what it cannot say is checked
/// when the tool is called.
fn schema(config: &Config) -> Value {
    let strings = |description: &str| {
        json!({
            "type": "array",
            "items": { "type": "string" },
            "description": description,
        })
    };
    json!({
        "type": "object",
        "properties": {
            "goal": {
                "type": "string",
                "description": "The exact question to decide, put neutrally. Keep the incumbent and any answer \
                    that you hope for out of it.",
            },
            "incumbent": {
                "type": "string",
                "description": "Your provisional judgement as it stands before the results.",
            },
            "context": {
                "type": "object",
                "properties": {
                    "observations": strings("What was observed, as facts and not as conclusions. Without the \
                        incumbent."),
                    "constraints": strings("What the user or the system demands."),
                    "unknowns": strings("What is not known yet."),
                },
                "required": ["observations", "constraints", "unknowns"],
                "additionalProperties": false,
                "description": "What all branches are told: your own projection of the situation.",
            },
            "branches": {
                "type": "array",
                "items": branch(config),
                "description": format!(
                    "One through {} requests, no two of which could be answered by the same work.",
                    config.max_branches
                ),
            },
        },
        "required": ["goal", "incumbent", "context", "branches"],
    })
}

fn branch(config: &Config) -> Value {
    let routes: Vec<&str> = config.routes.iter().map(|route| route.name.as_str()).collect();
    let profiles: Vec<&str> =
        config.capability_profiles.iter().map(|profile| profile.name.as_str()).collect();
    let steps: Vec<u64> = (1..=config.max_recent_steps).collect();
    json!({
        "type": "object",
        "properties": {
            "label": { "type": "string", "description": "A short name, unique in this call." },
            "route": {
                "type": "string",
                "enum": routes,
                "description": "Which of the approved routes answers.",
            },
            "capability": {
                "type": "string",
                "enum": profiles,
                "description": "Which of the approved sets of tools it has.",
            },
            "focus": {
                "type": "string",
                "description": "The narrow mechanism, assumption, invariant or test to look at; not a \
                    conclusion that you wish for.",
            },
            "role": {
                "type": "string",
                "enum": BranchRole::ALL.map(BranchRole::as_str),
                "description": "What the branch is for.",
            },
            "recentSteps": {
                "type": "integer",
                "enum": steps,
                "description": format!(
                    "Required for masked-review and not allowed otherwise: how many complete steps to read, \
                     from 1 through {}. Choose the smallest window that holds the behaviour in question. The \
                     step that makes this call is never part of it.",
                    config.max_recent_steps
                ),
            },
        },
        "required": ["label", "route", "capability", "focus", "role"],
        "additionalProperties": false,
    })
}

/// The section of the system prompt that says when to use the tool.
pub(super) fn policy(config: &Config) -> String {
    let tool = &config.tool_name;
    format!(
        "# Deliberation\n\n\
         Use `{tool}` when a live fork in meaning deserves deliberate evidence from several sides: when what you \
         do next depends on a judgement that could well be wrong. Not for routine work.\n\n\
         - `independent-alternative` is a fresh path that is blind to your incumbent.\n\
         - `trajectory-audit` tries to falsify the completed prefix and the incumbent.\n\
         - `masked-review` reads a number of complete recent steps again, chosen by you, without the reasoning \
         blocks of the one who acted. A step is one decision of the model with all tool calls and results that it \
         caused; the step that runs `{tool}` is excluded.\n\
         - Give observations, constraints and unknowns; do not dress conclusions as facts.\n\
         - Choose only branches, routes, tool boundaries and windows that could change how you go on.\n\
         - Results are sparse JSON packets. Certainty is what the child says of itself; nobody has verified it, \
         and agreement of the same model with itself is weak evidence.\n\
         - You keep final control. Accept `no_update` as an answer. A branch never rolls back the session's \
         history or anything that happened outside it."
    )
}

#[cfg(test)]
mod tests {
    use dsh_kernel::plugin::read_config;

    use super::super::config::tests::good;
    use super::*;

    #[test]
    fn d2_the_model_sees_aliases_and_nothing_behind_them() {
        let config: Config = read_config(good()).unwrap();
        let tool = tool(&config);
        let shown = format!("{} {}", tool.description, tool.input_schema);
        for hidden in ["secret-provider", "secret-model", "fixture_read", "fixture_write", "spawn"]
        {
            assert!(!shown.contains(hidden), "{hidden}");
        }
        let lower = shown.to_lowercase();
        for absent in
            ["\"history\"", "includeincumbent", "recover", "chain-of-thought", "chain of thought"]
        {
            assert!(!lower.contains(absent), "{absent}");
        }
        for said in [
            "Primary-controlled",
            "from 1 through 4",
            "One through 4",
            "10000 ms",
            "same: The primary",
        ] {
            assert!(shown.contains(said), "{said}");
        }
        let branch = &tool.input_schema["properties"]["branches"]["items"];
        assert_eq!(branch["properties"]["route"]["enum"], json!(["same", "strong"]));
        assert_eq!(
            branch["properties"]["capability"]["enum"],
            json!(["reason-only", "evidence-only"])
        );
        assert_eq!(branch["properties"]["recentSteps"]["enum"], json!([1, 2, 3, 4]));
        let keys: Vec<&String> = branch["properties"].as_object().unwrap().keys().collect();
        assert_eq!(keys, ["label", "route", "capability", "focus", "role", "recentSteps"]);
        assert_eq!(branch["additionalProperties"], false);
        assert_eq!(tool.input_schema.get("additionalProperties"), None);
    }

    #[test]
    fn d2_d32_the_policy_makes_its_points_under_the_tools_own_name() {
        let mut own = good();
        own["toolName"] = "fork_road".into();
        let config: Config = read_config(own).unwrap();
        let policy = policy(&config);
        assert!(policy.contains("`fork_road`") && !policy.contains("deliberate`"));
        assert!(!policy.contains("{{"));
        for point in [
            "blind to your incumbent",
            "falsify",
            "reasoning blocks",
            "is excluded",
            "observations, constraints and unknowns",
            "weak evidence",
            "final control",
            "no_update",
            "never rolls back",
        ] {
            assert!(policy.contains(point), "{point}");
        }
    }
}
