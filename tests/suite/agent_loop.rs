//! The agent loop with tools and a model of the tests' own: what only happens in moments that a process cannot be
//! held at from outside.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dsh_agent::agent::{Agent, Cancel, Prompt};
use dsh_agent::agent_loop::{AgentLoop, Budgets, StandardLoop, StandardLoopConfig};
use dsh_agent::host::{Host, Observer};
use dsh_agent::prompt::SystemPrompt;
use dsh_agent::setup::Setup;
use dsh_agent::tool::{Tool, ToolContext, ToolFailure, ToolOutput};
use dsh_agent::tools::Tools;
use dsh_agent::wait::wait;
use dsh_kernel::hooks::Hooks;
use dsh_kernel::registration::Registration;
use dsh_llm::adapter::{Adapter, Chunks, Offer, Request};
use dsh_llm::models::Models;
use dsh_protocol::content::{BlockKind, Chunk, ContentBlock, FinishReason, Usage};
use dsh_protocol::ids::{ModelId, SessionId};
use dsh_protocol::params::session::Delivery;
use dsh_protocol::session::{FileHeader, SessionInfo, SessionStatus};
use dsh_protocol::tool::{ToolDefinition, ToolKind};
use dsh_protocol::turn::{AbortReason, Budget, Outcome, TurnEnd};
use dsh_runtime::buffers::OpenBuffers;
use dsh_session::log::Log;
use dsh_session::store::{BoxFuture, Memory};
use dsh_session::writer::Writer;
use dsh_tests::rules;
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// What happened, in order.
type Journal = Arc<Mutex<Vec<String>>>;

/// A tool that writes down when it begins and ends, and does in between what its name says.
struct Probe {
    definition: ToolDefinition,
    safe: bool,
    journal: Journal,
    gate: Arc<Notify>,
}

impl Tool for Probe {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Other
    }

    fn concurrency_safe(&self) -> bool {
        self.safe
    }

    fn run(
        &self,
        arguments: Value,
        cx: ToolContext,
    ) -> BoxFuture<'static, Result<ToolOutput, ToolFailure>> {
        let name = self.definition.name.clone();
        let label = arguments["label"].as_str().unwrap_or(&name).to_owned();
        let (journal, gate) = (Arc::clone(&self.journal), Arc::clone(&self.gate));
        Box::pin(async move {
            journal.lock().unwrap().push(format!("{label} begins"));
            match name.as_str() {
                "panics" => panic!("told to"),
                "opens" => gate.notify_one(),
                "waits" => gate.notified().await,
                "hangs" => cx.cancel.cancelled().await,
                _ => {
                    for _ in 0..20 {
                        tokio::task::yield_now().await;
                    }
                }
            }
            journal.lock().unwrap().push(format!("{label} ends"));
            Ok(ToolOutput { text: format!("{label} done"), value: json!({}), notes: Vec::new() })
        })
    }
}

/// One answer: its chunks, and whether it pauses before the last one until the gate is opened.
type Scripted = (Vec<Chunk>, bool);

/// A model that answers from a list and keeps what it was asked.
struct Model {
    answers: Mutex<VecDeque<Scripted>>,
    asked: Mutex<Vec<Request>>,
    gate: Arc<Notify>,
}

impl Adapter for Model {
    fn provider(&self) -> &'static str {
        "test"
    }

    fn offers(&self) -> Vec<Offer> {
        Vec::new()
    }

    fn stream(&self, request: Request, _cancel: CancellationToken) -> Chunks {
        self.asked.lock().unwrap().push(request);
        let (chunks, pauses) = self.answers.lock().unwrap().pop_front().unwrap();
        let (last, gate) = (chunks.len() - 1, Arc::clone(&self.gate));
        Box::pin(stream::iter(chunks.into_iter().enumerate()).then(move |(at, chunk)| {
            let gate = Arc::clone(&gate);
            async move {
                if pauses && at == last {
                    gate.notified().await;
                }
                chunk
            }
        }))
    }
}

