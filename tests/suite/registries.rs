//! Whoever registers something takes it back by dropping the registration: every registry is then as it was.

use std::sync::{Arc, Mutex};

use dsh_agent::host::Observer as _;
use dsh_agent::prompt::{Section, SystemPrompt};
use dsh_agent::tool::{Tool, ToolContext, ToolFailure, ToolOutput};
use dsh_agent::tools::Tools;
use dsh_kernel::registration::Registration;
use dsh_llm::adapter::{Adapter, Chunks, Offer, Request};
use dsh_llm::models::Models;
use dsh_protocol::ids::SessionId;
use dsh_protocol::notifications::Notification;
use dsh_protocol::params::model::Modality;
use dsh_protocol::session::SessionStatus;
use dsh_protocol::tool::{ToolDefinition, ToolKind};
use dsh_protocol::workspace::ToolErrorCode;
use dsh_runtime::notices::{Listener, Notices};
use dsh_runtime::runtime::{Runtime, RuntimeConfig};
use dsh_session::store::BoxFuture;
use dsh_tests::world::World;
use futures_util::stream;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

struct Nothing(ToolDefinition);

impl Tool for Nothing {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Other
    }

    fn run(
        &self,
        _arguments: Value,
        _cx: ToolContext,
    ) -> BoxFuture<'static, Result<ToolOutput, ToolFailure>> {
        Box::pin(async { Err(ToolFailure::new(ToolErrorCode::SearchFailed, "does nothing")) })
    }
}

fn tool(name: &str) -> Arc<dyn Tool> {
    Arc::new(Nothing(ToolDefinition {
        name: name.to_owned(),
        description: "Does nothing.".to_owned(),
        input_schema: json!({ "type": "object" }),
    }))
}

struct Silent(&'static str);

impl Adapter for Silent {
    fn provider(&self) -> &'static str {
        self.0
    }

    fn offers(&self) -> Vec<Offer> {
        vec![Offer { model: "m".to_owned(), context_window: None, input: vec![Modality::Text] }]
    }

    fn stream(&self, _request: Request, _cancel: CancellationToken) -> Chunks {
        Box::pin(stream::empty())
    }
}

#[derive(Default)]
struct Ear(Mutex<usize>);

impl Listener for Ear {
    fn notice(&self, _notice: &Notification) {
        *self.0.lock().unwrap() += 1;
    }
}

/// Registers three, drops the middle one, then the others; `names` says what is there.
fn check(
    mut register: impl FnMut(&'static str) -> Option<Registration>,
    names: impl Fn() -> Vec<String>,
) {
    assert_eq!(names(), Vec::<String>::new());
    let mut kept: Vec<Registration> =
        ["a", "b", "c"].into_iter().map(|name| register(name).unwrap()).collect();
    assert_eq!(names(), ["a", "b", "c"]);
    assert!(register("b").is_none(), "a name is taken once");
    assert_eq!(names(), ["a", "b", "c"], "a refused registration takes nothing away");
    drop(kept.remove(1));
    assert_eq!(names(), ["a", "c"]);
    kept.push(register("b").unwrap());
    assert_eq!(names(), ["a", "b", "c"]);
    drop(kept);
    assert_eq!(names(), Vec::<String>::new());
}

#[tokio::test]
async fn tools_go_with_their_registration() {
    let tools = Tools::default();
    check(
        |name| tools.register(tool(name)).ok(),
        || tools.list().into_iter().map(|tool| tool.definition.name).collect(),
    );
    assert!(tools.definitions().is_empty());
    let outcome = tools.call("a", json!({}), &CancellationToken::new()).await;
    assert_eq!(outcome.error.unwrap().code, ToolErrorCode::UnknownTool);
}

#[test]
fn adapters_go_with_their_registration() {
    let models = Models::default();
    let there = |name: &&str| models.adapter(name).is_some();
    check(
        |name| models.register(Arc::new(Silent(name))).ok(),
        || ["a", "b", "c"].into_iter().filter(there).map(str::to_owned).collect(),
    );
}

#[test]
fn sections_of_the_prompt_go_with_their_registration() {
    let prompt = SystemPrompt::default();
    check(
        |name| {
            let section = Section { name: name.to_owned(), order: 0, text: name.to_owned() };
            prompt.register(section).ok()
        },
        || {
            let assembled = prompt.assemble(&[]).unwrap().unwrap_or_default();
            assembled.split_whitespace().map(str::to_owned).collect()
        },
    );
    assert_eq!(prompt.assemble(&[]).unwrap(), None);
}

#[test]
fn listeners_go_with_their_registration() {
    let notices = Notices::default();
    let (first, second) = (Arc::new(Ear::default()), Arc::new(Ear::default()));
    let tell = || notices.status(&SessionId::from("s"), SessionStatus::Idle);
    let one = notices.listen(Arc::clone(&first) as Arc<dyn Listener>);
    let two = notices.listen(Arc::clone(&second) as Arc<dyn Listener>);
    tell();
    drop(one);
    tell();
    assert_eq!(notices.listeners(), 1);
    drop(two);
    tell();
    assert_eq!(notices.listeners(), 0);
    assert_eq!((*first.0.lock().unwrap(), *second.0.lock().unwrap()), (1, 2));
}

#[tokio::test]
async fn a_closed_runtime_leaves_no_tool_no_model_and_no_session() {
    let world = World::new();
    let runtime = Runtime::new(RuntimeConfig::new(world.home()));
    runtime.open_folder(&world.work().to_string_lossy()).unwrap();
    let workspace = runtime.workspace(None).await.unwrap();
    let agents = workspace.agents().await.unwrap();
    let (models, tools) = (workspace.models().await.unwrap(), workspace.tools().await.unwrap());
    let default = agents.default_model();
    assert!(!tools.list().is_empty());
    assert!(!models.list(&default).await.is_empty());
    agents.create(dsh_agent::agents::NewSession::default()).await.unwrap();
    assert_eq!(runtime.session_count(), 1);
    runtime.close().await;
    assert!(tools.list().is_empty());
    assert!(models.list(&default).await.is_empty());
    assert_eq!((agents.count(), runtime.session_count()), (0, 0));
}
