//! Children in the background: how their parents hear of them, go on with them, stop them, and lose none of them.

use std::fs;
use std::process::Stdio;

use dsh_tests::world::until;

use super::*;

mod left;

/// What only a subagent's request has.
const CHILD: &str = "You are a subagent";

/// What only the request of a child that was asked this has.
const DEEPER: &str = r#""content":"Deeper.""#;

/// An answer that calls one tool under a call id of its own.
fn call_as(id: &str, tool: &str, arguments: &Value) -> Answer {
    Answer::stream().tool_call(0, id, tool, &arguments.to_string()).finish("tool_calls").done()
}

fn leave(id: &str, prompt: &str) -> Answer {
    let arguments =
        json!({ "description": "a small task", "prompt": prompt, "run_in_background": true });
    call_as(id, "subagent", &arguments)
}

fn send(id: &str, agent: &str, message: &str) -> Answer {
    call_as(id, "send_message", &json!({ "agent": agent, "message": message }))
}

/// Work that does not end.
fn digs() -> Answer {
    Answer::stream().delta("I dig").hold()
}

fn later(text: &str) -> Answer {
    Answer::stream().delta("Half. ").pause().delta(text).finish("stop").done()
}

/// The result of a call of `session`: its error's code and its text.
fn result(client: &mut Client, session: &str, call: &str) -> (Value, String) {
    let results = of_type(client, session, "tool/result");
    let of_call = |result: &&Value| result["message"]["source"]["callId"] == call;
    let found = results.iter().find(of_call).unwrap_or_else(|| panic!("{call}: {results:?}"));
    let text = &found["message"]["content"][0]["content"][0]["text"];
    (found["error"]["code"].clone(), text.as_str().unwrap().to_owned())
}

/// What the agent of `s` was told of its children, in order.
fn told(client: &mut Client) -> Vec<String> {
    let messages = of_type(client, "s", "user/message");
    let of_plugin = messages.iter().filter(|it| it["source"]["plugin"] == "subagents");
    of_plugin.map(|it| it["content"][0]["text"].as_str().unwrap().to_owned()).collect()
}

/// Waits for the end of a turn of `s`.
fn turn_ends(client: &Client, turn: u64) -> Value {
    let is_it = |event: &Value| event["type"] == "turn/end" && event["data"]["turn"] == turn;
    client.event("s", "the end of a turn", is_it)["data"]["reason"]["kind"].clone()
}

fn settled(client: &Client, count: usize) {
    client.wait_for("work to come out", |frames| {
        let is_it = |frame: &&Value| frame["params"]["event"]["type"] == "subagent/settled";
        (frames.iter().filter(is_it).count() >= count).then_some(())
    });
}

/// What `list_agents` says: each agent's state, and the diagnostics.
fn listed(text: &str) -> (Vec<String>, Value) {
    let list: Value = serde_json::from_str(text).unwrap();
    let agents = list["agents"].as_array().unwrap().iter();
    (
        agents.map(|it| it["state"].as_str().unwrap().to_owned()).collect(),
        list["diagnostics"].clone(),
    )
}

#[test]
fn a_child_works_on_while_its_parent_rests_and_wakes_it_once() {
    let (_world, mock, mut client) =
        stage([leave("c1", "Count the files."), say("I go on."), say("Three, then.")]);
    mock.add_when(CHILD, later("Three."));
    assert_eq!(client.complete("s", "Go.")["text"], "I go on.");
    mock.wait_for_requests(3);
    let child = child(&mut client);
    let (code, text) = result(&mut client, "s", "c1");
    assert_eq!((code, text.contains(&child)), (Value::Null, true), "{text}");
    assert_eq!(told(&mut client), Vec::<String>::new());
    mock.release();
    assert_eq!(turn_ends(&client, 2), "completed");
    let expected = format!("Subagent `{child}` (a small task) is done. It says:\nHalf. Three.");
    assert_eq!(told(&mut client), [expected]);
    assert_eq!(client.rest("s")["text"], "Three, then.");
    let activated = of_type(&mut client, "s", "subagent/activated");
    assert_eq!(activated.len(), 1);
    assert_eq!(
        (&activated[0]["childSessionId"], &activated[0]["callId"]),
        (&json!(child), &json!("c1"))
    );
    settled(&client, 1);
    let out = of_type(&mut client, "s", "subagent/settled").remove(0);
    assert_eq!(out["activationId"], activated[0]["activationId"]);
    assert_eq!(out["stopReason"], "completed");
    let finished = client.notification("subagent/finished", |_| true);
    assert_eq!(
        (&finished["childSessionId"], &finished["text"]),
        (&json!(child), &json!("Half. Three."))
    );
    until("the child to be unloaded", || loaded(&mut client) == 1);
}

