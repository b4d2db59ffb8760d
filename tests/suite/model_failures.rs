//! Requests that fail: which are sent again, what the person sees of it, and what stays in the log.

use std::time::{Duration, Instant};

use dsh_mock_model::answer::Answer;
use dsh_mock_model::server::MockModel;
use dsh_mock_model::strict::Rules;
use dsh_tests::client::Client;
use dsh_tests::network::check_requests;
use dsh_tests::world::World;
use serde_json::{Value, json};

/// Within this time a cancel must have ended a turn, whatever the network does.
const AT_ONCE: Duration = Duration::from_secs(1);

fn say(text: &str) -> Answer {
    Answer::stream().delta(text).finish("stop").done()
}

fn stage(answers: impl IntoIterator<Item = Answer>) -> (World, MockModel, Client) {
    let world = World::new();
    world.file("a.txt", "alpha\n");
    let mock = MockModel::strict(answers, Rules::default());
    let mut client = world.ask(&mock);
    client.session("s");
    (world, mock, client)
}

/// Prompts and returns how the turn ended.
fn outcome(client: &mut Client) -> Value {
    client.prompt("s", "Go.");
    client.rest("s")["outcome"].clone()
}

fn events_of(client: &mut Client, name: &str) -> Vec<Value> {
    client.log("s").into_iter().filter(|event| event["type"] == name).collect()
}

/// What a chunk event says, if it is text.
fn text(event: &Value) -> &str {
    event["data"]["chunk"]["text"].as_str().unwrap_or_default()
}

/// The one committed answer is made of the last attempt's chunks; those before stay, and nothing cites them.
fn check_one_answer(client: &mut Client, failed: &str, whole: &str) {
    let log = client.log("s");
    let at = log.iter().position(|event| event["type"] == "llm/retry").unwrap();
    let before: String = log[..at].iter().map(text).collect();
    assert_eq!(before, failed, "what had come stays in the log");
    let answers = events_of(client, "assistant/message");
    assert_eq!(answers.len(), 1);
    assert_eq!(
        answers[0]["data"]["message"]["content"],
        json!([{ "type": "text", "text": whole }])
    );
    let cited = answers[0]["sourceEventSeqs"].as_array().unwrap();
    assert!(cited.iter().all(|seq| seq.as_u64().unwrap() > at as u64), "{cited:?} behind {at}");
    let said: String = cited
        .iter()
        .map(|seq| text(&log[usize::try_from(seq.as_u64().unwrap()).unwrap()]))
        .collect();
    assert_eq!(said, whole);
}

#[test]
fn a_connection_that_breaks_is_tried_again_and_nothing_is_said_twice() {
    let (_world, mock, mut client) =
        stage([Answer::stream().delta("Hello").reset(), say("Hello world")]);
    assert_eq!(client.complete("s", "Greet.")["text"], "Hello world");
    check_one_answer(&mut client, "Hello", "Hello world");
    let retry = &events_of(&mut client, "llm/retry")[0]["data"];
    assert_eq!(retry["failure"]["code"], "TRANSPORT", "{retry}");
    assert_eq!((&retry["retry"], &retry["maxRetries"]), (&json!(1), &json!(5)));
    assert_eq!(events_of(&mut client, "llm/retry-started").len(), 1);
    assert_eq!(client.conversation("s"), ["user: Greet.", "assistant: Hello world"]);
    assert_eq!(check_requests(&mut client, "s", &mock), 2);
}

#[test]
fn a_call_whose_arguments_broke_off_does_not_run() {
    let broken = Answer::stream().tool_call(0, "a", "read", "{\"file_").reset();
    let (_world, mock, mut client) = stage([broken, say("Never mind.")]);
    assert_eq!(client.complete("s", "Go.")["text"], "Never mind.");
    assert!(events_of(&mut client, "tool/call").is_empty());
    assert_eq!(check_requests(&mut client, "s", &mock), 2);
    mock.wait_until_closed();
}

#[test]
fn an_answer_that_ends_early_is_an_error_and_what_was_said_is_kept() {
    let (_world, mock, mut client) = stage([Answer::stream().delta("Half").close(), say("Whole.")]);
    let ended = outcome(&mut client);
    assert_eq!(
        (&ended["kind"], &ended["error"]["code"]),
        (&json!("error"), &json!("STREAM_CLOSED"))
    );
    let answer = &events_of(&mut client, "assistant/message")[0]["data"];
    assert_eq!(answer["interrupted"], true);
    assert_eq!(answer["message"]["content"][0]["text"], "Half");
    assert_eq!(mock.requests().len(), 1, "it is not tried again");
    client.complete("s", "Go on.");
    assert_eq!(check_requests(&mut client, "s", &mock), 2);
}

