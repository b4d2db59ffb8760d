//! `dsh-ls config dump|check|set` and `schema --config`: what a person sees, what is written, and how it exits.

use std::fs;
use std::process::{Output, Stdio};

use dsh_tests::client::Client;
use dsh_tests::world::{World, binary};
use expect_test::expect;
use serde_json::{Value, json};

mod founding;
mod hostile;
mod schema;
mod set;
mod trial;
mod validate;

/// Exit code, standard output and standard error, with the world's folder named `ROOT`.
fn told(world: &World, output: &Output) -> (i32, String, String) {
    let root = world.root().display().to_string();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap().replace(&root, "ROOT");
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

fn run(world: &World, arguments: &[&str]) -> (i32, String, String) {
    told(world, &world.run(arguments))
}

/// Writes a file below the world's folder; returns its path.
fn write(world: &World, name: &str, text: impl AsRef<[u8]>) -> String {
    let path = world.root().join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

/// What a server of these arguments mounts: rows as clients see them but for their layers, and the plugins.
fn mounted(world: &World, arguments: &[&str]) -> (Vec<Value>, Value) {
    let mut client = world.connect(arguments);
    client.initialize();
    let plugins = client.request("plugin/list", json!({}))["plugins"].clone();
    let mut rows = rows(&mut client);
    for row in &mut rows {
        let row = row.as_object_mut().unwrap();
        row.remove("origin").unwrap();
        row.remove("patchedBy").unwrap();
    }
    client.shut_down();
    (rows, plugins)
}

fn rows(client: &mut Client) -> Vec<Value> {
    client.request("config/dump", json!({}))["rows"].as_array().unwrap().clone()
}

/// Layers of every kind, with groups, expressions, realms and comments. Returns the one of the command line.
fn layered(world: &World) -> String {
    let profile = "- {id: tool-glob, disabled: !env NO_GLOB}\n- {id: agent-loop, config: {budgets: {steps: 7}}}\n";
    write(world, "home/profiles/editor/cordis.patch.yml", profile);
    let home = "# Mine.\n- id: agent-loop\n  merge: {budgets: {minutes: !env [MINUTES, 5]}}\n- id: system-prompt\n  config:\n    persona: !env {name: PERSONA, default: \"Calm: # yes\\n\"}\n";
    write(world, "home/cordis.patch.yml", home);
    let mine = "- insert:\n  - id: mine\n    group: true\n    isolate: {tools: true}\n    config:\n    - {id: tools}\n    - {id: spare, name: tool-read, inject: [nothing]}\n- id: llm-local\n  merge: {baseUrl: 'http://127.0.0.1:9', models: [{id: 'yes'}, {id: \"1\"}]}\n";
    write(world, "mine.yml", mine)
}

#[test]
fn a_dump_boots_the_same_tree_with_the_profile_none() {
    let world = World::new();
    let mine = layered(&world);
    let original = mounted(&world, &["--patch", &mine]);
    assert!(original.0.iter().any(|row| row["id"] == "mine:spare"), "{:?}", original.0);
    for origin in [&[][..], &["--origin"]] {
        let arguments = [&["config", "dump", "--patch", &mine][..], origin].concat();
        let (code, dump, complaints) = run(&world, &arguments);
        assert_eq!((code, complaints.as_str()), (0, ""));
        assert!(dump.contains("!env NO_GLOB") && dump.contains("name: MINUTES"), "{dump}");
        let elsewhere = World::new();
        let dump = write(&elsewhere, "dump.yml", dump.replace("ROOT", "/nowhere"));
        let arguments = ["--profile", "none", "--patch", &dump];
        assert_eq!(mounted(&elsewhere, &arguments), original);
        let (code, again, _) =
            run(&elsewhere, &["config", "dump", "--profile", "none", "--patch", &dump]);
        assert_eq!((code, again), (0, run(&world, &["config", "dump", "--patch", &mine]).1));
    }
    assert_eq!(world.home_files().len(), 2, "nothing is written");
}

#[test]
fn a_dump_is_what_a_running_server_says_of_itself() {
    let world = World::new();
    let mine = layered(&world);
    let mut client = world.connect(&["--patch", &mine]);
    client.initialize();
    let yaml = client.request("config/dump", json!({}))["yaml"].clone();
    let dump = world.run(["config", "dump", "--patch", &mine]);
    assert_eq!(yaml, String::from_utf8(dump.stdout).unwrap());
    client.shut_down();
}

#[test]
fn origins_name_the_layer_of_each_row_and_those_that_changed_it() {
    let world = World::new();
    let mine = layered(&world);
    let (code, dump, _) = run(&world, &["config", "dump", "--origin", "--patch", &mine]);
    assert_eq!(code, 0);
    let comments: Vec<&str> = dump.lines().filter(|line| line.contains("# origin: ")).collect();
    let of = |row: &str| {
        let (before, _) = dump.split_once(&format!("- id: {row}\n")).unwrap();
        let comment = before.lines().rev().find(|line| line.trim_start().starts_with('#'));
        comment.unwrap().trim().to_owned()
    };
    assert_eq!(of("llm"), "# origin: bundle dsh-base");
    assert_eq!(
        of("agent-loop"),
        "# origin: bundle dsh-base; patched by: ROOT/home/profiles/editor/cordis.patch.yml, ROOT/home/cordis.patch.yml"
    );
    assert_eq!(of("llm-local"), "# origin: bundle dsh-base; patched by: ROOT/mine.yml");
    assert_eq!(of("spare"), "# origin: ROOT/mine.yml");
    assert!(comments.windows(2).all(|pair| pair[0] != pair[1]), "{comments:?}");
    let plain = run(&world, &["config", "dump", "--patch", &mine]).1;
    assert!(
        !plain.contains("origin:")
            && dump.lines().count() == plain.lines().count() + comments.len()
    );
}

#[test]
fn the_default_is_what_comes_with_the_program_whatever_anybody_patched() {
    let world = World::new();
    let untouched = run(&world, &["config", "dump"]);
    let mine = layered(&world);
    let arguments = ["config", "dump", "--default", "--patch", &mine];
    assert_eq!(run(&world, &arguments), untouched);
    assert_ne!(run(&world, &["config", "dump", "--patch", &mine]), untouched);
    assert_eq!(
        run(&world, &["config", "dump", "--default", "--profile", "none"]).1,
        "- insert: []\n"
    );
}

#[test]
fn dump_config_is_spelled_both_ways_and_belongs_to_no_other_command() {
    let world = World::new();
    let mine = layered(&world);
    let dump = run(&world, &["config", "dump", "--patch", &mine]);
    assert_eq!(run(&world, &["--dump-config", "--patch", &mine]), dump);
    assert_eq!(run(&world, &["--patch", &mine, "--dump-config"]), dump);
    let origin = run(&world, &["--dump-config", "--origin", "--patch", &mine]);
    assert!(origin.1.contains("# origin: bundle dsh-base"), "{}", origin.1);
    for arguments in [&["rpc", "--dump-config"][..], &["run", "--dump-config"]] {
        let (code, out, complaints) = run(&world, arguments);
        assert_eq!((code, out.as_str()), (2, ""), "{arguments:?}");
        assert!(complaints.contains("--dump-config"), "{complaints}");
    }
}

#[test]
fn what_has_errors_is_not_dumped_and_what_has_warnings_is() {
    let world = World::new();
    write(&world, "home/cordis.patch.yml", "- {id: nobody, disabled: true}\n");
    let (code, dump, complaints) = run(&world, &["config", "dump"]);
    assert_eq!((code, dump), (0, run(&world, &["config", "dump", "--default"]).1));
    assert!(complaints.contains("ROOT/home/cordis.patch.yml:1:8: warning"), "{complaints}");
    write(&world, "home/cordis.patch.yml", "- {id: tools, disabled: maybe}\n");
    let (code, dump, complaints) = run(&world, &["config", "dump"]);
    assert_eq!((code, dump.as_str()), (2, ""));
    assert!(complaints.contains("ROOT/home/cordis.patch.yml:1:25: error"), "{complaints}");
}

#[test]
fn a_check_says_everything_at_once_with_its_place_its_key_and_its_line() {
    let world = World::new();
    let profile =
        "- id: agent-loop\n  merge:\n    budgets: {stepz: 1}\n    maxParallelToolCalls: \"4\"\n";
    write(&world, "home/profiles/editor/cordis.patch.yml", profile);
    write(&world, "home/cordis.patch.yml", "- id: tool-glop\n  disabled: true\n");
    let mine = "- insert:\n  - id: mine\n    name: tool-raed\n- id: llm-openai\n  merge: {models: [{contextWindow: -1}]}\n- id: fs\n  merge: {denyHardlinks: yes}\n- id: llm-local\n  merge: {baseUrl: !env [HTTP, 'ftp://x']}\n";
    let mine = write(&world, "mine.yml", mine);
    let (code, found, complaints) = run(&world, &["config", "check", "--patch", &mine]);
    assert_eq!((code, complaints.as_str()), (2, ""));
    expect![[r#"
        ROOT/home/cordis.patch.yml:1:7: warning: tool-glop: no earlier layer has a row `tool-glop`, so the patch is left out; did you mean `tool-glob`?
          |
        1 | - id: tool-glop
          |       ^^^^^^^^^
        ROOT/home/profiles/editor/cordis.patch.yml:3:22: error: agent-loop.budgets.stepz: unknown key; known are `steps`, `minutes`, `tokens`, `stoppingRounds`
          |
        3 |     budgets: {stepz: 1}
          |                      ^
        ROOT/home/profiles/editor/cordis.patch.yml:4:27: error: agent-loop.maxParallelToolCalls: expected a whole number, found a string
          |
        4 |     maxParallelToolCalls: "4"
          |                           ^^^
        ROOT/mine.yml:3:11: error: mine: there is no plugin `tool-raed` in this program; did you mean `tool-read`?
          |
        3 |     name: tool-raed
          |           ^^^^^^^^^
        ROOT/mine.yml:5:20: error: llm-openai.models[0].id: is missing
          |
        5 |   merge: {models: [{contextWindow: -1}]}
          |                    ^^^^^^^^^^^^^^^^^^^
        ROOT/mine.yml:5:36: error: llm-openai.models[0].contextWindow: must be at least 0
          |
        5 |   merge: {models: [{contextWindow: -1}]}
          |                                    ^^
        ROOT/mine.yml:7:26: error: fs.denyHardlinks: expected true or false, found a string; `yes` is a text, write `true`
          |
        7 |   merge: {denyHardlinks: yes}
          |                          ^^^
        ROOT/mine.yml:9:20: error: llm-local.baseUrl: an address begins with http:// or https://
          |
        9 |   merge: {baseUrl: !env [HTTP, 'ftp://x']}
          |                    ^^^^^^^^^^^^^^^^^^^^^^
        7 errors, 1 warning
    "#]].assert_eq(&found);
    let origin = "- insert: [{ id: mine, name: tool-raed }]\n";
    write(&world, "home/profiles/other/cordis.patch.yml", origin);
    let (code, found, _) = run(&world, &["config", "check", "--profile", "other"]);
    assert_eq!(code, 2);
    expect![[r#"
        ROOT/home/cordis.patch.yml:1:7: warning: tool-glop: no earlier layer has a row `tool-glop`, so the patch is left out
          |
        1 | - id: tool-glop
          |       ^^^^^^^^^
        profile: error: there is no profile `other`; there are `editor`, `headless`, `none` or `web`, and ROOT/home/profiles/other/profile.yml would make it one
        1 error, 1 warning; mend them to have the rows checked
    "#]].assert_eq(&found);
}

#[test]
fn a_check_of_layers_that_cannot_be_read_says_that_rows_were_not_looked_at() {
    let world = World::new();
    write(&world, "home/cordis.patch.yml", "- id: agent-loop\n  merg: {}\n- insert: {}\n");
    write(&world, "home/.env", "A=1\nPATH=/tmp\n");
    let (code, found, _) = run(&world, &["config", "check", "--patch", "absent.yml"]);
    assert_eq!(code, 2);
    expect![[r#"
        ROOT/home/.env:2:1: error: this file may not set `PATH`; set them where the program is started
        ROOT/home/cordis.patch.yml:2:3: error: a patch has no `merg`; did you mean `merge`?
          |
        2 |   merg: {}
          |   ^^^^
        ROOT/home/cordis.patch.yml:3:11: error: expected a list of rows and found a mapping
          |
        3 | - insert: {}
          |           ^^
        ROOT/work/absent.yml: error: there is no such file
        4 errors, 0 warnings; mend them to have the rows checked
    "#]].assert_eq(&found);
}

#[test]
fn a_check_of_what_is_right_is_quiet_and_notes_and_warnings_are_no_errors() {
    let world = World::new();
    assert_eq!(
        run(&world, &["config", "check"]),
        (0, "0 errors, 0 warnings\n".to_owned(), String::new())
    );
    assert!(!world.home().exists(), "a check writes nothing");
    let patches = "- {id: nobody, disabled: true}\n- insert: [{id: tool-read}]\n";
    write(&world, "home/cordis.patch.yml", patches);
    let (code, found, _) = run(&world, &["config", "check"]);
    assert_eq!(code, 0);
    assert!(found.contains("warning: nobody:") && found.contains("note: tool-read:"), "{found}");
    assert!(found.ends_with("\n0 errors, 1 warning\n"), "{found}");
}

#[test]
fn a_problem_cannot_command_the_terminal() {
    let world = World::new();
    write(&world, "home/cordis.patch.yml", "- id: \"\\e[2Jx\"\n  \u{9b}31mbad: 1\n");
    for command in ["check", "dump"] {
        let (_, found, complaints) = run(&world, &["config", command]);
        let said = format!("{found}{complaints}");
        assert!(said.contains("cordis.patch.yml"), "{said}");
        assert!(!said.contains(['\u{1b}', '\u{9b}']), "{said:?}");
    }
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let world = World::new();
    // More than a pipe holds.
    let many = (0..1500).map(|at| format!("  - {{id: r{at}, name: tool-read, disabled: true}}\n"));
    write(&world, "home/cordis.patch.yml", format!("- insert:\n{}", many.collect::<String>()));
    for command in
        [&["config", "dump"][..], &["config", "check"], &["doctor"], &["schema", "--config"]]
    {
        let line = "\"$@\" 2>errors | head -n 1 >seen; cat seen errors >&2";
        let mut shell = world.program("bash");
        shell.args(["-c", &format!("set -o pipefail; {line}"), "sh"]);
        shell.arg(binary()).args(command).stdin(Stdio::null());
        let output = shell.output().unwrap();
        let seen = String::from_utf8(output.stderr).unwrap();
        assert_eq!(seen.lines().count(), 1, "{command:?}: {seen}");
    }
}

#[test]
fn output_that_is_lost_is_a_failure() {
    let world = World::new();
    for command in [&["config", "dump"][..], &["config", "check"], &["schema", "--config"]] {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let output = world.command(command).stdin(Stdio::null()).stdout(full).output().unwrap();
        let (code, _, complaints) = told(&world, &output);
        assert_eq!(code, 2, "{command:?}");
        assert!(complaints.contains("cannot write to standard output"), "{complaints}");
    }
}

#[test]
fn bad_usage_says_what_is_wanted() {
    let world = World::new();
    for (arguments, expected) in [
        (&["config"][..], "Usage: dsh-ls config <COMMAND>"),
        (&["config", "set", "agent-loop"], "ROW.KEY"),
        (&["config", "dump", "--profile", "../x"], "is no name of a profile"),
        (&["config", "dump", "--profile", "edtior"], "did you mean `editor`?"),
        (&["config", "dump", "--patch", "absent.yml"], "there is no such file"),
        (&["config", "dump", "--patch", ""], "--patch"),
        (&["config", "dump", "--nonsense"], "--nonsense"),
        (&["schema"], "--config"),
    ] {
        let (code, out, complaints) = run(&world, arguments);
        assert_eq!((code, out.as_str()), (2, ""), "{arguments:?}: {complaints}");
        assert!(complaints.contains(expected), "{arguments:?}: {complaints}");
    }
}
