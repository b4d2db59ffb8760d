//! What plugins that start subagents can rely on: structured answers, cancels, cleanup, and the registry.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use dsh_agent::agent::Agent;
use dsh_agent::agents::{AGENTS, Agents, NewSession};
use dsh_agent::subagents::error::StartError as Refused;
use dsh_agent::subagents::outcome;
use dsh_agent::subagents::provider::{PROVIDER_ADDED, PROVIDER_REMOVED};
use dsh_agent::subagents::request::{History, OutputContract, StartRequest, Window};
use dsh_agent::subagents::run::{Cleanup, Run};
use dsh_agent::subagents::{SUBAGENTS, Subagents};
use dsh_kernel::hooks::Position;
use dsh_kernel::plugin::{Plugin, Row, StartError};
use dsh_kernel::service::Key;
use dsh_kernel::{Context, Kernel};
use dsh_mock_model::answer::Answer;
use dsh_mock_model::server::MockModel;
use dsh_plugins::PLUGINS;
use dsh_protocol::content::ContentBlock;
use dsh_protocol::ids::ModelId;
use dsh_protocol::subagent::StopReason;
use dsh_protocol::turn::{AbortReason, TurnEnd};
use dsh_tests::world::World;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{call, say};
use crate::product;

const GRACE: Duration = Duration::from_secs(10);

/// What a plugin has heard of providers.
const JOURNAL: Key<Mutex<Vec<String>>> = Key::new("journal");

const EAR: Plugin = Plugin { provides: &["journal"], ..Plugin::new("ear", hear) };

fn hear(
    context: Context,
    _: Value,
) -> futures_util::future::BoxFuture<'static, Result<(), StartError>> {
    Box::pin(async move {
        let journal: Arc<Mutex<Vec<String>>> = Arc::default();
        for (hook, sign) in [(PROVIDER_ADDED, '+'), (PROVIDER_REMOVED, '-')] {
            let journal = Arc::clone(&journal);
            hook.listen(&context, Position::Last, move |changed| {
                journal.lock().unwrap().push(format!("{sign}{}", changed.name));
                async { Ok(()) }
            })?;
        }
        context.provide(&JOURNAL, journal)
    })
}

/// The product without a program around it, and a session whose agent starts children.
struct Stage {
    world: World,
    mock: MockModel,
    kernel: Kernel,
    rows: Vec<Row>,
    parent: Agent,
}

async fn stage(answers: impl IntoIterator<Item = Answer>) -> Stage {
    let world = World::new();
    world.file("a.txt", "alpha\n");
    let mock = MockModel::start(answers);
    let patch = format!(
        "- id: llm-local\n  merge: {{ baseUrl: \"{}/v1\" }}\n- insert: [{{ id: ear }}]\n",
        mock.url()
    );
    let mut rows = product::rows(&world, &patch);
    // It starts first, so that it hears of everything.
    rows.rotate_right(1);
    let kernel = product::mount(&world, rows.clone(), &[PLUGINS, &[EAR]].concat()).await;
    let agents = kernel.get(&AGENTS).unwrap();
    let model = ModelId::parse("local/mock");
    let parent = agents.create(NewSession { model, ..NewSession::default() }).await.unwrap();
    // What it was created with is in its log when it answers.
    parent.info().await.unwrap();
    Stage { world, mock, kernel, rows, parent }
}

impl Stage {
    fn agents(&self) -> Arc<Agents> {
        self.kernel.get(&AGENTS).unwrap()
    }

    fn subagents(&self) -> Arc<Subagents> {
        self.kernel.get(&SUBAGENTS).unwrap()
    }

    fn request(&self) -> StartRequest {
        let prompt = vec![ContentBlock::text("Work.")];
        StartRequest::new(self.parent.id().clone(), prompt)
    }

    async fn start(&self, request: StartRequest) -> Run {
        self.subagents().start("spawn", request).await.unwrap()
    }

