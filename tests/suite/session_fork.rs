//! A session that begins with the first events of another one.

use dsh_tests::check_log;
use dsh_tests::client::Client;
use dsh_tests::script::Script;
use dsh_tests::world::World;
use serde_json::{Value, json};

fn fork(client: &mut Client, params: &Value) -> Value {
    client.request("session/fork", params.clone())["session"].clone()
}

/// A session `s` of two turns, the second one with a tool.
fn two_turns(world: &World) -> Client {
    world.file("a.txt", "alpha\n");
    let script = "say One.\nturn\ncall read {\"file_path\":\"a.txt\"}\n---\nsay Two.\nturn\nsay Three.\nturn\nsay Four.";
    let mut client = world.play(Script::parse(script));
    client.request("session/new", json!({ "sessionId": "s", "title": "The first" }));
    client.complete("s", "First.");
    client.complete("s", "Second.");
    client
}

fn seqs_of(log: &[Value], name: &str) -> Vec<i64> {
    let of_type = log.iter().filter(|event| event["type"] == name);
    of_type.map(|event| event["seq"].as_i64().unwrap()).collect()
}

#[test]
fn a_fork_begins_with_the_same_events_and_goes_its_own_way() {
    let world = World::new();
    let mut client = two_turns(&world);
    let log = client.log("s");
    let boundary = seqs_of(&log, "turn/end")[0];
    let forked = fork(&mut client, &json!({ "sessionId": "s", "boundary": boundary }));
    let id = forked["sessionId"].as_str().unwrap().to_owned();
    assert_eq!(forked["forkedFrom"], json!({ "sessionId": "s", "seq": boundary }));
    assert_eq!((&forked["parentSessionId"], &forked["origin"]), (&Value::Null, &Value::Null));
    assert_eq!(forked["title"], "The first", "as the other one is called");
    let inherited = usize::try_from(boundary + 1).unwrap();
    let begun = client.log(&id);
    check_log::assert_same(&begun[..inherited], &log[..inherited], "the seed");
    let own: Vec<&Value> = begun[inherited..].iter().map(|event| &event["type"]).collect();
    assert_eq!(own, ["session/end-seed", "session/title"]);
    // The file says where it comes from before anything else is said.
    let header = check_log::read(&world.log(&id)).header;
    assert_eq!(header["parentSession"], "s");
    assert_eq!(header["seedLength"], boundary + 1);
    assert_eq!(client.complete(&id, "And then?")["turn"], 2);
    assert_eq!(client.complete("s", "Go on.")["turn"], 3, "neither knows of the other");
    let said = client.conversation(&id);
    assert_eq!(said[..3], ["user: First.", "assistant: One.", "user: And then?"]);
    let totals = client.request("session/get", json!({ "sessionId": id }))["totals"].clone();
    assert_eq!(totals["requests"], 2, "what it inherited does not count: {totals}");
    let listed = client.request("session/list", json!({}))["sessions"].clone();
    assert_eq!(listed.as_array().unwrap().len(), 2, "a fork is no child: {listed}");
}

#[test]
fn everybody_hears_of_a_fork_after_the_answer() {
    let world = World::new();
    let mut client = two_turns(&world);
    let id = client.ask("session/fork", json!({ "sessionId": "s", "title": " A\nfork " }));
    let forked = client.result(id)["session"].clone();
    assert_eq!(forked["title"], "A fork");
    client.notification("session/changed", |params| {
        params["session"]["sessionId"] == forked["sessionId"]
    });
    let frames = client.frames();
    let is_news = |frame: &&Value| frame["params"]["session"]["sessionId"] == forked["sessionId"];
    let news = frames.iter().position(|frame| is_news(&frame)).unwrap();
    let answer = frames.iter().position(|frame| frame["id"] == id).unwrap();
    assert!(answer < news);
}

#[test]
fn where_a_turn_is_open_and_where_nothing_is_no_session_can_be_forked() {
    let world = World::new();
    let mut client = two_turns(&world);
    let log = client.log("s");
    let last = i64::try_from(log.len()).unwrap() - 1;
    let (starts, ends) = (seqs_of(&log, "turn/start"), seqs_of(&log, "turn/end"));
    for boundary in 0..=last {
        let params = json!({ "sessionId": "s", "boundary": boundary });
        let inside = starts.iter().zip(&ends).any(|(start, end)| (start..end).contains(&&boundary));
        if inside {
            let error = client.refused("session/fork", params);
            assert_eq!(error["data"]["kind"], "openTurn", "{boundary}: {error}");
            assert_eq!(error["data"]["retryable"], true);
        } else {
            let forked = fork(&mut client, &params);
            assert_eq!(forked["forkedFrom"]["seq"], boundary, "{forked}");
        }
    }
    for boundary in [last + 1, i64::MAX, -1, i64::MIN] {
        let error =
            client.refused("session/fork", json!({ "sessionId": "s", "boundary": boundary }));
        assert_eq!(error["data"]["kind"], "invalidBoundary", "{boundary}: {error}");
    }
    let error = client.refused("session/fork", json!({ "sessionId": "nobody" }));
    assert_eq!(error["data"]["kind"], "sessionNotFound");
    let files = world.logs().len();
    client.refused("session/fork", json!({ "sessionId": "s", "boundary": starts[0] }));
    assert_eq!(world.logs().len(), files, "a refused fork leaves no file");
}

