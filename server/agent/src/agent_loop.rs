//! What turns an open log into a running agent: the `agentLoop` service, and the standard one.

use std::sync::Arc;
use std::time::Duration;

use dsh_kernel::hooks::Hooks;
use dsh_kernel::service::Key;
use dsh_llm::models::Models;
use dsh_protocol::event::EventData;
use dsh_protocol::ids::ModelId;
use dsh_protocol::session::{FileHeader, SessionOrigin};
use dsh_session::writer::Writer;

use crate::actor;
use crate::agent::Agent;
use crate::host::Host;
use crate::prompt::SystemPrompt;
use crate::setup::Setup;
use crate::tools::Tools;

/// The service's name.
pub const AGENT_LOOP: Key<dyn AgentLoop> = Key::new("agentLoop");

/// The model that is used when nobody chose one: the `defaultModel` service.
pub const DEFAULT_MODEL: Key<ModelId> = Key::new("defaultModel");

/// Turns an open log into a running agent.
pub trait AgentLoop: Send + Sync {
    /// Starts an agent. `first` are events to append before anything else, when the session is new.
    fn start(&self, writer: Writer, first: Vec<EventData>, setup: Setup) -> Agent;
}

/// What a turn may use up. Source of the defaults: a turn that needs more is stuck far more often than not,
/// and a person can prompt again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budgets {
    /// Model requests.
    pub steps: u64,
    /// Wall-clock time.
    pub time: Duration,
    /// Input and output tokens; `None`: no limit.
    pub tokens: Option<u64>,
    /// How often a hook may keep the turn from ending.
    pub stopping_rounds: u64,
}

impl Default for Budgets {
    fn default() -> Self {
        Self { steps: 200, time: Duration::from_hours(1), tokens: None, stopping_rounds: 5 }
    }
}

/// The standard loop and the services that it works with.
pub struct StandardLoop {
    pub(crate) shared: Arc<Shared>,
}

/// What all agents of a loop share.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) host: Arc<Host>,
    pub(crate) models: Arc<Models>,
    pub(crate) tools: Arc<Tools>,
    pub(crate) prompt: Arc<SystemPrompt>,
    pub(crate) hooks: Hooks,
    pub(crate) default_model: Arc<ModelId>,
    pub(crate) max_parallel_tool_calls: usize,
    pub(crate) budgets: Budgets,
    /// What sets the agent apart.
    pub(crate) setup: Arc<Setup>,
}

/// The services and settings of a [`StandardLoop`].
pub struct StandardLoopConfig {
    /// What the embedding program provides.
    pub host: Arc<Host>,
    /// The adapters.
    pub models: Arc<Models>,
    /// The tools.
    pub tools: Arc<Tools>,
    /// The system prompt.
    pub prompt: Arc<SystemPrompt>,
    /// Where the loop's hooks are dispatched.
    pub hooks: Hooks,
    /// The model that is used when nobody chose one.
    pub default_model: Arc<ModelId>,
    /// How many tool calls of one answer run at once.
    pub max_parallel_tool_calls: usize,
    /// What a turn may use up.
    pub budgets: Budgets,
}

impl StandardLoop {
    /// A loop with the given services.
    pub fn new(config: StandardLoopConfig) -> Self {
        let shared = Shared {
            host: config.host,
            models: config.models,
            tools: config.tools,
            prompt: config.prompt,
            hooks: config.hooks,
            default_model: config.default_model,
            max_parallel_tool_calls: config.max_parallel_tool_calls,
            budgets: config.budgets,
            setup: Arc::default(),
        };
        Self { shared: Arc::new(shared) }
    }
}

impl AgentLoop for StandardLoop {
    fn start(&self, writer: Writer, first: Vec<EventData>, setup: Setup) -> Agent {
        let setup = Setup { folders: Setup::folders(writer.log()), ..setup };
        let shared = Shared { setup: Arc::new(setup), ..self.shared.as_ref().clone() };
        actor::start(Arc::new(shared), writer, first)
    }
}

impl Shared {
    /// The same with the tools, adapters and prompt sections that the agent has at this moment: a turn ends with
    /// those that it began with.
    pub(crate) fn as_it_is(&self) -> Self {
        Self {
            models: Arc::new(self.models.snapshot()),
            tools: Arc::new(self.tools.snapshot().for_agent(&self.setup)),
            prompt: Arc::new(self.prompt.snapshot().for_agent(&self.setup)),
            ..self.clone()
        }
    }

    /// The model that the next turn asks in a session, whose own model this is.
    pub(crate) fn model(&self, header: &FileHeader, own: Option<&ModelId>) -> ModelId {
        model_of(&self.host, header, own, &self.default_model)
    }
}

/// The model that the next turn asks in a session. A subagent asks the one that it was started with, whatever a
/// person forced for everybody else.
pub(crate) fn model_of(
    host: &Host,
    header: &FileHeader,
    own: Option<&ModelId>,
    default: &ModelId,
) -> ModelId {
    match (header.origin, own) {
        (Some(SessionOrigin::Subagent), Some(own)) => own.clone(),
        (_, own) => choose_model(host, own, default),
    }
}

/// The first of: the model forced for this process, the session's own, the environment's, the default.
pub fn choose_model(host: &Host, session: Option<&ModelId>, default: &ModelId) -> ModelId {
    host.forced_model
        .as_ref()
        .or(session)
        .or(host.environment_model.as_ref())
        .unwrap_or(default)
        .clone()
}