    /// Waits until only the parent is loaded.
    async fn alone(&self) {
        let agents = self.agents();
        let alone = async {
            while agents.count() > 1 {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(GRACE, alone).await.expect("a child stays loaded");
    }

    async fn requests(&self, count: usize) {
        let asked = async {
            while self.mock.requests().len() < count {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(GRACE, asked).await.expect("the child asks nobody");
    }

    /// Ends it. The product itself then serves what was logged, as the world checks when it goes.
    async fn close(self) {
        self.kernel.dispose().await;
        product::rows(&self.world, "[]");
    }
}

/// A number, which must be even.
fn even() -> OutputContract {
    OutputContract {
        schema: json!({
            "type": "object", "additionalProperties": false,
            "properties": { "number": { "type": "integer" } }, "required": ["number"],
        }),
        check: Arc::new(|answer| match answer["number"].as_i64() {
            Some(number) if number % 2 == 0 => Ok(()),
            _ => Err("`number` must be even".to_owned()),
        }),
    }
}

fn give(number: &Value) -> Answer {
    call("structured_output", &json!({ "number": number }))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_corrects_its_answer_until_it_fits_and_ends_with_it() {
    let last = Answer::stream()
        .tool_call(0, "a", "structured_output", r#"{"number":4}"#)
        .tool_call(1, "b", "read", r#"{"file_path":"a.txt"}"#)
        .tool_call(2, "c", "structured_output", r#"{"number":6}"#)
        .finish("tool_calls")
        .done();
    let stage = stage([give(&json!("x")), give(&json!(3)), last]).await;
    let mut run = stage.start(StartRequest { output: Some(even()), ..stage.request() }).await;
    let result = run.result().await.unwrap();
    assert_eq!(result.structured, Some(json!({ "number": 4 })), "the first that fits");
    assert_eq!(result.stop_reason, StopReason::Completed);
    assert_eq!(result.usage.requests, 3, "nobody is asked again after it");
    let log = Arc::clone(run.log().unwrap());
    let results: Vec<String> = log
        .page(-1, 5000, |event| event.data.name() == "tool/result")
        .events
        .iter()
        .map(|event| serde_json::to_string(event.as_ref()).unwrap())
        .collect();
    for (result, expected) in results.iter().zip([
        "`number` must be of type integer",
        "`number` must be even",
        "Taken.",
        "the turn is over",
        "the turn is over",
    ]) {
        assert!(result.contains(expected), "{expected}: {result}");
    }
    assert_eq!(results.len(), 5);
    let first = stage.mock.requests()[0].json();
    assert!(first["messages"][0].to_string().contains("structured_output"), "it is told");
    assert_eq!(run.dispose(GRACE).await, Cleanup::Completed);
    stage.alone().await;
    // The same is read from its log alone, as after a restart.
    assert_eq!(outcome::of(&log), result);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_that_only_talks_has_not_answered() {
    let stage = stage([say("Four, I think.")]).await;
    let mut run = stage.start(StartRequest { output: Some(even()), ..stage.request() }).await;
    let result = run.result().await.unwrap();
    assert_eq!(result.stop_reason, StopReason::Error);
    assert_eq!(result.structured, None);
    // Whoever wants to can see that it ended well, and what it said.
    assert_eq!(result.turn_end, Some(TurnEnd::Completed));
    assert_eq!(result.content, [ContentBlock::text("Four, I think.")]);
    assert_eq!(run.dispose(GRACE).await, Cleanup::Completed);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_children_with_answers_of_other_shapes_do_not_meet() {
    let other = OutputContract {
        schema: json!({ "type": "object", "properties": { "word": { "type": "string" } }, "required": ["word"] }),
        check: Arc::new(|_| Ok(())),
    };
    let stage = stage([give(&json!(2)), call("structured_output", &json!({ "word": "w" }))]).await;
    let mut one = stage.start(StartRequest { output: Some(even()), ..stage.request() }).await;
    stage.requests(1).await;
    let mut two = stage.start(StartRequest { output: Some(other), ..stage.request() }).await;
    assert_eq!(one.result().await.unwrap().structured, Some(json!({ "number": 2 })));
    assert_eq!(two.result().await.unwrap().structured, Some(json!({ "word": "w" })));
    drop((one, two));
    stage.alone().await;
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_that_hangs_ends_by_its_token_by_its_disposal_and_by_being_dropped() {
    let stage = stage((0..3).map(|_| Answer::stream().delta("Half").hold())).await;
    let cancel = CancellationToken::new();
    let mut run = stage.start(StartRequest { cancel: cancel.clone(), ..stage.request() }).await;
    stage.requests(1).await;
    // Giving up on the result does not end the child.
    assert!(tokio::time::timeout(Duration::from_millis(1), run.result()).await.is_err());
    cancel.cancel();
    let result = run.result().await.unwrap();
    assert_eq!(result.stop_reason, StopReason::Aborted);
    assert_eq!(result.turn_end, Some(TurnEnd::Aborted { reason: AbortReason::Parent }));
    assert_eq!(run.dispose(GRACE).await, Cleanup::Completed);
    let run = stage.start(stage.request()).await;
    stage.requests(2).await;
    assert_eq!(run.dispose(GRACE).await, Cleanup::Completed);
    assert_eq!(stage.agents().count(), 1);
    let run = stage.start(stage.request()).await;
    stage.requests(3).await;
    drop(run);
    stage.alone().await;
    stage.mock.wait_until_closed();
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_ends_with_its_parent() {
    let stage = stage([Answer::stream().hold()]).await;
    let mut run = stage.start(stage.request()).await;
    stage.requests(1).await;
    stage.parent.close(AbortReason::User).await;
    let result = tokio::time::timeout(GRACE, run.result()).await.unwrap().unwrap();
    assert_eq!(result.stop_reason, StopReason::Aborted);
    drop(run);
    stage.mock.wait_until_closed();
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_goes_on_when_its_provider_goes() {
    let slow = Answer::stream().delta("Half").pause().delta(" done.").finish("stop").done();
    let stage = stage([slow]).await;
    let mut run = stage.start(stage.request()).await;
    stage.requests(1).await;
    let mut without = stage.rows.clone();
    without.iter_mut().find(|row| row.id == "subagent-spawn").unwrap().disabled = true;
    stage.kernel.update(without).await.unwrap();
    assert!(stage.subagents().provider("spawn").is_none());
    stage.mock.release();
    assert_eq!(run.result().await.unwrap().text, "Half done.");
    assert_eq!(run.dispose(GRACE).await, Cleanup::Completed);
    let refused = stage.subagents().start("spawn", stage.request()).await.err().unwrap();
    assert_eq!(refused.code(), "NO_PROVIDER");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_refused_leaves_no_session() {
    let stage = stage([]).await;
    let cancelled = CancellationToken::new();
    cancelled.cancel();
    let stranger = StartRequest::new("nobody".into(), Vec::new());
    let window = History::MidFork(Window::CurrentTurn);
    let list = json!({ "type": "array" });
    let no_object = OutputContract { schema: list, ..even() };
    let requests = [
        (StartRequest { max_depth: Some(0), ..stage.request() }, "DEPTH_LIMIT"),
        (StartRequest { cancel: cancelled, ..stage.request() }, "CANCELLED"),
        (stranger, "PARENT_UNAVAILABLE"),
        (StartRequest { history: Some(window), ..stage.request() }, "UNSUPPORTED_CAPABILITY"),
        (
            StartRequest { history: Some(History::Fork), ..stage.request() },
            "UNSUPPORTED_CAPABILITY",
        ),
        (StartRequest { output: Some(no_object), ..stage.request() }, "INVALID_REQUEST"),
    ];
    for (request, code) in requests {
        let refused: Refused = stage.subagents().start("spawn", request).await.err().unwrap();
        assert_eq!(refused.code(), code);
    }
    let request = StartRequest { history: Some(window), ..stage.request() };
    let refused = stage.subagents().start("mid-fork-step-3", request).await.err().unwrap();
    assert_eq!(refused.code(), "NO_OPEN_TURN");
    let refused = stage.subagents().start("mid-fork-step-3", stage.request()).await.err().unwrap();
    assert_eq!(refused.code(), "NO_COMPLETED_STEP");
    assert_eq!(stage.agents().list().await.unwrap().len(), 1);
    assert_eq!((stage.agents().count(), stage.mock.requests().len()), (1, 0));
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn providers_that_come_and_go_are_told_of_in_order() {
    let stage = stage([]).await;
    let journal = stage.kernel.get(&JOURNAL).unwrap();
    let told = |expected: &'static [&'static str]| {
        let journal = Arc::clone(&journal);
        async move {
            let told = async {
                while !journal
                    .lock()
                    .unwrap()
                    .ends_with(&expected.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>())
                {
                    tokio::task::yield_now().await;
                }
            };
            let told = tokio::time::timeout(GRACE, told).await;
            assert!(told.is_ok(), "{:?}", journal.lock().unwrap());
        }
    };
    let heard = |name: &str| journal.lock().unwrap().iter().any(|told| told == name);
    let all = async {
        while !(heard("+spawn") && heard("+fork")) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(GRACE, all).await.expect("not every provider was told of");
    let mut without = stage.rows.clone();
    without.iter_mut().find(|row| row.id == "subagent-spawn").unwrap().disabled = true;
    stage.kernel.update(without.clone()).await.unwrap();
    told(&["-spawn"]).await;
    without.iter_mut().find(|row| row.id == "subagent-fork").unwrap().disabled = true;
    stage.kernel.update(without).await.unwrap();
    told(&["-spawn", "-fork"]).await;
    stage.kernel.update(stage.rows.clone()).await.unwrap();
    told(&["+fork", "+spawn"]).await;
    stage.close().await;
}
