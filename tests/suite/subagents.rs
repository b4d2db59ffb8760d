//! Agents that an agent starts: what they are told, what they may do, how they end, and what is left of them.

use dsh_mock_model::answer::Answer;
use dsh_mock_model::server::{MockModel, Recorded};
use dsh_tests::client::Client;
use dsh_tests::world::{World, until};
use serde_json::{Value, json};

mod background;
mod contract;

fn say(text: &str) -> Answer {
    Answer::stream().delta(text).finish("stop").done()
}

/// An answer that calls one tool.
fn call(tool: &str, arguments: &Value) -> Answer {
    Answer::stream()
        .tool_call(0, &format!("call-{tool}"), tool, &arguments.to_string())
        .finish("tool_calls")
        .done()
}

fn delegate(prompt: &str) -> Answer {
    call("subagent", &json!({ "description": "a small task", "prompt": prompt }))
}

fn stage(answers: impl IntoIterator<Item = Answer>) -> (World, MockModel, Client) {
    stage_with("", answers)
}

/// A world whose home has this patch file.
fn stage_with(
    patch: &str,
    answers: impl IntoIterator<Item = Answer>,
) -> (World, MockModel, Client) {
    let world = World::new();
    world.file("a.txt", "alpha\n");
    if !patch.is_empty() {
        world.patch(patch);
    }
    let mock = MockModel::start(answers);
    let mut client = world.ask(&mock);
    client.session("s");
    (world, mock, client)
}

/// The children of `s`, oldest first.
fn children(client: &mut Client) -> Vec<Value> {
    let listed = client.request("session/list", json!({ "includeChildren": true }));
    let mut all = listed["sessions"].as_array().unwrap().clone();
    all.retain(|session| session["origin"] == "subagent");
    all.sort_by_key(|session| session["createdAt"].as_u64());
    all
}

fn child(client: &mut Client) -> String {
    let all = children(client);
    assert_eq!(all.len(), 1, "{all:?}");
    all[0]["sessionId"].as_str().unwrap().to_owned()
}

fn body(request: &Recorded) -> Value {
    request.json()
}

/// The names of the tools of a request.
fn tools(body: &Value) -> Vec<String> {
    let tools = body["tools"].as_array().cloned().unwrap_or_default();
    tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect()
}

/// The events of a type.
fn of_type(client: &mut Client, session: &str, name: &str) -> Vec<Value> {
    let mut events = client.log(session);
    events.retain(|event| event["type"] == name);
    events.into_iter().map(|event| event["data"].clone()).collect()
}

/// How the only tool call of `s` came out: its error's code, and its text.
fn outcome(client: &mut Client) -> (Value, String) {
    let results = of_type(client, "s", "tool/result");
    assert_eq!(results.len(), 1, "{results:?}");
    let text = &results[0]["message"]["content"][0]["content"][0]["text"];
    (results[0]["error"]["code"].clone(), text.as_str().unwrap().to_owned())
}

/// Sessions that are loaded, subagents that are registered for, and whatever else a finished child must not
/// leave.
fn loaded(client: &mut Client) -> u64 {
    client.request("server/status", json!({}))["sessions"].as_u64().unwrap()
}