#[test]
fn a_parent_at_work_is_told_in_its_turn() {
    let (_world, mock, mut client) =
        stage([leave("c1", "Count."), later("I still think."), say("Three, then.")]);
    mock.add_when(CHILD, say("Three."));
    let message = client.prompt("s", "Go.");
    mock.wait_for_requests(3);
    let queued = client.event("s", "the notice", |event| {
        event["data"]["inserted"][0]["source"]["plugin"] == "subagents"
    });
    assert_eq!(queued["data"]["target"], "next-step");
    mock.release();
    let waited = client.request("session/wait", json!({ "sessionId": "s", "messageId": message }));
    assert_eq!((&waited["turn"], &waited["text"]), (&json!(1), &json!("Three, then.")));
    assert_eq!(told(&mut client).len(), 1);
}

#[test]
fn a_parent_that_a_person_has_stopped_is_not_woken() {
    let hold = Answer::stream().delta("I think").hold();
    let (_world, mock, mut client) = stage([leave("c1", "Count."), hold]);
    mock.add_when(CHILD, later("Three."));
    client.prompt("s", "Go.");
    mock.wait_for_requests(3);
    client.request("session/cancel", json!({ "sessionId": "s" }));
    assert_eq!(turn_ends(&client, 1), "aborted");
    mock.release();
    settled(&client, 1);
    let got = client.request("session/get", json!({ "sessionId": "s" }));
    assert_eq!(got["queue"]["nextStep"].as_array().unwrap().len(), 1, "{got}");
    mock.add(say("I see."));
    client.complete("s", "And?");
    assert_eq!(told(&mut client).len(), 1);
    assert_eq!(mock.requests().len(), 4);
}

#[test]
fn a_child_goes_on_with_what_it_remembers_after_a_restart_too() {
    let (world, mock, mut client) =
        stage([leave("c1", "Count the files."), say("Waiting."), say("Good.")]);
    mock.add_when(CHILD, later("Three."));
    client.complete("s", "Go.");
    mock.release();
    assert_eq!(turn_ends(&client, 2), "completed");
    let child = child(&mut client);
    until("the child to be unloaded", || loaded(&mut client) == 1);
    client.shut_down();
    let mut client = world.ask(&mock);
    client.request("session/subscribe", json!({ "sessionId": "s", "after": -1 }));
    mock.add(call_as("l1", "list_agents", &json!({})));
    mock.add(send("m1", &child, "And the folders?"));
    mock.add(say("Waiting again."));
    mock.add_when(CHILD, later("Two."));
    mock.add(say("Fine."));
    client.complete("s", "Ask it for the folders.");
    assert_eq!(listed(&result(&mut client, "s", "l1").1), (vec!["ready".to_owned()], Value::Null));
    mock.release();
    assert_eq!(turn_ends(&client, 4), "completed");
    let requests: Vec<Value> = mock
        .requests()
        .iter()
        .filter(|it| it.json().to_string().contains(CHILD))
        .map(body)
        .collect();
    assert_eq!(requests.len(), 2);
    let said: Vec<&str> = requests[1]["messages"]
        .as_array()
        .unwrap()
        .iter()
        .skip(1)
        .map(|message| message["content"].as_str().unwrap())
        .collect();
    assert_eq!(said, ["Count the files.", "Half. Three.", "And the folders?"]);
    assert_eq!(requests[0]["messages"][0], requests[1]["messages"][0], "it is told the same");
    assert_eq!(requests[0]["tools"], requests[1]["tools"]);
    let told = told(&mut client);
    assert_eq!(told.len(), 2);
    assert!(told[1].ends_with("It says:\nHalf. Two."), "{told:?}");
}

