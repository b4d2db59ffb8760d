//! Rounds over a real session, with providers that do what a script says.

use std::sync::Arc;
use std::time::Duration;

use dsh_agent::agent::Agent;
use dsh_agent::agents::NewSession;
use dsh_agent::hooks::At;
use dsh_agent::prompt::SystemPrompt;
use dsh_agent::subagents::Subagents;
use dsh_agent::tool::{Caller, Tool, ToolContext, ToolFailure, ToolOutput};
use dsh_agent::tools::Tools;
use dsh_kernel::Kernel;
use dsh_kernel::plugin::Row;
use dsh_kernel::registration::Registration;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::arguments::tests::round;
use super::config::tests::good;
use super::*;
use crate::testing::host;
use scripted::{Script, Scripted};

mod gate;
mod isolation;
mod references;
mod requests;
mod review;
mod scripted;

/// A folder's services, a session in it, and the row's own parts over providers that tests script.
struct Bench {
    _folder: tempfile::TempDir,
    kernel: Kernel,
    agent: Agent,
    subagents: Arc<Subagents>,
    tools: Arc<Tools>,
    prompt: Arc<SystemPrompt>,
    services: Arc<Services>,
    gate: Arc<Gate>,
    rounds: Arc<Rounds>,
}

impl Bench {
    async fn new() -> Self {
        Self::with(good()).await
    }

    async fn with(config: Value) -> Self {
        Self::beside(config, &[]).await
    }

    /// The same with plugins of a test, a row each.
    async fn beside(config: Value, own_plugins: &[Plugin]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut own = host(&[]);
        own.home = folder.path().join("home");
        own.workspace = folder.path().to_owned();
        let row = |id: &str| Row::new(id, Value::Null);
        let mut model = row("agent-default-model");
        model.config = json!({ "provider": "offline", "model": "retrieval" });
        let names = [
            "llm",
            "session-store",
            "sessions",
            "system-prompt",
            "tools",
            "agents",
            "agent-loop",
            "fs",
        ];
        let mut rows: Vec<Row> = names.map(row).to_vec();
        rows.push(model);
        rows.extend(own_plugins.iter().map(|plugin| row(plugin.name)));
        let plugins = [crate::PLUGINS, own_plugins].concat();
        let kernel = Kernel::mount(rows, &plugins, &HOST, Arc::new(own)).await;
        let agents = kernel.get(&AGENTS).unwrap_or_else(|| panic!("{:?}", kernel.plugins()));
        let agent = agents.create(NewSession::default()).await.unwrap();
        let host = kernel.get(&HOST).unwrap();
        let subagents = Arc::new(Subagents::new(Arc::clone(&host), kernel.hooks().clone()));
        let (tools, prompt) = (kernel.get(&TOOLS).unwrap(), kernel.get(&SYSTEM_PROMPT).unwrap());
        let config: Config = read_config(config).unwrap();
        let services = Arc::new(Services {
            config: config.clone(),
            host,
            agents,
            sessions: kernel.get(&SESSIONS).unwrap(),
            subagents: Arc::clone(&subagents),
            tools: Arc::clone(&tools),
            files: kernel.get(&FS),
        });
        let gate = Arc::new(Gate::new(
            config,
            Arc::clone(&subagents),
            Arc::clone(&tools),
            Arc::clone(&prompt),
        ));
        let rounds = Rounds::new(Arc::clone(&services), Arc::clone(&gate));
        Self { _folder: folder, kernel, agent, subagents, tools, prompt, services, gate, rounds }
    }

    fn provide(&self, provider: &Arc<Scripted>) -> Registration {
        self.subagents.register(Arc::clone(provider) as Arc<_>).unwrap()
    }

    /// Calls the tool as the session's agent.
    async fn call(&self, arguments: Value) -> Result<ToolOutput, ToolFailure> {
        self.call_until(arguments, CancellationToken::new()).await
    }

    async fn call_until(
        &self,
        arguments: Value,
        cancel: CancellationToken,
    ) -> Result<ToolOutput, ToolFailure> {
        let at = At { session_id: self.agent.id().clone(), turn: 1, step: 1 };
        let caller = Some(Caller { at, call_id: "c1".into() });
        Deliberate::new(Arc::clone(&self.rounds))
            .run(arguments, ToolContext { caller, session: None, folders: Arc::default(), cancel })
            .await
    }

    /// The types and the data of what the session's log says of rounds.
    fn logged(&self) -> Vec<Value> {
        let page = self
            .agent
            .log()
            .page(-1, usize::MAX, |event| event.data.name().starts_with("deliberation/"));
        page.events.iter().map(|event| serde_json::to_value(&**event).unwrap()).collect()
    }
}

/// A round of alternatives under these labels.
fn alternatives(labels: &[&str]) -> Value {
    let mut asked = round();
    let one = asked["branches"][0].clone();
    let branches = labels.iter().map(|label| {
        let mut branch = one.clone();
        branch["label"] = (*label).into();
        branch
    });
    asked["branches"] = branches.collect();
    asked
}

fn packet() -> Value {
    json!({
        "role": "independent-alternative",
        "status": "update",
        "items": [{ "kind": "conclusion", "certainty": "likely", "content": "Another way." }],
    })
}

/// A stop reason, the cleanup and whether there is a packet, of each branch.
fn summary(output: &ToolOutput) -> Vec<(String, String, bool)> {
    let outcomes = output.value["outcomes"].as_array().unwrap().iter();
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    outcomes
        .map(|it| (word(&it["stopReason"]), word(&it["cleanup"]), it["packet"].is_object()))
        .collect()
}

fn expected(branches: &[(&str, &str, bool)]) -> Vec<(String, String, bool)> {
    branches.iter().map(|(a, b, c)| ((*a).to_owned(), (*b).to_owned(), *c)).collect()
}

/// Waits until something holds that other tasks bring about.
async fn until(what: &str, holds: impl Fn() -> bool) {
    let waiting = async {
        while !holds() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), waiting)
        .await
        .unwrap_or_else(|_| panic!("{what}"));
}