#[test]
fn a_running_turn_is_no_place_to_fork() {
    let world = World::new();
    let mut client = world.play(Script::parse("say Half\nwait 10000"));
    client.session("s");
    client.prompt("s", "Go.");
    client.text("s", "Half");
    let error = client.refused("session/fork", json!({ "sessionId": "s" }));
    assert_eq!(error["data"]["kind"], "openTurn");
    client.request("session/cancel", json!({ "sessionId": "s" }));
    client.rest("s");
    fork(&mut client, &json!({ "sessionId": "s" }));
}

#[test]
fn an_empty_session_forks_to_an_empty_one_and_forks_fork() {
    let world = World::new();
    let mut client = world.play(Script::parse("say One."));
    client.request("session/new", json!({ "sessionId": "s" }));
    let empty = fork(&mut client, &json!({ "sessionId": "s" }));
    assert_eq!(empty["forkedFrom"], json!({ "sessionId": "s", "seq": -1 }));
    let id = empty["sessionId"].as_str().unwrap().to_owned();
    client.complete(&id, "Hello?");
    let again = fork(&mut client, &json!({ "sessionId": id }));
    assert_eq!(again["forkedFrom"]["sessionId"], json!(id));
    let last = fork(&mut client, &json!({ "sessionId": again["sessionId"] }));
    let seeds = client.log(last["sessionId"].as_str().unwrap());
    let ends = seqs_of(&seeds, "session/end-seed");
    assert_eq!(ends.len(), 1, "a seed that is closed is not closed again: {ends:?}");
}

#[test]
fn a_fork_of_what_another_process_wrote_or_a_crash_left_works() {
    let world = World::new();
    let model = world.model(Script::parse("say One.\nturn\nsay Half\nwait 10000"));
    let mut first = world.start(&model);
    first.session("s");
    first.complete("s", "First.");
    first.prompt("s", "Second.");
    first.text("s", "Half");
    let mut second = world.start(&model);
    let error = second.refused("session/fork", json!({ "sessionId": "s" }));
    assert_eq!(error["data"]["kind"], "openTurn", "the other process runs a turn");
    first.kill();
    let forked = fork(&mut second, &json!({ "sessionId": "s" }));
    let log = second.log(forked["sessionId"].as_str().unwrap());
    let ended = log.iter().rfind(|event| event["type"] == "turn/end").unwrap();
    assert_eq!(ended["data"]["reason"]["kind"], "interrupted", "{ended}");
}

#[test]
fn the_same_fork_is_there_in_a_new_process() {
    let world = World::new();
    let mut client = two_turns(&world);
    let forked = fork(&mut client, &json!({ "sessionId": "s" }));
    client.shut_down();
    let mut client = world.start("offline/retrieval");
    let listed = client.request("session/list", json!({}))["sessions"].clone();
    let listed = listed.as_array().unwrap().iter();
    let found = listed.clone().find(|session| session["sessionId"] == forked["sessionId"]);
    assert_eq!(found.unwrap()["forkedFrom"], forked["forkedFrom"]);
    let got = client.request("session/get", json!({ "sessionId": forked["sessionId"] }));
    assert_eq!(got["session"]["forkedFrom"], forked["forkedFrom"]);
}

#[test]
fn a_fork_for_which_there_is_no_room_leaves_nothing() {
    let world = World::new();
    let mut client = two_turns(&world);
    let room = std::fs::metadata(world.log("s")).unwrap().len() - 100;
    client.let_files_grow_to(Some(room));
    let error = client.refused("session/fork", json!({ "sessionId": "s" }));
    assert_eq!(error["data"]["kind"], "storageFailed", "{error}");
    client.let_files_grow_to(None);
    assert_eq!(world.logs().len(), 1, "half of a fork is no session");
    let forked = fork(&mut client, &json!({ "sessionId": "s" }));
    assert_eq!(client.complete(forked["sessionId"].as_str().unwrap(), "Go on.")["turn"], 3);
}

#[test]
fn a_fork_whose_making_was_cut_off_is_told_from_a_whole_one() {
    let world = World::new();
    world.leave_damaged();
    let mut client = two_turns(&world);
    let forked = fork(&mut client, &json!({ "sessionId": "s" }));
    let id = forked["sessionId"].as_str().unwrap().to_owned();
    client.shut_down();
    let whole = std::fs::read_to_string(world.log(&id)).unwrap();
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    for kept in [1, lines.len() / 2] {
        std::fs::write(world.log(&id), lines[..kept].concat()).unwrap();
        let mut client = world.connect(&[]);
        client.initialize();
        let error = client.refused("session/prompt", json!({ "sessionId": id, "text": "Go on." }));
        assert_eq!(error["data"]["kind"], "logDamaged", "{error}");
        assert!(error["message"].as_str().unwrap().contains("was cut off"), "{error}");
        let listed = client.request("session/list", json!({}))["sessions"].clone();
        assert_eq!(listed.as_array().unwrap().len(), 1, "{listed}");
        client.shut_down();
    }
}