#[test]
fn a_subagent_works_in_a_session_of_its_own_and_its_answer_comes_back() {
    let (_world, mock, mut client) = stage([
        delegate("Read a.txt and say what it holds."),
        call("read", &json!({ "file_path": "a.txt" })),
        say("It holds alpha."),
        say("The file holds alpha."),
    ]);
    let waited = client.complete("s", "SECRET-OF-THE-PARENT: what is in a.txt?");
    assert_eq!(waited["text"], "The file holds alpha.");
    assert_eq!(outcome(&mut client), (Value::Null, "It holds alpha.".to_owned()));
    let bodies: Vec<Value> = mock.requests().iter().map(body).collect();
    assert_eq!(bodies.len(), 4);
    // The child knows what it was told, and nothing else of the parent.
    for body in &bodies[1..3] {
        assert!(!body.to_string().contains("SECRET-OF-THE-PARENT"), "{body}");
        let messages = body["messages"].as_array().unwrap();
        assert!(messages[0]["content"].as_str().unwrap().contains("You are a subagent"), "{body}");
        assert_eq!(messages[1]["content"], "Read a.txt and say what it holds.");
        assert_eq!(body["model"], "mock", "its parent's model");
        let mut of_parent = tools(&bodies[0]);
        // Children do not deliberate.
        of_parent.retain(|name| name != "deliberate");
        assert_eq!(tools(body), of_parent, "its parent's tools");
    }
    let child = child(&mut client);
    let info = client.request("session/get", json!({ "sessionId": child }))["session"].clone();
    assert_eq!(info["parentSessionId"], "s");
    assert_eq!(info["title"], "a small task");
    assert_eq!(info["status"], "idle");
    let listed = client.request("session/list", json!({}))["sessions"].clone();
    assert_eq!(listed.as_array().unwrap().len(), 1, "children are listed only on demand: {listed}");
    let started = client.notification("subagent/started", |_| true);
    assert_eq!(
        started,
        json!({
            "parentSessionId": "s", "childSessionId": child, "provider": "spawn",
            "label": "a small task", "callId": "call-subagent",
        })
    );
    let finished = client.notification("subagent/finished", |_| true);
    assert_eq!(finished["childSessionId"], child.as_str());
    assert_eq!(
        (&finished["stopReason"], &finished["text"]),
        (&json!("completed"), &json!("It holds alpha."))
    );
}

#[test]
fn a_child_is_linked_in_its_file_and_unloaded_when_it_is_done() {
    let (world, _mock, mut client) = stage([delegate("Work."), say("Done."), say("Fine.")]);
    client.complete("s", "Go.");
    let child = child(&mut client);
    until("the child to be unloaded", || loaded(&mut client) == 1);
    client.shut_down();
    let log = dsh_tests::check_log::read(&world.log(&child));
    let header = &log.header;
    assert_eq!(header["parentSession"], "s");
    assert_eq!(header["origin"], "subagent");
    assert_eq!(header["delegationDepth"], 1);
    assert_eq!(header.get("seedLength"), None, "nothing was inherited");
    assert_eq!(log.events[0]["type"], "subagent/descriptor");
    assert_eq!(log.events[0]["ignorable"], true);
    let descriptor = &log.events[0]["data"];
    assert_eq!(
        *descriptor,
        json!({
            "version": 2, "mode": "one-shot", "provider": "spawn", "label": "a small task",
            "agentProvider": "local", "agentModel": "mock", "structured": false,
        })
    );
}

