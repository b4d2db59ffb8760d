//! `session/search`: what is found, and an index that is never the truth.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use dsh_tests::client::Client;
use dsh_tests::script::Script;
use dsh_tests::world::World;
use serde_json::{Value, json};

#[track_caller]
fn search(client: &mut Client, query: &str) -> Vec<Value> {
    let found = client.request("session/search", json!({ "query": query }));
    found["hits"].as_array().unwrap().clone()
}

/// The sessions of the hits, each once, by name.
#[track_caller]
fn sessions(client: &mut Client, query: &str) -> Vec<String> {
    let mut ids: Vec<String> = search(client, query)
        .iter()
        .map(|hit| hit["sessionId"].as_str().unwrap().to_owned())
        .collect();
    ids.sort();
    ids.dedup();
    ids
}

fn stage(world: &World) -> Client {
    world.file("a.txt", "SECRETLY in a file\n");
    let script = "say The overlay holds open_buffers, naïve ones.\nturn\nthink A hidden thought.\ncall read {\"file_path\":\"a.txt\"}\n---\nsay 会话日志只能追加。\nturn\nsay Later words.";
    let mut client = world.play(Script::parse(script));
    for (id, title, prompt) in [
        ("one", "Locks and leases", "How does the overlay work?"),
        ("two", "Other things", "What of C++ and \"quotes\"?"),
    ] {
        client.request("session/new", json!({ "sessionId": id, "title": title }));
        client.complete(id, prompt);
    }
    client.complete("two", "And the rest?");
    client
}

fn index(world: &World) -> PathBuf {
    world.log("one").with_file_name("search.sqlite")
}

#[test]
fn what_people_and_models_said_and_titles_are_found() {
    let world = World::new();
    let mut client = stage(&world);
    let found = |client: &mut Client, query: &str| sessions(client, query).join(" ");
    assert_eq!(found(&mut client, "overlay work"), "one");
    assert_eq!(found(&mut client, "OPEN_buffers"), "one two", "both sessions had the first answer");
}

#[test]
fn a_hit_says_where_it_stands() {
    let world = World::new();
    let mut client = stage(&world);
    let hits = search(&mut client, "leases");
    assert_eq!(hits.len(), 1, "{hits:?}");
    assert_eq!(hits[0], json!({ "sessionId": "one", "seq": 0, "snippet": "Locks and leases" }));
    let hit = search(&mut client, "\"overlay work\"")[0].clone();
    let after = hit["seq"].as_i64().unwrap() - 1;
    let page =
        client.request("session/events", json!({ "sessionId": "one", "after": after, "limit": 1 }));
    assert_eq!(page["events"][0]["type"], "user/message");
    assert_eq!(hit["snippet"], "How does the overlay work?");
    for (query, there) in [
        ("naive", true),
        ("naïve", true),
        ("overl", true),
        ("overl ", false),
        ("\"overlay holds\"", true),
        ("\"holds overlay\"", false),
        ("日志", true),
        ("志日", false),
        ("hidden", false),
        ("SECRETLY", false),
    ] {
        assert_eq!(!search(&mut client, query).is_empty(), there, "{query}");
    }
}

#[test]
fn no_query_means_anything_but_its_words() {
    let world = World::new();
    let mut client = stage(&world);
    for query in [
        "",
        "   ",
        "\"",
        "\"\"",
        "*",
        "^",
        "-",
        "NEAR(",
        "()",
        "{}",
        ":",
        "+",
        "AND",
        "a AND",
        "text:",
        "'; DROP TABLE words; --",
        "\0",
        "\"unclosed",
        "% _",
        "\\",
        "🙂",
    ] {
        search(&mut client, query);
    }
    assert_eq!(search(&mut client, "").len(), 0);
    assert_eq!(search(&mut client, "NOT overlay").len(), 0, "`NOT` is a word that nobody said");
    assert!(!search(&mut client, "C++").is_empty());
    assert!(!search(&mut client, "\"quotes\"?").is_empty());
    let long = "overlay ".repeat(100_000);
    assert!(!search(&mut client, &long).is_empty());
    assert!(!search(&mut client, "overlay").is_empty(), "the index stands");
    let limited = client.request("session/search", json!({ "query": "o", "limit": 1 }));
    assert_eq!(limited["hits"].as_array().unwrap().len(), 1);
}

