//! A plugin takes part in turns: the whole tree of a workspace with one more row, whose plugin listens.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex};

use dsh_agent::agent::{Agent, Cancel, Notice, Prompt};
use dsh_agent::agents::{AGENTS, NewSession};
use dsh_agent::hooks::{
    ACTIVATION_LEFT, EXECUTE, GoOn, HOOKS, PRE_EXECUTE, PRE_STEP, RESULT, REVIEW_LEFT, ROUND_LEFT,
    Refusal, Rejection, SESSION_CLOSING, TURN_STOPPING,
};
use dsh_agent::host::{HOST, Host, Observer, time_ordered_ids};
use dsh_agent::subagents::provider::{PROVIDER_ADDED, PROVIDER_REMOVED};
use dsh_agent::wait::wait;
use dsh_kernel::hooks::Position;
use dsh_kernel::plugin::{Plugin, Row, StartError};
use dsh_kernel::service::Key;
use dsh_kernel::{Context, Kernel, PluginState, PluginStatus};
use dsh_llm::adapter::{Adapter, Chunks, Offer, Request};
use dsh_llm::models::LLM;
use dsh_protocol::content::{BlockKind, Chunk, ContentBlock, FinishReason};
use dsh_protocol::ids::SessionId;
use dsh_protocol::message::Source;
use dsh_protocol::params::session::Delivery;
use dsh_protocol::session::{SessionInfo, SessionStatus};
use dsh_protocol::turn::{AbortReason, Budget, NoTurn, Outcome, TurnEnd};
use dsh_runtime::buffers::OpenBuffers;
use dsh_session::clock::system;
use dsh_tests::rules;
use futures_util::future::BoxFuture;
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// What the test's plugins have in common.
#[derive(Default)]
struct Script {
    answers: Mutex<VecDeque<Vec<Chunk>>>,
    heard: Mutex<Vec<String>>,
    /// Holds the end of each answer while it is there.
    gate: Mutex<Option<Arc<Notify>>>,
}

impl Script {
    fn hear(&self, line: String) {
        self.heard.lock().unwrap().push(line);
    }
}

const SCRIPT: Key<Script> = Key::new("script");

/// Answers from the script.
struct Scripted(Arc<Script>);

impl Adapter for Scripted {
    fn provider(&self) -> &'static str {
        "test"
    }

    fn offers(&self) -> Vec<Offer> {
        Vec::new()
    }

    fn stream(&self, _request: Request, _cancel: CancellationToken) -> Chunks {
        let chunks = self.0.answers.lock().unwrap().pop_front().unwrap();
        let gate = self.0.gate.lock().unwrap().clone();
        Box::pin(stream::iter(chunks).then(move |chunk| {
            let gate = gate.clone().filter(|_| matches!(chunk, Chunk::Finish { .. }));
            async move {
                if let Some(gate) = gate {
                    gate.notified().await;
                }
                chunk
            }
        }))
    }
}

fn start_script(context: Context, _: Value) -> BoxFuture<'static, Result<(), StartError>> {
    Box::pin(async move {
        let script = Arc::new(Script::default());
        let adapter = Arc::new(Scripted(Arc::clone(&script)));
        context.keep(context.get(&LLM)?.register(adapter)?)?;
        context.provide(&SCRIPT, script)
    })
}