#[test]
fn subagents_of_one_answer_work_side_by_side() {
    let two = Answer::stream()
        .tool_call(0, "one", "subagent", r#"{"description":"one","prompt":"First task."}"#)
        .tool_call(1, "two", "subagent", r#"{"description":"two","prompt":"Second task."}"#)
        .finish("tool_calls")
        .done();
    let slow = || Answer::stream().delta("Half").pause().delta(" done.").finish("stop").done();
    let (_world, mock, mut client) = stage([two, slow(), slow(), say("Both.")]);
    let message = client.prompt("s", "Go.");
    // Both are at work before either has ended.
    mock.wait_for_requests(3);
    assert_eq!(children(&mut client).len(), 2);
    mock.release();
    mock.release();
    let params = json!({ "sessionId": "s", "messageId": message });
    assert_eq!(client.request("session/wait", params)["text"], "Both.");
    until("the children to be unloaded", || loaded(&mut client) == 1);
}

#[test]
fn a_cancel_of_the_parent_ends_a_child_that_hangs() {
    let (_world, mock, mut client) =
        stage([delegate("Work."), Answer::stream().delta("I begin").hold(), say("Again.")]);
    client.prompt("s", "Go.");
    mock.wait_for_requests(2);
    let child = child(&mut client);
    client.request("session/subscribe", json!({ "sessionId": child, "after": -1 }));
    client.text(&child, "I begin");
    client.request("session/cancel", json!({ "sessionId": "s" }));
    assert_eq!(client.rest("s")["outcome"], json!({ "kind": "aborted", "reason": "user" }));
    let ended = client.event_of(&child, "turn/end")["data"]["reason"].clone();
    assert_eq!(ended, json!({ "kind": "aborted", "reason": "parent" }));
    let finished = client.notification("subagent/finished", |_| true);
    assert_eq!(finished["stopReason"], "aborted");
    client.request("session/unsubscribe", json!({ "sessionId": child }));
    mock.wait_until_closed();
    assert_eq!(client.complete("s", "Go on.")["text"], "Again.");
}

#[test]
fn the_end_of_the_server_ends_a_child_that_hangs() {
    let (world, mock, mut client) = stage([delegate("Work."), Answer::stream().hold()]);
    client.prompt("s", "Go.");
    mock.wait_for_requests(2);
    let child = child(&mut client);
    client.shut_down();
    let log = dsh_tests::check_log::read(&world.log(&child));
    let last = log.events.last().unwrap();
    assert_eq!(last["type"], "turn/end", "{last}");
    assert_eq!(last["data"]["reason"]["kind"], "aborted");
    mock.wait_until_closed();
}

#[test]
fn a_crash_while_a_child_works_leaves_both_logs_loadable() {
    let (world, mock, mut client) =
        stage([delegate("Work."), Answer::stream().delta("Half").hold(), say("I see.")]);
    client.prompt("s", "Go.");
    mock.wait_for_requests(2);
    let child = child(&mut client);
    client.request("session/subscribe", json!({ "sessionId": child, "after": -1 }));
    client.text(&child, "Half");
    let log = world.log(&child);
    until("the child's answer to be on disk", || {
        std::fs::read_to_string(&log).unwrap().contains("assistant/chunk")
    });
    client.kill();
    let mut client = world.ask(&mock);
    for session in ["s", child.as_str()] {
        client.request("session/subscribe", json!({ "sessionId": session, "after": -1 }));
        let ended = client.event_of(session, "turn/end")["data"]["reason"].clone();
        assert_eq!(ended, json!({ "kind": "interrupted" }), "{session}");
    }
    assert_eq!(outcome(&mut client).0, "TOOL_OUTCOME_UNKNOWN");
    assert_eq!(client.complete("s", "Go on.")["text"], "I see.");
    let info = client.request("session/get", json!({ "sessionId": child }))["session"].clone();
    assert_eq!((&info["origin"], &info["parentSessionId"]), (&json!("subagent"), &json!("s")));
}

/// The patch of a home whose `subagent` tool is configured like this.
fn configured(config: &str) -> String {
    format!("- id: tool-subagent\n  merge: {config}\n")
}

#[test]
fn a_child_stands_no_deeper_than_it_may_and_is_not_offered_what_it_could_not_use() {
    let (_world, mock, mut client) = stage_with(
        &configured("{ maxDepth: 2 }"),
        [delegate("Delegate."), delegate("Work."), say("Leaf."), say("Middle."), say("Top.")],
    );
    assert_eq!(client.complete("s", "Go.")["text"], "Top.");
    let bodies: Vec<Value> = mock.requests().iter().map(body).collect();
    let offered = |body: &Value| tools(body).contains(&"subagent".to_owned());
    assert_eq!(bodies.iter().map(offered).collect::<Vec<_>>(), [true, true, false, true, true]);
    let all = children(&mut client);
    let parents: Vec<&str> =
        all.iter().map(|child| child["parentSessionId"].as_str().unwrap()).collect();
    assert_eq!(parents, ["s", all[0]["sessionId"].as_str().unwrap()]);
    until("the children to be unloaded", || loaded(&mut client) == 1);
}

#[test]
fn a_tool_that_is_not_offered_cannot_be_called_either() {
    let (_world, _mock, mut client) = stage_with(
        &configured("{ maxDepth: 1 }"),
        [delegate("Delegate."), delegate("Deeper."), say("I could not."), say("Fine.")],
    );
    client.complete("s", "Go.");
    let child = child(&mut client);
    let results = of_type(&mut client, &child, "tool/result");
    assert_eq!(results[0]["error"]["code"], "UNKNOWN_TOOL");
    assert_eq!(outcome(&mut client).1, "I could not.");
}

#[test]
fn a_filter_hides_and_refuses_and_says_what_it_misses() {
    let (_world, mock, mut client) = stage_with(
        &configured("{ toolFilter: { allow: [read, nope, grep], deny: [grep, neither] } }"),
        [
            delegate("Look."),
            call("glob", &json!({ "pattern": "*" })),
            call("read", &json!({ "file_path": "a.txt" })),
            say("alpha"),
            say("Fine."),
        ],
    );
    client.complete("s", "Go.");
    let bodies: Vec<Value> = mock.requests().iter().map(body).collect();
    assert_eq!(tools(&bodies[1]), ["read"]);
    let child = child(&mut client);
    let results = of_type(&mut client, &child, "tool/result");
    let codes: Vec<&Value> = results.iter().map(|result| &result["error"]["code"]).collect();
    assert_eq!(codes, [&json!("UNKNOWN_TOOL"), &Value::Null]);
    let (code, text) = outcome(&mut client);
    assert_eq!(code, Value::Null);
    assert!(text.contains("`nope`") && !text.contains("neither"), "{text}");
    // It was ended and loaded again to be read: it has no more tools than it had.
    mock.add(say("Still here."));
    client.complete(&child, "And now?");
    assert_eq!(tools(&body(mock.requests().last().unwrap())), ["read"]);
}

#[test]
fn an_empty_list_of_tools_means_none() {
    let (_world, mock, mut client) = stage_with(
        &configured("{ toolFilter: { allow: [] } }"),
        [delegate("Think."), say("Hm."), say("Fine.")],
    );
    client.complete("s", "Go.");
    assert!(tools(&body(&mock.requests()[1])).is_empty());
}

#[test]
fn a_route_and_a_persona_of_its_own_are_kept_and_a_forced_model_does_not_override_them() {
    let config =
        "{ agentOptions: { model: strong, maxTokens: 77 }, persona: You doubt everything. }";
    let (_world, mock, mut client) =
        stage_with(&configured(config), [delegate("Think."), say("Hm."), say("Fine.")]);
    client.complete("s", "Go.");
    let bodies: Vec<Value> = mock.requests().iter().map(body).collect();
    assert_eq!((&bodies[0]["model"], &bodies[1]["model"]), (&json!("mock"), &json!("strong")));
    assert!(bodies[1].to_string().contains("77"), "{}", bodies[1]);
    let system = bodies[1]["messages"][0]["content"].as_str().unwrap();
    assert!(system.contains("You doubt everything."), "{system}");
    let all = children(&mut client);
    assert_eq!(all[0]["model"], json!({ "provider": "local", "model": "strong" }));
}

#[test]
fn a_child_asks_what_its_parent_asks_now() {
    let (_world, mock, client) =
        stage([say("First."), delegate("Work."), say("Done."), say("Fine.")]);
    client.shut_down();
    let world = World::new();
    let mut command = world.command(["rpc"]);
    command.env("DSH_LS_LOCAL_URL", format!("{}/v1", mock.url()));
    let mut client = Client::spawn(command);
    client.initialize();
    client.request("session/new", json!({ "sessionId": "s", "model": "local/one" }));
    client.complete("s", "Hello.");
    client.request("session/setModel", json!({ "sessionId": "s", "model": "local/two" }));
    client.complete("s", "Go.");
    let models: Vec<Value> =
        mock.requests().iter().map(|request| body(request)["model"].clone()).collect();
    assert_eq!(models, ["one", "two", "two", "two"]);
}

#[test]
fn a_fork_knows_the_turns_that_have_ended_and_not_the_one_that_runs() {
    let (world, mock, mut client) = stage_with(
        &configured("{ provider: fork }"),
        [say("I remember."), delegate("What did I ask?"), say("About apples."), say("Fine.")],
    );
    client.complete("s", "Apples?");
    client.complete("s", "IN-FLIGHT");
    let bodies: Vec<Value> = mock.requests().iter().map(body).collect();
    let said: Vec<&str> = bodies[2]["messages"]
        .as_array()
        .unwrap()
        .iter()
        .skip(1)
        .map(|message| message["content"].as_str().unwrap())
        .collect();
    assert_eq!(said, ["Apples?", "I remember.", "What did I ask?"]);
    let child = child(&mut client);
    let got = client.request("session/get", json!({ "sessionId": child }));
    assert_eq!(got["totals"]["requests"], 1, "what it inherited cost its parent");
    assert_eq!(got["session"]["title"], "a small task");
    assert_eq!(got["queue"], json!({ "nextStep": [], "nextTurn": [] }));
    client.shut_down();
    let log = dsh_tests::check_log::read(&world.log(&child));
    let parent = dsh_tests::check_log::read(&world.log("s"));
    let inherited = usize::try_from(log.header["seedLength"].as_u64().unwrap()).unwrap();
    assert_eq!(log.events[..inherited], parent.events[..inherited]);
    assert_eq!(log.events[inherited - 1]["type"], "turn/end");
    assert_eq!(log.events[inherited]["type"], "session/end-seed");
}

#[test]
fn a_fork_does_not_take_what_waits_in_its_parent() {
    let slow = Answer::stream().delta("Half").pause().delta(" done.").finish("stop").done();
    let (_world, mock, mut client) = stage_with(
        &configured("{ provider: fork }"),
        [slow, delegate("Work."), say("Done."), say("Fine.")],
    );
    client.prompt("s", "First.");
    client.text("s", "Half");
    // It waits while the first turn ends, and starts the second.
    let second = client.prompt("s", "Second.");
    mock.release();
    let params = json!({ "sessionId": "s", "messageId": second });
    assert_eq!(client.request("session/wait", params)["text"], "Fine.");
    let child = child(&mut client);
    assert!(!client.conversation(&child).iter().any(|said| said.contains("Second.")));
    let starts = of_type(&mut client, &child, "turn/start");
    assert_eq!(starts.len(), 2, "the inherited turn and its own: {starts:?}");
}

#[test]
fn a_model_that_fails_in_a_child_is_an_error_of_the_call_in_fixed_words() {
    let failing = || Answer::status(401).json(&json!({ "error": { "message": "PRIVATE-WORDS" } }));
    let (_world, _mock, mut client) = stage([delegate("Work."), failing(), say("I see.")]);
    client.complete("s", "Go.");
    let (code, text) = outcome(&mut client);
    assert_eq!(code, "SUBAGENT_FAILED");
    assert!(text.contains("AUTH") && !text.contains("PRIVATE-WORDS"), "{text}");
    let finished = client.notification("subagent/finished", |_| true);
    assert_eq!(finished["stopReason"], "error");
}

#[test]
fn a_person_cannot_call_for_an_agent() {
    let (_world, _mock, mut client) = stage([]);
    let arguments = json!({ "description": "x", "prompt": "Work." });
    let result = client.request("tool/call", json!({ "name": "subagent", "arguments": arguments }));
    assert_eq!(result["error"]["code"], "SUBAGENT_FAILED", "{result}");
    assert!(children(&mut client).is_empty());
}

#[test]
fn without_its_provider_the_tool_is_not_offered_and_comes_back_with_it() {
    let (world, mock, mut client) = stage([say("One."), say("Two."), say("Three.")]);
    client.complete("s", "Go.");
    let patch = world.home().join("cordis.patch.yml");
    for (text, id) in [("- id: subagent-spawn\n  disabled: true\n", "Go."), ("[]\n", "Again.")] {
        std::fs::write(&patch, text).unwrap();
        client.request("config/reload", json!({}));
        client.complete("s", id);
    }
    let bodies: Vec<Value> = mock.requests().iter().map(body).collect();
    let offered = |body: &Value| tools(body).contains(&"subagent".to_owned());
    assert_eq!(bodies.iter().map(offered).collect::<Vec<_>>(), [true, false, true]);
}