fn calls(calls: &[(&str, &str)]) -> Scripted {
    let mut chunks = Vec::new();
    for (index, (tool, label)) in (0..).zip(calls) {
        let id = Some(format!("{label}-{index}").into());
        let name = Some((*tool).to_owned());
        chunks.push(Chunk::BlockStart { index, block: BlockKind::ToolCall, id, name });
        let arguments_delta = json!({ "label": label }).to_string();
        chunks.push(Chunk::ToolCallDelta { index, arguments_delta });
    }
    chunks.push(Chunk::Finish { reason: FinishReason::ToolCalls, error: None });
    (chunks, false)
}

fn says(text: &str, reason: FinishReason) -> Scripted {
    let usage = Usage { input_tokens: 60, output_tokens: 40, ..Usage::default() };
    let text = Chunk::TextDelta { index: 0, text: text.to_owned() };
    (vec![text, Chunk::Usage { usage }, Chunk::Finish { reason, error: None }], false)
}

struct Quiet;

impl Observer for Quiet {
    fn status(&self, _session: &SessionId, _status: SessionStatus) {}

    fn changed(&self, _session: SessionInfo) {}
}

struct Stage {
    agent: Agent,
    model: Arc<Model>,
    journal: Journal,
    /// Opened by the tool `opens` or by the test.
    gate: Arc<Notify>,
    _kept: Vec<Registration>,
}

fn stage(budgets: Budgets, most: usize, answers: Vec<Scripted>) -> Stage {
    let gate = Arc::new(Notify::new());
    let journal = Journal::default();
    let model = Arc::new(Model {
        answers: Mutex::new(answers.into()),
        asked: Mutex::default(),
        gate: Arc::clone(&gate),
    });
    let (models, tools) = (Models::default(), Tools::default());
    let mut kept = vec![models.register(Arc::clone(&model) as Arc<dyn Adapter>).unwrap()];
    for name in ["safe", "panics", "opens", "waits", "hangs", "alone"] {
        let definition = ToolDefinition {
            name: name.to_owned(),
            description: "A tool.".to_owned(),
            input_schema: json!({ "type": "object" }),
        };
        let (journal, gate) = (Arc::clone(&journal), Arc::clone(&gate));
        let probe = Probe { definition, safe: name != "alone", journal, gate };
        kept.push(tools.register(Arc::new(probe)).unwrap());
    }
    let counter = Mutex::new(0);
    let host = Host {
        home: PathBuf::from("/home"),
        workspace: PathBuf::from("/w"),
        workspace_names: Arc::default(),
        open_folders: Arc::default(),
        workspace_uri: "file:///w".to_owned(),
        forced_model: None,
        environment_model: None,
        environment: Arc::new(std::collections::BTreeMap::<String, String>::new()),
        clock: Arc::new(|| 7),
        new_id: Arc::new(move || {
            let mut counter = counter.lock().unwrap();
            *counter += 1;
            format!("id-{counter}")
        }),
        observer: Arc::new(Quiet),
        buffers: Arc::new(OpenBuffers::default()),
    };
    let header = json!({ "type": "session", "version": 0, "id": "s", "createdAt": 1, "cwd": "/w" });
    let header: FileHeader = serde_json::from_value(header).unwrap();
    let log = Arc::new(Log::new(header, Vec::new()).unwrap());
    let writer = Writer::new(log, Arc::new(Memory), Arc::clone(&host.clock));
    let agent_loop = StandardLoop::new(StandardLoopConfig {
        host: Arc::new(host),
        models: Arc::new(models),
        tools: Arc::new(tools),
        prompt: Arc::new(SystemPrompt::default()),
        hooks: Hooks::default(),
        default_model: Arc::new(ModelId::parse("test/x").unwrap()),
        max_parallel_tool_calls: most,
        budgets,
    });
    let agent = agent_loop.start(writer, Vec::new(), Setup::default());
    Stage { agent, model, journal, gate, _kept: kept }
}

fn prompt(text: &str, delivery: Delivery) -> Prompt {
    Prompt { content: vec![ContentBlock::text(text)], delivery, client_message_id: None }
}

const CANCEL: Cancel = Cancel { turn: None, keep_queue: false, reason: AbortReason::User };

