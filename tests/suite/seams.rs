//! Every capability can be replaced by naming another plugin in its row: the product's tree with one provider taken
//! by a plugin of the test, which everything behind the doors then works with.

use std::sync::Arc;

use dsh_agent::agent::{Agent, Prompt};
use dsh_agent::agent_loop::{
    AGENT_LOOP, AgentLoop, Budgets, DEFAULT_MODEL, StandardLoop, StandardLoopConfig,
};
use dsh_agent::agents::{AGENTS, Agents, NewSession};
use dsh_agent::files::{FS, FileSystem, SEARCH, Search};
use dsh_agent::host::HOST;
use dsh_agent::prompt::{SYSTEM_PROMPT, Section, SystemPrompt};
use dsh_agent::sessions::{SESSIONS, Sessions};
use dsh_agent::setup::Setup;
use dsh_agent::tool::{Tool, ToolContext, ToolFailure, ToolOutput};
use dsh_agent::tools::{About, TOOLS, Tools};
use dsh_agent::wait::{Waited, wait};
use dsh_kernel::plugin::{Plugin, StartError};
use dsh_kernel::{Context, Kernel, PluginState};
use dsh_llm::adapter::{Adapter, Chunks, Offer, Request};
use dsh_llm::credentials::{CREDENTIALS, CredentialError, Credentials, Secret};
use dsh_llm::models::{LLM, Models};
use dsh_plugins::PLUGINS;
use dsh_protocol::content::{Chunk, ContentBlock, FinishReason, visible_text};
use dsh_protocol::event::{Event, EventData, SessionTitle};
use dsh_protocol::ids::ModelId;
use dsh_protocol::message::Source;
use dsh_protocol::params::model::Modality;
use dsh_protocol::params::session::Delivery;
use dsh_protocol::tool::{ToolDefinition, ToolKind};
use dsh_protocol::turn::{Outcome, TurnEnd};
use dsh_session::store::{BoxFuture, SESSION_STORE, Store};
use dsh_session::writer::Writer;
use dsh_tests::world::World;
use futures_util::stream;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::product;

mod one_file;
mod others;
mod shelf;

use one_file::{FILE, LINES, OneFile};
use shelf::Shelf;

type Started = futures_util::future::BoxFuture<'static, Result<(), StartError>>;

/// The product with one row's plugin replaced.
struct Swapped {
    kernel: Kernel,
    world: World,
}

/// Lays a patch over the product that gives a row another plugin.
async fn swap(row: &str, plugin: Plugin) -> Swapped {
    let world = World::new();
    let patch = format!("- insert:\n    - id: {row}\n      name: {}\n", plugin.name);
    let rows = product::rows(&world, &patch);
    let plugins = [PLUGINS, &[plugin]].concat();
    let kernel = product::mount(&world, rows, &plugins).await;
    for status in kernel.plugins() {
        assert_eq!(status.state, PluginState::Active, "{status:?}");
        assert_eq!(status.id == row, status.name == plugin.name, "{status:?}");
    }
    Swapped { kernel, world }
}

impl Swapped {
    fn agents(&self) -> Arc<Agents> {
        self.kernel.get(&AGENTS).unwrap()
    }

    async fn session(&self) -> Agent {
        self.agents().create(NewSession::default()).await.unwrap()
    }

    /// What a tool answers to a client.
    async fn call(&self, tool: &str, arguments: Value) -> String {
        let tools = self.kernel.get(&TOOLS).unwrap();
        let outcome =
            tools.call(About::default(), tool, arguments, &CancellationToken::new()).await;
        visible_text(&outcome.content)
    }

    /// The models that a client can choose from, each with whether it can be asked.
    async fn models(&self) -> Vec<(String, bool)> {
        let models = self.kernel.get(&LLM).unwrap();
        let listed = models.list(&self.agents().default_model()).await;
        listed.iter().map(|it| (format!("{}/{}", it.provider, it.model), it.ready)).collect()
    }

    /// Ends it. The product itself then serves what was logged, as the world checks when it goes.
    async fn close(self) {
        self.kernel.dispose().await;
        product::rows(&self.world, "[]");
    }
}

async fn ask(agent: &Agent, text: &str) -> Waited {
    let content = vec![ContentBlock::text(text)];
    let prompt = Prompt { content, delivery: Delivery::Followup, client_message_id: None };
    let receipt = agent.prompt(prompt).await.unwrap();
    let waited = wait(agent, Some(&receipt.message_id)).await.unwrap();
    // What ends the turn has been written when the session rests.
    wait(agent, None).await.unwrap();
    waited
}