#[test]
fn an_error_inside_a_stream_is_tried_again_when_it_passes() {
    let overloaded = json!({ "error": { "message": "overloaded", "code": 529 } });
    let busy = Answer::stream().delta("Hel").event(&overloaded).hold();
    let wrong = json!({ "error": { "message": "no such thing", "type": "invalid_request_error" } });
    let refused = Answer::stream().delta("Half").event(&wrong);
    let (_world, mock, mut client) = stage([busy, say("Hello"), refused]);
    assert_eq!(client.complete("s", "Greet.")["text"], "Hello");
    check_one_answer(&mut client, "Hel", "Hello");
    assert_eq!(events_of(&mut client, "llm/retry")[0]["data"]["failure"]["code"], "SERVER");
    let ended = outcome(&mut client);
    assert_eq!(ended["error"]["code"], "INVALID_REQUEST", "{ended}");
    assert!(ended["error"]["message"].as_str().unwrap().contains("no such thing"));
    assert_eq!(events_of(&mut client, "assistant/message")[1]["data"]["interrupted"], true);
    assert_eq!(mock.requests().len(), 3);
}

#[test]
fn an_answer_of_nothing_is_tried_again() {
    let nothing = Answer::stream().finish("stop").done();
    let thought = Answer::stream().reasoning("Hm.").finish("stop").done();
    let (_world, mock, mut client) = stage([nothing, thought, say("Here.")]);
    assert_eq!(client.complete("s", "Go.")["text"], "Here.");
    let retries = events_of(&mut client, "llm/retry");
    let codes: Vec<&Value> =
        retries.iter().map(|event| &event["data"]["failure"]["code"]).collect();
    assert_eq!(codes, ["EMPTY_RESPONSE", "EMPTY_RESPONSE"]);
    assert_eq!(check_requests(&mut client, "s", &mock), 3);
}

#[test]
fn markup_of_calls_as_text_is_tried_again_once() {
    let leak = || say("Let me see.\n<｜tool▁calls▁begin｜>read");
    let world = World::new();
    let mock = MockModel::strict([leak(), say("Fine."), leak(), leak()], Rules::default());
    let mut client = world.ask_deepseek(&mock, "key");
    client.session("s");
    assert_eq!(client.complete("s", "Go.")["text"], "Fine.");
    let ended = outcome(&mut client);
    assert_eq!(ended["error"]["code"], "MALFORMED_RESPONSE", "{ended}");
    assert_eq!(mock.requests().len(), 4);
    assert!(events_of(&mut client, "tool/call").is_empty());
}

#[test]
fn a_cancel_in_a_silence_ends_the_turn_and_its_connection() {
    for answer in [Answer::stream().delta("Half").hold(), Answer::status(200).hold()] {
        let (_world, mock, mut client) = stage([answer, say("Again.")]);
        client.prompt("s", "Go.");
        mock.wait_for_requests(1);
        client.event_of("s", "llm/request");
        let begun = Instant::now();
        client.request("session/cancel", json!({ "sessionId": "s" }));
        assert_eq!(client.rest("s")["outcome"], json!({ "kind": "aborted", "reason": "user" }));
        mock.wait_until_closed();
        assert!(begun.elapsed() < AT_ONCE, "{:?}", begun.elapsed());
        assert_eq!(client.complete("s", "Go on.")["text"], "Again.");
    }
}

#[test]
fn what_no_repetition_mends_is_asked_once() {
    let context =
        "This model's maximum context length is 8192 tokens; reduce the length of the messages.";
    for (status, said, code) in [
        (400, context, "CONTEXT_WINDOW_EXCEEDED"),
        (400, "bad", "INVALID_REQUEST"),
        (401, "who are you", "AUTH"),
        (402, "Insufficient Balance", "QUOTA"),
        (404, "no such model", "HTTP_404"),
    ] {
        let body = json!({ "error": { "message": said } });
        let (_world, mock, mut client) = stage([Answer::status(status).json(&body)]);
        let ended = outcome(&mut client);
        assert_eq!((&ended["kind"], &ended["error"]["code"]), (&json!("error"), &json!(code)));
        let message = ended["error"]["message"].as_str().unwrap();
        assert!(message.contains(said) && message.contains("local"), "{message}");
        assert_eq!(mock.requests().len(), 1, "{code}");
        assert!(events_of(&mut client, "assistant/message").is_empty());
        assert!(events_of(&mut client, "llm/retry").is_empty());
    }
}