#[test]
fn what_comes_later_is_found_and_what_goes_is_not() {
    let world = World::new();
    let mut client = stage(&world);
    assert!(search(&mut client, "\"renamed session\"").is_empty());
    client.request("session/rename", json!({ "sessionId": "two", "title": "A renamed session" }));
    assert_eq!(sessions(&mut client, "\"renamed session\""), ["two"]);
    // A fork has the words of its origin; they are found once, as long as that is there.
    let forked = client.request("session/fork", json!({ "sessionId": "one", "title": "x" }));
    let forked = forked["session"]["sessionId"].as_str().unwrap().to_owned();
    assert_eq!(sessions(&mut client, "\"overlay work\""), ["one"]);
    client.request("session/delete", json!({ "sessionId": "one" }));
    assert_eq!(sessions(&mut client, "\"overlay work\""), [forked.as_str()]);
    client.request("session/delete", json!({ "sessionId": forked }));
    assert!(search(&mut client, "\"overlay work\"").is_empty());
}

#[test]
fn an_index_that_is_broken_old_or_gone_is_made_again() {
    let world = World::new();
    let mut client = stage(&world);
    let expected = search(&mut client, "overlay");
    assert!(!expected.is_empty());
    let path = index(&world);
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let good = fs::read(&path).unwrap();
    let mut other_version = good.clone();
    other_version[60..64].copy_from_slice(&99_u32.to_be_bytes());
    let mut holes = good.clone();
    for at in (4096..holes.len()).step_by(512) {
        holes[at..at + 64].fill(0xa5);
    }
    let broken: [(&str, Vec<u8>); 6] = [
        ("no database", b"not a database".repeat(500)),
        ("empty", Vec::new()),
        ("cut", good[..good.len() / 2].to_vec()),
        ("of another version", other_version),
        ("full of holes", holes),
        ("gone", b"gone".to_vec()),
    ];
    for (what, bytes) in broken {
        fs::write(&path, &bytes).unwrap();
        if bytes == b"gone" {
            fs::remove_file(&path).unwrap();
        }
        assert_eq!(search(&mut client, "overlay"), expected, "{what}");
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{what}");
    }
}

#[test]
fn a_log_that_was_put_back_is_read_anew() {
    let world = World::new();
    let mut client = stage(&world);
    search(&mut client, "overlay");
    client.shut_down();
    let log = world.log("one");
    let text = fs::read_to_string(&log).unwrap().replace("overlay", "underlay");
    fs::remove_file(&log).unwrap();
    fs::write(&log, text).unwrap();
    fs::set_permissions(&log, fs::Permissions::from_mode(0o600)).unwrap();
    let mut client = world.start("offline/retrieval");
    assert_eq!(sessions(&mut client, "underlay"), ["one"]);
}

#[test]
fn several_processes_search_at_once_and_read_logs_only() {
    let world = World::new();
    let client = stage(&world);
    client.shut_down();
    let before: Vec<Vec<u8>> = world.logs().iter().map(|path| fs::read(path).unwrap()).collect();
    let mut clients: Vec<Client> = (0..4).map(|_| world.start("offline/retrieval")).collect();
    for round in 0..5 {
        let _ = fs::remove_file(index(&world));
        let asked: Vec<u64> = clients
            .iter_mut()
            .flat_map(|client| {
                [0; 3].map(|_| client.ask("session/search", json!({ "query": "overlay" })))
            })
            .collect();
        for (at, id) in asked.iter().enumerate() {
            let found = clients[at / 3].result(*id);
            assert_eq!(found["hits"].as_array().unwrap().len(), 3, "{round}: {found}");
        }
    }
    let after: Vec<Vec<u8>> = world.logs().iter().map(|path| fs::read(path).unwrap()).collect();
    assert_eq!(after, before);
}

#[test]
fn without_its_row_nothing_can_be_searched() {
    let world = World::new();
    world.patch("- id: session-search\n  disabled: true\n");
    let mut client = world.start("offline/retrieval");
    let error = client.refused("session/search", json!({ "query": "x" }));
    assert_eq!(error["data"]["kind"], "unsupported");
    let error = client.refused("session/search", json!({ "query": "x", "workspace": "/nowhere" }));
    assert_eq!(error["data"]["kind"], "workspaceNotFound");
}

#[test]
fn a_home_without_sessions_has_no_hits_and_no_index() {
    let world = World::new();
    let mut client = world.start("offline/retrieval");
    assert!(search(&mut client, "anything").is_empty());
    assert!(world.home_files().iter().all(|path| !path.ends_with("search.sqlite")));
}
