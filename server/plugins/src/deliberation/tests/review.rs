//! Automatic reviews at the ends of real turns, with a provider that does what a script says, stop by stop.

use std::collections::VecDeque;
use std::sync::Mutex;

use dsh_agent::agent::{Notice, Prompt};
use dsh_agent::hooks::{GoOn, TURN_STOPPING};
use dsh_agent::subagents::error::{
    ImageCode, ImageRefusal, Measured, ProjectionCode, ProjectionError, StartError as NotStarted,
};
use dsh_agent::subagents::provider::{Capabilities, Capability};
use dsh_agent::subagents::request::Window;
use dsh_agent::wait::wait;
use dsh_kernel::service::Key;
use dsh_llm::adapter::{Adapter, Chunks, Offer, Request};
use dsh_llm::models::LLM;
use dsh_protocol::content::{Chunk, ContentBlock, FinishReason};
use dsh_protocol::params::session::Delivery;
use dsh_protocol::turn::{Outcome, TurnEnd};
use futures_util::stream;

use super::*;
use crate::deliberation::review::Reviews;

const LABEL: &str = "masked review: turn 1";

/// What happens at each stop of the turn, one after the other. Behind each but the last somebody else makes the
/// turn go on.
#[derive(Default)]
struct Stops {
    reviews: Mutex<Option<(Arc<Reviews>, Arc<Scripted>)>>,
    scripts: Mutex<VecDeque<Script>>,
}

const STOPS: Key<Stops> = Key::new("stops");

const PLUGIN: Plugin =
    Plugin { inject: &["llm"], provides: &["stops"], ..Plugin::new("stops", start_stops) };

struct Says;

impl Adapter for Says {
    fn provider(&self) -> &'static str {
        "offline"
    }

    fn offers(&self) -> Vec<Offer> {
        Vec::new()
    }

    fn stream(&self, _request: Request, _cancel: CancellationToken) -> Chunks {
        let text = Chunk::TextDelta { index: 0, text: "Hi.".to_owned() };
        let finish = Chunk::Finish { reason: FinishReason::Stop, error: None };
        Box::pin(stream::iter([text, finish]))
    }
}

fn start_stops(context: Context, _: Value) -> BoxFuture<'static, Result<(), StartError>> {
    Box::pin(async move {
        context.keep(context.get(&LLM)?.register(Arc::new(Says))?)?;
        let stops = Arc::new(Stops::default());
        let own = Arc::clone(&stops);
        TURN_STOPPING.listen(&context, Position::Last, move |event| {
            let stops = Arc::clone(&own);
            async move {
                let (reviews, provider) = stops.reviews.lock().unwrap().clone().unwrap();
                let script = stops.scripts.lock().unwrap().pop_front();
                if let Some(script) = script {
                    provider.script(LABEL, script);
                }
                let decision = reviews.turn_stops(&event).await;
                let more = !stops.scripts.lock().unwrap().is_empty();
                let again = || {
                    let text = vec![ContentBlock::text("Look again.")];
                    let plugin = "test".to_owned();
                    GoOn::from(Notice { plugin, content: text, ..Notice::default() })
                };
                Ok(decision.or_else(|| more.then(again)))
            }
        })?;
        context.provide(&STOPS, stops)
    })
}

/// Makes the error with which a start is refused.
type Refuse = fn() -> NotStarted;

struct Stage {
    bench: Bench,
    provider: Arc<Scripted>,
    reviews: Arc<Reviews>,
    stops: Arc<Stops>,
}

impl Stage {
    async fn new(own: Value) -> Self {
        let mut config = good();
        config["autoReview"] = json!({
            "enabled": true, "scope": "all-primary-turns", "provider": "own", "route": "strong",
            "capability": "evidence-only",
        });
        for (key, value) in own.as_object().unwrap() {
            config["autoReview"][key] = value.clone();
        }
        let bench = Bench::beside(config, &[PLUGIN]).await;
        let provider = Scripted::new("own", true);
        let reviews = Arc::clone(&bench.rounds.reviews);
        let stops = bench.kernel.get(&STOPS).unwrap();
        *stops.reviews.lock().unwrap() = Some((Arc::clone(&reviews), Arc::clone(&provider)));
        Self { bench, provider, reviews, stops }
    }