#[test]
fn an_interrupt_stops_a_child_and_keeps_what_waits_in_it() {
    let (_world, mock, mut client) = stage([leave("c1", "First."), say("Waiting.")]);
    mock.add_when(CHILD, Answer::stream().delta("I begin").hold());
    client.complete("s", "Go.");
    mock.wait_for_requests(3);
    let child = child(&mut client);
    client.request("session/subscribe", json!({ "sessionId": child, "after": -1 }));
    client.text(&child, "I begin");
    mock.add(send("m1", &child, "Second."));
    mock.add(call_as("l1", "list_agents", &json!({})));
    mock.add(call_as("i1", "interrupt_agent", &json!({ "agent": child })));
    mock.add(say("Stopped."));
    client.complete("s", "Give it more, then stop it.");
    assert!(result(&mut client, "s", "m1").1.contains("behind the work that it has"));
    assert_eq!(listed(&result(&mut client, "s", "l1").1).0, ["running"]);
    let said = result(&mut client, "s", "i1").1;
    assert!(said.contains("stops") && said.contains("1 of its messages wait"), "{said}");
    let ended = client.event_of(&child, "turn/end")["data"]["reason"].clone();
    assert_eq!(ended, json!({ "kind": "aborted", "reason": "parent" }));
    settled(&client, 1);
    assert_eq!(told(&mut client), Vec::<String>::new(), "it stopped the child itself");
    // A third message makes it go on with the second.
    mock.add(send("m2", &child, "Third."));
    mock.add(say("Waiting again."));
    mock.add_when(CHILD, say("Second is done."));
    mock.add_when(CHILD, say("Third is done."));
    mock.add(say("Fine."));
    mock.add(say("Fine."));
    client.complete("s", "Go on.");
    settled(&client, 3);
    client.rest("s");
    let told = told(&mut client);
    let ends: Vec<bool> = told
        .iter()
        .zip(["Second is done.", "Third is done."])
        .map(|(it, end)| it.ends_with(end))
        .collect();
    assert_eq!(ends, [true, true], "{told:?}");
    client.request("session/unsubscribe", json!({ "sessionId": child }));
    mock.wait_until_closed();
}

#[test]
fn what_cannot_be_done_is_refused_with_its_code_and_what_to_do() {
    let (world, mock, mut client) = stage_with(
        "- id: tool-subagent-controls\n  merge: { maxRunning: 1 }\n- insert:\n    - id: one-shot\n      name: tool-subagent\n      config: { toolName: once, backgroundMode: one-shot }\n",
        [leave("c1", "First."), leave("c2", "Second."), say("Waiting."), say("Good.")],
    );
    mock.add_when(CHILD, later("Done."));
    client.complete("s", "Go.");
    let limit = result(&mut client, "s", "c2");
    assert_eq!(limit.0, "SUBAGENT_LIMIT");
    assert!(limit.1.contains("wait for one, or interrupt one"), "{limit:?}");
    mock.release();
    turn_ends(&client, 2);
    let first = child(&mut client);
    let once = json!({ "description": "once", "prompt": "Work.", "run_in_background": true });
    mock.add(call_as("c3", "once", &once));
    mock.add(say("Waiting."));
    mock.add_when(CHILD, say("Done."));
    mock.add(say("Good."));
    client.complete("s", "Once.");
    settled(&client, 2);
    client.rest("s");
    let second = children(&mut client)[1]["sessionId"].as_str().unwrap().to_owned();
    until("the children to be unloaded", || loaded(&mut client) == 1);
    // A damaged log is said of, and cannot go on.
    let log = world.log(&first);
    let whole = fs::read_to_string(&log).unwrap();
    fs::write(&log, whole.replacen("\"type\":\"turn/start\"", "\"type\":\"turn/st", 1)).unwrap();
    let refused = [
        ("r1", send("r1", "nobody", "Go on."), "UNAUTHORIZED", "list_agents"),
        ("r2", send("r2", "s", "Go on."), "UNAUTHORIZED", "list_agents"),
        ("r3", send("r3", &second, "Go on."), "NOT_RESUMABLE", "start another"),
        ("r4", send("r4", &first, "Go on."), "NOT_RESUMABLE", "start another"),
        ("r5", send("r5", &first, " "), "INVALID_ARGS", "non-empty"),
        (
            "r6",
            call_as("r6", "interrupt_agent", &json!({ "agent": "s" })),
            "UNAUTHORIZED",
            "list_agents",
        ),
    ];
    let expected = refused.each_ref().map(|(id, _, code, says)| (*id, *code, *says));
    for (_, answer, _, _) in refused {
        mock.add(answer);
    }
    mock.add(call_as("l1", "list_agents", &json!({})));
    mock.add(say("I see."));
    client.complete("s", "Try everything.");
    for (id, code, says) in expected {
        let (found, text) = result(&mut client, "s", id);
        assert_eq!((&found, text.contains(says)), (&json!(code), true), "{id}: {text}");
    }
    // What was started once is not listed once it is done.
    let diagnostics = json!([{ "agent": first, "problem": "corrupt" }]);
    assert_eq!(listed(&result(&mut client, "s", "l1").1), (Vec::new(), diagnostics));
    fs::write(&log, whole).unwrap();
    // Nothing is left open by what was refused.
    let open = of_type(&mut client, "s", "subagent/activated").len()
        - of_type(&mut client, "s", "subagent/settled").len();
    assert_eq!(open, 0);
}