/// Rejects prompts that say `reject`, refuses calls that name `secret`, insists on another round as often as
/// the last prompt says, and breaks where it is told to break.
fn start_listener(context: Context, _: Value) -> BoxFuture<'static, Result<(), StartError>> {
    Box::pin(async move {
        let script = context.get(&SCRIPT)?;
        let prompted = Arc::new(Mutex::new(String::new()));
        let prompt = Arc::clone(&prompted);
        PRE_STEP.listen(&context, Position::Last, move |event| {
            let users = event.claimed.iter().filter(|message| message.source == Source::User);
            for message in users {
                *prompt.lock().unwrap() = text(&message.content);
            }
            let said = prompt.lock().unwrap().clone();
            assert!(said != "panic in pre-step", "told to");
            let reason = (said == "reject").then(|| Rejection { reason: "not today".to_owned() });
            async move { Ok(reason) }
        })?;
        PRE_EXECUTE.listen(&context, Position::Last, |event| async move {
            let path = event.arguments["file_path"].as_str().unwrap_or_default();
            assert!(path != "panic.txt", "told to");
            let message = format!("{} must not open {path}", event.name);
            Ok(path.contains("secret").then_some(Refusal { message }))
        })?;
        EXECUTE.listen(&context, Position::Last, |mut called, next| async move {
            let path = called.arguments["file_path"].as_str().unwrap_or_default().to_owned();
            assert!(path != "break.txt", "told to");
            if path == "alias.txt" {
                called.arguments["file_path"] = json!("open.txt");
            }
            if path == "hang.txt" {
                std::future::pending::<()>().await;
            }
            let mut outcome = next.run(called).await;
            if path == "alias.txt" {
                outcome.content.push(ContentBlock::text("(an alias)"));
            }
            outcome
        })?;
        let heard = Arc::clone(&script);
        RESULT.listen(&context, Position::Last, move |event| {
            heard.hear(format!("{} error={}", event.name, event.outcome.is_error));
            async { Err("observers may fail".to_owned()) }
        })?;
        for hook in [PROVIDER_ADDED, PROVIDER_REMOVED] {
            hook.listen(&context, Position::Last, |_| async { Ok(()) })?;
        }
        REVIEW_LEFT.listen(&context, Position::Last, |_| async { Ok(None) })?;
        ROUND_LEFT.listen(&context, Position::Last, |_| async { Ok(None) })?;
        ACTIVATION_LEFT.listen(&context, Position::Last, |_| async { Ok(None) })?;
        SESSION_CLOSING.listen(&context, Position::Last, |_| async { Ok(()) })?;
        TURN_STOPPING.listen(&context, Position::Last, move |event| {
            script.hear(format!("stops after {} rounds", event.rounds));
            let said = prompted.lock().unwrap().clone();
            let insists = said.strip_prefix("insist ").and_then(|times| times.parse().ok());
            let goes_on = insists.is_some_and(|times: u64| event.rounds < times);
            let go_on = GoOn::from(Notice {
                plugin: "listener".to_owned(),
                content: vec![ContentBlock::text("Look again.")],
                ..Notice::default()
            });
            async move {
                if said == "fail at the end" {
                    return Err("told to".to_owned());
                }
                Ok(goes_on.then_some(go_on))
            }
        })?;
        Ok(())
    })
}

const SCRIPTED: Plugin =
    Plugin { inject: &["llm"], provides: &["script"], ..Plugin::new("script", start_script) };
const LISTENER: Plugin = Plugin { inject: &["script"], ..Plugin::new("listener", start_listener) };

struct Quiet;

impl Observer for Quiet {
    fn status(&self, _session: &SessionId, _status: SessionStatus) {}

    fn changed(&self, _session: SessionInfo) {}
}

fn host(folder: &Path) -> Host {
    let workspace = folder.join("w");
    std::fs::create_dir(&workspace).unwrap();
    std::fs::write(workspace.join("open.txt"), "open\n").unwrap();
    Host {
        home: folder.join("home"),
        workspace_names: Arc::default(),
        open_folders: Arc::default(),
        workspace_uri: "file:///w".to_owned(),
        workspace,
        forced_model: None,
        environment_model: None,
        environment: Arc::new(std::collections::BTreeMap::<String, String>::new()),
        clock: system(),
        new_id: time_ordered_ids(),
        observer: Arc::new(Quiet),
        buffers: Arc::new(OpenBuffers::default()),
    }
}

struct Stage {
    kernel: Kernel,
    script: Arc<Script>,
    agent: Agent,
    _folder: tempfile::TempDir,
}

async fn stage(stopping_rounds: u64) -> Stage {
    let folder = tempfile::tempdir().unwrap();
    let plugins = [dsh_plugins::PLUGINS, &[SCRIPTED, LISTENER]].concat();
    let host = Arc::new(host(&folder.path().canonicalize().unwrap()));
    let kernel = Kernel::mount(rows(stopping_rounds), &plugins, &HOST, host).await;
    let agents = kernel.get(&AGENTS).unwrap();
    let agent = agents.create(NewSession::default()).await.unwrap();
    let script = kernel.get(&SCRIPT).unwrap();
    Stage { kernel, script, agent, _folder: folder }
}

/// The rows of a workspace, with the test's own.
fn rows(stopping_rounds: u64) -> Vec<Row> {
    let plain = [
        "llm",
        "credentials",
        "session-store",
        "sessions",
        "system-prompt",
        "tools",
        "agents",
        "fs",
        "tool-read",
        "script",
        "listener",
    ];
    let mut rows: Vec<Row> = plain.iter().map(|id| Row::new(id, Value::Null)).collect();
    rows.push(Row::new("agent-default-model", json!({ "provider": "test", "model": "x" })));
    rows.push(Row::new("agent-loop", json!({ "budgets": { "stoppingRounds": stopping_rounds } })));
    rows
}