    /// Runs a turn that stops once for each script; returns the data of what its reviews logged, with their types.
    async fn turn(&self, scripts: Vec<Script>) -> Vec<(String, Value)> {
        *self.stops.scripts.lock().unwrap() = scripts.into();
        let prompt = Prompt {
            content: vec![ContentBlock::text("Go.")],
            delivery: Delivery::Followup,
            client_message_id: None,
        };
        let receipt = self.bench.agent.prompt(prompt).await.unwrap();
        let ended = wait(&self.bench.agent, Some(&receipt.message_id)).await.unwrap();
        assert_eq!(ended.outcome, Outcome::Turn(TurnEnd::Completed));
        self.logged("review/")
    }

    fn logged(&self, prefix: &str) -> Vec<(String, Value)> {
        let log = self.bench.agent.log();
        let page = log.page(-1, usize::MAX, |event| event.data.name().starts_with(prefix));
        let named = |event: &Arc<dsh_protocol::event::Event>| {
            let data = serde_json::to_value(&**event).unwrap()["data"].clone();
            (event.data.name().to_owned(), data)
        };
        page.events.iter().map(named).collect()
    }

    /// The notices of reviews that the model was shown.
    fn told(&self) -> usize {
        let said = self.logged("user/message").into_iter();
        said.filter(|(_, data)| data["source"]["plugin"] == "tool-deliberation").count()
    }
}

fn types(events: &[(String, Value)]) -> Vec<&str> {
    events.iter().map(|(name, _)| name.as_str()).collect()
}

fn update() -> Value {
    json!({
        "role": "masked-review",
        "status": "update",
        "items": [{ "kind": "possible_error", "certainty": "likely", "content": "FOUND" }],
    })
}

fn over_budget() -> NotStarted {
    ProjectionError {
        code: ProjectionCode::OverBudget,
        window: Window::CurrentTurn,
        turn: Some(1),
        requested_steps: None,
        projected_steps: 1,
        chars: Some(Measured { actual: 90, most: Some(80) }),
        images: None,
        image_bytes: 0,
    }
    .into()
}

fn no_images() -> NotStarted {
    ImageRefusal {
        code: ImageCode::InputUnsupported,
        images: 1,
        image_bytes: 10,
        assistant_seed_images: 0,
    }
    .into()
}

fn gone() -> NotStarted {
    NotStarted::NoProvider("own".to_owned())
}

#[tokio::test]
async fn d4_the_child_is_asked_as_a_branch_would_be() {
    let stage = Stage::new(json!({})).await;
    let _kept = stage.bench.provide(&stage.provider);
    let found = stage.turn(vec![Script::packet(update()), Script::packet(update())]).await;
    assert_eq!(types(&found), ["review/claimed", "review/child", "review/settled"]);
    assert_eq!(stage.told(), 1);
    let requests = stage.provider.requests();
    let [request] = requests.as_slice() else { panic!("{}", requests.len()) };
    assert_eq!(request.parent, *stage.bench.agent.id());
    assert_eq!(request.max_depth, Some(1));
    let filter = request.tool_filter.clone().unwrap();
    // The tool is not up: there is nothing to deny of it.
    assert_eq!(filter.allow, Some(vec!["fixture_read".to_owned()]));
    assert_eq!(filter.deny, ["fixture_write"]);
    assert_eq!(request.route.provider.as_deref(), Some("secret-provider"));
    assert_eq!(request.route.max_tokens, Some(2048));
    assert_eq!((request.history, request.label.as_deref()), (None, Some(LABEL)));
    let output = request.output.clone().unwrap();
    assert_eq!(output.schema["properties"]["role"]["const"], "masked-review");
    assert!((output.check)(&update()).is_ok());
    assert_eq!(request.session_id.as_ref().unwrap().as_str(), found[0].1["reviewId"]);
}

#[tokio::test]
async fn d11_skips_do_not_consume_the_turn() {
    let stage = Stage::new(json!({})).await;
    let _kept = stage.bench.provide(&stage.provider);
    let scripts =
        vec![Script::Refuses(over_budget), Script::Refuses(no_images), Script::packet(update())];
    let found = stage.turn(scripts).await;
    assert_eq!(
        types(&found),
        [
            "review/claimed",
            "review/released",
            "review/claimed",
            "review/released",
            "review/claimed",
            "review/child",
            "review/settled",
        ]
    );
    assert_eq!(found[1].1["reason"], "projection-over-budget");
    assert_eq!(found[3].1["reason"], "unsupported-content");
    assert_eq!((stage.provider.requests().len(), stage.told()), (3, 1));
}

