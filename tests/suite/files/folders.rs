//! A session that may see further folders sees those, while they are open, and nothing beside them.

use std::fs;

use dsh_tests::client::Client;
use dsh_tests::framing::Framing;
use dsh_tests::script::Script;
use dsh_tests::world::{World, until};
use serde_json::{Value, json};

use super::{Said, link, said};

fn uri(world: &World, name: &str) -> Value {
    json!({ "uri": format!("file://{}", world.root().join(name).display()), "name": name })
}

fn world() -> World {
    let world = World::new();
    world.file("a.txt", "needle\n");
    for folder in ["lib", "third"] {
        fs::create_dir_all(world.root().join(folder).join("src")).unwrap();
        fs::write(world.root().join(folder).join("src/b.txt"), "needle\n").unwrap();
    }
    fs::write(world.root().join("lib/.env"), "needle\n").unwrap();
    fs::write(world.root().join("secret"), "OUTSIDE\n").unwrap();
    link(world.root().join("secret"), world.root().join("lib/out"));
    link(world.work(), world.root().join("lib/across"));
    world
}

/// An editor that has the workspace, `lib` and `third` open.
fn editor(world: &World, model: &str) -> Client {
    let command = world.command(["lsp", "--model", model]);
    let mut client = Client::spawn_framed(command, Framing::Lengths);
    let mut params = world.editor();
    params["workspaceFolders"] =
        json!([uri(world, "work"), uri(world, "lib"), uri(world, "third")]);
    client.initialize_as(params);
    client
}

fn call(client: &mut Client, session: &str, name: &str, arguments: &Value) -> Said {
    let params = json!({ "sessionId": session, "name": name, "arguments": arguments });
    said(&client.request("tool/call", params))
}

#[test]
fn a_session_sees_the_folders_that_it_names_and_no_others() {
    let world = world();
    let mut client = editor(&world, "offline/retrieval");
    let work = uri(&world, "work")["uri"].clone();
    let further = json!([uri(&world, "lib")["uri"], work]);
    client.request(
        "session/new",
        json!({ "sessionId": "s", "workspace": work, "additionalWorkspaces": further }),
    );
    client.request("session/new", json!({ "sessionId": "alone", "workspace": work }));
    let path = |name: &str| world.root().join(name).display().to_string();
    let (lib, file) = (path("lib"), path("lib/src/b.txt"));
    let read = json!({ "file_path": file });
    let seen = call(&mut client, "s", "read", &read);
    assert_eq!((seen.lines(), &seen.value["path"]), (vec!["needle".to_owned()], &json!(file)));
    let found = call(&mut client, "s", "grep", &json!({ "pattern": "needle", "path": lib }));
    assert_eq!(found.hits(), [format!("{file}:1")]);
    found.notes_say("1 path whose name looks like a secret was not searched");
    for (pattern, below) in [("**/*.txt", Some(&lib)), (&*format!("{lib}/src/*"), None)] {
        let mut arguments = json!({ "pattern": pattern });
        if let Some(below) = below {
            arguments["path"] = json!(below);
        }
        assert_eq!(call(&mut client, "s", "glob", &arguments).paths(), std::slice::from_ref(&file));
    }
    let own = call(&mut client, "s", "grep", &json!({ "pattern": "needle" }));
    assert_eq!(own.hits(), ["a.txt:1"], "without a path it is the workspace");
    let denied = call(&mut client, "alone", "read", &read);
    assert_eq!(denied.code, "FS_SANDBOX_DENIED");
    for name in
        ["third/src/b.txt", "secret", "lib/out", "lib/../secret", "lib/across/a.txt", "libx", ""]
    {
        let said = call(&mut client, "s", "read", &json!({ "file_path": path(name) }));
        assert_eq!(said, denied, "{name}");
    }
    let secret = call(&mut client, "s", "read", &json!({ "file_path": path("lib/.env") }));
    assert_eq!(secret.code, "FS_SECRET_DENIED");
    let params = json!({ "workspace": work, "additionalWorkspaces": [path("elsewhere")] });
    assert_eq!(client.refused("session/new", params)["data"]["kind"], "workspaceNotFound");
    let fork = client.request("session/fork", json!({ "sessionId": "s" }));
    let fork = fork["session"]["sessionId"].as_str().unwrap().to_owned();
    assert_eq!(call(&mut client, &fork, "read", &read).lines(), ["needle"]);
}

#[test]
fn a_folder_that_is_removed_is_outside_until_it_is_back() {
    let world = world();
    let file = world.root().join("lib/src/b.txt").display().to_string();
    let read = json!({ "file_path": file });
    let script = Script::parse(&format!("call read {read}\n---\nsay Done."));
    let model = world.model(script);
    let mut client = editor(&world, &model);
    let (work, lib) = (uri(&world, "work")["uri"].clone(), uri(&world, "lib"));
    client.request(
        "session/new",
        json!({ "sessionId": "s", "workspace": work, "additionalWorkspaces": [lib["uri"]] }),
    );
    client.request("session/subscribe", json!({ "sessionId": "s", "after": -1 }));
    client.complete("s", "Look.");
    let results = |client: &mut Client| -> Vec<String> {
        let events = client.log("s");
        let results = events.iter().filter(|event| event["type"] == "tool/result");
        results.map(|event| event["data"]["message"].to_string()).collect()
    };
    let of_model = results(&mut client);
    assert!(of_model.len() == 1 && of_model[0].contains("1: needle"), "{of_model:?}");
    let change = |client: &mut Client, added: Value, removed: Value| {
        let event = json!({ "added": added, "removed": removed });
        client.notify("workspace/didChangeWorkspaceFolders", json!({ "event": event }));
    };
    change(&mut client, json!([]), json!([lib]));
    until("the folder's end", || call(&mut client, "s", "read", &read).code == "FS_SANDBOX_DENIED");
    change(&mut client, json!([lib]), json!([]));
    until("the folder's return", || call(&mut client, "s", "read", &read).code.is_empty());
}
