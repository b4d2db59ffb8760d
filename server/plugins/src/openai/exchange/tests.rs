//! The conversation with a server: what is asked, what breaks, what is never said.

use std::collections::BTreeMap;
use std::sync::Mutex;

use dsh_llm::adapter::Adapter;
use dsh_llm::assemble::Assembler;
use dsh_llm::credentials::FromEnvironment;
use dsh_llm::http::proxy::Proxies;
use dsh_mock_model::answer::Answer as Scripted;
use dsh_mock_model::server::MockModel;
use dsh_mock_model::strict::Rules;
use dsh_protocol::content::visible_text;
use dsh_protocol::message::{Message, Role, Source};
use serde_json::json;

use super::*;
use crate::openai::config::{Config, Preset};
use crate::openai::{Compatible, Surroundings};

const KEY: &str = "sk-sentinel-5e1f";

/// An adapter of a configuration, with variables and a proxy.
fn adapter(mut config: Value, key: Option<&str>, proxy: &str) -> Compatible {
    config["provider"] = "p".into();
    config["apiKey"] = "P_KEY".into();
    let config: Config = serde_json::from_value(config).unwrap();
    let key = key.map(|key| ("P_KEY".to_owned(), key.to_owned()));
    let variables: BTreeMap<String, String> = key.into_iter().collect();
    let surroundings = Surroundings {
        credentials: Arc::new(FromEnvironment(variables)),
        environment: &BTreeMap::new(),
        proxies: Proxies::given(proxy, ""),
    };
    let preset = Preset { provider: None, dialect: "deepseek" };
    Compatible::new(&config, preset, surroundings).unwrap()
}

fn at(model: &MockModel) -> Compatible {
    let url = format!("{}/", model.url());
    adapter(json!({ "baseUrl": url, "idleTimeoutMs": 5_000 }), Some(KEY), "http://127.0.0.1:9")
}

fn request() -> Request {
    let header = Header {
        provider: "p".to_owned(),
        model: "m".to_owned(),
        reasoning_effort: None,
        max_tokens: None,
        system: None,
        tools: None,
    };
    let message = Message {
        id: "1".into(),
        role: Role::User,
        content: vec![dsh_protocol::content::ContentBlock::text("hi")],
        source: Source::User,
        client_message_id: None,
    };
    Request {
        attempt: 1,
        session_id: "s".into(),
        turn: 1,
        step: 1,
        header: Arc::new(header),
        messages: vec![Arc::new(message)],
        body: None,
    }
}

/// The text, how it ended, and the failure if it did in one.
struct Outcome {
    text: String,
    reason: FinishReason,
    failure: Option<ModelFailure>,
}

async fn outcome(adapter: &Compatible) -> Outcome {
    let mut assembler = Assembler::default();
    let mut chunks = adapter.stream(request(), CancellationToken::new());
    while let Some(chunk) = chunks.next().await {
        assembler.push(&chunk);
    }
    let (reason, failure) = assembler.finish();
    let text = visible_text(&assembler.content_without_calls());
    Outcome { text, reason, failure }
}

async fn failure_of(adapter: &Compatible) -> ModelFailure {
    let failure = outcome(adapter).await.failure.expect("a failure");
    assert!(!failure.message.contains(KEY), "{}", failure.message);
    failure
}