#[tokio::test]
async fn s6_3_each_refusal_has_its_word() {
    let cases: [(Refuse, &str); 5] = [
        (over_budget, "projection-over-budget"),
        (no_images, "unsupported-content"),
        (gone, "provider-not-ready"),
        (|| window(ProjectionCode::NoCompletedStep), "no-completed-step"),
        (|| window(ProjectionCode::NoOpenTurn), "no-open-turn"),
    ];
    let stage = Stage::new(json!({})).await;
    let _kept = stage.bench.provide(&stage.provider);
    let scripts = cases.iter().map(|(refuse, _)| Script::Refuses(*refuse)).collect();
    let found = stage.turn(scripts).await;
    let released: Vec<&Value> = found
        .iter()
        .filter(|(name, _)| name == "review/released")
        .map(|(_, it)| &it["reason"])
        .collect();
    let expected: Vec<&str> = cases.iter().map(|(_, word)| *word).collect();
    assert_eq!(released, expected);
}

fn window(code: ProjectionCode) -> NotStarted {
    ProjectionError {
        code,
        window: Window::CurrentTurn,
        turn: Some(1),
        requested_steps: None,
        projected_steps: 0,
        chars: None,
        images: None,
        image_bytes: 0,
    }
    .into()
}

#[tokio::test]
async fn s6_3_d14_d15_failures_consume_the_turn_and_are_contained() {
    let no_packet = dsh_agent::subagents::run::RunResult {
        structured: None,
        ..scripted::with_packet(Value::Null)
    };
    let wrong = json!({ "role": "trajectory-audit", "status": "no_update" });
    let cut = dsh_agent::subagents::run::RunResult {
        stop_reason: dsh_protocol::subagent::StopReason::MaxTokens,
        ..scripted::with_packet(update())
    };
    let cases = [
        (Script::StartFails, "startup-error"),
        (Script::StartPanics, "infrastructure-error"),
        (Script::ResultFails, "infrastructure-error"),
        (Script::ResultPanics, "infrastructure-error"),
        (Script::StartHangs, "timeout"),
        (Script::Hangs, "timeout"),
        (Script::Answers(Box::new(no_packet), None), "missing-structured-result"),
        (Script::packet(wrong), "invalid-structured-result"),
        (Script::packet(json!({ "status": "PRIVATE" })), "invalid-structured-result"),
        (Script::Answers(Box::new(cut), None), "max-tokens"),
    ];
    for (script, reason) in cases {
        let stage = Stage::new(json!({ "timeoutMs": 200 })).await;
        let _kept = stage.bench.provide(&stage.provider);
        // A second stop starts nothing more.
        let found = stage.turn(vec![script, Script::packet(update())]).await;
        let (name, settled) = found.last().unwrap();
        assert_eq!(name, "review/settled", "{reason}");
        assert_eq!((&settled["status"], &settled["reason"]), (&json!("failed"), &json!(reason)));
        assert_eq!((stage.provider.requests().len(), stage.told()), (1, 0), "{reason}");
        assert!(!json!(stage.logged("")).to_string().contains("PRIVATE"), "{reason}");
        assert_eq!(found.iter().filter(|(name, _)| name == "review/settled").count(), 1);
    }
}

#[tokio::test]
async fn s6_3_a_cleanup_that_fails_or_hangs_costs_no_packet() {
    for script in [
        Script::DisposeFails(Box::new(scripted::with_packet(update()))),
        Script::DisposeHangs(Box::new(scripted::with_packet(update()))),
    ] {
        let stage = Stage::new(json!({ "timeoutMs": 400 })).await;
        let _kept = stage.bench.provide(&stage.provider);
        let found = stage.turn(vec![script]).await;
        assert_eq!(found.last().unwrap().1["status"], "update");
        assert_eq!(stage.told(), 1);
    }
}

#[tokio::test]
async fn guard_6_d10_a_provider_that_comes_and_goes_consumes_nothing() {
    let stage = Stage::new(json!({})).await;
    let packet = || Script::packet(update());
    assert_eq!(stage.turn(vec![packet()]).await, []);
    // One that cannot do what a review needs.
    let lacking = Capabilities {
        inherits_parent_context: true,
        supports: &[Capability::OutputSchema, Capability::ToolFilter],
    };
    let kept = stage.bench.provide(&Scripted::with("own", lacking));
    assert_eq!(stage.turn(vec![packet()]).await, []);
    drop(kept);
    let kept = stage.bench.provide(&stage.provider);
    stage.provider.script("masked review: turn 3", packet());
    assert_eq!(stage.turn(vec![]).await.len(), 3);
    drop(kept);
    assert_eq!(stage.turn(vec![]).await.len(), 3);
    let _kept = stage.bench.provide(&stage.provider);
    stage.provider.script("masked review: turn 5", packet());
    assert_eq!(stage.turn(vec![]).await.len(), 6);
    stage.reviews.close(None).await;
}
