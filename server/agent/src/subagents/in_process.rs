//! Children as further agents of the same folder: what every provider of this program starts them with.

use std::sync::Arc;

use dsh_kernel::Context;
use dsh_llm::models::{LLM, Models};
use dsh_protocol::event::{Event, EventData, SessionTitle, SubagentDescriptor};
use dsh_protocol::ids::{MessageId, ModelId, SessionId};
use dsh_protocol::params::session::Delivery;
use dsh_protocol::session::SessionOrigin;
use dsh_protocol::subagent::{StopReason, ToolFilter};
use dsh_protocol::turn::AbortReason;
use dsh_session::log::Log;
use dsh_session::store::BoxFuture;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::error::{DisposeError, RunError, StartError};
use super::images;
use super::outcome;
use super::provider::{Capability, SubagentRun};
use super::request::{Route, StartRequest};
use super::run::RunResult;
use super::structured::StructuredOutput;
use crate::agent::{Agent, Cancel, Prompt};
use crate::agents::{AGENTS, Agents};
use crate::host::{HOST, Host};
use crate::prompt::Section;
use crate::setup::Setup;
use crate::tool::Tool;
use crate::tools::{TOOLS, Tools};
use crate::wait::wait;

/// What a child is told of its place, before what it is asked.
const DELEGATION: &str = include_str!("delegation.md");

/// What every child of this process can be asked for, whatever it inherits.
pub const SUPPORTS: &[Capability] = &[
    Capability::OutputSchema,
    Capability::DepthLimit,
    Capability::ToolFilter,
    Capability::Persona,
    Capability::Background,
];

/// Starts children as agents of this folder.
#[derive(Clone)]
pub struct InProcess {
    agents: Arc<Agents>,
    host: Arc<Host>,
    tools: Arc<Tools>,
    models: Arc<Models>,
}

/// What a child inherits; read before anything is awaited, so that a parent that changes meanwhile does not
/// widen it.
struct Inherited {
    depth: u32,
    tool_filter: ToolFilter,
    degraded: Vec<String>,
    model: ModelId,
    max_tokens: Option<u64>,
}

impl InProcess {
    /// With the services that a plugin injects: `agents`, `host`, `tools` and `llm`.
    pub fn new(context: &Context) -> Result<Self, dsh_kernel::plugin::StartError> {
        Ok(Self {
            agents: context.get(&AGENTS)?,
            host: context.get(&HOST)?,
            tools: context.get(&TOOLS)?,
            models: context.get(&LLM)?,
        })
    }

    /// The agent whose child is to be started.
    pub fn parent(&self, request: &StartRequest) -> Result<Agent, StartError> {
        let parent = self.agents.live(&request.parent);
        parent.ok_or_else(|| StartError::ParentUnavailable(request.parent.clone()))
    }

    /// Starts a child whose session begins with `seed`. `provider` is the name that its log has.
    pub async fn start(
        &self,
        provider: &str,
        request: StartRequest,
        seed: Vec<Arc<Event>>,
    ) -> Result<Box<dyn SubagentRun>, StartError> {
        let parent = self.parent(&request)?;
        if request.cancel.is_cancelled() {
            return Err(StartError::Cancelled);
        }
        let inherited = self.inherited(&parent, &request)?;
        images::admit(&self.models, &inherited.model, &request, &seed)?;
        let mut header = self.agents.header(request.session_id.clone());
        header.parent_session = Some(request.parent.clone());
        header.origin = Some(SessionOrigin::Subagent);
        header.seed_length = (!seed.is_empty()).then_some(seed.len() as u64);
        header.delegation_depth = Some(inherited.depth);
        let of_parent = parent.log().header();
        header.additional_workspaces.clone_from(&of_parent.additional_workspaces);
        let first = first_events(provider, &request, &inherited);
        let setup = setup(&request, &inherited)?;
        let agent = self.agents.create_child(header, seed, first, setup).await?;
        let mut newborn = Newborn { agents: Arc::clone(&self.agents), agent: Some(agent.clone()) };
        if request.cancel.is_cancelled() {
            return Err(StartError::Cancelled);
        }
        self.host.observer.changed(agent.info().await?);
        let prompt = Prompt {
            content: request.prompt,
            delivery: Delivery::Followup,
            client_message_id: request.activation.as_ref().map(ToString::to_string),
        };
        let receipt = agent.prompt(prompt).await?;
        newborn.agent = None;
        let stop = CancellationToken::new();
        let outlives = request.activation.is_some() && parent.setup().depth == 0;
        let parent = (!outlives).then_some(parent);
        let ends = Ends { cancel: request.cancel, stop: stop.clone(), parent };
        let attending = tokio::spawn(attend(agent.clone(), receipt.message_id, ends));
        Ok(Box::new(Child {
            agents: Arc::clone(&self.agents),
            agent,
            stop,
            state: State::Running(attending),
            degraded: inherited.degraded,
        }))
    }

