//! How a connection and its process begin and end, and how a single request is called off.

use std::process::{Command, Stdio};

use dsh_protocol::schema;
use dsh_tests::script::Script;
use dsh_tests::world::{World, until};
use serde_json::{Value, json};

#[test]
fn initialize_says_what_the_server_can_do_and_touches_nothing() {
    let world = World::new();
    let mut client = world.connect(&[]);
    let result = client.initialize();
    assert_eq!(result["serverInfo"]["name"], "dsh-ls");
    let dsh = &result["capabilities"]["experimental"]["dsh"];
    assert_eq!(dsh["protocolVersion"], "1.0");
    assert_eq!(dsh["schemaHash"], schema::HASH.trim());
    assert_eq!(dsh["limits"]["maxFrameBytes"], 64 * 1024 * 1024);
    for method in dsh["methods"].as_array().unwrap() {
        let method = method.as_str().unwrap();
        if !["initialize", "shutdown", "session/new"].contains(&method) {
            let id = client.ask(method, json!({ "sessionId": "nobody", "name": "x" }));
            assert_ne!(client.answer(id)["error"]["code"], -32601, "{method} is served");
        }
    }
    assert!(!world.home().join("sessions").exists(), "a home is not made before it is needed");
}

#[test]
fn the_order_of_a_connection_is_kept() {
    let world = World::new();
    let mut client = world.connect(&[]);
    for method in ["tool/list", "shutdown", "nonsense"] {
        let error = client.refused(method, json!({}));
        assert_eq!(error["code"], -32002, "{method}: {error}");
    }
    client.notify("session/prompt", json!({}));
    let error = client.refused("initialize", json!({ "processId": "x" }));
    assert_eq!(error["code"], -32602);
    client.initialize();
    let error = client.refused("initialize", json!({}));
    assert_eq!(error["code"], -32600);
    client.request("tool/list", json!({}));
    client.request("shutdown", Value::Null);
    for method in ["tool/list", "shutdown", "initialize", "nonsense"] {
        let error = client.refused(method, json!({}));
        assert_eq!(error["code"], -32600, "{method} after shutdown: {error}");
    }
    client.notify("exit", Value::Null);
    assert_eq!(client.exit_status().code(), Some(0));
}

#[test]
fn the_exit_code_says_whether_the_end_was_orderly() {
    for (initialize, shutdown, expected) in [(false, false, 1), (true, false, 1), (true, true, 0)] {
        let world = World::new();
        let mut client = world.connect(&[]);
        if initialize {
            client.initialize();
        }
        if shutdown {
            client.request("shutdown", json!({}));
        }
        client.notify("exit", Value::Null);
        assert_eq!(client.exit_status().code(), Some(expected));
    }
}

#[test]
fn versions_are_agreed_on_or_the_reason_is_given() {
    let world = World::new();
    let mut client = world.connect(&[]);
    let versions =
        |versions: Value| json!({ "initializationOptions": { "protocolVersions": versions } });
    let error = client.refused("initialize", versions(json!(["0.9", "2.0"])));
    assert_eq!(error["data"]["kind"], "unsupported");
    assert_eq!(error["data"]["supported"], json!(["1.0"]));
    client.request("initialize", versions(json!(["2.0", "1.0"])));
    client.request("shutdown", Value::Null);
    client.notify("exit", Value::Null);
    assert_eq!(client.exit_status().code(), Some(0));
}

#[test]
fn the_end_of_the_input_ends_an_idle_server_at_once() {
    let world = World::new();
    let mut client = world.start("offline/retrieval");
    client.close_input();
    assert_eq!(client.exit_status().code(), Some(0));
}

#[test]
fn at_the_end_of_the_input_a_wait_is_answered_first() {
    let world = World::new();
    let mut client = world.play(Script::parse("say Half\nwait 500\nsay done."));
    client.session("s");
    client.prompt("s", "Go.");
    let waiting = client.ask("session/wait", json!({ "sessionId": "s" }));
    client.close_input();
    assert_eq!(client.result(waiting)["outcome"]["kind"], "completed");
    assert_eq!(client.exit_status().code(), Some(0));
}

#[test]
fn at_the_end_of_the_input_a_turn_that_nobody_waits_for_is_aborted() {
    let world = World::new();
    let mut client = world.play(Script::parse("say Half\nwait 10000"));
    client.session("s");
    client.prompt("s", "Go.");
    client.text("s", "Half");
    client.close_input();
    assert_eq!(client.exit_status().code(), Some(0));
    let events = dsh_tests::check_log::read(&world.log("s")).events;
    assert_eq!(events.last().unwrap()["data"]["reason"]["kind"], "aborted");
}

#[test]
fn at_the_end_of_the_input_a_message_that_nothing_will_wake_is_pending() {
    let world = World::new();
    let mut client = world.play(Script::new().say("Hello."));
    client.session("s");
    let params = json!({ "sessionId": "s", "text": "By the way.", "delivery": "inject" });
    let message = client.request("session/prompt", params)["messageId"].clone();
    let params = json!({ "sessionId": "s", "messageId": message });
    let waiting = client.ask("session/wait", params);
    client.close_input();
    assert_eq!(client.result(waiting)["outcome"], json!({ "kind": "pending" }));
    assert_eq!(client.exit_status().code(), Some(0));
}

