//! Configuration files that change while the server runs: what is good applies, what is broken does not, and a
//! running turn ends with what it began with.

use std::fs;
use std::path::PathBuf;

use dsh_mock_model::answer::Answer;
use dsh_mock_model::server::MockModel;
use dsh_tests::client::Client;
use dsh_tests::network::check_requests;
use dsh_tests::tools_but;
use dsh_tests::world::{World, until};
use serde_json::{Value, json};

const WITHOUT_GREP: &str = "- id: tool-grep\n  disabled: true\n";

fn say(text: &str) -> Answer {
    Answer::stream().delta(text).finish("stop").done()
}

/// The home's patch file, whose folder there is from now on.
fn patch(world: &World) -> PathBuf {
    fs::create_dir_all(world.home()).unwrap();
    world.home().join("cordis.patch.yml")
}

/// Makes a text the home's patch file, all at once: half of it would be read, too.
fn put(world: &World, text: &str) {
    let path = patch(world);
    let whole = path.with_extension("new");
    fs::write(&whole, text).unwrap();
    fs::rename(whole, path).unwrap();
}

/// Does something to the files and waits until the server says what came of it.
fn changed(client: &Client, change: impl FnOnce()) -> Value {
    let before = client.frames().len();
    change();
    client.wait_for("config/changed", |frames| {
        let told = frames.iter().skip(before).find(|frame| frame["method"] == "config/changed");
        told.map(|frame| frame["params"].clone())
    })
}

fn tools(client: &mut Client) -> Vec<String> {
    let listed = client.request("tool/list", json!({}))["tools"].clone();
    listed.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().into()).collect()
}