impl Stage {
    fn events(&self) -> Vec<Value> {
        let events = self.agent.log().page(-1, usize::MAX, |_| true).events;
        events.iter().map(|event| serde_json::to_value(event.as_ref()).unwrap()).collect()
    }

    fn journal(&self) -> Vec<String> {
        self.journal.lock().unwrap().clone()
    }

    /// Prompts and waits for the outcome; checks the log and every request that was made.
    async fn complete(&self, text: &str) -> Outcome {
        let receipt = self.agent.prompt(prompt(text, Delivery::Followup)).await.unwrap();
        let outcome = wait(&self.agent, Some(&receipt.message_id)).await.unwrap().outcome;
        wait(&self.agent, None).await.unwrap();
        self.check();
        outcome
    }

    fn check(&self) {
        let events = self.events();
        let header = serde_json::to_value(self.agent.log().header()).unwrap();
        assert_eq!(rules::problems("s", &header, &events), Vec::<String>::new());
        for request in self.model.asked.lock().unwrap().iter() {
            let is_first = |event: &&Value| {
                event["type"] == "assistant/chunk"
                    && event["data"]["turn"] == request.turn
                    && event["data"]["step"] == request.step
            };
            let Some(first) = events.iter().find(is_first) else { continue };
            let before = usize::try_from(first["seq"].as_u64().unwrap()).unwrap();
            let derived = rules::messages(&events[..before]);
            assert_eq!(json!(request.messages), json!(derived), "the model saw what is logged");
        }
    }

    /// The ids of the calls in the order in which events of a type name them.
    fn order(&self, name: &str) -> Vec<String> {
        let events = self.events();
        let named = events.iter().filter(|event| event["type"] == name);
        let id = |event: &Value| {
            let data = &event["data"];
            data["callId"]
                .as_str()
                .or(data["message"]["source"]["callId"].as_str())
                .map(str::to_owned)
        };
        named.filter_map(id).collect()
    }

    /// Waits until an event of a type is in the log.
    async fn until(&self, name: &str) {
        let mut events = self.agent.log().watch();
        while !self.events().iter().any(|event| event["type"] == name) {
            events.changed().await.unwrap();
        }
    }
}

#[tokio::test]
async fn the_second_call_can_end_first_and_results_keep_the_models_order() {
    let answers = vec![calls(&[("waits", "a"), ("opens", "b")]), says("Done.", FinishReason::Stop)];
    let stage = stage(Budgets::default(), 10, answers);
    assert_eq!(stage.complete("Go.").await, Outcome::Turn(TurnEnd::Completed));
    // The first call ends only once the second has run: they overlapped.
    assert_eq!(stage.journal(), ["a begins", "b begins", "b ends", "a ends"]);
    assert_eq!(stage.order("tool/result"), ["a-0", "b-1"]);
}

#[tokio::test]
async fn a_call_that_must_be_alone_waits_for_others_and_others_for_it() {
    let calls =
        calls(&[("safe", "a"), ("safe", "b"), ("alone", "c"), ("alone", "d"), ("safe", "e")]);
    let stage = stage(Budgets::default(), 10, vec![calls, says("Done.", FinishReason::Stop)]);
    assert_eq!(stage.complete("Go.").await, Outcome::Turn(TurnEnd::Completed));
    let journal = stage.journal();
    assert_eq!(journal[..2], ["a begins", "b begins"]);
    assert_eq!(journal[4..], ["c begins", "c ends", "d begins", "d ends", "e begins", "e ends"]);
    assert_eq!(stage.order("tool/call"), ["a-0", "b-1", "c-2", "d-3", "e-4"]);
}

#[tokio::test]
async fn no_more_calls_run_at_once_than_are_allowed() {
    let many: Vec<(&str, &str)> = vec![("safe", "x"); 12];
    let answers = vec![calls(&many), says("Done.", FinishReason::Stop)];
    let stage = stage(Budgets::default(), 3, answers);
    assert_eq!(stage.complete("Go.").await, Outcome::Turn(TurnEnd::Completed));
    let (mut running, mut most) = (0, 0);
    for line in stage.journal() {
        running += if line.ends_with("begins") { 1 } else { -1 };
        most = most.max(running);
    }
    assert_eq!((running, most), (0, 3));
    assert_eq!(stage.order("tool/result").len(), 12);
}

