//! The index of a folder's logs: lists and look-ups do not read logs that it knows, and nothing depends on it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use dsh_mock_model::answer::Answer;
use dsh_mock_model::server::MockModel;
use dsh_tests::check_log;
use dsh_tests::client::Client;
use dsh_tests::script::Script;
use dsh_tests::world::{World, until};
use serde_json::{Value, json};

/// A world with some sessions that rest.
fn talked(sessions: usize) -> (World, String) {
    let world = World::new();
    let model = world.model(Script::parse("say One.\nturn\nsay Two.\nturn\nsay Three."));
    let mut client = world.start(&model);
    for at in 0..sessions {
        let id = format!("s{at}");
        client.request("session/new", json!({ "sessionId": id, "title": format!("Title {at}") }));
        client.complete(&id, "Hello.");
    }
    client.shut_down();
    (world, model)
}

fn index(world: &World) -> PathBuf {
    world.logs()[0].with_file_name("sessions.index")
}

fn listed(client: &mut Client) -> Vec<Value> {
    let result = client.request("session/list", json!({}));
    let mut sessions = result["sessions"].as_array().unwrap().clone();
    sessions.sort_by_key(|session| session["sessionId"].to_string());
    sessions
}

/// What a process says that has loaded nothing.
fn told(world: &World, model: &str) -> (Vec<Value>, Vec<Value>) {
    let mut client = world.start(model);
    let sessions = listed(&mut client);
    let got = sessions.iter().map(|session| {
        let id = session["sessionId"].clone();
        client.request("session/get", json!({ "sessionId": id }))
    });
    let got = got.collect();
    client.shut_down();
    (sessions, got)
}

/// Takes the right to read a log away from everybody, root included: a named pipe with the stamp of a log cannot be
/// made, but a log whose bytes were replaced in place keeps its size, time and inode.
fn make_unreadable(path: &PathBuf) {
    let metadata = fs::metadata(path).unwrap();
    let bytes = vec![b'x'; usize::try_from(metadata.len()).unwrap()];
    let file = fs::File::options().write(true).open(path).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, &bytes, 0).unwrap();
    file.set_modified(metadata.modified().unwrap()).unwrap();
}

#[test]
fn a_list_and_a_look_up_read_no_log_that_the_index_knows() {
    let (world, model) = talked(3);
    world.leave_damaged();
    let before = told(&world, &model);
    assert_eq!(before.0.len(), 3);
    assert_eq!(before.1[0]["totals"]["requests"], 1);
    for log in world.logs() {
        make_unreadable(&log);
    }
    assert_eq!(told(&world, &model), before, "the logs were not looked at");
    let mut client = world.start(&model);
    let error = client.refused("session/subscribe", json!({ "sessionId": "s0" }));
    assert_eq!(error["data"]["kind"], "logDamaged", "whoever needs the log reads it");
}

