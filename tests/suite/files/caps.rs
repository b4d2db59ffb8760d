//! Caps that are told, order that is always the same, and a server that answers meanwhile.

use dsh_tests::world::World;
use serde_json::json;

use super::Desk;

fn files(world: &World, count: usize) {
    for number in 0..count {
        world.file(&format!("d{}/f{number:04}", number % 7), "needle\n");
    }
}

#[test]
fn exactly_the_limit_is_no_cut_and_one_more_is() {
    let mut desk = Desk::new(|world| files(world, 100));
    let exact = desk.glob("**");
    assert_eq!((exact.paths().len(), exact.notes.len()), (100, 0));
    assert_eq!(exact.value["truncated"], false);
    desk.world.file("one-more", &"needle\n".repeat(150));
    let cut = desk.glob("**");
    assert_eq!((cut.paths().len(), &cut.value["total"]), (100, &json!(101)));
    cut.notes_say("100 of 101 paths shown");
    let exact = desk.grep("needle");
    assert_eq!((exact.hits().len(), exact.notes.len()), (250, 0));
    desk.world.file("and-more", "needle\n");
    let cut = desk.grep("needle");
    assert_eq!((cut.hits().len(), &cut.value["total"]), (250, &json!(251)));
    cut.notes_say("250 of 251 matches shown");
}

#[test]
fn the_same_call_gives_the_same_bytes_every_time() {
    for mut desk in Desk::both(|world| files(world, 2000)) {
        let (listed, found) = (desk.glob("**"), desk.grep("needle"));
        let counted = json!({ "pattern": "e+", "mode": "count", "limit": 100 });
        let counts = desk.call("grep", &counted);
        for _ in 0..20 {
            assert_eq!(desk.glob("**"), listed);
            assert_eq!(desk.grep("needle"), found);
            assert_eq!(desk.call("grep", &counted), counts);
        }
    }
}

#[test]
fn the_newest_come_first_when_they_are_asked_for() {
    let mut desk = Desk::new(|world| files(world, 5));
    let now = std::time::SystemTime::now();
    for (age, path) in
        ["d0/f0000", "d1/f0001", "d2/f0002", "d3/f0003", "d4/f0004"].iter().enumerate()
    {
        let file = std::fs::File::options().write(true).open(desk.path(path)).unwrap();
        let age = std::time::Duration::from_secs(60 * ((age as u64 * 3) % 5));
        file.set_modified(now - age).unwrap();
    }
    let listed = desk.call("glob", &json!({ "pattern": "**", "order": "newest", "limit": 3 }));
    assert_eq!(listed.paths(), ["d0/f0000", "d2/f0002", "d4/f0004"]);
    listed.notes_say("3 of 5 paths shown");
}

#[test]
fn twenty_thousand_files_are_a_cap_and_other_requests_are_answered_meanwhile() {
    let mut desk = Desk::new(|world| {
        for folder in 0..20 {
            let folder = world.work().join(format!("d{folder:02}"));
            std::fs::create_dir(&folder).unwrap();
            for file in 0..1000 {
                std::fs::File::create(folder.join(format!("f{file:03}"))).unwrap();
            }
        }
    });
    let params = json!({ "name": "glob", "arguments": { "pattern": "**" } });
    let walking = desk.client.ask("tool/call", params);
    desk.client.request("session/list", json!({}));
    let listed = super::said(&desk.client.result(walking));
    assert_eq!((listed.paths().len(), &listed.value["total"]), (100, &json!(20_000)));
    listed.notes_say("100 of 20000 paths shown");
    let params = json!({ "name": "grep", "arguments": { "pattern": "zzz" } });
    let searching = desk.client.ask("tool/call", params);
    desk.client.notify("$/cancelRequest", json!({ "id": searching }));
    let answer = desk.client.answer(searching);
    let is_over = answer["result"]["value"]["total"] == 0;
    assert!(
        is_over || answer["error"].is_object() || answer["result"]["error"]["code"] == "ABORTED",
        "{answer}"
    );
    assert_eq!(desk.paths("d00/f000"), ["d00/f000"], "the next call works");
}
