//! A provider of subagents that does what a script says, child by child.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use dsh_agent::subagents::error::{DisposeError, RunError, StartError};
use dsh_agent::subagents::provider::{Capabilities, Capability, SubagentProvider, SubagentRun};
use dsh_agent::subagents::request::StartRequest;
use dsh_agent::subagents::run::RunResult;
use dsh_protocol::ids::SessionId;
use dsh_protocol::session::Totals;
use dsh_protocol::subagent::StopReason;
use dsh_protocol::turn::TurnEnd;
use dsh_session::store::BoxFuture;
use serde_json::Value;
use tokio::sync::Notify;

pub(super) const ALL: &[Capability] = &[
    Capability::OutputSchema,
    Capability::DepthLimit,
    Capability::ToolFilter,
    Capability::Persona,
];

/// What a child does.
#[derive(Clone)]
pub(super) enum Script {
    StartFails,
    /// Refuses with this.
    Refuses(fn() -> StartError),
    StartPanics,
    StartHangs,
    /// Breaks when it is asked for its answer.
    ResultPanics,
    /// Answers, after the test said so where there is something to wait for.
    Answers(Box<RunResult>, Option<Arc<Notify>>),
    ResultFails,
    Hangs,
    /// Answers and cannot be ended.
    DisposeFails(Box<RunResult>),
    /// Answers and does not end.
    DisposeHangs(Box<RunResult>),
}

impl Script {
    pub(super) fn packet(packet: Value) -> Self {
        Self::Answers(Box::new(with_packet(packet)), None)
    }
}

pub(super) fn with_packet(packet: Value) -> RunResult {
    RunResult {
        stop_reason: StopReason::Completed,
        turn_end: Some(TurnEnd::Completed),
        text: String::new(),
        content: Vec::new(),
        structured: Some(packet),
        usage: Totals::default(),
        diagnostic: None,
    }
}

#[derive(Default)]
struct State {
    /// By the label of the child, without what stands before it.
    scripts: BTreeMap<String, Script>,
    requests: Vec<StartRequest>,
    disposed: Vec<String>,
}

pub(super) struct Scripted {
    name: String,
    can: Capabilities,
    state: Arc<Mutex<State>>,
}

impl Scripted {
    pub(super) fn new(name: &str, inherits_parent_context: bool) -> Arc<Self> {
        Self::with(name, Capabilities { inherits_parent_context, supports: ALL })
    }

    pub(super) fn with(name: &str, can: Capabilities) -> Arc<Self> {
        Arc::new(Self { name: name.to_owned(), can, state: Arc::default() })
    }

    /// What the child of a branch does.
    pub(super) fn script(&self, label: &str, script: Script) {
        self.state.lock().unwrap().scripts.insert(label.to_owned(), script);
    }

    pub(super) fn requests(&self) -> Vec<StartRequest> {
        self.state.lock().unwrap().requests.clone()
    }

    pub(super) fn disposed(&self) -> Vec<String> {
        self.state.lock().unwrap().disposed.clone()
    }
}

impl SubagentProvider for Scripted {
    fn name(&self) -> &str {
        &self.name
    }

    fn capabilities(&self) -> Capabilities {
        self.can
    }

    fn start(
        &self,
        request: StartRequest,
    ) -> BoxFuture<'static, Result<Box<dyn SubagentRun>, StartError>> {
        let label = request.label.clone().unwrap_or_default();
        let label = label.trim_start_matches("deliberation: ").to_owned();
        let script = {
            let mut state = self.state.lock().unwrap();
            state.requests.push(request);
            state.scripts.get(&label).cloned().unwrap_or(Script::Hangs)
        };
        let state = Arc::clone(&self.state);
        Box::pin(async move {
            match script {
                Script::StartFails => return Err(StartError::Invalid("PRIVATE".to_owned())),
                Script::Refuses(why) => return Err(why()),
                Script::StartPanics => panic!("PRIVATE"),
                Script::StartHangs => std::future::pending().await,
                Script::Answers(..)
                | Script::ResultFails
                | Script::ResultPanics
                | Script::Hangs
                | Script::DisposeFails(_)
                | Script::DisposeHangs(_) => {}
            }
            let id = SessionId::from(format!("child-{label}"));
            Ok(Box::new(Child { id, label, script, state }) as Box<dyn SubagentRun>)
        })
    }
}

struct Child {
    id: SessionId,
    label: String,
    script: Script,
    state: Arc<Mutex<State>>,
}

impl SubagentRun for Child {
    fn child_session_id(&self) -> &SessionId {
        &self.id
    }

    fn result(&mut self) -> BoxFuture<'_, Result<RunResult, RunError>> {
        Box::pin(async {
            match &self.script {
                Script::Answers(result, when) => {
                    if let Some(when) = when {
                        when.notified().await;
                    }
                    Ok((**result).clone())
                }
                Script::DisposeFails(result) | Script::DisposeHangs(result) => {
                    Ok((**result).clone())
                }
                Script::ResultFails => Err(RunError::Provider),
                Script::ResultPanics => panic!("PRIVATE"),
                Script::Refuses(_)
                | Script::StartFails
                | Script::StartPanics
                | Script::StartHangs
                | Script::Hangs => std::future::pending().await,
            }
        })
    }

    fn dispose(self: Box<Self>) -> BoxFuture<'static, Result<(), DisposeError>> {
        Box::pin(async move {
            self.state.lock().unwrap().disposed.push(self.label.clone());
            match self.script {
                Script::DisposeFails(_) => Err(DisposeError("PRIVATE".to_owned())),
                Script::DisposeHangs(_) => std::future::pending().await,
                Script::StartFails
                | Script::Refuses(_)
                | Script::StartPanics
                | Script::StartHangs
                | Script::Answers(..)
                | Script::ResultPanics
                | Script::ResultFails
                | Script::Hangs => Ok(()),
            }
        })
    }
}