async fn answer(agent: &Agent, text: &str) -> String {
    let waited = ask(agent, text).await;
    assert_eq!(waited.outcome, Outcome::Turn(TurnEnd::Completed));
    waited.text
}

fn events(agent: &Agent) -> Vec<Arc<Event>> {
    agent.log().page(-1, usize::MAX, |_| true).events
}

fn start_one_file(context: Context, _: Value) -> Started {
    Box::pin(async move {
        context.provide(&FS, Arc::new(OneFile) as Arc<dyn FileSystem>)?;
        context.provide(&SEARCH, Arc::new(OneFile) as Arc<dyn Search>)
    })
}

#[tokio::test]
async fn another_file_system_is_what_tools_and_models_see() {
    let plugin = Plugin { provides: &["fs", "search"], ..Plugin::new("one-file", start_one_file) };
    let swapped = swap("fs", plugin).await;
    let read = swapped.call("read", json!({ "file_path": FILE })).await;
    assert!(read.contains(LINES[1]), "{read}");
    let grep = swapped.call("grep", json!({ "pattern": "zebra" })).await;
    assert!(grep.contains(FILE) && grep.contains(LINES[0]), "{grep}");
    assert_eq!(swapped.call("glob", json!({ "pattern": "**/*.rs" })).await, FILE);
    let answer = answer(&swapped.session().await, "Where is `zebra` defined?").await;
    assert!(answer.contains(&format!("{FILE}:1")), "{answer}");
    swapped.close().await;
}

/// The time at which everything happens in sessions of the other `sessions`.
const NOON: u64 = 43_200_000;

fn start_at_noon(context: Context, _: Value) -> Started {
    Box::pin(async move {
        let sessions = Sessions::new(context.get(&SESSION_STORE)?, Arc::new(|| NOON));
        context.provide(&SESSIONS, Arc::new(sessions))
    })
}

#[tokio::test]
async fn other_sessions_are_the_ones_that_agents_append_to() {
    let plugin = Plugin {
        inject: &["sessionStore"],
        provides: &["sessions"],
        ..Plugin::new("at-noon", start_at_noon)
    };
    let swapped = swap("sessions", plugin).await;
    let agent = swapped.session().await;
    answer(&agent, "Hello.").await;
    let times: Vec<u64> = events(&agent).iter().map(|event| event.time).collect();
    assert!(times.len() > 5);
    assert_eq!(times, vec![NOON; times.len()]);
    swapped.close().await;
}

fn start_shelf(context: Context, _: Value) -> Started {
    Box::pin(async move {
        context.provide(&SESSION_STORE, Arc::new(Shelf::default()) as Arc<dyn Store>)
    })
}

#[tokio::test]
async fn another_session_store_is_where_logs_are_kept_and_found_again() {
    let plugin = Plugin { provides: &["sessionStore"], ..Plugin::new("shelf", start_shelf) };
    let swapped = swap("session-store", plugin).await;
    let agent = swapped.session().await;
    answer(&agent, "Hello.").await;
    assert_eq!(swapped.world.logs(), Vec::<std::path::PathBuf>::new());
    // The agents are loaded anew; the store stays.
    let patch = "- insert: [{ id: session-store, name: shelf }]\n- { id: agents, disabled: true }";
    let without_agents = product::rows(&swapped.world, patch);
    swapped.kernel.update(without_agents).await.unwrap();
    agent.closed().await;
    let with_agents =
        product::rows(&swapped.world, "- insert: [{ id: session-store, name: shelf }]");
    swapped.kernel.update(with_agents).await.unwrap();
    let listed = swapped.agents().list().await.unwrap();
    assert_eq!(listed.iter().map(|it| &it.session_id).collect::<Vec<_>>(), [agent.id()]);
    let again = swapped.agents().open(agent.id()).await.unwrap();
    assert_eq!(events(&again), events(&agent));
    answer(&again, "Hello again.").await;
    swapped.close().await;
}

/// Answers with what is made of the last thing that a person said.
struct Says(fn(&str) -> String);