/// The tools that the model was offered in its last request.
fn offered(mock: &MockModel) -> Vec<String> {
    let body = mock.requests().last().unwrap().json();
    let tools = body["tools"].as_array().cloned().unwrap_or_default();
    tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_tool_goes_with_two_lines_and_comes_back_with_their_removal() {
    let world = World::new();
    let mock = MockModel::start([say("One."), say("Two."), say("Three.")]);
    let mut client = world.ask(&mock);
    client.session("s");
    client.complete("s", "First.");
    assert_eq!(offered(&mock), tools_but(&[]));
    let told = changed(&client, || put(&world, WITHOUT_GREP));
    assert_eq!(told["ok"], true, "{told}");
    client.complete("s", "Second.");
    assert_eq!((offered(&mock), tools(&mut client)), (tools_but(&["grep"]), tools_but(&["grep"])));
    let told = changed(&client, || fs::remove_file(patch(&world)).unwrap());
    assert_eq!(told["ok"], true, "{told}");
    client.complete("s", "Third.");
    assert_eq!((offered(&mock), tools(&mut client).len()), (tools_but(&[]), 9));
    assert_eq!(check_requests(&mut client, "s", &mock), 3);
    client.shut_down();
}

/// How a turn ends that does not go well.
fn outcome(client: &mut Client, text: &str) -> Value {
    client.prompt("s", text);
    client.rest("s")["outcome"].clone()
}

#[test]
fn a_file_is_created_edited_broken_repaired_and_deleted_and_the_last_good_tree_stays() {
    let world = World::new();
    let mut client = world.start("offline/retrieval");
    client.session("s");
    assert!(!world.home().join("cordis.patch.yml").exists());
    let write = |text: &str| put(&world, text);
    let told = changed(&client, || write(WITHOUT_GREP));
    assert_eq!(told["ok"], true, "{told}");
    assert_eq!(tools(&mut client), tools_but(&["grep"]));
    let broken = [
        ("- id: tool-grep\n  disabled: true\n- id: [\n", "cordis.patch.yml"),
        ("", "expected a list"),
        ("- id: agent-loop\n  merge: {budgets: {stepz: 1}}\n", "stepz"),
        ("- insert:\n  - id: mine\n    name: no-such-plugin\n", "no-such-plugin"),
        ("- id: agent-loop\n  merge: {maxParallelToolCalls: 0}\n", "maxParallelToolCalls"),
    ];
    for (text, expected) in broken {
        let told = changed(&client, || write(text));
        assert_eq!(told["ok"], false, "{told}");
        let problem = told["problems"].to_string();
        assert!(problem.contains(expected), "{problem}");
        assert_eq!(tools(&mut client), tools_but(&["grep"]), "after {text:?}");
        let told = client.request("config/reload", json!({}));
        assert_eq!(
            (&told["ok"], &told["problems"][0]["severity"]),
            (&json!(false), &json!("error"))
        );
    }
    assert_eq!(changed(&client, || write("- id: tool-read\n  disabled: true\n"))["ok"], true);
    assert_eq!(tools(&mut client), tools_but(&["read"]));
    let told = changed(&client, || {
        fs::remove_dir_all(world.home().join("profiles"))
            .or_else(|_| fs::remove_file(patch(&world)))
            .unwrap();
    });
    assert_eq!(told["ok"], true);
    assert_eq!(tools(&mut client), tools_but(&[]));
    client.complete("s", "Is anything here?");
    client.shut_down();
}

#[test]
fn a_running_turn_ends_with_the_tools_that_it_began_with() {
    let world = World::new();
    world.file("a.txt", "needle\n");
    let call = json!({ "pattern": "needle" }).to_string();
    let asks = Answer::stream()
        .delta("Looking.")
        .pause()
        .tool_call(0, "c", "grep", &call)
        .finish("tool_calls")
        .done();
    let mock = MockModel::start([asks, say("Found."), say("Gone.")]);
    let mut client = world.ask(&mock);
    client.session("s");
    client.prompt("s", "Look.");
    client.text("s", "Looking.");
    let told = changed(&client, || put(&world, WITHOUT_GREP));
    assert_eq!((&told["ok"], tools(&mut client)), (&json!(true), tools_but(&["grep"])));
    mock.release();
    assert_eq!(client.rest("s")["text"], "Found.");
    assert_eq!(offered(&mock), tools_but(&[]), "the second step of the same turn");
    let result = client.event_of("s", "tool/result")["data"].to_string();
    assert!(result.contains("a.txt"), "{result}");
    client.complete("s", "Again.");
    assert_eq!(offered(&mock), tools_but(&["grep"]));
    assert_eq!(check_requests(&mut client, "s", &mock), 3);
    client.shut_down();
}

#[test]
fn what_a_turn_stands_on_is_replaced_after_it_and_nobody_misses_an_event() {
    let world = World::new();
    world.file("a.txt", "needle\n");
    let slow = Answer::stream().delta("Slow").pause().delta(" one.").finish("stop").done();
    let read = json!({ "file_path": "a.txt" }).to_string();
    let call = Answer::stream().tool_call(0, "c", "read", &read).finish("tool_calls").done();
    let mock = MockModel::start([slow, call, say("never asked for")]);
    let mut client = world.ask(&mock);
    client.session("s");
    client.prompt("s", "Go.");
    client.text("s", "Slow");
    let before = client.frames().len();
    let one_step = "- id: agent-loop\n  config: {budgets: {steps: 1}}\n";
    put(&world, one_step);
    let reloading = client.ask("config/reload", json!({}));
    // Everything still answers while the change waits for the turn.
    assert_eq!(
        client.request("session/get", json!({ "sessionId": "s" }))["session"]["status"],
        "running"
    );
    assert_eq!(tools(&mut client).len(), 9);
    mock.release();
    assert_eq!(client.result(reloading)["ok"], true);
    client.event("s", "the turn's end", |event| event["type"] == "turn/end");
    let told = client.wait_for("config/changed", |frames| {
        frames.iter().skip(before).find(|frame| frame["method"] == "config/changed").cloned()
    });
    assert_eq!(told["params"]["ok"], true, "{told}");
    let outcome = outcome(&mut client, "And now?");
    assert_eq!(outcome, json!({ "kind": "limit", "what": "steps" }));
    let log = client.log("s");
    until("all events", || client.received("s").len() == log.len());
    assert_eq!(client.received("s"), log, "the subscription went on with the next agent");
    client.shut_down();
}

#[test]
fn a_subscription_outlives_the_time_without_what_runs_agents() {
    let world = World::new();
    let mut client = world.start("offline/retrieval");
    client.session("s");
    fs::write(patch(&world), "- id: agent-loop\n  disabled: true\n").unwrap();
    assert_eq!(client.request("config/reload", json!({}))["ok"], true);
    let refused = client.refused("session/get", json!({ "sessionId": "s" }));
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains("`agents` waits for agentLoop"), "{refused}");
    fs::write(patch(&world), "- id: agents\n  disabled: true\n").unwrap();
    assert_eq!(client.request("config/reload", json!({}))["ok"], true);
    let refused = client.refused("session/get", json!({ "sessionId": "s" }));
    let message = refused["message"].as_str().unwrap();
    assert!(message.ends_with("row `agents` is disabled"), "{refused}");
    fs::remove_file(patch(&world)).unwrap();
    assert_eq!(client.request("config/reload", json!({}))["ok"], true);
    assert_eq!(outcome(&mut client, "Hello?"), json!({ "kind": "completed" }));
    let log = client.log("s");
    until("all events", || client.received("s").len() == log.len());
    client.shut_down();
}

