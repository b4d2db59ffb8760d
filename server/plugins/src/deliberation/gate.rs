//! The gate: the tool is there while every provider that its branches need is there and can do what they ask for.

use std::sync::{Arc, Mutex, PoisonError};

use dsh_agent::prompt::{Section, SystemPrompt};
use dsh_agent::subagents::Subagents;
use dsh_agent::subagents::provider::Capability;
use dsh_agent::tool::Tool;
use dsh_agent::tools::Tools;
use dsh_kernel::registration::Registration;
use dsh_protocol::deliberation::BranchHistory;

use super::config::{Config, NAME};
use super::definition;
use super::round::debug;

/// Where the policy stands in the system prompt: behind the guidance of the other tools.
const POLICY_ORDER: i32 = 117;

/// What every branch asks of its provider.
const NEEDED: [Capability; 3] =
    [Capability::OutputSchema, Capability::DepthLimit, Capability::ToolFilter];

/// Puts the tool up and takes it down.
pub(super) struct Gate {
    config: Config,
    subagents: Arc<Subagents>,
    tools: Arc<Tools>,
    prompt: Arc<SystemPrompt>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The tool that is put up, unless the plugin unloads.
    tool: Option<Arc<dyn Tool>>,
    up: Option<[Registration; 2]>,
    /// Why it is not up although all are there.
    refused: Option<String>,
}

impl Gate {
    pub(super) fn new(
        config: Config,
        subagents: Arc<Subagents>,
        tools: Arc<Tools>,
        prompt: Arc<SystemPrompt>,
    ) -> Self {
        Self { config, subagents, tools, prompt, state: Mutex::default() }
    }

    /// The tool's name.
    pub(super) fn tool_name(&self) -> &str {
        &self.config.tool_name
    }

    /// Puts `tool` up if it can be, and whenever it can be from now on. An error says that providers are there which
    /// can never do.
    pub(super) fn open(&self, tool: Arc<dyn Tool>) -> Result<(), String> {
        let names = self.config.providers();
        let missing: Vec<&String> =
            names.iter().filter(|name| self.subagents.provider(name).is_none()).collect();
        for name in &missing {
            tracing::info!("{NAME}: waits for the subagent provider `{name}`");
        }
        debug(&self.config, || {
            format!(
                "waiting-for-providers fresh={} fork={} missing={}",
                self.config.fresh_provider,
                self.config.fork_provider,
                missing.len()
            )
        });
        self.state.lock().unwrap_or_else(PoisonError::into_inner).tool = Some(tool);
        self.look()
    }

    /// Looks again, after a provider of this name came or went. What came and cannot do is said once.
    pub(super) fn changed(&self, name: &str) {
        if self.config.providers().iter().any(|own| own == name)
            && let Err(refused) = self.look()
        {
            tracing::warn!("{refused}");
        }
    }

    /// Takes the tool down for good.
    pub(super) fn close(&self) {
        let state = std::mem::take(&mut *self.state.lock().unwrap_or_else(PoisonError::into_inner));
        drop(state);
    }

    /// Why no round can be run now.
    pub(super) fn missing(&self) -> Option<String> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.up.is_some() {
            return None;
        }
        if let Some(refused) = &state.refused {
            return Some(refused.clone());
        }
        drop(state);
        let names = self.config.providers();
        let missing = names.iter().find(|name| self.subagents.provider(name).is_none());
        Some(match missing {
            Some(name) => format!("rounds wait for the subagent provider `{name}`"),
            None => "rounds cannot be run now".to_owned(),
        })
    }

    fn look(&self) -> Result<(), String> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(tool) = state.tool.clone() else { return Ok(()) };
        let complete =
            self.config.providers().iter().all(|name| self.subagents.provider(name).is_some());
        let refused = if complete { self.incompatible() } else { None };
        if !complete || refused.is_some() {
            if state.up.take().is_some() {
                debug(&self.config, || format!("tool-unmounted name={}", self.config.tool_name));
            }
            let is_news = refused.is_some() && state.refused != refused;
            state.refused.clone_from(&refused);
            return match refused {
                Some(refused) if is_news => Err(refused),
                Some(_) | None => Ok(()),
            };
        }
        state.refused = None;
        if state.up.is_none() {
            state.up = Some(self.put_up(tool)?);
            debug(&self.config, || format!("tool-mounted name={}", self.config.tool_name));
        }
        Ok(())
    }

    fn put_up(&self, tool: Arc<dyn Tool>) -> Result<[Registration; 2], String> {
        let name = &self.config.tool_name;
        let section = Section {
            name: format!("tool:{name}:policy"),
            order: POLICY_ORDER,
            text: definition::policy(&self.config),
        };
        let taken = |error: dsh_kernel::registry::Taken| format!("{NAME}: {error}");
        let policy = self.prompt.register_for_tool(section, name).map_err(taken)?;
        let tool = self.tools.register(tool).map_err(taken)?;
        Ok([policy, tool])
    }

    /// What is wrong with one of the providers, all of which are there.
    fn incompatible(&self) -> Option<String> {
        for name in self.config.providers() {
            let history = self.history(&name);
            let can = self.subagents.provider(&name)?.capabilities();
            let word = match history {
                BranchHistory::Fresh => "fresh",
                BranchHistory::Fork => "fork",
                BranchHistory::MidFork => "mid-fork",
            };
            if can.inherits_parent_context == (history == BranchHistory::Fresh) {
                return Some(format!(
                    "{NAME}: {word} provider \"{name}\" reports incompatible parent-history semantics"
                ));
            }
            let lacks = |needed: &&Capability| !can.supports.contains(needed);
            if let Some(lacked) = NEEDED.iter().find(lacks) {
                return Some(format!(
                    "{NAME}: {word} provider \"{name}\" lacks required {} capability",
                    lacked.name()
                ));
            }
        }
        None
    }

    fn history(&self, name: &str) -> BranchHistory {
        if name == self.config.fresh_provider {
            BranchHistory::Fresh
        } else if name == self.config.fork_provider {
            BranchHistory::Fork
        } else {
            BranchHistory::MidFork
        }
    }
}