#[test]
fn the_page_of_a_proxy_becomes_a_short_plain_text() {
    let page = format!(
        "<html><head><title>Bad gateway</title></head><body>{}</body></html>",
        "<p>word</p>".repeat(4_000)
    );
    let bad = |status: u16| Answer::status(status).header("content-type", "text/html").raw(&page);
    let (world, mock, mut client) = stage([bad(200), bad(200)]);
    let ended = outcome(&mut client);
    assert_eq!(ended["error"]["code"], "MALFORMED_RESPONSE", "{ended}");
    assert!(ended["error"]["message"].as_str().unwrap().contains("Bad gateway"));
    assert_eq!(mock.requests().len(), 2, "tried again once");
    client.shut_down();
    let log = std::fs::read_to_string(world.log("s")).unwrap();
    assert!(!log.contains("<p>") && log.len() < 20_000, "{} bytes", log.len());
}

#[test]
fn a_key_that_is_refused_is_asked_once_and_shown_nowhere() {
    const KEY: &str = "SENTINEL-8c41d7e2f0";
    let world = World::new();
    // Some servers repeat the key in their answer.
    let body = json!({ "error": { "message": format!("Your api key: {KEY} is invalid"), "type": "authentication_error" } });
    let mock = MockModel::start([Answer::status(401).header("x-request-id", "r-1").json(&body)]);
    let mut command = world.command(["rpc", "--model", "deepseek/deepseek-v4-flash"]);
    command.env("DEEPSEEK_BASE_URL", mock.url()).env("DEEPSEEK_API_KEY", KEY);
    command.env("DSH_LS_LOG", "trace").env("RUST_LOG", "trace").env("RUST_BACKTRACE", "1");
    let mut client = Client::spawn(command);
    client.initialize();
    client.session("s");
    let ended = outcome(&mut client);
    assert_eq!(ended["error"]["code"], "AUTH", "{ended}");
    assert!(ended["error"]["message"].as_str().unwrap().contains("is invalid"), "{ended}");
    let requests = mock.requests();
    assert_eq!(requests.len(), 1);
    assert_eq!(requests[0].header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    assert!(!String::from_utf8_lossy(&requests[0].body).contains(KEY), "in the body");
    client.request("session/request", json!({ "sessionId": "s", "turn": 1, "step": 1 }));
    client.request("model/list", json!({}));
    let said: String = client.frames().iter().map(Value::to_string).collect();
    assert!(!said.contains(KEY), "in a frame");
    assert!(!client.complaints().contains(KEY), "on standard error");
    client.shut_down();
    let files = world.home_files();
    assert!(!files.is_empty());
    for path in files {
        let bytes = std::fs::read(&path).unwrap();
        assert!(!String::from_utf8_lossy(&bytes).contains(KEY), "{}", path.display());
    }
}

#[test]
fn without_a_key_nothing_is_asked_and_the_person_is_told_what_to_do() {
    let world = World::new();
    let mock = MockModel::start([say("never")]);
    for key in [None, Some(""), Some("  ")] {
        let mut command = world.command(["rpc", "--model", "deepseek/deepseek-v4-flash"]);
        command.env("DEEPSEEK_BASE_URL", mock.url());
        command.envs(key.map(|key| ("DEEPSEEK_API_KEY", key)));
        let mut client = Client::spawn(command);
        client.initialize();
        let session = format!("s{}", key.map_or(9, str::len));
        client.session(&session);
        client.prompt(&session, "Go.");
        let ended = client.rest(&session)["outcome"].clone();
        assert_eq!((&ended["kind"], &ended["error"]["code"]), (&json!("error"), &json!("AUTH")));
        assert!(
            ended["error"]["message"].as_str().unwrap().contains("DEEPSEEK_API_KEY"),
            "{ended}"
        );
    }
    assert!(mock.requests().is_empty());
}