#[tokio::test]
async fn the_bytes_of_the_request_are_those_of_the_body() {
    let model = MockModel::start([Scripted::stream().delta("hello").finish("stop").done()]);
    let adapter = at(&model);
    let outcome = outcome(&adapter).await;
    assert_eq!((outcome.text.as_str(), outcome.reason), ("hello", FinishReason::Stop));
    let sent = &model.requests()[0];
    assert_eq!(sent.line, "POST /chat/completions");
    assert_eq!(sent.body, adapter.body(&request()).unwrap());
    assert_eq!(sent.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    assert_eq!(sent.header("accept"), Some("text/event-stream"));
    assert_eq!(sent.header("content-type"), Some("application/json"));
    assert!(sent.header("user-agent").is_some_and(|agent| agent.starts_with("dsh-ls/")));
}

#[tokio::test]
async fn bytes_that_were_made_before_are_sent_as_they_are() {
    let model = MockModel::start([Scripted::stream().delta("a").done()]);
    let request = Request { body: Some(Arc::new(b"{ \"as\" : 1 }".to_vec())), ..request() };
    at(&model).stream(request, CancellationToken::new()).collect::<Vec<_>>().await;
    assert_eq!(model.requests()[0].body, b"{ \"as\" : 1 }");
}

#[tokio::test]
async fn an_answer_may_come_in_any_pieces() {
    let answer = || Scripted::stream().keep_alive().delta("你好🙂").finish("stop").done();
    let cuts = (0..12).map(|seed| answer().seeded_cuts(seed)).chain([answer().each_byte()]);
    let model = MockModel::start(cuts);
    let adapter = at(&model);
    for _ in 0..13 {
        let outcome = outcome(&adapter).await;
        assert_eq!((outcome.text.as_str(), outcome.reason), ("你好🙂", FinishReason::Stop));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_mark_of_the_end_ends_at_once_and_frees_the_connection() {
    let model = MockModel::start([
        Scripted::stream().delta("a").done().hold(),
        Scripted::stream().delta("a").done().delta("late").hold(),
    ]);
    for _ in 0..2 {
        // A wait for more would end as a timeout, since no reason for the end has come.
        let outcome = outcome(&at(&model)).await;
        assert_eq!((outcome.text.as_str(), outcome.reason), ("a", FinishReason::Stop));
    }
    model.wait_until_closed();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_connection_is_told_from_a_closed_one() {
    for (answer, code) in [
        (Scripted::stream().delta("half"), "STREAM_CLOSED"),
        (Scripted::stream().header("content-length", "9999").delta("half"), "STREAM_CLOSED"),
        (
            Scripted::stream().header("transfer-encoding", "chunked").raw("9\r\ndata: {}\n"),
            "STREAM_CLOSED",
        ),
        (Scripted::stream().delta("half").reset(), "TRANSPORT"),
        (Scripted::stream().tool_call(0, "a", "read", "{\"file_").reset(), "TRANSPORT"),
        (Scripted::stream().reset(), "TRANSPORT"),
    ] {
        let model = MockModel::start([answer.clone()]);
        let failure = failure_of(&at(&model)).await;
        assert_eq!(failure.code, code, "{answer:?} {}", failure.message);
        model.wait_until_closed();
    }
    let model = MockModel::start([Scripted::stream().delta("ok").finish("stop").reset()]);
    assert_eq!(outcome(&at(&model)).await.reason, FinishReason::Stop);
}

#[tokio::test(flavor = "multi_thread")]
async fn silence_is_a_timeout() {
    let model = MockModel::start([Scripted::stream().delta("a").hold(), Scripted::stream().hold()]);
    let config = json!({ "baseUrl": model.url(), "idleTimeoutMs": 60 });
    let adapter = adapter(config, Some(KEY), "");
    for _ in 0..2 {
        assert_eq!(failure_of(&adapter).await.code, "TIMEOUT");
    }
    model.wait_until_closed();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_closes_the_connection_at_once() {
    let model = Arc::new(MockModel::start([
        Scripted::stream().delta("a").hold(),
        Scripted::stream().keep_alive().hold(),
    ]));
    let adapter = at(&model);
    for count in 1..=2 {
        let cancel = CancellationToken::new();
        let mut chunks = adapter.stream(request(), cancel.clone());
        let cancelling = async {
            let model = Arc::clone(&model);
            tokio::task::spawn_blocking(move || model.wait_for_requests(count)).await.unwrap();
            cancel.cancel();
        };
        let reading = async {
            let mut last = None;
            while let Some(chunk) = chunks.next().await {
                last = Some(chunk);
            }
            last
        };
        let (last, ()) = tokio::join!(reading, cancelling);
        assert!(matches!(last, Some(Chunk::Finish { reason: FinishReason::Aborted, .. })));
        model.wait_until_closed();
    }
}

#[tokio::test]
async fn a_refusal_says_why_and_how_long_to_wait() {
    let json = json!({ "error": { "message": format!("slow down, {KEY}") } });
    let model = MockModel::start([
        Scripted::status(429).header("retry-after", "2").header("x-request-id", "r-7").json(&json),
        Scripted::status(503).header("retry-after-ms", "500").raw("busy"),
        Scripted::status(500).raw(format!("{}{KEY} and more", "x".repeat(375))),
        Scripted::status(302).header("location", "http://127.0.0.1:9/").raw(""),
    ]);
    let adapter = at(&model);
    let failure = failure_of(&adapter).await;
    assert_eq!(
        failure.message,
        "p answered 429 (too many requests), try again in 2 s: slow down, [key]"
    );
    assert_eq!((failure.code.as_str(), failure.status), ("RATE_LIMIT", Some(429)));
    assert_eq!(failure.provider_retry_after_ms, Some(2_000));
    assert_eq!(failure.request_id.as_deref(), Some("r-7"));
    let failure = failure_of(&adapter).await;
    assert_eq!((failure.code.as_str(), failure.provider_retry_after_ms), ("SERVER", Some(500)));
    let failure = failure_of(&adapter).await;
    assert!(
        failure.message.ends_with('…') && !failure.message.contains("sk-"),
        "a key that is cut"
    );
    assert_eq!(failure_of(&adapter).await.code, "HTTP_302");
}

#[tokio::test]
async fn a_strict_server_refuses_what_the_real_ones_refuse() {
    let model = MockModel::strict([Scripted::stream().delta("a").done()], Rules::default());
    let adapter = at(&model);
    let no_messages = Request { messages: Vec::new(), ..request() };
    let chunks: Vec<_> = adapter.stream(no_messages, CancellationToken::new()).collect().await;
    let [Chunk::Finish { error: Some(failure), .. }] = &chunks[..] else { panic!("{chunks:?}") };
    assert_eq!((failure.code.as_str(), failure.status), ("INVALID_REQUEST", Some(400)));
    assert_eq!(outcome(&adapter).await.text, "a");
}

#[tokio::test]
async fn bodies_that_are_no_stream_are_read_by_what_they_are() {
    let page = format!("<html><title>Oops</title>{}</html>", "<p>much</p>".repeat(2_000));
    let whole =
        json!({ "choices": [{ "message": { "content": "all" }, "finish_reason": "stop" }] });
    let model = MockModel::start([
        Scripted::stream().raw(&page),
        Scripted::status(502).raw(&page),
        Scripted::status(200).json(&json!({ "error": { "message": "no", "code": 429 } })),
        Scripted::status(200).json(&json!([{ "error": { "message": "no", "code": 401 } }])),
        Scripted::status(200).json(&json!({ "hello": 1 })),
        Scripted::stream().raw(" \n{\"choices\":"),
        Scripted::status(200).json(&whole),
        Scripted::status(200),
    ]);
    let adapter = at(&model);
    for code in [
        "MALFORMED_RESPONSE",
        "SERVER",
        "RATE_LIMIT",
        "AUTH",
        "MALFORMED_RESPONSE",
        "MALFORMED_RESPONSE",
    ] {
        let failure = failure_of(&adapter).await;
        assert_eq!(failure.code, code);
        assert!(
            failure.message.len() < 500 && !failure.message.contains('<'),
            "{}",
            failure.message
        );
    }
    assert_eq!(outcome(&adapter).await.text, "all");
    assert_eq!(failure_of(&adapter).await.code, "STREAM_CLOSED");
}

#[tokio::test]
async fn a_key_that_is_missing_or_unclean_is_not_sent() {
    let model = MockModel::start([]);
    let config = || json!({ "baseUrl": model.url() });
    for (key, code, reason) in [
        (None, "AUTH", "set P_KEY"),
        (Some(" \n"), "AUTH", "set P_KEY"),
        (Some("sk 1"), "INVALID_CREDENTIAL", "P_KEY holds"),
        (Some("sk-é"), "INVALID_CREDENTIAL", "P_KEY holds"),
    ] {
        let adapter = adapter(config(), key, "");
        assert!(adapter.unready().is_some_and(|why| why.starts_with(reason)));
        let failure = failure_of(&adapter).await;
        assert_eq!(failure.code, code);
        assert!(failure.message.contains(reason) && !failure.message.contains("sk"));
    }
    assert!(model.requests().is_empty());
    assert_eq!(adapter(config(), Some(KEY), "").unready(), None);
}

/// Keeps what is logged.
#[derive(Clone, Default)]
struct Logged(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Logged {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn no_log_shows_a_key() {
    let logged = Logged::default();
    let writer = logged.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    tracing::info!("begun");
    let model = MockModel::start([Scripted::stream().delta("a").done(), Scripted::status(401)]);
    let adapter = at(&model);
    assert_eq!(outcome(&adapter).await.text, "a");
    assert_eq!(failure_of(&adapter).await.code, "AUTH");
    let logged = String::from_utf8(logged.0.lock().unwrap().clone()).unwrap();
    assert!(logged.contains("begun") && !logged.contains(KEY), "{logged}");
}

#[tokio::test]
async fn a_local_server_needs_no_key() {
    let model = MockModel::start([Scripted::stream().delta("a").done()]);
    let config = json!({ "baseUrl": model.url(), "dialect": "ollama" });
    let adapter = adapter(config, None, "");
    assert_eq!(adapter.unready(), None);
    assert_eq!(outcome(&adapter).await.text, "a");
    let sent = &model.requests()[0];
    assert_eq!(
        (sent.line.as_str(), sent.header("authorization")),
        ("POST /v1/chat/completions", None)
    );
}

#[tokio::test]
async fn an_unknown_effort_is_refused_and_not_sent() {
    let model = MockModel::start([]);
    let mut request = request();
    let mut header = (*request.header).clone();
    header.reasoning_effort = Some("extreme".to_owned());
    request.header = Arc::new(header);
    let chunks: Vec<_> = at(&model).stream(request, CancellationToken::new()).collect().await;
    let [Chunk::Finish { error: Some(failure), .. }] = &chunks[..] else { panic!("{chunks:?}") };
    assert_eq!(failure.code, "UNSUPPORTED_REASONING_EFFORT");
    assert!(failure.message.contains("off, low, high, max") && model.requests().is_empty());
}

#[tokio::test]
async fn a_proxy_is_named_when_it_cannot_be_reached_and_never_on_the_way_to_this_machine() {
    let config = json!({ "baseUrl": "https://api.invalid", "connectTimeoutMs": 2_000 });
    let adapter = adapter(config, Some(KEY), "http://user:secret@127.0.0.1:9");
    let failure = failure_of(&adapter).await;
    assert_eq!(failure.code, "TRANSPORT");
    let start = "cannot reach api.invalid through the proxy http://127.0.0.1:9: ";
    assert!(failure.message.starts_with(start), "{}", failure.message);
    assert!(!failure.message.contains("secret"));
    // Every other test here has a dead proxy as well, and reaches its server.
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named() {
    let port = MockModel::start([]).port();
    let url = format!("http://127.0.0.1:{port}");
    let failure = failure_of(&adapter(json!({ "baseUrl": url }), Some(KEY), "")).await;
    assert_eq!(failure.code, "TRANSPORT");
    assert!(failure.message.contains(&format!("127.0.0.1:{port}")), "{}", failure.message);
}
