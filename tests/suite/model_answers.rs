//! How answers of models end, and what becomes of the calls in them, as seen in the log and by the model.

use dsh_mock_model::answer::Answer;
use dsh_mock_model::server::MockModel;
use dsh_mock_model::strict::Rules;
use dsh_tests::client::Client;
use dsh_tests::network::check_requests;
use dsh_tests::world::World;
use serde_json::{Value, json};

fn end(answer: Answer, reason: &str) -> Answer {
    answer.finish(reason).done()
}

fn say(text: &str) -> Answer {
    end(Answer::stream().delta(text), "stop")
}

/// A world with a file, and a strict model that gives these answers.
fn stage(answers: impl IntoIterator<Item = Answer>) -> (World, MockModel, Client) {
    let world = World::new();
    world.file("a.txt", "alpha\n");
    let mock = MockModel::strict(answers, Rules::default());
    let mut client = world.ask(&mock);
    client.session("s");
    (world, mock, client)
}

fn events_of(client: &mut Client, name: &str) -> Vec<Value> {
    client.log("s").into_iter().filter(|event| event["type"] == name).collect()
}

#[test]
fn calls_run_although_the_model_says_that_it_stopped() {
    let call = Answer::stream().tool_call(0, "a", "read", "{\"file_path\":\"a.txt\"}");
    let (_world, mock, mut client) = stage([end(call, "stop"), say("alpha.")]);
    assert_eq!(client.complete("s", "Read it.")["text"], "alpha.");
    let body = mock.requests()[1].json();
    let result = &body["messages"].as_array().unwrap().last().unwrap()["content"];
    assert!(result.as_str().unwrap().contains("1: alpha"), "{body}");
}

#[test]
fn an_answer_that_is_cut_at_the_limit_says_so_and_its_calls_do_not_run() {
    let cut = Answer::stream()
        .delta("I look")
        .tool_call(0, "a", "read", "{\"file_path\":\"a.txt\"}")
        .tool_call(1, "b", "grep", "{\"pat");
    let (_world, mock, mut client) = stage([end(cut, "length"), say("Again.")]);
    client.prompt("s", "Go.");
    let waited = client.rest("s");
    assert_eq!(waited["outcome"], json!({ "kind": "max-tokens" }));
    assert_eq!(waited["text"], "I look");
    assert!(events_of(&mut client, "tool/call").is_empty());
    client.complete("s", "Go on.");
    let body = mock.requests()[1].json();
    assert!(!body["messages"].to_string().contains("tool_calls"), "{body}");
    assert_eq!(check_requests(&mut client, "s", &mock), 2);
}

#[test]
fn arguments_that_are_no_object_are_told_to_the_model_and_its_server_takes_the_history() {
    for arguments in
        ["{\"file_path\": \"a.t", "[1]", "7", "{\"file_path\":\"a.txt\"}}", "nonsense \u{1f642}"]
    {
        let call = Answer::stream().tool_call(0, "a", "read", arguments);
        let (_world, mock, mut client) = stage([end(call, "tool_calls"), say("Sorry.")]);
        assert_eq!(client.complete("s", "Go.")["text"], "Sorry.", "{arguments}");
        let results = events_of(&mut client, "tool/result");
        assert_eq!(results.len(), 1);
        assert_eq!(results[0]["data"]["error"]["code"], "INVALID_ARGS", "{}", results[0]);
        let calls = events_of(&mut client, "tool/call");
        assert_eq!(calls[0]["data"]["arguments"], arguments, "the log has the model's own text");
        assert_eq!(check_requests(&mut client, "s", &mock), 2);
    }
}

#[test]
fn a_call_without_arguments_is_one_with_an_empty_object() {
    for arguments in ["", " ", "null"] {
        let call = Answer::stream().tool_call(0, "a", "glob", arguments);
        let (_world, mock, mut client) = stage([end(call, "tool_calls"), say("Well.")]);
        assert_eq!(client.complete("s", "Go.")["text"], "Well.", "{arguments:?}");
        let result = &events_of(&mut client, "tool/result")[0];
        assert_eq!(result["data"]["error"]["code"], "INVALID_ARGS", "{result}");
        let text = result.to_string();
        assert!(text.contains("missing field `pattern`"), "{arguments:?}: {text}");
        assert_eq!(mock.requests().len(), 2);
    }
}

