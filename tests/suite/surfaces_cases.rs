//! Composition and boot through the program: what the kernel's and the layers' own tests show of parts holds of the
//! whole.

use std::fs;

use dsh_tests::client::Client;
use dsh_tests::world::{World, until};
use serde_json::{Value, json};

/// Writes a file at once: a server that watches it sees no half of it.
fn write(world: &World, name: &str, text: &str) -> String {
    let path = world.root().join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let beside = path.with_extension("new");
    fs::write(&beside, text).unwrap();
    fs::rename(beside, &path).unwrap();
    path.display().to_string()
}

fn home_patch(world: &World, text: &str) {
    write(world, "home/cordis.patch.yml", text);
}

fn start(world: &World, arguments: &[&str]) -> Client {
    let mut client = world.connect(arguments);
    client.initialize();
    client
}

fn plugins(client: &mut Client) -> Vec<Value> {
    client.request("plugin/list", json!({}))["plugins"].as_array().unwrap().clone()
}

fn plugin(client: &mut Client, id: &str) -> Value {
    let plugins = plugins(client);
    let found = plugins.iter().find(|plugin| plugin["id"] == id);
    found.unwrap_or_else(|| panic!("no `{id}` in {plugins:?}")).clone()
}

fn state(client: &mut Client, id: &str) -> String {
    plugin(client, id)["state"].as_str().unwrap().to_owned()
}

fn config(client: &mut Client, id: &str) -> Value {
    let dump = client.request("config/dump", json!({}));
    let rows = dump["rows"].as_array().unwrap();
    rows.iter().find(|row| row["id"] == id).unwrap()["config"].clone()
}

fn tools(client: &mut Client) -> Vec<String> {
    let listed = client.request("tool/list", json!({}))["tools"].clone();
    listed.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().into()).collect()
}

#[track_caller]
fn reload(client: &mut Client, is_good: bool) -> String {
    let reloaded = client.request("config/reload", json!({}));
    assert_eq!(reloaded["ok"], is_good, "{reloaded}");
    reloaded["problems"].to_string()
}

/// Does something to the files; returns what the server says of it unasked.
fn told(client: &Client, change: impl FnOnce()) -> Value {
    let before = client.frames().len();
    change();
    client.wait_for("config/changed", |frames| {
        let told = frames.iter().skip(before).find(|frame| frame["method"] == "config/changed");
        told.map(|frame| frame["params"].clone())
    })
}

#[test]
fn the_order_of_rows_says_nothing() {
    let world = World::new();
    let dump = String::from_utf8(world.run(["config", "dump"]).stdout).unwrap();
    let rows = dump.strip_prefix("- insert:\n    - id: ").unwrap();
    let mut rows: Vec<&str> = rows.trim_end().split("\n    - id: ").collect();
    rows.reverse();
    let reversed = format!("- insert:\n    - id: {}\n", rows.join("\n    - id: "));
    let reversed = write(&world, "reversed.yml", &reversed);
    let mut ordered = start(&world, &[]);
    let mut backwards = start(&world, &["--profile", "none", "--patch", &reversed]);
    let by_id = |client: &mut Client| {
        let mut plugins = plugins(client);
        plugins.sort_by_key(|plugin| plugin["id"].to_string());
        (plugins, tools(client))
    };
    assert_eq!(by_id(&mut backwards), by_id(&mut ordered));
    ordered.shut_down();
    backwards.shut_down();
}

#[test]
fn a_dependent_goes_and_comes_with_its_provider() {
    let world = World::new();
    let mut client = start(&world, &[]);
    assert_eq!(state(&mut client, "tool-read"), "active");
    home_patch(&world, "- {id: fs, disabled: true}\n");
    reload(&mut client, true);
    for (id, waits_for) in [("tool-read", "fs"), ("tool-grep", "search")] {
        let plugin = plugin(&mut client, id);
        assert_eq!(
            (&plugin["state"], &plugin["waitingFor"]),
            (&json!("pending"), &json!([waits_for]))
        );
    }
    assert!(!tools(&mut client).contains(&"read".to_owned()));
    home_patch(&world, "[]");
    reload(&mut client, true);
    assert_eq!(state(&mut client, "tool-read"), "active");
    assert!(tools(&mut client).contains(&"read".to_owned()));
    client.shut_down();
}