impl Stage {
    async fn prompt(&self, said: &str, answers: Vec<Vec<Chunk>>) -> Outcome {
        *self.script.answers.lock().unwrap() = answers.into();
        let receipt = self.agent.prompt(prompt(said)).await.unwrap();
        let outcome = wait(&self.agent, Some(&receipt.message_id)).await.unwrap().outcome;
        let header = serde_json::to_value(self.agent.log().header()).unwrap();
        let id = header["id"].as_str().unwrap();
        assert_eq!(rules::problems(id, &header, &self.events()), Vec::<String>::new());
        assert!(self.script.answers.lock().unwrap().is_empty(), "not every answer was asked for");
        outcome
    }

    fn events(&self) -> Vec<Value> {
        let events = self.agent.log().page(-1, usize::MAX, |_| true).events;
        events.iter().map(|event| serde_json::to_value(event.as_ref()).unwrap()).collect()
    }

    /// Waits until an event of a type is in the log.
    async fn until(&self, name: &str) {
        let mut events = self.agent.log().watch();
        while !self.events().iter().any(|event| event["type"] == name) {
            events.changed().await.unwrap();
        }
    }

    fn heard(&self) -> Vec<String> {
        std::mem::take(&mut *self.script.heard.lock().unwrap())
    }

    /// What the model read of its calls.
    fn results(&self) -> Vec<String> {
        let events = self.events();
        let results = events.iter().filter(|event| event["type"] == "tool/result");
        let text = |event: &Value| {
            let content = event["data"]["message"]["content"][0]["content"].as_array().unwrap();
            content.iter().map(|block| block["text"].as_str().unwrap()).collect()
        };
        results.map(text).collect()
    }

    fn last_end(&self) -> Value {
        let events = self.events();
        let ends = events.iter().rev().find(|event| event["type"] == "turn/end");
        ends.unwrap()["data"]["reason"].clone()
    }
}

fn text(content: &[ContentBlock]) -> String {
    dsh_protocol::content::visible_text(content)
}

fn prompt(said: &str) -> Prompt {
    let content = vec![ContentBlock::text(said)];
    Prompt { content, delivery: Delivery::Followup, client_message_id: None }
}

fn says(text: &str) -> Vec<Chunk> {
    let text = Chunk::TextDelta { index: 0, text: text.to_owned() };
    vec![text, Chunk::Finish { reason: FinishReason::Stop, error: None }]
}

fn reads(paths: &[&str]) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    for (index, path) in (0..).zip(paths) {
        let (id, name) = (Some(format!("call-{index}").into()), Some("read".to_owned()));
        chunks.push(Chunk::BlockStart { index, block: BlockKind::ToolCall, id, name });
        let arguments_delta = json!({ "file_path": path }).to_string();
        chunks.push(Chunk::ToolCallDelta { index, arguments_delta });
    }
    chunks.push(Chunk::Finish { reason: FinishReason::ToolCalls, error: None });
    chunks
}

#[tokio::test]
async fn a_plugin_can_reject_a_step_and_its_message_says_why() {
    let stage = stage(5).await;
    let rejected = NoTurn::Rejected { reason: "not today".to_owned() };
    assert_eq!(stage.prompt("reject", vec![]).await, Outcome::NoTurn(rejected));
    assert_eq!(stage.last_end(), json!({ "kind": "blocked" }));
    let outcome = stage.prompt("hello", vec![says("Hi.")]).await;
    assert_eq!(outcome, Outcome::Turn(TurnEnd::Completed));
}

#[tokio::test]
async fn a_plugin_that_breaks_before_a_step_ends_the_turn_as_an_error() {
    let stage = stage(5).await;
    let outcome = stage.prompt("panic in pre-step", vec![]).await;
    let Outcome::NoTurn(NoTurn::Failed { reason }) = outcome else { panic!("{outcome:?}") };
    assert!(reason.contains("`agent/pre-step`") && reason.contains("`listener`"), "{reason}");
    assert_eq!(stage.last_end()["error"]["code"], "HOOK");
}

#[tokio::test]
async fn a_plugin_can_refuse_a_tool_call_and_hears_of_every_result() {
    let stage = stage(5).await;
    let answers = vec![reads(&["secret.txt", "open.txt", "panic.txt"]), says("Done.")];
    assert_eq!(stage.prompt("read", answers).await, Outcome::Turn(TurnEnd::Completed));
    let results = stage.results();
    assert_eq!(results[0], "Error: read must not open secret.txt");
    assert!(results[1].contains("1: open"), "{}", results[1]);
    assert!(results[2].starts_with("Error: the call could not be checked"), "{}", results[2]);
    assert_eq!(
        stage.heard(),
        ["read error=true", "read error=false", "read error=true", "stops after 0 rounds"]
    );
}