#[test]
fn without_its_row_nothing_works_in_the_background() {
    let (_world, mock, mut client) = stage_with(
        "- id: tool-subagent-controls\n  disabled: true\n",
        [leave("c1", "Work."), say("I see.")],
    );
    client.complete("s", "Go.");
    let (code, text) = result(&mut client, "s", "c1");
    assert_eq!(code, "CONTINUATION_UNAVAILABLE");
    assert!(text.contains("without run_in_background"), "{text}");
    let offered = body(&mock.requests()[0]);
    assert!(!offered.to_string().contains("run_in_background"), "{offered}");
    for name in ["send_message", "interrupt_agent", "list_agents"] {
        assert!(!tools(&offered).contains(&name.to_owned()));
    }
}

#[test]
fn a_child_is_done_when_its_own_children_are_and_all_are_listed() {
    let (_world, mock, mut client) = stage([leave("c1", "Delegate."), say("Waiting.")]);
    // The child, its child, the child when it is told.
    mock.add_when(DEEPER, later("Deep answer."));
    mock.add_when(CHILD, leave("d1", "Deeper."));
    mock.add_when(CHILD, say("I wait for it."));
    mock.add_when("Deep answer.", say("It says: deep."));
    client.complete("s", "Go.");
    mock.wait_for_requests(5);
    mock.add(call_as("l1", "list_agents", &json!({ "scope": "descendants" })));
    mock.add(call_as("l2", "list_agents", &json!({ "scope": "children" })));
    mock.add(say("Two."));
    mock.add(say("Good."));
    client.complete("s", "Who is there?");
    assert_eq!(listed(&result(&mut client, "s", "l1").1).0, ["running", "running"]);
    assert_eq!(listed(&result(&mut client, "s", "l2").1).0, ["running"]);
    assert_eq!(told(&mut client), Vec::<String>::new(), "it is not done before its child is");
    mock.release();
    settled(&client, 1);
    client.rest("s");
    let told = told(&mut client);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].ends_with("It says: deep."), "{told:?}");
    let of_s = |it: &Value| it["parentSessionId"] == "s";
    let finished = client.notification("subagent/finished", of_s);
    assert_eq!(
        (&finished["stopReason"], &finished["text"]),
        (&json!("completed"), &json!("It says: deep."))
    );
    until("the children to be unloaded", || loaded(&mut client) == 1);
}

#[test]
fn an_interrupt_stops_what_is_below_a_child_too() {
    let (_world, mock, mut client, child) = a_child_that_waits(digs());
    mock.add(call_as("i1", "interrupt_agent", &json!({ "agent": child })));
    mock.add(say("Stopped."));
    client.prompt("s", "Stop it.");
    settled(&client, 1);
    mock.wait_until_closed();
    client.rest("s");
    assert!(result(&mut client, "s", "i1").1.contains("stops what it was doing"));
    assert_eq!(told(&mut client), Vec::<String>::new(), "it stopped them itself");
    assert_eq!(of_type(&mut client, "s", "subagent/settled")[0]["stopReason"], "aborted");
    until("the children to be unloaded", || loaded(&mut client) == 1);
}

#[test]
fn what_children_do_ends_with_the_session_that_is_closed() {
    let (_world, mock, mut client, _) = a_child_that_waits(digs());
    client.request("session/close", json!({ "sessionId": "s" }));
    mock.wait_until_closed();
    assert_eq!(loaded(&mut client), 0);
    let settled = of_type(&mut client, "s", "subagent/settled");
    assert_eq!(settled[0]["stopReason"], "aborted", "{settled:?}");
    assert_eq!(told(&mut client), Vec::<String>::new());
    assert_eq!(of_type(&mut client, "s", "turn/end").len(), 1, "nobody was woken");
}