#[test]
fn a_group_with_a_realm_of_its_own_keeps_its_provider_to_itself() {
    let world = World::new();
    let group = "- insert:\n  - id: apart\n    group: true\n    isolate: {tools: true}\n    config: [{id: tools}, {id: tool-read}]\n";
    home_patch(&world, &format!("{group}- {{id: tool-grep, disabled: true}}\n"));
    let mut client = start(&world, &[]);
    assert_eq!(state(&mut client, "apart:tool-read"), "active");
    assert_eq!(plugin(&mut client, "apart:tools")["provides"], json!(["tools"]));
    // The host sees its own: two `read` do not meet, and what is registered inside stays there.
    let host = tools(&mut client);
    assert_eq!(host.iter().filter(|name| *name == "read").count(), 1, "{host:?}");
    home_patch(
        &world,
        &group.replace("tool-read", "tool-grep").replace("[{", "[{id: late, name: fs}, {"),
    );
    let problems = reload(&mut client, false);
    assert!(problems.contains("apart:late") && problems.contains("`fs`"), "{problems}");
    home_patch(&world, "- insert: [{id: more, name: tools}]\n");
    let problems = reload(&mut client, false);
    assert!(problems.contains("`tools`") && problems.contains("more"), "{problems}");
    client.shut_down();
}

#[test]
fn a_disabled_group_stops_what_is_in_it_and_an_enabled_one_brings_it_back() {
    let world = World::new();
    let group = "- {id: tool-grep, disabled: true}\n- insert:\n  - id: outer\n    group: true\n    config:\n    - {id: inner, group: true, config: [{id: mine, name: tool-grep}]}\n";
    home_patch(&world, group);
    let mut client = start(&world, &[]);
    assert_eq!(state(&mut client, "outer:inner:mine"), "active");
    home_patch(&world, &format!("{group}- {{id: outer, disabled: true}}\n"));
    reload(&mut client, true);
    assert!(!tools(&mut client).contains(&"grep".to_owned()));
    assert!(
        plugins(&mut client)
            .iter()
            .all(|plugin| plugin["id"] != "outer:inner:mine" || plugin["state"] == "disposed")
    );
    home_patch(&world, &format!("{group}- {{id: outer, disabled: false}}\n"));
    reload(&mut client, true);
    assert_eq!(state(&mut client, "outer:inner:mine"), "active");
    assert!(tools(&mut client).contains(&"grep".to_owned()));
    client.shut_down();
}

#[test]
fn one_row_that_cannot_start_takes_back_everything_of_its_edit() {
    let world = World::new();
    let mut client = start(&world, &[]);
    let before = (plugins(&mut client), config(&mut client, "system-prompt"), tools(&mut client));
    let edit = "- {id: system-prompt, merge: {persona: Calm.}}\n- {id: tool-glob, disabled: true}\n- insert: [{id: waits, name: tool-grep, inject: [nothing]}, {id: second, name: tool-read}]\n";
    home_patch(&world, edit);
    let problems = reload(&mut client, false);
    assert!(
        problems.contains("second") && problems.contains("`read` is registered already"),
        "{problems}"
    );
    until("the last good tree", || {
        (plugins(&mut client), config(&mut client, "system-prompt"), tools(&mut client)) == before
    });
    home_patch(&world, &edit.replace(", {id: second, name: tool-read}", ""));
    reload(&mut client, true);
    assert_eq!(config(&mut client, "system-prompt"), json!({ "persona": "Calm." }));
    assert_eq!(state(&mut client, "waits"), "pending");
    client.shut_down();
}

