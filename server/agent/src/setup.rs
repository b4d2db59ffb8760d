//! What sets one agent apart from the others of its folder.

use std::path::PathBuf;
use std::sync::Arc;

use dsh_protocol::event::SubagentMode;
use dsh_protocol::subagent::ToolFilter;
use dsh_session::log::Log;

use crate::prompt::Section;
use crate::subagents::in_process::delegation;
use crate::tool::{Tool, Viewer};

/// What sets one agent apart. The agent of a session that a person began has nothing of it.
#[derive(Clone, Default)]
pub struct Setup {
    /// How deep it stands below a session that a person began.
    pub depth: u32,
    /// Which of the folder's tools it may use.
    pub tool_filter: ToolFilter,
    /// Tools that only it has. No filter hides them.
    pub extra_tools: Vec<Arc<dyn Tool>>,
    /// Takes the place of the deployment's persona.
    pub persona: Option<String>,
    /// Further sections of its system prompt.
    pub sections: Vec<Section>,
    /// The most tokens of an answer.
    pub max_tokens: Option<u64>,
    /// Further folders that its tools see while they are open, as its log says.
    pub folders: Arc<[PathBuf]>,
}

impl Setup {
    /// What a log says of its agent: a subagent that is loaded again is limited as it was. What it had for its
    /// one task is gone.
    pub fn of(log: &Log) -> Self {
        let depth = log.header().delegation_depth.unwrap_or(0);
        let Some(descriptor) = log.read(|fold| fold.descriptor.clone()) else {
            return Self { depth, ..Self::default() };
        };
        // One that takes more work is told of its place as it was.
        let goes_on = descriptor.mode == SubagentMode::Continuable;
        Self {
            depth,
            sections: goes_on.then(delegation).into_iter().collect(),
            tool_filter: descriptor.tool_filter.clone().unwrap_or_default(),
            persona: descriptor.persona.clone(),
            max_tokens: descriptor.max_tokens,
            ..Self::default()
        }
    }

    /// The further folders that a session's log names.
    pub fn folders(log: &Log) -> Arc<[PathBuf]> {
        log.header().additional_workspaces.iter().map(PathBuf::from).collect()
    }

    /// The agent, as far as it decides which tools it is offered.
    pub(crate) fn viewer(&self) -> Viewer {
        Viewer { depth: self.depth }
    }
}