#[test]
fn a_server_that_began_with_a_broken_file_says_what_is_wrong_until_it_is_mended() {
    let world = World::new();
    put(&world, "- id: tool-grep\n  disabled: yes please\n");
    let mut client = world.start("offline/retrieval");
    let refused = client.refused("session/new", json!({}));
    assert_eq!(refused["data"]["kind"], "configInvalid", "{refused}");
    let problem = &refused["data"]["problems"][0];
    assert_eq!((&problem["line"], &problem["severity"]), (&json!(2), &json!("error")), "{problem}");
    put(&world, WITHOUT_GREP);
    client.session("s");
    assert_eq!(tools(&mut client), tools_but(&["grep"]));
    client.shut_down();
}

#[test]
fn a_value_is_set_through_the_wire_with_its_comments_kept_or_refused_with_the_file_untouched() {
    let world = World::new();
    let before = "# Mine.\n- id: tool-glob # not needed\n  disabled: true\n";
    put(&world, before);
    let mut client = world.start("offline/retrieval");
    client.session("s");
    let bad = [
        json!({ "row": "agent-loop", "path": "budgets.stepz", "value": 1 }),
        json!({ "row": "agent-loop", "path": "budgets.steps", "value": "many" }),
        json!({ "row": "nobody", "path": "a", "value": 1 }),
    ];
    for params in bad {
        let refused = client.refused("config/set", params);
        assert_eq!(refused["data"]["kind"], "configInvalid", "{refused}");
        assert_eq!(fs::read_to_string(patch(&world)).unwrap(), before);
    }
    let refused =
        client.refused("config/set", json!({ "row": "agent-loop", "path": "", "value": 1 }));
    assert_eq!(refused["code"], -32602, "{refused}");
    client
        .request("config/set", json!({ "row": "agent-loop", "path": "budgets.steps", "value": 1 }));
    let after = fs::read_to_string(patch(&world)).unwrap();
    assert!(after.starts_with(before) && after.contains("steps: 1"), "{after}");
    let dump = client.request("config/dump", json!({}));
    let row = |id: &str| {
        let rows = dump["rows"].as_array().unwrap();
        rows.iter().find(|row| row["id"] == id).unwrap().clone()
    };
    assert_eq!(row("agent-loop")["config"], json!({ "budgets": { "steps": 1 } }));
    assert_eq!(row("tool-glob")["disabled"], true);
    assert_eq!(row("tool-glob")["patchedBy"], json!([patch(&world).display().to_string()]));
    let outcome = outcome(&mut client, "where is Registration defined?");
    assert_eq!(outcome, json!({ "kind": "limit", "what": "steps" }), "it applies");
    client.shut_down();
}