#[test]
fn a_plugin_that_is_not_there_never_stops_the_one_that_runs() {
    let world = World::new();
    world.file("a.txt", "needle\n");
    let mut client = start(&world, &[]);
    assert_eq!(state(&mut client, "tool-grep"), "active");
    home_patch(&world, "- insert: [{id: tool-grep, name: tool-gerp}]\n");
    let problems = reload(&mut client, false);
    assert!(problems.contains("there is no plugin `tool-gerp`"), "{problems}");
    assert_eq!(plugin(&mut client, "tool-grep")["name"], "tool-grep");
    let call = json!({ "name": "grep", "arguments": { "pattern": "needle" } });
    assert!(client.request("tool/call", call).to_string().contains("a.txt"));
    client.shut_down();
}

#[test]
fn a_later_layer_changes_what_an_earlier_one_added_and_its_removal_brings_it_back() {
    let world = World::new();
    write(
        &world,
        "home/profiles/editor/cordis.patch.yml",
        "- insert: [{id: far, name: openai-compatible, config: {provider: far, dialect: openai, idleTimeoutMs: 5}}]\n",
    );
    let mut client = start(&world, &[]);
    let original = config(&mut client, "far");
    home_patch(&world, "- {id: far, merge: {idleTimeoutMs: 7}}\n");
    reload(&mut client, true);
    assert_eq!(config(&mut client, "far")["idleTimeoutMs"], 7);
    home_patch(&world, "- {id: far, disabled: true}\n");
    reload(&mut client, true);
    assert_eq!(
        (state(&mut client, "far"), config(&mut client, "far")),
        ("disposed".to_owned(), original.clone())
    );
    fs::remove_file(world.home().join("cordis.patch.yml")).unwrap();
    reload(&mut client, true);
    assert_eq!(
        (state(&mut client, "far"), config(&mut client, "far")),
        ("active".to_owned(), original)
    );
    client.shut_down();
}

#[test]
fn a_patch_to_a_row_that_is_not_there_is_a_warning_of_its_layer_and_no_obstacle() {
    let world = World::new();
    home_patch(&world, "- {id: tool-gerp, disabled: true}\n- {id: tool-glob, disabled: true}\n");
    let mut client = start(&world, &[]);
    client.session("s");
    assert!(!tools(&mut client).contains(&"glob".to_owned()));
    let file = world.home().join("cordis.patch.yml").display().to_string();
    until("a warning", || client.complaints().contains("tool-gerp"));
    assert!(client.complaints().contains(&file), "{}", client.complaints());
    let again = "- {id: tool-gerp, disabled: true}\n- {id: tool-grep, disabled: true}\n";
    let problems = told(&client, || home_patch(&world, again))["problems"].clone();
    assert_eq!((&problems[0]["file"], &problems[0]["line"]), (&json!(file), &json!(1)));
    assert_eq!(
        (&problems[0]["severity"], &problems[0]["key"]),
        (&json!("warning"), &json!("tool-gerp"))
    );
    client.shut_down();
}

#[test]
fn a_layer_is_noticed_although_its_folders_were_not_there() {
    let world = World::new();
    let mut client = start(&world, &[]);
    client.session("s");
    let told = told(&client, || {
        let patch = "- {id: tool-glob, disabled: true}\n";
        write(&world, "home/profiles/editor/cordis.patch.yml", patch);
    });
    assert_eq!(told["ok"], true, "{told}");
    assert!(!tools(&mut client).contains(&"glob".to_owned()));
    client.shut_down();
}