impl Adapter for Says {
    fn provider(&self) -> &'static str {
        "offline"
    }

    fn offers(&self) -> Vec<Offer> {
        vec![Offer { model: "says".to_owned(), context_window: None, input: vec![Modality::Text] }]
    }

    fn stream(&self, request: Request, _cancel: CancellationToken) -> Chunks {
        let said = request.messages.iter().rfind(|message| message.source == Source::User);
        let text = (self.0)(&visible_text(&said.unwrap().content));
        let text = Chunk::TextDelta { index: 0, text };
        Box::pin(stream::iter([text, Chunk::Finish { reason: FinishReason::Stop, error: None }]))
    }
}

fn start_echo(context: Context, _: Value) -> Started {
    Box::pin(async move {
        let echo = Says(|said| format!("You said: {said}"));
        context.keep(context.get(&LLM)?.register(Arc::new(echo))?)?;
        Ok(())
    })
}

#[tokio::test]
async fn another_adapter_is_listed_and_answers() {
    let plugin = Plugin { inject: &["llm"], ..Plugin::new("echo", start_echo) };
    let swapped = swap("llm-offline", plugin).await;
    let models = swapped.models().await;
    assert!(models.contains(&("offline/says".to_owned(), true)), "{models:?}");
    assert!(models.iter().all(|(model, _)| model != "offline/retrieval"), "{models:?}");
    assert_eq!(answer(&swapped.session().await, "Hello.").await, "You said: Hello.");
    swapped.close().await;
}

/// Has a credential of every name.
struct Everything;

impl Credentials for Everything {
    fn resolve(&self, name: &str) -> Result<Secret, CredentialError> {
        Secret::parse(name, "open-sesame")
    }
}

fn start_everything(context: Context, _: Value) -> Started {
    Box::pin(
        async move { context.provide(&CREDENTIALS, Arc::new(Everything) as Arc<dyn Credentials>) },
    )
}

#[tokio::test]
async fn other_credentials_are_the_ones_that_adapters_ask_for_their_keys() {
    let plugin =
        Plugin { provides: &["credentials"], ..Plugin::new("everything", start_everything) };
    let ready = |models: Vec<(String, bool)>| {
        let deepseek = models.iter().find(|(model, _)| model == "deepseek/deepseek-v4-pro");
        deepseek.unwrap().1
    };
    let swapped = swap("credentials", plugin).await;
    assert!(ready(swapped.models().await));
    let product = product::rows(&swapped.world, "[]");
    swapped.kernel.update(product).await.unwrap();
    assert!(!ready(swapped.models().await), "the product itself has no key here");
    swapped.close().await;
}

fn start_lighthouse(context: Context, _: Value) -> Started {
    Box::pin(async move {
        let prompt = SystemPrompt::default();
        let (name, text) = ("lighthouse".to_owned(), "You keep a lighthouse.".to_owned());
        context.keep(prompt.register(Section { name, order: 0, text })?)?;
        context.provide(&SYSTEM_PROMPT, Arc::new(prompt))
    })
}

#[tokio::test]
async fn another_system_prompt_is_what_the_model_is_sent() {
    let plugin =
        Plugin { provides: &["systemPrompt"], ..Plugin::new("lighthouse", start_lighthouse) };
    let swapped = swap("system-prompt", plugin).await;
    let agent = swapped.session().await;
    answer(&agent, "Hello.").await;
    let system = agent.log().read(|fold| fold.header.clone().unwrap().system).unwrap();
    // Rows that have something to say say it there, too.
    assert!(system.starts_with("You keep a lighthouse.\n\n# Deliberation\n"), "{system}");
    assert!(!system.contains("dsh-ls"), "{system}");
    swapped.close().await;
}

/// A tool that rings.
struct Bell(ToolDefinition);

impl Tool for Bell {
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
        let text = "Dong.".to_owned();
        Box::pin(async { Ok(ToolOutput { text, value: json!({}), notes: Vec::new() }) })
    }
}

fn start_belfry(context: Context, _: Value) -> Started {
    Box::pin(async move {
        let bell = Bell(ToolDefinition {
            name: "bell".to_owned(),
            description: "Rings.".to_owned(),
            input_schema: json!({ "type": "object" }),
        });
        let tools = Tools::default();
        context.keep(tools.register(Arc::new(bell))?)?;
        context.provide(&TOOLS, Arc::new(tools))
    })
}

