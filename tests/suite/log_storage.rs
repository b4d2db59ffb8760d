//! Logs that cannot be written: the action stops and says why, nothing half written stays, and all goes on once there
//! is room again.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use dsh_mock_model::answer::Answer;
use dsh_mock_model::server::MockModel;
use dsh_mock_model::strict::Rules;
use dsh_tests::check_log::{self, assert_same};
use dsh_tests::client::Client;
use dsh_tests::script::Script;
use dsh_tests::world::{World, binary, until};
use serde_json::{Value, json};

fn say(text: &str) -> Answer {
    Answer::stream().delta(text).finish("stop").done()
}

fn is_storage_failure(error: &Value) -> bool {
    error["data"]["kind"] == "storageFailed" && error["data"]["retryable"] == true
}

/// A file ends with a whole line and begins with what it had.
#[track_caller]
fn assert_whole(path: &Path, before: &[u8]) {
    let now = fs::read(path).unwrap();
    assert!(now.starts_with(before), "only appended to");
    assert_eq!(now.last(), Some(&b'\n'), "nothing half written");
}

#[test]
fn a_full_disk_stops_prompts_before_the_model_is_asked_and_all_goes_on_when_there_is_room() {
    let world = World::new();
    let mock = MockModel::strict([say("One."), say("Two.")], Rules::default());
    let mut client = world.ask(&mock);
    client.session("s");
    client.complete("s", "First.");
    let log = world.log("s");
    until("the turn's end on disk", || fs::read_to_string(&log).unwrap().contains("turn/end"));
    let before = fs::read(&log).unwrap();
    // Room for the beginning of a line only.
    client.let_files_grow_to(Some(before.len() as u64 + 40));
    let error = client.refused("session/prompt", json!({ "sessionId": "s", "text": "Second." }));
    assert!(is_storage_failure(&error), "{error}");
    let outcome = client.rest("s")["outcome"].clone();
    assert_eq!(outcome["error"]["code"], "STORAGE", "{outcome}");
    assert_whole(&log, &before);
    let known = client.log("s");
    for _ in 0..3 {
        let params = json!({ "sessionId": "s", "text": "Third." });
        let error = client.refused("session/prompt", params);
        assert!(is_storage_failure(&error), "{error}");
        let params = json!({ "sessionId": "s", "title": "No room" });
        let error = client.refused("session/rename", params);
        assert!(is_storage_failure(&error), "{error}");
    }
    assert_same(&client.log("s"), &known, "what is refused leaves no trace");
    assert_eq!(mock.requests().len(), 1, "no model is asked with what is not on disk");
    assert_whole(&log, &before);

    client.let_files_grow_to(None);
    until("the turn's end on disk", || {
        fs::read_to_string(&log).unwrap().contains("\"code\":\"STORAGE\"")
    });
    assert_same(&check_log::read(&log).events, &known, "nothing was lost");
    assert_eq!(client.complete("s", "Fourth.")["text"], "Two.");
    let events = client.log("s");
    client.shut_down();
    let mut client = world.ask(&mock);
    assert_same(&client.log("s"), &events, "in another process");
}