#[test]
fn a_profile_cannot_leave_its_folder_and_a_persons_own_is_left_alone() {
    let world = World::new();
    write(&world, "home/x/cordis.patch.yml", "- {id: tool-read, disabled: true}\n");
    for name in ["../x", "..", "a/b", ""] {
        let mut client = start(&world, &["--profile", name]);
        let refused = client.refused("session/new", json!({}));
        assert_eq!(refused["data"]["kind"], "configInvalid", "{name}: {refused}");
        assert!(refused.to_string().contains("is no name of a profile"), "{name}: {refused}");
        client.shut_down();
    }
    let own = "# Mine.\nbundles: [dsh-base]\n";
    write(&world, "home/profiles/editor/profile.yml", own);
    let mut client = start(&world, &[]);
    client.session("s");
    client.shut_down();
    let kept = fs::read_to_string(world.home().join("profiles/editor/profile.yml")).unwrap();
    assert_eq!(kept, own);
    let made: Vec<_> = fs::read_dir(world.home().join("profiles")).unwrap().collect();
    assert_eq!(made.len(), 1, "{made:?}");
}

#[test]
fn a_boot_that_misses_a_service_names_it_and_one_with_a_broken_plugin_shows_its_error() {
    let world = World::new();
    home_patch(&world, "- {id: session-store, disabled: true}\n");
    let mut client = start(&world, &[]);
    let refused = client.refused("session/new", json!({}));
    assert!(refused.to_string().contains("sessionStore"), "{refused}");
    // Nothing of that tree is left, and the next attempt begins anew.
    home_patch(&world, "- insert: [{id: more, name: tools}]\n");
    reload(&mut client, true);
    client.session("s");
    let more = plugin(&mut client, "more");
    assert_eq!(more["state"], "failed");
    assert!(more["error"].as_str().unwrap().contains("`tools`"), "{more}");
    client.complete("s", "where is Registration defined?");
    client.shut_down();
}

#[test]
fn a_server_that_ends_during_its_boot_ends_well() {
    for patience in [0, 1, 5, 20] {
        let world = World::new();
        let mut client = start(&world, &[]);
        let asked = client.ask("session/new", json!({ "sessionId": "s" }));
        until("a moment of the boot", {
            let mut looks = 0;
            move || {
                looks += 1;
                looks > patience
            }
        });
        client.close_input();
        assert_eq!(client.exit_status().code(), Some(0));
        let answer = client.answer(asked);
        assert!(answer.get("result").is_some() || answer.get("error").is_some(), "{answer}");
    }
}

#[test]
fn the_homes_variables_apply_whole_or_not_at_all_and_a_folders_own_never() {
    let world = World::new();
    home_patch(
        &world,
        "- {id: system-prompt, merge: {persona: !env PERSONA}}\n- {id: tool-glob, disabled: !env NO_GLOB}\n",
    );
    world.file(".env", "PERSONA=of the folder\nNO_GLOB=1\n");
    for name in ["PATH", "LD_PRELOAD", "DSH_LS_HOME", "https_proxy", "GIT_DIR"] {
        write(&world, "home/.env", &format!("NO_GLOB=1\n{name}=secret-value\n"));
        let mut client = start(&world, &[]);
        let refused = client.refused("session/new", json!({}));
        assert_eq!(refused["data"]["kind"], "configInvalid", "{refused}");
        let said = refused.to_string();
        assert!(said.contains(name) && !said.contains("secret-value"), "{said}");
        client.shut_down();
    }
    write(&world, "home/.env", "# Nothing.\n");
    let mut client = start(&world, &[]);
    assert!(tools(&mut client).contains(&"glob".to_owned()), "the folder's file says nothing");
    write(&world, "home/.env", "NO_GLOB=1\n");
    reload(&mut client, true);
    assert!(!tools(&mut client).contains(&"glob".to_owned()));
    write(&world, "home/.env", "NO_GLOB=0\nPATH=/tmp\n");
    let problems = reload(&mut client, false);
    assert!(problems.contains("PATH"), "{problems}");
    assert!(!tools(&mut client).contains(&"glob".to_owned()), "what was good before applies");
    client.shut_down();
}
