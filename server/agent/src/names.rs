//! What plugins say of names in their configuration that nobody has: a row with one runs, without what it names.

use std::sync::Arc;

use dsh_kernel::Missing;
use dsh_kernel::config::KeyPath;
use dsh_llm::models::Models;

use crate::subagents::Subagents;
use crate::subagents::provider::{Capabilities, Capability};
use crate::tools::Tools;

/// The most names that a message lists.
const LISTED: usize = 7;

/// Whether every provider of models takes this for the name of a tool.
pub fn is_tool_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

/// Those who have names.
pub struct Names {
    /// Of providers of subagents.
    pub subagents: Arc<Subagents>,
    /// Of tools.
    pub tools: Arc<Tools>,
    /// Of providers of models; absent: nobody can tell which there are.
    pub models: Option<Arc<Models>>,
}

impl Names {
    /// What is wrong with a key that names a provider of subagents.
    pub fn subagents(&self, key: &str, name: &str) -> Option<Missing> {
        let known = self.subagents.names();
        lacking(key, name, "provider of subagents", &known)
    }

    /// What is wrong with a key that names a provider whose children are to see the turn that runs.
    pub fn reviewers(&self, key: &str, name: &str) -> Option<Missing> {
        let blind = |can: Capabilities| !can.can(Capability::Window);
        self.subagents(key, name).or_else(|| {
            self.subagents.provider(name).filter(|provider| blind(provider.capabilities()))?;
            let text = format!(
                "`{key}` names `{name}`, whose agents see nothing of the turn that they are to review; name one of a \
                 row `mid-fork-provider`"
            );
            Some(Missing { at: KeyPath::from(key), name: name.to_owned(), text })
        })
    }

    /// What is wrong with a key that names a provider of models.
    pub fn models(&self, key: &str, name: Option<&String>) -> Option<Missing> {
        let known = self.models.as_ref()?.providers();
        lacking(key, name?, "provider of models", &known)
    }

    /// What is wrong with a key that lists tools.
    pub fn tools(&self, key: &str, names: &[String]) -> Vec<Missing> {
        let known: Vec<String> =
            self.tools.definitions().into_iter().map(|tool| tool.name).collect();
        names.iter().filter_map(|name| lacking(key, name, "tool", &known)).collect()
    }
}

fn lacking(key: &str, name: &str, what: &str, known: &[String]) -> Option<Missing> {
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
    let text = format!("`{key}` names `{name}`, and no row has a {what} of that name; {there}");
    Some(Missing { at: KeyPath::from(key), name: name.to_owned(), text })
}