#[tokio::test]
async fn a_tool_that_panics_is_a_failed_call_and_its_neighbour_answers() {
    let answers = vec![calls(&[("panics", "a"), ("safe", "b")]), says("Done.", FinishReason::Stop)];
    let stage = stage(Budgets::default(), 10, answers);
    assert_eq!(stage.complete("Go.").await, Outcome::Turn(TurnEnd::Completed));
    let events = stage.events();
    let results: Vec<&Value> =
        events.iter().filter(|event| event["type"] == "tool/result").collect();
    assert_eq!(results[0]["data"]["message"]["content"][0]["isError"], true);
    assert!(results[1]["data"]["message"]["content"][0]["isError"].is_null());
}

#[tokio::test]
async fn a_cancel_lets_no_further_call_begin_and_every_call_gets_a_result() {
    let answers = vec![calls(&[("hangs", "a"), ("alone", "b"), ("safe", "c")])];
    let stage = stage(Budgets::default(), 10, answers);
    let receipt = stage.agent.prompt(prompt("Go.", Delivery::Followup)).await.unwrap();
    stage.until("tool/call").await;
    stage.agent.cancel(CANCEL).await.unwrap();
    let waited = wait(&stage.agent, Some(&receipt.message_id)).await.unwrap();
    assert_eq!(waited.outcome, Outcome::Turn(TurnEnd::Aborted { reason: AbortReason::User }));
    wait(&stage.agent, None).await.unwrap();
    stage.check();
    assert_eq!(stage.order("tool/call"), ["a-0", "b-1", "c-2"]);
    let events = stage.events();
    let codes: Vec<&str> = events
        .iter()
        .filter(|event| event["type"] == "tool/result")
        .map(|event| event["data"]["error"]["code"].as_str().unwrap())
        .collect();
    assert_eq!(codes, ["ABORTED", "ABORTED_BEFORE_DISPATCH", "ABORTED_BEFORE_DISPATCH"]);
    assert!(!stage.journal().iter().any(|line| line.starts_with('b') || line.starts_with('c')));
}

#[tokio::test]
async fn a_prompt_that_comes_before_the_cancelled_turn_has_ended_runs_after_it() {
    for delivery in [Delivery::Followup, Delivery::Steer] {
        let (chunks, _) = says("Half", FinishReason::Stop);
        let answers = vec![(chunks, true), says("Here.", FinishReason::Stop)];
        let stage = stage(Budgets::default(), 10, answers);
        stage.agent.prompt(prompt("First.", Delivery::Followup)).await.unwrap();
        stage.until("assistant/chunk").await;
        // Both are in the mailbox before the session's task sees either.
        let (cancelled, receipt) = tokio::join!(
            stage.agent.cancel(CANCEL),
            stage.agent.prompt(prompt("Second.", delivery))
        );
        assert!(cancelled.unwrap().cancelled);
        let message = receipt.unwrap().message_id;
        let waited = wait(&stage.agent, Some(&message)).await.unwrap();
        assert_eq!(
            (waited.outcome, waited.turn),
            (Outcome::Turn(TurnEnd::Completed), Some(2)),
            "{delivery:?}"
        );
        wait(&stage.agent, None).await.unwrap();
        stage.check();
    }
}

#[tokio::test]
async fn a_steering_message_makes_an_answer_that_was_cut_go_on_with_its_tools() {
    let (cut, _) = says("Half", FinishReason::MaxTokens);
    let answers = vec![(cut, true), calls(&[("safe", "a")]), says("Done.", FinishReason::Stop)];
    let stage = stage(Budgets::default(), 10, answers);
    let receipt = stage.agent.prompt(prompt("First.", Delivery::Followup)).await.unwrap();
    stage.until("assistant/chunk").await;
    stage.agent.prompt(prompt("Shorter.", Delivery::Steer)).await.unwrap();
    stage.gate.notify_one();
    let waited = wait(&stage.agent, Some(&receipt.message_id)).await.unwrap();
    wait(&stage.agent, None).await.unwrap();
    assert_eq!(
        (waited.outcome, waited.text),
        (Outcome::Turn(TurnEnd::MaxTokens), "Done.".to_owned())
    );
    stage.check();
    assert_eq!(stage.order("tool/result"), ["a-0"]);
}

