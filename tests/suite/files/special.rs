//! What is no regular file, what is huge, and folders that have no end.

use std::fs::{self, File};
use std::os::unix::net::UnixListener;

use dsh_tests::world::World;
use serde_json::json;

use super::{Desk, link, pipe};

#[test]
fn what_is_no_regular_file_is_refused_at_once_and_searches_pass_it_by() {
    let make = |world: &World| {
        world.file("a.txt", "needle\n");
        pipe(world.work().join("p"));
        drop(UnixListener::bind(world.work().join("s.sock")).unwrap());
        // Only the superuser can make one.
        let device = world.work().join("z");
        let _ = std::process::Command::new("mknod").arg(device).args(["c", "1", "5"]).output();
    };
    for mut desk in Desk::both(make) {
        for path in ["p", "s.sock", "z", "."] {
            if desk.path(path).exists() {
                let said = desk.read(path);
                assert_eq!(said.code, "FS_NOT_REGULAR_FILE", "{path}: {}", said.text);
            }
        }
        assert!(desk.read(".").text.contains("glob"));
        let named = desk.call("grep", &json!({ "pattern": "x", "path": "p" }));
        assert_eq!(named.code, "FS_NOT_REGULAR_FILE");
        assert_eq!(desk.hits("needle"), ["a.txt:1"]);
        assert_eq!(desk.paths("**"), ["a.txt"]);
    }
}

#[test]
fn a_huge_sparse_file_is_skipped_by_searches_and_answered_by_reads() {
    for mut desk in Desk::both(|world| {
        File::create(world.work().join("big")).unwrap().set_len(20 << 30).unwrap();
        world.file("a.txt", "needle\n");
    }) {
        let read = desk.call("read", &json!({ "file_path": "big", "limit": 5 }));
        assert_eq!(read.code, "FS_NOT_TEXT", "{}", read.text);
        let said = desk.grep("needle");
        assert_eq!(said.hits(), ["a.txt:1"]);
        said.notes_say("1 file over the size limit skipped: big");
    }
}

#[test]
fn circles_of_links_end_and_each_file_is_seen_once() {
    for mut desk in Desk::both(|world| {
        world.file("a/x.txt", "needle\n");
        link(".", world.work().join("loop"));
        link("../a", world.work().join("a/b"));
        link("self", world.work().join("self"));
    }) {
        assert_eq!(desk.paths("**"), ["a/x.txt"]);
        assert_eq!(desk.hits("needle"), ["a/x.txt:1"]);
        assert_eq!(desk.read("loop/loop/a/b/x.txt").lines(), ["needle"]);
        assert_eq!(desk.read("self").code, "FS_NOT_FOUND");
    }
}

#[test]
fn folders_deeper_than_a_path_may_be_long_cost_a_note() {
    let script = "import os\nfor _ in range(3000): os.mkdir('dd'); os.chdir('dd')";
    let desks = Desk::both(|world| {
        world.file("a.txt", "needle\n");
        let mut command = std::process::Command::new("python3");
        assert!(command.args(["-c", script]).current_dir(world.work()).status().unwrap().success());
    });
    for mut desk in desks {
        let said = desk.grep("needle");
        assert_eq!(said.hits(), ["a.txt:1"]);
        said.notes_say("1 path not readable: dd/");
        let work = desk.world.work();
        assert!(
            std::process::Command::new("rm")
                .arg("-rf")
                .arg(work.join("dd"))
                .status()
                .unwrap()
                .success()
        );
    }
}

#[test]
fn an_unreadable_folder_costs_a_note_and_no_hit() {
    use std::os::unix::fs::PermissionsExt;
    for mut desk in Desk::both(|world| {
        world.file("a", "needle\n");
        world.file("no/b", "needle\n");
        fs::set_permissions(world.work().join("no"), fs::Permissions::from_mode(0o000)).unwrap();
    }) {
        let is_denied = fs::read_dir(desk.path("no")).is_err();
        for said in [desk.grep("needle"), desk.glob("**")] {
            assert_eq!(said.code, "");
            // The superuser may read everything.
            if is_denied {
                said.notes_say("1 path not readable: no");
            }
            assert!(said.text.contains("\na\n") || said.text.starts_with("a\n"), "{}", said.text);
        }
        fs::set_permissions(desk.path("no"), fs::Permissions::from_mode(0o700)).unwrap();
    }
}

#[test]
fn the_whole_machine_as_a_workspace_is_not_walked_before_somebody_asks() {
    let world = World::new();
    let mut client = world.connect(&["--workspace", "/", "--model", "offline/retrieval"]);
    client.initialize();
    client.request("session/new", json!({ "sessionId": "s" }));
    client.request("tool/list", json!({}));
    // Whatever has been opened since would be seen here: a walk opens folders one after another.
    let open = fs::read_dir(format!("/proc/{}/task", client.pid())).unwrap();
    let names = open.filter_map(|task| fs::read_to_string(task.ok()?.path().join("comm")).ok());
    let walkers: Vec<String> = names.filter(|name| name.starts_with("dsh-walk")).collect();
    assert!(walkers.is_empty(), "{walkers:?}");
    let process = json!({ "pattern": "DSH_LS_HOME", "path": "proc/self/environ" });
    let params = json!({ "name": "grep", "arguments": process });
    assert_eq!(client.request("tool/call", params)["error"]["code"], "FS_SANDBOX_DENIED");
    let params = json!({ "name": "glob", "arguments": { "pattern": "etc/host*" } });
    assert!(client.request("tool/call", params)["value"]["total"].as_u64().unwrap() > 0);
}