#[test]
fn what_another_hand_puts_back_right_after_a_value_was_set_applies() {
    const ON: &str = "- id: tool-deliberation\n  merge:\n    debug: true\n";
    let world = World::new();
    let mock = MockModel::start([]);
    let mut client = world.ask(&mock);
    client.session("s");
    changed(&client, || put(&world, ON));
    let is_on = |client: &mut Client| {
        let dumped = client.request("config/dump", json!({}));
        let rows = dumped["rows"].as_array().unwrap();
        rows.iter().find(|row| row["id"] == "tool-deliberation").unwrap()["config"]["debug"] == true
    };
    let off = json!({ "row": "tool-deliberation", "path": "debug", "value": false });
    client.request("config/set", off);
    assert!(!is_on(&mut client));
    // The file is as the watch has seen it, and not as what applies.
    put(&world, ON);
    until("what the file says", || is_on(&mut client));
}

#[test]
fn plugins_tell_where_they_stand_and_what_they_wait_for() {
    let world = World::new();
    let rows = "- id: agent-default-model\n  config: {provider: x, model: y}\n- insert:\n  - id: spare\n    name: tool-read\n    inject: [nothing]\n";
    put(&world, rows);
    let mut client = world.start("offline/retrieval");
    let plugins = client.request("plugin/list", json!({}))["plugins"].clone();
    let plugin = |id: &str| {
        let plugins = plugins.as_array().unwrap();
        plugins.iter().find(|plugin| plugin["id"] == id).unwrap().clone()
    };
    assert_eq!(
        plugin("spare"),
        json!({ "id": "spare", "name": "tool-read", "state": "pending", "waitingFor": ["nothing"], "provides": [] })
    );
    assert_eq!(plugin("llm")["provides"], json!(["llm"]));
    assert!(
        plugins
            .as_array()
            .unwrap()
            .iter()
            .all(|plugin| plugin["id"] == "spare" || plugin["state"] == "active")
    );
    client.shut_down();
}

#[test]
fn credentials_go_in_and_never_come_back() {
    let world = World::new();
    let mut client = world.start("offline/retrieval");
    let ready = |client: &mut Client| {
        let models = client.request("model/list", json!({}))["models"].clone();
        let models = models.as_array().unwrap();
        let of_deepseek = models.iter().find(|model| model["provider"] == "deepseek").unwrap();
        of_deepseek["ready"].as_bool().unwrap()
    };
    assert!(!ready(&mut client));
    let key = json!({ "name": "DEEPSEEK_API_KEY", "value": "sk-secret-123" });
    client.request("credential/set", key);
    assert!(ready(&mut client));
    assert_eq!(client.request("credential/list", json!({}))["names"], json!(["DEEPSEEK_API_KEY"]));
    assert_eq!(
        client.refused("credential/set", json!({ "name": "A", "value": "two words" }))["code"],
        -32602
    );
    assert_eq!(
        client.refused("credential/set", json!({ "name": " ", "value": "x" }))["code"],
        -32602
    );
    client.request("credential/delete", json!({ "name": "DEEPSEEK_API_KEY" }));
    assert!(!ready(&mut client));
    let refused = client.refused("credential/delete", json!({ "name": "DEEPSEEK_API_KEY" }));
    assert_eq!(refused["data"]["kind"], "credentialMissing");
    let said: String = client.frames().iter().map(Value::to_string).collect();
    assert!(!said.contains("sk-secret"), "in a frame");
    assert!(!client.complaints().contains("sk-secret"), "on standard error");
    client.shut_down();
}

#[test]
fn a_model_that_falls_silent_is_given_up_after_the_time_that_its_row_says() {
    let world = World::new();
    let silent = [
        Answer::stream().delta("I was saying").hold(),
        Answer::stream().hold(),
        Answer::status(200).header("content-type", "text/event-stream").hold(),
    ];
    let mock = MockModel::start(silent);
    let impatient = "- id: llm-local\n  merge: {idleTimeoutMs: 300, retry: {maxRetries: 0}}\n";
    put(&world, impatient);
    let mut client = world.ask(&mock);
    client.session("s");
    for _ in 0..3 {
        let outcome = outcome(&mut client, "Go on.");
        assert_eq!(outcome["error"]["code"], "TIMEOUT", "{outcome}");
        assert!(outcome["error"]["message"].as_str().unwrap().contains("0.3 s"), "{outcome}");
    }
    mock.wait_until_closed();
    assert_eq!(check_requests(&mut client, "s", &mock), 3);
    client.shut_down();
}