#[test]
fn calls_without_an_id_or_with_the_same_one_are_told_apart() {
    let read = |number: usize| format!("{{\"file_path\":\"a.txt\",\"offset\":{number}}}");
    let nameless = |index: u64, id: Value| json!({ "tool_calls": [{ "index": index, "id": id, "function": { "name": "read", "arguments": read(1) } }] });
    let first = Answer::stream()
        .delta_of(&nameless(0, json!("")))
        .delta_of(&nameless(1, Value::Null))
        .tool_call(2, "", "read", &read(1));
    let second = Answer::stream().tool_call(0, "call_0", "read", &read(1)).tool_call(
        1,
        "call_0",
        "glob",
        "{\"pattern\":\"*\"}",
    );
    // Some servers begin to count anew in each answer.
    let third = Answer::stream().tool_call(0, "call_0", "read", &read(1));
    let answers = [first, second, third].map(|answer| end(answer, "tool_calls"));
    let (_world, mock, mut client) = stage(answers.into_iter().chain([say("Done.")]));
    assert_eq!(client.complete("s", "Go.")["text"], "Done.");
    let body = mock.requests()[3].json();
    let messages = body["messages"].as_array().unwrap();
    let asked =
        messages.iter().flat_map(|message| message["tool_calls"].as_array().into_iter().flatten());
    let asked: Vec<&Value> = asked.map(|call| &call["id"]).collect();
    let told = messages.iter().filter(|message| message["role"] == "tool");
    let told: Vec<&Value> = told.map(|message| &message["tool_call_id"]).collect();
    assert_eq!(asked, told, "each call has its result");
    assert_eq!(asked.len(), 6);
    assert_eq!(check_requests(&mut client, "s", &mock), 4);
}

#[test]
fn a_name_that_comes_late_or_is_no_tool_costs_no_turn() {
    let answer = Answer::stream()
        .delta_of(&json!({ "tool_calls": [{ "index": 0, "id": "late", "function": { "name": null, "arguments": "" } }] }))
        .tool_call(0, "", "read", "{\"file_path\"")
        .tool_call(0, "", "read", ":\"a.txt\"}")
        .tool_call(1, "unknown", "Read", "{}")
        .delta_of(&json!({ "tool_calls": [{ "index": 2, "id": "none", "function": { "name": "", "arguments": "{}" } }] }));
    let (_world, mock, mut client) = stage([end(answer, "tool_calls"), say("Done.")]);
    assert_eq!(client.complete("s", "Go.")["text"], "Done.");
    let results = events_of(&mut client, "tool/result");
    let codes: Vec<&Value> =
        results.iter().map(|result| &result["data"]["error"]["code"]).collect();
    assert_eq!(codes, [&Value::Null, &json!("UNKNOWN_TOOL"), &json!("UNKNOWN_TOOL")]);
    assert!(results[1].to_string().contains("`grep`"), "the known ones are named");
    assert_eq!(mock.requests().len(), 2);
}

#[test]
fn an_answer_is_over_with_its_last_event_although_the_connection_stays_open() {
    let ends = [
        Answer::stream().delta("Fine.").finish("stop").done().delta("more").hold(),
        Answer::stream().delta("Fine.").finish("stop").close(),
        Answer::stream()
            .delta("Fine.")
            .raw("data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}"),
    ];
    for answer in ends {
        let (_world, mock, mut client) = stage([answer]);
        assert_eq!(client.complete("s", "Go.")["text"], "Fine.");
        mock.wait_until_closed();
    }
}

#[test]
fn reasoning_is_never_visible_text_however_it_comes() {
    let answer = Answer::stream()
        .delta_of(&json!({ "reasoning_content": "r1 ", "content": "" }))
        .delta_of(&json!({ "reasoning": "r2" }))
        .delta("<thi")
        .delta("nk>r3</thi")
        .delta("nk>Visible 🙂")
        .each_byte();
    let (_world, _mock, mut client) = stage([end(answer, "stop")]);
    assert_eq!(client.complete("s", "Go.")["text"], "Visible 🙂");
    let message = &events_of(&mut client, "assistant/message")[0];
    let text = message["data"]["message"]["content"].to_string();
    assert!(text.contains("r1 ") && text.contains("r2") && !text.contains("<thi"), "{text}");
}