#[tokio::test]
async fn another_registry_of_tools_is_what_rows_add_to_and_models_are_told_of() {
    let plugin = Plugin { provides: &["tools"], ..Plugin::new("belfry", start_belfry) };
    let swapped = swap("tools", plugin).await;
    assert_eq!(swapped.call("bell", Value::Null).await, "Dong.");
    let agent = swapped.session().await;
    answer(&agent, "Hello.").await;
    let sent = agent.log().read(|fold| fold.header.clone().unwrap().tools.unwrap());
    let names: Vec<&str> = sent.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, [&["bell"], &dsh_tests::TOOLS[..]].concat());
    swapped.close().await;
}

/// Starts agents as another loop does and gives each new session a title.
struct Titles(Arc<dyn AgentLoop>);

impl AgentLoop for Titles {
    fn start(&self, writer: Writer, mut first: Vec<EventData>, setup: Setup) -> Agent {
        first.push(EventData::SessionTitle(SessionTitle { title: "Under way".to_owned() }));
        self.0.start(writer, first, setup)
    }
}

fn start_entitled(context: Context, _: Value) -> Started {
    Box::pin(async move {
        let agents = Arc::new(Agents::new(
            context.get(&HOST)?,
            context.get(&SESSIONS)?,
            Arc::new(Titles(context.get(&AGENT_LOOP)?)),
            context.get(&DEFAULT_MODEL)?,
            context.hooks().clone(),
        ));
        let closing = Arc::clone(&agents);
        context.on_dispose("agents", |_| async move { closing.close_all().await })?;
        context.provide(&AGENTS, agents)
    })
}

#[tokio::test]
async fn other_agents_are_the_ones_that_are_created_and_prompted() {
    let plugin = Plugin {
        inject: &["host", "sessions", "agentLoop", "defaultModel"],
        provides: &["agents"],
        ..Plugin::new("entitled", start_entitled)
    };
    let swapped = swap("agents", plugin).await;
    let agent = swapped.session().await;
    answer(&agent, "Hello.").await;
    assert_eq!(agent.info().await.unwrap().title.as_deref(), Some("Under way"));
    swapped.close().await;
}

/// A loop that asks nobody outside: it answers each prompt itself. Only the standard loop can append, so this one
/// is made of it.
fn start_parrot(context: Context, _: Value) -> Started {
    Box::pin(async move {
        let models = Models::default();
        context.keep(models.register(Arc::new(Says(|_| "Pieces of eight.".to_owned())))?)?;
        let agent_loop = StandardLoop::new(StandardLoopConfig {
            host: context.get(&HOST)?,
            models: Arc::new(models),
            tools: Arc::default(),
            prompt: Arc::default(),
            hooks: context.hooks().clone(),
            default_model: context.get(&DEFAULT_MODEL)?,
            max_parallel_tool_calls: 1,
            budgets: Budgets::default(),
        });
        context.provide(&AGENT_LOOP, Arc::new(agent_loop) as Arc<dyn AgentLoop>)
    })
}

#[tokio::test]
async fn another_agent_loop_is_what_runs_every_turn() {
    let plugin = Plugin {
        inject: &["host", "defaultModel"],
        provides: &["agentLoop"],
        ..Plugin::new("parrot", start_parrot)
    };
    let swapped = swap("agent-loop", plugin).await;
    let agent = swapped.session().await;
    for prompt in ["Hello.", "Where is `zebra` defined?"] {
        assert_eq!(answer(&agent, prompt).await, "Pieces of eight.");
    }
    swapped.close().await;
}

fn start_choice(context: Context, _: Value) -> Started {
    Box::pin(async move {
        let model = ModelId { provider: "nobody".to_owned(), model: "at-home".to_owned() };
        context.provide(&DEFAULT_MODEL, Arc::new(model))
    })
}

#[tokio::test]
async fn another_default_model_is_what_sessions_without_a_choice_ask() {
    let plugin = Plugin { provides: &["defaultModel"], ..Plugin::new("choice", start_choice) };
    let swapped = swap("agent-default-model", plugin).await;
    assert_eq!(swapped.agents().default_model().to_string(), "nobody/at-home");
    let agent = swapped.session().await;
    assert_eq!(agent.info().await.unwrap().model.to_string(), "nobody/at-home");
    let outcome = ask(&agent, "Hello.").await.outcome;
    assert!(format!("{outcome:?}").contains("nobody"), "{outcome:?}");
    swapped.close().await;
}