#[tokio::test]
async fn a_plugin_stands_around_tool_calls() {
    let stage = stage(5).await;
    let answers = vec![reads(&["alias.txt", "break.txt"]), says("Done.")];
    assert_eq!(stage.prompt("read", answers).await, Outcome::Turn(TurnEnd::Completed));
    let results = stage.results();
    assert!(results[0].contains("1: open") && results[0].ends_with("(an alias)"), "{}", results[0]);
    assert!(results[1].starts_with("Error: the tool failed unexpectedly"), "{}", results[1]);
}

#[tokio::test]
async fn a_plugin_that_hangs_around_a_call_is_left_behind_by_a_cancel() {
    let stage = stage(5).await;
    *stage.script.answers.lock().unwrap() = vec![reads(&["hang.txt"])].into();
    stage.agent.prompt(prompt("read")).await.unwrap();
    stage.until("tool/call").await;
    let cancel = Cancel { turn: None, keep_queue: false, reason: AbortReason::User };
    stage.agent.cancel(cancel).await.unwrap();
    wait(&stage.agent, None).await.unwrap();
    assert_eq!(stage.last_end(), json!({ "kind": "aborted", "reason": "user" }));
    assert_eq!(stage.results(), ["Error: the call was cancelled"]);
}

#[tokio::test]
async fn a_plugin_can_keep_a_turn_going_as_often_as_the_budget_allows() {
    let stage = stage(2).await;
    let outcome = stage.prompt("insist 1", vec![says("One."), says("Two.")]).await;
    assert_eq!(outcome, Outcome::Turn(TurnEnd::Completed));
    assert_eq!(stage.heard(), ["stops after 0 rounds", "stops after 1 rounds"]);
    let events = stage.events();
    let told = events.iter().find(|event| {
        event["type"] == "user/message" && event["data"]["source"]["kind"] == "plugin"
    });
    assert_eq!(told.unwrap()["data"]["source"]["plugin"], "listener");
    let outcome = stage.prompt("insist 9", vec![says("1"), says("2"), says("3")]).await;
    assert_eq!(outcome, Outcome::Turn(TurnEnd::Limit { what: Budget::StoppingRounds }));
}

#[tokio::test]
async fn a_plugin_that_fails_at_the_end_of_a_turn_does_not_spoil_it() {
    let stage = stage(5).await;
    let outcome = stage.prompt("fail at the end", vec![says("Hi.")]).await;
    assert_eq!(outcome, Outcome::Turn(TurnEnd::Completed));
}

#[tokio::test]
async fn a_plugin_that_is_gone_takes_no_part_and_nothing_else_was_touched() {
    let stage = stage(5).await;
    for declared in HOOKS {
        assert_eq!(stage.kernel.hooks().rows(declared.name), ["listener"], "{}", declared.name);
    }
    let without = rows(5).into_iter().filter(|row| row.id != "listener").collect();
    stage.kernel.update(without).await.unwrap();
    // The same agent goes on, without the listener.
    let outcome = stage.prompt("reject", vec![says("Hi.")]).await;
    assert_eq!(outcome, Outcome::Turn(TurnEnd::Completed));
    assert_eq!(stage.heard(), Vec::<String>::new());
}

/// A prompt whose answer is held, and the gate that holds it.
async fn held(stage: &Stage) -> Arc<Notify> {
    let gate = Arc::new(Notify::new());
    *stage.script.gate.lock().unwrap() = Some(Arc::clone(&gate));
    *stage.script.answers.lock().unwrap() = vec![says("Hi.")].into();
    stage.agent.prompt(prompt("hello")).await.unwrap();
    stage.until("assistant/chunk").await;
    gate
}

#[tokio::test]
async fn a_replaced_agent_loop_waits_for_running_turns() {
    let stage = stage(5).await;
    let gate = held(&stage).await;
    let updating = stage.kernel.update(rows(6));
    let turn = async {
        let mut changes = stage.kernel.watch();
        let unloading = |plugin: &PluginStatus| plugin.state == PluginState::Unloading;
        while !stage.kernel.plugins().iter().any(unloading) {
            changes.changed().await.unwrap();
        }
        assert!(stage.kernel.get(&AGENTS).is_none());
        gate.notify_one();
    };
    let (updated, ()) = tokio::join!(updating, turn);
    updated.unwrap();
    assert_eq!(stage.last_end(), json!({ "kind": "completed" }));
    let agents = stage.kernel.get(&AGENTS).unwrap();
    let agent = agents.open(stage.agent.id()).await.unwrap();
    assert_eq!(agent.status(), SessionStatus::Idle);
}

#[tokio::test]
async fn a_shutdown_aborts_running_turns() {
    let stage = stage(5).await;
    let _gate = held(&stage).await;
    stage.kernel.dispose().await;
    assert_eq!(stage.last_end(), json!({ "kind": "aborted", "reason": "disposed" }));
}