#[test]
fn an_index_that_is_missing_damaged_or_stale_is_made_again_silently() {
    let (world, model) = talked(3);
    let expected = told(&world, &model);
    let path = index(&world);
    let good = fs::read(&path).unwrap();
    let mut title = good.clone();
    let at = title.windows(7).position(|window| window == b"Title 1").unwrap();
    title[at] = b'X';
    let damages: Vec<(&str, Option<Vec<u8>>)> = vec![
        ("missing", None),
        ("empty", Some(Vec::new())),
        ("nonsense", Some(b"\0\xff nonsense\n".repeat(50))),
        ("another form", Some(b"{\"index\":99}\nx\n".to_vec())),
        ("cut", Some(good[..good.len() - 40].to_vec())),
        ("without its first line", Some(good[12..].to_vec())),
        ("a changed title", Some(title)),
        ("twice", Some([&good[..], &good[12..]].concat())),
        ("no newline", Some([&good[..], b"half"].concat())),
    ];
    for (what, bytes) in damages {
        match bytes {
            Some(bytes) => fs::write(&path, bytes).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
        assert_eq!(told(&world, &model), expected, "{what}");
        assert_eq!(told(&world, &model), expected, "{what}, again");
    }
    // A folder in its place, and a link that leads out.
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(told(&world, &model), expected, "a folder");
    fs::remove_dir(&path).unwrap();
}

#[test]
fn a_log_that_changes_outside_is_read_again() {
    let (world, model) = talked(2);
    let before = told(&world, &model).0;
    let log = world.log("s0");
    let text = fs::read_to_string(&log).unwrap();
    let seq = check_log::read(&log).events.len();
    let title =
        json!({ "type": "session/title", "seq": seq, "time": 9, "data": { "title": "Theirs" } });
    fs::write(&log, format!("{text}{title}\n")).unwrap();
    let after = told(&world, &model).0;
    assert_eq!((&after[0]["title"], &after[0]["lastSeq"]), (&json!("Theirs"), &json!(seq)));
    assert_eq!(after[1], before[1]);
    fs::remove_file(world.log("s1")).unwrap();
    assert_eq!(told(&world, &model).0.len(), 1, "what is gone is gone");
}

#[test]
fn an_index_stays_small_and_private_however_often_its_logs_change() {
    let (world, model) = talked(2);
    let mut client = world.start(&model);
    for at in 0..1_200 {
        client
            .request("session/rename", json!({ "sessionId": "s0", "title": format!("No. {at}") }));
    }
    client.shut_down();
    assert_eq!(told(&world, &model).0[0]["title"], "No. 1199");
    let path = index(&world);
    let lines = fs::read_to_string(&path).unwrap().lines().count();
    assert!(lines < 100, "{lines} lines for two logs");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let names: Vec<_> = fs::read_dir(path.parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(names.len(), 3, "{names:?}");
}

#[test]
fn two_processes_share_an_index() {
    let (world, model) = talked(2);
    let (mut first, mut second) = (world.start(&model), world.start(&model));
    for at in 0..30 {
        let title = format!("Title {at}");
        let id = format!("s{}", at % 2);
        first.request("session/rename", json!({ "sessionId": id, "title": title }));
        let shown = listed(&mut second);
        assert_eq!(shown[at % 2]["title"], title, "{shown:?}");
        let got = second.request("session/get", json!({ "sessionId": id }));
        assert_eq!(got["session"]["title"], title);
    }
}

/// How many bytes a process has read so far.
fn bytes_read(client: &Client) -> u64 {
    let io = fs::read_to_string(format!("/proc/{}/io", client.pid())).unwrap();
    let line = io.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap();
    line.parse().unwrap()
}

#[test]
fn a_list_reads_what_is_new_in_a_log_that_another_process_writes() {
    let world = World::new();
    let answer = Answer::stream().delta("One").pause().delta(" two").pause().delta(" three");
    let mock = MockModel::start([answer.finish("stop").done()]);
    let (mut writer, mut reader) = (world.ask(&mock), world.ask(&mock));
    writer.session("s");
    let long = json!({ "sessionId": "s", "text": "x".repeat(3_000_000), "delivery": "inject" });
    writer.request("session/prompt", long);
    writer.prompt("s", "Count.");
    let mut last = Value::Null;
    for text in ["One", " two"] {
        writer.text("s", text);
        let read = bytes_read(&reader);
        until("the delta in the list", || {
            let now = listed(&mut reader)[0]["lastSeq"].clone();
            std::mem::replace(&mut last, now.clone()) != now
        });
        let read = bytes_read(&reader) - read;
        let whole = fs::metadata(world.log("s")).unwrap().len();
        assert!(whole > 3_000_000, "{whole}");
        assert!(text == "One" || read < 1_000_000, "{read} of {whole} bytes were read again");
        mock.release();
    }
    writer.rest("s");
    let rests = writer.request("session/list", json!({}));
    assert_eq!(listed(&mut reader)[0]["lastSeq"], rests["sessions"][0]["lastSeq"]);
}