#[test]
fn a_request_that_is_called_off_is_answered_once() {
    let world = World::new();
    let mut client = world.play(Script::parse("say Half\nwait 10000"));
    client.session("s");
    client.prompt("s", "Go.");
    client.text("s", "Half");
    let wait = |id: Value| json!({ "jsonrpc": "2.0", "id": id, "method": "session/wait", "params": { "sessionId": "s" } });
    for id in [json!(100), json!("100"), json!(0), json!(""), json!(-1)] {
        client.send(&wait(id.clone()));
        let other = if id.is_string() { json!(100) } else { json!("100") };
        client.notify("$/cancelRequest", json!({ "id": other }));
        client.request("tool/list", json!({}));
        let answered = client.frames().iter().any(|frame| frame["id"] == id && !id.is_null());
        assert!(!answered || id == 100, "{id} was not called off yet");
        client.notify("$/cancelRequest", json!({ "id": id }));
        client.notify("$/cancelRequest", json!({ "id": id }));
        assert_eq!(client.answer(id.clone())["error"]["code"], -32800, "{id}");
    }
    client.request("session/cancel", json!({ "sessionId": "s" }));
    assert_eq!(client.rest("s")["outcome"]["kind"], "aborted", "the turn was not called off");
}

#[test]
fn an_id_that_is_used_twice_at_once_is_answered_twice() {
    let world = World::new();
    let mut client = world.play(Script::parse("say Half\nwait 10000"));
    client.session("s");
    client.prompt("s", "Go.");
    client.text("s", "Half");
    let wait = json!({ "jsonrpc": "2.0", "id": "x", "method": "session/wait", "params": { "sessionId": "s" } });
    let list = json!({ "jsonrpc": "2.0", "id": "x", "method": "tool/list", "params": {} });
    client.send_together(&[wait.clone(), list.clone(), wait, list]);
    client.request("session/cancel", json!({ "sessionId": "s" }));
    client.rest("s");
    client.wait_for("four answers", |frames| {
        let answers = frames.iter().filter(|frame| frame["id"] == "x").count();
        (answers == 4).then_some(())
    });
}

#[test]
fn a_server_whose_client_died_ends_although_its_input_stays_open() {
    let world = World::new();
    let mut parent = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
    let mut client = world.connect(&["--model", "offline/retrieval"]);
    client.request("initialize", json!({ "processId": parent.id() }));
    client.request("session/new", json!({ "sessionId": "s" }));
    parent.kill().unwrap();
    parent.wait().unwrap();
    assert_eq!(client.exit_status().code(), Some(1));
}

#[test]
fn a_process_that_cannot_be_seen_or_is_none_is_not_watched() {
    let world = World::new();
    for process in [Value::Null, json!(999_999_999), json!(0), json!(-5), json!(i64::MAX)] {
        let mut client = world.connect(&[]);
        client.request("initialize", json!({ "processId": process }));
        client.request("tool/list", json!({}));
        client.close_input();
        assert_eq!(client.exit_status().code(), Some(0), "the end of the input still counts");
    }
}

#[test]
fn a_workspace_that_is_missing_at_the_start_is_found_once_it_is_there() {
    let world = World::new();
    let later = world.root().join("later");
    let mut client = world.connect(&["--workspace", later.to_str().unwrap()]);
    client.initialize();
    let error = client.refused("session/new", json!({}));
    assert_eq!(error["data"]["kind"], "workspaceNotFound", "{error}");
    assert!(error["message"].as_str().unwrap().contains("later"), "{error}");
    std::fs::create_dir(&later).unwrap();
    client.request("session/new", json!({}));
}

#[test]
fn folders_of_the_client_are_opened_and_two_spellings_are_one() {
    let world = World::new();
    let other = world.root().join("a folder ä#%");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("x.txt"), "x\n").unwrap();
    let link = world.root().join("link");
    std::os::unix::fs::symlink(&other, &link).unwrap();
    let mut client = world.connect(&["--workspace", other.to_str().unwrap()]);
    let uri = format!("file://{}/", link.display());
    let folders = json!([{ "uri": uri, "name": "w" }, { "uri": "untitled:x", "name": "u" }]);
    client.request("initialize", json!({ "workspaceFolders": folders }));
    let first = client.request("session/new", json!({ "workspace": link }))["session"].clone();
    let uri = first["workspace"].as_str().unwrap();
    assert!(uri.ends_with("/a%20folder%20%C3%A4%23%25"), "{uri}");
    let second = client.request("session/new", json!({ "workspace": uri }))["session"].clone();
    assert_eq!(second["workspace"], first["workspace"]);
    let status = client.request("server/status", json!({}));
    assert_eq!(status["workspaces"].as_array().unwrap().len(), 1, "{status}");
    client.request("shutdown", Value::Null);
    client.notify("exit", Value::Null);
    client.exit_status();
}

#[test]
fn a_client_that_dies_in_mid_stream_takes_no_session_along() {
    let world = World::new();
    let model = world.model(Script::parse("say Half\nwait 300\nsay done.\nturn\nsay Again."));
    let mut client = world.start(&model);
    client.session("s");
    client.prompt("s", "Go.");
    client.text("s", "Half");
    client.signal(rustix::process::Signal::TERM);
    client.exit_status();
    let mut client = world.start(&model);
    client.request("session/get", json!({ "sessionId": "s" }));
    until("the turn's end", || client.log("s").iter().any(|event| event["type"] == "turn/end"));
    assert_eq!(client.complete("s", "Go on.")["turn"], 2);
}
