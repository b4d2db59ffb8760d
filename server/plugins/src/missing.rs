//! What rows say of names in their configuration that nobody has: a row with one runs, without what it names.

use std::sync::Arc;

use dsh_agent::subagents::Subagents;
use dsh_agent::subagents::provider::{Capabilities, Capability};
use dsh_agent::tools::Tools;
use dsh_llm::models::Models;

/// The most names that a message lists.
const LISTED: usize = 7;

/// Those who have names.
pub(crate) struct Names {
    pub(crate) subagents: Arc<Subagents>,
    pub(crate) tools: Arc<Tools>,
    /// Absent: nobody can tell which models there are.
    pub(crate) models: Option<Arc<Models>>,
}

impl Names {
    /// What is wrong with a key that names a provider of subagents.
    pub(crate) fn subagents(&self, key: &str, name: &str) -> Option<String> {
        let known = self.subagents.names();
        lacking(key, name, "provider of subagents", &known)
    }

    /// What is wrong with a key that names a provider whose children are to see the turn that runs.
    pub(crate) fn reviewers(&self, key: &str, name: &str) -> Option<String> {
        let blind = |can: Capabilities| !can.can(Capability::Window);
        self.subagents(key, name).or_else(|| {
            self.subagents.provider(name).filter(|provider| blind(provider.capabilities()))?;
            Some(format!(
                "`{key}` names `{name}`, whose agents see nothing of the turn that they are to review; name one of a \
                 row `mid-fork-provider`"
            ))
        })
    }

    /// What is wrong with a key that names a provider of models.
    pub(crate) fn models(&self, key: &str, name: Option<&String>) -> Option<String> {
        let known = self.models.as_ref()?.providers();
        lacking(key, name?, "provider of models", &known)
    }

    /// What is wrong with a key that lists tools.
    pub(crate) fn tools(&self, key: &str, names: &[String]) -> Vec<String> {
        let known: Vec<String> =
            self.tools.definitions().into_iter().map(|tool| tool.name).collect();
        names.iter().filter_map(|name| lacking(key, name, "tool", &known)).collect()
    }
}

fn lacking(key: &str, name: &str, what: &str, known: &[String]) -> Option<String> {
    if known.iter().any(|it| it == name) {
        return None;
    }
    let mut listed: Vec<&str> = known.iter().take(LISTED).map(String::as_str).collect();
    if known.len() > LISTED {
        listed.push("…");
    }
    let there = if listed.is_empty() {
        "there is none".to_owned()
    } else {
        format!("there are {}", listed.join(", "))
    };
    Some(format!("`{key}` names `{name}`, and no row has a {what} of that name; {there}"))
}