    fn inherited(&self, parent: &Agent, request: &StartRequest) -> Result<Inherited, StartError> {
        let depth = parent.setup().depth + 1;
        if let Some(max_depth) = request.max_depth
            && depth > max_depth
        {
            return Err(StartError::Depth { depth, max_depth });
        }
        let of_parent = &parent.setup().tool_filter;
        let (wanted, degraded) = self.resolved(depth, of_parent, request.tool_filter.as_ref());
        let (model, max_tokens) = self.route(parent, &request.route);
        Ok(Inherited { depth, tool_filter: of_parent.and(&wanted), degraded, model, max_tokens })
    }

    /// The filter with the tools that there are, and what it misses. A tool that is denied and not there is
    /// nothing to speak of.
    fn resolved(
        &self,
        depth: u32,
        of_parent: &ToolFilter,
        filter: Option<&ToolFilter>,
    ) -> (ToolFilter, Vec<String>) {
        let Some(filter) = filter else { return (ToolFilter::default(), Vec::new()) };
        let offered = Setup { depth, tool_filter: of_parent.clone(), ..Setup::default() };
        let tools = self.tools.snapshot().for_agent(&offered);
        let mut resolved = filter.clone();
        let mut degraded = Vec::new();
        if let Some(allow) = &mut resolved.allow {
            allow.retain(|name| {
                let there = tools.has(name);
                if !there {
                    degraded.push(format!("the tool `{name}` is not available"));
                }
                there
            });
        }
        (resolved, degraded)
    }

    /// The model that a child asks: what the request says over what its parent asks now.
    fn route(&self, parent: &Agent, route: &Route) -> (ModelId, Option<u64>) {
        let live = parent.log().read(|fold| {
            // The header of the turn that runs tells what was really asked.
            fold.open_turn.as_ref().and(fold.header.as_ref()).map(|header| {
                let model =
                    ModelId { provider: header.provider.clone(), model: header.model.clone() };
                (model, header.max_tokens)
            })
        });
        let (model, max_tokens) =
            live.unwrap_or_else(|| (self.agents.model(parent), parent.setup().max_tokens));
        let model = ModelId {
            provider: route.provider.clone().unwrap_or(model.provider),
            model: route.model.clone().unwrap_or(model.model),
        };
        (model, route.max_tokens.or(max_tokens))
    }
}

/// What a child's log says of it before its first turn.
fn first_events(provider: &str, request: &StartRequest, inherited: &Inherited) -> Vec<EventData> {
    let filter = &inherited.tool_filter;
    let descriptor = SubagentDescriptor {
        version: SubagentDescriptor::VERSION,
        mode: request.mode,
        provider: provider.to_owned(),
        label: request.label.clone(),
        agent_provider: inherited.model.provider.clone(),
        agent_model: inherited.model.model.clone(),
        max_tokens: inherited.max_tokens,
        persona: request.persona.clone(),
        tool_filter: (!filter.is_open()).then(|| filter.clone()),
        structured: request.output.is_some(),
    };
    let mut first = vec![
        EventData::SubagentDescriptor(descriptor),
        EventData::SessionModel(inherited.model.clone()),
    ];
    let title = request.label.clone().filter(|label| !label.trim().is_empty());
    first.extend(title.map(|title| EventData::SessionTitle(SessionTitle { title })));
    first
}