#[test]
fn a_disk_that_fills_up_in_a_turn_ends_it_and_parks_what_waits() {
    let world = World::new();
    world.file("a.txt", "alpha\n");
    let call = Answer::stream().delta("I read.").pause();
    let call =
        call.tool_call(0, "a", "read", r#"{"file_path":"a.txt"}"#).finish("tool_calls").done();
    let mock = MockModel::strict([call, say("Waited."), say("Last.")], Rules::default());
    let mut client = world.ask(&mock);
    client.session("s");
    client.prompt("s", "Read it.");
    client.text("s", "I read.");
    client.prompt("s", "I wait.");
    let log = world.log("s");
    let size = fs::metadata(&log).unwrap().len();
    client.let_files_grow_to(Some(size + 30));
    mock.release();
    let end = client.event_of("s", "turn/end");
    assert_eq!(end["data"]["reason"]["error"]["code"], "STORAGE", "{end}");
    let is_parked = |params: &Value| params["status"] == "parked";
    client.notification("session/status", is_parked);
    assert_eq!(mock.requests().len(), 1, "the step that follows is not asked for");
    assert_eq!(fs::read(&log).unwrap().last(), Some(&b'\n'));
    let got = client.request("session/get", json!({ "sessionId": "s" }));
    assert_eq!(got["session"]["status"], "parked");
    assert_eq!(got["queue"]["nextTurn"].as_array().unwrap().len(), 1);

    let mut other = world.ask(&mock);
    let error = other.refused("session/prompt", json!({ "sessionId": "s", "text": "Me, too." }));
    assert_eq!(error["data"]["kind"], "writerConflict", "its end is not written: {error}");

    client.let_files_grow_to(None);
    until("the turn's end on disk", || {
        fs::read_to_string(&log).unwrap().contains("\"code\":\"STORAGE\"")
    });
    client.prompt("s", "Go on.");
    client.rest("s");
    let said = client.conversation("s");
    let waited = said.iter().position(|said| said == "user: I wait.").unwrap();
    let went_on = said.iter().position(|said| said == "user: Go on.").unwrap();
    assert!(waited < went_on, "{said:?}");
    assert_same(&other.log("s"), &client.log("s"), "the other process");
}

/// A turn whose end has no room, and the server's end with it.
fn without_room(world: &World, mock: &MockModel) -> Client {
    let mut client = world.ask(mock);
    client.session("s");
    client.prompt("s", "Go.");
    client.text("s", "Half");
    let size = fs::metadata(world.log("s")).unwrap().len();
    client.let_files_grow_to(Some(size + 30));
    mock.release();
    client.event_of("s", "turn/end");
    client
}

#[test]
fn a_server_that_ends_with_something_unwritten_says_what_is_lost() {
    let half = || Answer::stream().delta("Half").pause().delta("Whole").finish("stop").done();
    let said = "the last events are not saved of `s`";
    for end in ["shutdown", "end of input", "room before the end"] {
        let world = World::new();
        let mock = MockModel::strict([half(), say("Again.")], Rules::default());
        let mut client = without_room(&world, &mock);
        if end != "end of input" {
            let error = client.refused("shutdown", json!({}));
            assert!(error["message"].as_str().unwrap().starts_with(said), "{error}");
            assert_eq!(error["data"]["kind"], "storageFailed", "{error}");
            assert_eq!(error["data"]["sessions"], json!(["s"]), "{error}");
        }
        let has_room = end == "room before the end";
        if has_room {
            client.let_files_grow_to(None);
            client.notify("exit", json!({}));
        }
        client.close_input();
        assert_eq!(client.exit_status().success(), has_room, "{end}");
        assert_eq!(client.complaints().contains(said), !has_room, "{end}");
        let mut client = world.ask(&mock);
        assert_eq!(client.complete("s", "Go on.")["text"], "Again.", "{end}");
        client.shut_down();
    }
}

#[test]
fn a_session_that_is_closed_without_room_is_written_when_there_is_some() {
    let world = World::new();
    let half = Answer::stream().delta("Half").pause().delta("Whole").finish("stop").done();
    let mock = MockModel::strict([half, say("Again.")], Rules::default());
    let mut client = without_room(&world, &mock);
    let known = client.log("s");
    client.request("session/close", json!({ "sessionId": "s" }));
    client.let_files_grow_to(None);
    let log = world.log("s");
    until("the turn's end on disk", || {
        fs::read_to_string(&log).unwrap().contains("\"code\":\"STORAGE\"")
    });
    assert_same(&client.log("s"), &known, "nothing was lost");
    assert_eq!(client.complete("s", "Go on.")["text"], "Again.");
}

#[test]
fn a_log_that_is_removed_in_a_turn_does_not_look_saved() {
    let world = World::new();
    world.leave_damaged();
    world.file("a.txt", "alpha\n");
    let call = Answer::stream().delta("I read.").pause();
    let call =
        call.tool_call(0, "a", "read", r#"{"file_path":"a.txt"}"#).finish("tool_calls").done();
    let mock = MockModel::strict([call, say("New.")], Rules::default());
    let mut client = world.ask(&mock);
    client.session("s");
    client.prompt("s", "Read it.");
    client.text("s", "I read.");
    fs::remove_dir_all(world.home().join("sessions")).unwrap();
    mock.release();
    let end = client.event_of("s", "turn/end");
    assert_eq!(end["data"]["reason"]["error"]["code"], "STORAGE", "{end}");
    let error = client.refused("session/prompt", json!({ "sessionId": "s", "text": "Go on." }));
    assert_eq!(error["data"]["kind"], "sessionNotFound", "{error}");
    assert_eq!(mock.requests().len(), 1);
    client.session("new");
    assert_eq!(client.complete("new", "Hello.")["text"], "New.");
    assert_eq!(world.logs().len(), 1);
}

/// A server that file modes hold for, whoever runs the test.
fn bound_by_modes(world: &World, model: &str) -> Client {
    let mut command = if rustix::process::geteuid().is_root() {
        let mut command = world.program("setpriv");
        command.args(["--bounding-set", "-dac_override,-dac_read_search", "--"]).arg(binary());
        command
    } else {
        world.program(binary())
    };
    command.args(["rpc", "--model", model]);
    let mut client = Client::spawn(command);
    client.initialize();
    client
}

#[test]
fn a_folder_that_becomes_read_only_in_a_turn_loses_nothing_and_refuses_new_sessions() {
    let world = World::new();
    world.file("a.txt", "alpha\n");
    let model = world.model(Script::parse(
        "say Half\nwait 300\ncall read {\"file_path\":\"a.txt\"}\n---\nsay Done.\nturn\nsay Again.",
    ));
    let mut client = bound_by_modes(&world, &model);
    client.session("s");
    client.prompt("s", "Go.");
    client.text("s", "Half");
    let log = world.log("s");
    let folder = log.parent().unwrap();
    let mode =
        |path: &Path, mode| fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    mode(folder, 0o500);
    mode(&log, 0o400);
    // The file is open: what was begun is written to its end.
    assert_eq!(client.rest("s")["outcome"]["kind"], "completed");
    assert!(fs::read_to_string(&log).unwrap().contains("\"turn/end\""));
    for params in [json!({ "sessionId": "new" }), json!({})] {
        let error = client.refused("session/new", params);
        assert!(is_storage_failure(&error), "{error}");
    }
    client.shut_down();

    let mut client = bound_by_modes(&world, &model);
    let events = client.log("s");
    assert_eq!(events.last().unwrap()["type"], "turn/end", "it can be read");
    let listed = client.request("session/list", json!({}));
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1);
    let error = client.refused("session/prompt", json!({ "sessionId": "s", "text": "Go on." }));
    assert!(is_storage_failure(&error), "{error}");
    mode(folder, 0o700);
    mode(&log, 0o600);
    assert_eq!(client.complete("s", "And now?")["text"], "Again.");
    client.request("session/new", json!({ "sessionId": "new" }));
}
