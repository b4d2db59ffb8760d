//! What a model was sent, made again from the log, is what its server received, byte for byte.

use dsh_mock_model::answer::Answer;
use dsh_mock_model::server::{MockModel, Recorded};
use dsh_mock_model::strict::Rules;
use dsh_tests::network::check_requests;
use dsh_tests::world::World;
use serde_json::{Value, json};

const STEPS: usize = 50;

/// How an answer of these tests ends.
fn end(answer: Answer, reason: &str) -> Answer {
    let usage = json!({ "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15 });
    answer.finish(reason).usage(&usage).done()
}

/// An answer that asks for three tools at once, its calls woven into each other.
fn calls(step: usize) -> Answer {
    let id = |call: &str| format!("{call}-{step}");
    let answer = Answer::stream()
        .reasoning(&format!("Ünder \"step\" {step}: "))
        .reasoning("I look 🙂 \\ \u{2028}.")
        .delta(&format!("Step {step}\n"))
        .tool_call(0, &id("read"), "read", "{\"file_")
        .tool_call(1, &id("glob"), "glob", "{ \"pattern\" :")
        .tool_call(0, "", "", "path\": \"a.txt\"}")
        .tool_call(1, "", "", " \"*.txt\" }")
        .tool_call(2, &id("grep"), "grep", &json!({ "pattern": "ä+" }).to_string());
    end(answer, "tool_calls").seeded_cuts(step as u64)
}

fn last(text: &str) -> Answer {
    end(Answer::stream().delta(text), "stop")
}

fn world() -> World {
    let world = World::new();
    world.file("a.txt", "alpha\tä \"quoted\" \\ 🙂\u{2028}\nline two\r\n");
    world.file("b.txt", "nothing\n");
    world
}

#[test]
fn each_of_fifty_steps_with_a_steer_and_a_retry_is_made_again_exactly() {
    let world = world();
    let mut answers: Vec<Answer> = (1..STEPS).map(calls).collect();
    answers[19] = end(
        Answer::stream().delta("Halfway").pause().tool_call(
            0,
            "half",
            "read",
            "{\"file_path\":\"b.txt\"}",
        ),
        "tool_calls",
    );
    answers.push(last("Done, ä."));
    answers.insert(30, Answer::status(503).header("retry-after-ms", "5").raw("busy"));
    let mock = MockModel::strict(answers, Rules::default());
    let mut client = world.ask(&mock);
    client.session("s");
    let message = client.prompt("s", "Look at each \"file\", bitte: ä🙂\u{2029}");
    client.text("s", "Halfway");
    let steer = json!({ "sessionId": "s", "text": "And mind the 🙂.", "delivery": "steer" });
    client.request("session/prompt", steer);
    mock.release();
    let params = json!({ "sessionId": "s", "messageId": message });
    let waited = client.request("session/wait", params);
    assert_eq!(waited["outcome"]["kind"], "completed", "{waited}");
    assert_eq!(waited["text"], "Done, ä.");
    assert_eq!(check_requests(&mut client, "s", &mock), STEPS + 1);
    let texts: Vec<Value> = mock.requests().iter().map(Recorded::json).collect();
    let steered = |body: &Value| body["messages"].to_string().contains("And mind the");
    assert_eq!(texts.iter().position(steered), Some(20), "the steer joins the next step");
    assert_eq!(texts[30], texts[31], "a retry sends the same again");
    client.shut_down();

    mock.add(last("Again."));
    let mut client = world.ask(&mock);
    client.complete("s", "Once more.");
    assert_eq!(check_requests(&mut client, "s", &mock), STEPS + 2, "both turns, after a restart");
    let error =
        client.refused("session/request", json!({ "sessionId": "s", "turn": 3, "step": 1 }));
    assert!(error["message"].as_str().unwrap().contains("no such request"), "{error}");
}

#[test]
fn reasoning_that_a_provider_wants_back_is_part_of_it() {
    let world = world();
    let answers = [
        calls(1),
        // No thought this time: the field must be there all the same.
        end(Answer::stream().tool_call(0, "c", "glob", "{\"pattern\":\"*\"}"), "tool_calls"),
        Answer::status(503).header("retry-after-ms", "5").raw("busy"),
        end(Answer::stream().reasoning("Hm, ä.").delta("So it is."), "stop"),
        last("Yes."),
    ];
    let mock = MockModel::strict(answers, Rules { reasoning_after_calls: true });
    let mut client = world.ask_deepseek(&mock, "key-of-this-test");
    client.session("s");
    assert_eq!(client.complete("s", "Look.")["text"], "So it is.");
    assert_eq!(client.complete("s", "Sure?")["text"], "Yes.");
    assert_eq!(check_requests(&mut client, "s", &mock), 5);
    client.shut_down();
    let bodies: Vec<Value> = mock.requests().iter().map(Recorded::json).collect();
    let sent = &bodies[4]["messages"];
    let thought = "Ünder \"step\" 1: I look 🙂 \\ \u{2028}.";
    let sent = sent.as_array().unwrap().iter();
    let echoes: Vec<&Value> = sent
        .filter(|message| message["role"] == "assistant")
        .map(|message| &message["reasoning_content"])
        .collect();
    assert_eq!(echoes, [&json!(thought), &json!(""), &json!("Hm, ä.")]);
    let mut client = world.ask_deepseek(&mock, "another-key");
    assert_eq!(check_requests(&mut client, "s", &mock), 5, "after a restart");
}

#[test]
fn messages_of_every_kind_before_a_request_are_part_of_it() {
    let world = world();
    let answers = [
        Answer::stream().delta("Half").hold(),
        end(Answer::stream().delta("cut").tool_call(0, "x", "read", "{\"file_"), "length"),
        end(Answer::stream().tool_call(0, "bad", "read", "{\"file_path\": oops"), "tool_calls"),
        last("Fine."),
    ];
    let mock = MockModel::strict(answers, Rules::default());
    let mut client = world.ask(&mock);
    client.session("s");
    client.prompt("s", "First.");
    client.text("s", "Half");
    client.request("session/cancel", json!({ "sessionId": "s" }));
    client.rest("s");
    let inject = json!({ "sessionId": "s", "text": "By the way.", "delivery": "inject" });
    client.request("session/prompt", inject);
    let content = json!([
        { "type": "text", "text": "Look at" },
        { "type": "resource", "uri": "file:///w/ä.rs", "range": { "startLine": 1, "endLine": 2 }, "text": "a\r\nb" },
        { "type": "image", "data": "AAEC", "mediaType": "image/png" },
    ]);
    client.request("session/prompt", json!({ "sessionId": "s", "content": content }));
    assert_eq!(client.rest("s")["outcome"]["kind"], "max-tokens");
    client.complete("s", "And now?");
    assert_eq!(check_requests(&mut client, "s", &mock), 4);
    client.shut_down();
    let mut client = world.ask(&mock);
    assert_eq!(check_requests(&mut client, "s", &mock), 4, "after a restart");
}