/// What tells a child of its place.
pub(crate) fn delegation() -> Section {
    Section { name: "subagent:delegation".to_owned(), order: 120, text: DELEGATION.to_owned() }
}

fn setup(request: &StartRequest, inherited: &Inherited) -> Result<Setup, StartError> {
    let mut sections = vec![delegation()];
    sections.extend(request.sections.iter().cloned());
    let mut extra_tools = request.extra_tools.clone();
    if let Some(contract) = &request.output {
        let tool = StructuredOutput::new(contract.clone()).map_err(StartError::Invalid)?;
        sections.push(StructuredOutput::section());
        extra_tools.push(Arc::new(tool) as Arc<dyn Tool>);
    }
    Ok(Setup {
        depth: inherited.depth,
        tool_filter: inherited.tool_filter.clone(),
        extra_tools,
        persona: request.persona.clone(),
        sections,
        max_tokens: inherited.max_tokens,
        folders: Arc::default(),
    })
}

/// A child that nobody was told of yet: it goes when its start is given up.
struct Newborn {
    agents: Arc<Agents>,
    agent: Option<Agent>,
}

impl Drop for Newborn {
    fn drop(&mut self) {
        let Some(agent) = self.agent.take() else { return };
        let agents = Arc::clone(&self.agents);
        tokio::spawn(async move { agents.unload(&agent, AbortReason::Parent).await });
    }
}

/// What ends a child before it is done.
struct Ends {
    /// Whoever asked for it.
    cancel: CancellationToken,
    /// Whoever holds it.
    stop: CancellationToken,
    /// Its parent, unless it outlives it.
    parent: Option<Agent>,
}

/// Waits for a child's turn; cancels it when it is to end.
async fn attend(agent: Agent, message: MessageId, ends: Ends) -> RunResult {
    let mut waiting = std::pin::pin!(wait(&agent, Some(&message)));
    let cancelled = tokio::select! {
        biased;
        _ = &mut waiting => false,
        () = ends.cancel.cancelled() => true,
        () = ends.stop.cancelled() => true,
        () = closed(ends.parent.as_ref()) => true,
    };
    if cancelled {
        let cancel = Cancel { turn: None, keep_queue: false, reason: AbortReason::Parent };
        // An agent that has closed has nothing left to cancel.
        let _ = agent.cancel(cancel).await;
        let _ = waiting.await;
    }
    let result = outcome::of(agent.log());
    if cancelled && result.stop_reason != StopReason::Completed {
        return RunResult { stop_reason: StopReason::Aborted, diagnostic: None, ..result };
    }
    result
}

async fn closed(parent: Option<&Agent>) {
    match parent {
        Some(parent) => parent.closed().await,
        None => std::future::pending().await,
    }
}

/// A child of this process.
struct Child {
    agents: Arc<Agents>,
    agent: Agent,
    stop: CancellationToken,
    state: State,
    degraded: Vec<String>,
}

enum State {
    Running(JoinHandle<RunResult>),
    Ended(Box<Result<RunResult, RunError>>),
}

impl SubagentRun for Child {
    fn child_session_id(&self) -> &SessionId {
        self.agent.id()
    }

    fn log(&self) -> Option<Arc<Log>> {
        Some(Arc::clone(self.agent.log()))
    }

    fn degraded(&self) -> Vec<String> {
        self.degraded.clone()
    }

    fn result(&mut self) -> BoxFuture<'_, Result<RunResult, RunError>> {
        Box::pin(async {
            if let State::Running(attending) = &mut self.state {
                let ended = attending.await.map_err(|_| RunError::Provider);
                self.state = State::Ended(Box::new(ended));
            }
            match &self.state {
                State::Ended(result) => result.as_ref().clone(),
                State::Running(_) => Err(RunError::Provider),
            }
        })
    }

    fn dispose(mut self: Box<Self>) -> BoxFuture<'static, Result<(), DisposeError>> {
        Box::pin(async move {
            self.stop.cancel();
            let ended = self.result().await;
            self.agents.unload(&self.agent, AbortReason::Parent).await;
            ended.map(|_| ()).map_err(|error| DisposeError(error.to_string()))
        })
    }
}