#[test]
fn agents_that_wake_each_other_come_to_an_end() {
    let (_world, mock, mut client) = stage([]);
    for round in 0..22 {
        mock.add(leave(&format!("c{round}"), "Again."));
        mock.add(say("Waiting."));
        mock.add_when(CHILD, later("Done."));
    }
    client.prompt("s", "Go.");
    // Each child is done when its parent rests, and wakes it to start another.
    for turn in 1..=21 {
        assert_eq!(turn_ends(&client, turn), "completed");
        mock.release();
    }
    settled(&client, 21);
    let got = client.request("session/get", json!({ "sessionId": "s" }));
    assert_eq!(got["queue"]["nextStep"].as_array().unwrap().len(), 1, "it waits for a person");
    assert_eq!(of_type(&mut client, "s", "turn/start").len(), 21);
    mock.add(say("Enough."));
    client.complete("s", "Go on.");
    mock.release();
    assert_eq!(turn_ends(&client, 23), "completed");
}

#[test]
fn a_fork_is_a_tool_of_its_own_that_knows_what_was_said() {
    let arguments = json!({ "description": "a small task", "prompt": "What did I ask?" });
    let (_world, mock, mut client) = stage([
        say("I remember."),
        call_as("f1", "subagent_fork", &arguments),
        say("About apples."),
        say("Fine."),
    ]);
    client.complete("s", "Apples?");
    client.complete("s", "Go.");
    assert_eq!(result(&mut client, "s", "f1"), (Value::Null, "About apples.".to_owned()));
    let bodies: Vec<Value> = mock.requests().iter().map(body).collect();
    assert!(bodies[2]["messages"].to_string().contains("Apples?"));
    let offered = bodies[0]["tools"].as_array().unwrap().iter();
    let fork = offered.map(|it| &it["function"]).find(|it| it["name"] == "subagent_fork").unwrap();
    assert!(!fork.to_string().contains("run_in_background"), "{fork}");
}

/// A parent whose child waits for its own, which answers `deeper`; the child's session.
fn a_child_that_waits(deeper: Answer) -> (World, MockModel, Client, String) {
    let (world, mock, mut client) = stage([leave("c1", "Delegate."), say("Waiting.")]);
    mock.add_when(DEEPER, deeper);
    mock.add_when(CHILD, leave("d1", "Deeper."));
    mock.add_when(CHILD, say("I wait for it."));
    client.complete("s", "Go.");
    mock.wait_for_requests(5);
    let child = children(&mut client)[0]["sessionId"].as_str().unwrap().to_owned();
    until("the child to wait", || of_type(&mut client, &child, "turn/end").len() == 1);
    (world, mock, client, child)
}

#[test]
fn a_child_that_is_closed_or_deleted_while_it_waits_was_cancelled() {
    for method in ["session/close", "session/delete"] {
        let (_world, mock, mut client, child) = a_child_that_waits(digs());
        mock.add(say("A pity."));
        client.request(method, json!({ "sessionId": child }));
        mock.wait_until_closed();
        settled(&client, 1);
        client.rest("s");
        let told = told(&mut client);
        assert_eq!(told.len(), 1, "{method}: {told:?}");
        assert!(told[0].contains("was cancelled before it was done"), "{method}: {told:?}");
        let of_s = |it: &Value| it["parentSessionId"] == "s";
        let finished = client.notification("subagent/finished", of_s);
        assert_eq!(finished["stopReason"], "aborted", "{method}");
    }
}

#[test]
fn a_question_on_the_command_line_is_answered_when_those_in_the_background_are_done() {
    let world = World::new();
    let mock = MockModel::start([leave("c1", "Count."), say("Waiting."), say("There are three.")]);
    mock.add_when(CHILD, later("Three."));
    let mut command = world.door("run", &mock);
    let asked = command.args(["--quiet", "How many?"]).stdout(Stdio::piped()).spawn().unwrap();
    mock.wait_for_requests(3);
    mock.release();
    let output = asked.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "Waiting.\n\nThere are three.\n");
    assert!(mock.requests().last().unwrap().json().to_string().contains("Half. Three."));
}