#[tokio::test]
async fn every_budget_ends_a_turn_that_does_not_end_itself() {
    let all = Budgets::default();
    for (budgets, what) in [
        (Budgets { steps: 3, ..all.clone() }, Budget::Steps),
        (Budgets { time: Duration::ZERO, ..all.clone() }, Budget::Time),
        (Budgets { tokens: Some(150), ..all.clone() }, Budget::Tokens),
    ] {
        let answers = (0..3).map(|_| {
            let (mut chunks, pauses) = calls(&[("safe", "a")]);
            let usage = Usage { input_tokens: 60, output_tokens: 40, ..Usage::default() };
            chunks.insert(0, Chunk::Usage { usage });
            (chunks, pauses)
        });
        let stage = stage(budgets, 10, answers.collect());
        assert_eq!(stage.complete("Go.").await, Outcome::Turn(TurnEnd::Limit { what }));
    }
}

fn fails(text: &str, code: &str) -> Scripted {
    let failure = dsh_llm::adapter::failure(code, "told to fail");
    let text = Chunk::TextDelta { index: 0, text: text.to_owned() };
    let finish = Chunk::Finish { reason: FinishReason::Error, error: Some(failure) };
    (vec![text, finish], false)
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_may_pass_is_tried_again_and_nothing_is_said_twice() {
    let answers = vec![
        fails("Half an", "SERVER"),
        fails("Half", "SERVER"),
        says("Whole.", FinishReason::Stop),
    ];
    let stage = stage(Budgets::default(), 10, answers);
    assert_eq!(stage.complete("Go.").await, Outcome::Turn(TurnEnd::Completed));
    let events = stage.events();
    let of_type = |name: &str| events.iter().filter(|event| event["type"] == name).count();
    assert_eq!((of_type("llm/retry"), of_type("llm/retry-started")), (2, 2));
    assert_eq!((of_type("step/start"), of_type("assistant/message")), (1, 1));
    let answer = events.iter().find(|event| event["type"] == "assistant/message").unwrap();
    assert_eq!(answer["data"]["message"]["content"][0]["text"], "Whole.");
    let retried = events.iter().rposition(|event| event["type"] == "llm/retry-started").unwrap();
    for source in answer["sourceEventSeqs"].as_array().unwrap() {
        assert!(source.as_u64().unwrap() > retried as u64, "only its own chunks are cited");
    }
    let asked = stage.model.asked.lock().unwrap();
    assert!(asked.iter().all(|request| request.messages == asked[0].messages), "the same request");
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_stays_ends_the_turn_after_some_tries() {
    for (code, tries) in [("AUTH", 1), ("RATE_LIMIT", 6)] {
        let answers = (0..tries).map(|_| fails("", code)).collect();
        let stage = stage(Budgets::default(), 10, answers);
        let outcome = stage.complete("Go.").await;
        assert!(
            matches!(outcome, Outcome::Turn(TurnEnd::Error { error }) if error.code == code),
            "{code}"
        );
        assert_eq!(stage.model.asked.lock().unwrap().len(), tries, "{code}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancel_ends_the_pause_before_a_retry() {
    let stage = stage(Budgets::default(), 10, vec![fails("Half", "SERVER")]);
    let receipt = stage.agent.prompt(prompt("Go.", Delivery::Followup)).await.unwrap();
    stage.until("llm/retry").await;
    stage.agent.cancel(CANCEL).await.unwrap();
    let waited = wait(&stage.agent, Some(&receipt.message_id)).await.unwrap();
    assert_eq!(waited.outcome, Outcome::Turn(TurnEnd::Aborted { reason: AbortReason::User }));
    wait(&stage.agent, None).await.unwrap();
    stage.check();
}
