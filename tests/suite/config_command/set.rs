//! `config set`: one value changed in the home's patch file, or a refusal that leaves the file alone.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use dsh_tests::world::World;
use expect_test::expect;
use serde_json::{Value, json};

use super::{mounted, run, write};

const FILE: &str = "home/cordis.patch.yml";

fn text(world: &World) -> String {
    fs::read_to_string(world.root().join(FILE)).unwrap()
}

/// A row's configuration as it is mounted.
fn config(world: &World, id: &str) -> Value {
    let rows = mounted(world, &[]).0;
    rows.iter().find(|row| row["id"] == id).unwrap()["config"].clone()
}

#[test]
fn a_value_is_set_and_everything_else_stays_as_it_was_written() {
    let world = World::new();
    let before = "# Mine.\n- id: tool-glob   # not needed\n  disabled: true\n\n- id: agent-loop\n  merge:\n    budgets: { steps: 3 } # few\n";
    write(&world, FILE, before);
    fs::set_permissions(world.root().join(FILE), fs::Permissions::from_mode(0o640)).unwrap();
    let changed = (0, "changed ROOT/home/cordis.patch.yml\n".to_owned(), String::new());
    assert_eq!(run(&world, &["config", "set", "agent-loop.budgets.steps", "9"]), changed);
    assert_eq!(text(&world), before.replace("steps: 3", "steps: 9"));
    let same = (0, "nothing to change in ROOT/home/cordis.patch.yml\n".to_owned(), String::new());
    assert_eq!(run(&world, &["config", "set", "agent-loop.budgets.steps", "9"]), same);
    assert_eq!(run(&world, &["config", "set", "system-prompt.persona", "Calm."]), changed);
    assert_eq!(run(&world, &["config", "set", "agent-loop.budgets.tokens", "100"]), changed);
    expect![[r#"
        # Mine.
        - id: tool-glob   # not needed
          disabled: true

        - id: agent-loop
          merge:
            budgets: { steps: 9, tokens: 100 } # few
        - id: system-prompt
          merge:
            persona: Calm.
    "#]]
    .assert_eq(&text(&world));
    assert_eq!(config(&world, "agent-loop"), json!({ "budgets": { "steps": 9, "tokens": 100 } }));
    let mode = fs::metadata(world.root().join(FILE)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
}

#[test]
fn the_first_value_makes_the_file_and_nothing_takes_a_key_away() {
    let world = World::new();
    assert!(!world.home().exists());
    assert_eq!(run(&world, &["config", "set", "agent-loop.budgets.steps", "2"]).0, 0);
    expect![[r#"
        - id: agent-loop
          merge:
            budgets:
              steps: 2
    "#]]
    .assert_eq(&text(&world));
    assert_eq!(run(&world, &["config", "set", "agent-loop.budgets.steps", "null"]).0, 0);
    assert_eq!(config(&world, "agent-loop"), json!({ "budgets": {} }));
    let before = config(&world, "llm-deepseek");
    assert!(before.get("models").is_some());
    assert_eq!(run(&world, &["config", "set", "llm-deepseek.models", "null"]).0, 0);
    assert_eq!(config(&world, "llm-deepseek").get("models"), None, "a bundle's key, too");
}

#[test]
fn what_is_refused_leaves_the_file_untouched() {
    let world = World::new();
    let before = "# Mine.\n- id: agent-loop\n  merge: {budgets: {steps: 3}}\n";
    write(&world, FILE, before);
    for (key, value, expected) in [
        ("agent-loop.budgets.stepz", "1", "agent-loop.budgets.stepz: unknown key"),
        ("agent-loop.budgets.steps", "many", "expected a whole number"),
        ("agent-loop.budgets.steps", "\"3\"", "expected a whole number"),
        ("agent-loop.budgets.steps", "-1", "agent-loop.budgets.steps"),
        ("agent-loop.maxParallelToolCalls", "0", "maxParallelToolCalls"),
        ("agent-lop.budgets.steps", "1", "did you mean `agent-loop`?"),
        ("agent-loop.budgets", "[1", "VALUE"),
        ("agent-loop.budgets.steps", "!env STEPS", "expression"),
        ("agent-loop.budgets", "{steps: !env STEPS}", "expression"),
        ("llm-deepseek.models[0].id", "x", "set the whole list"),
        ("agent-loop.", "1", "ROW.KEY"),
        (".budgets", "1", "ROW.KEY"),
        ("agent-loop", "1", "ROW.KEY"),
    ] {
        let (code, out, complaints) = run(&world, &["config", "set", key, value]);
        assert_eq!((code, out.as_str()), (2, ""), "{key} {value}: {complaints}");
        assert!(complaints.contains(expected), "{key} {value}: {complaints}");
        assert_eq!(text(&world), before, "{key} {value}");
    }
    write(&world, FILE, "- id: [\n");
    let (code, _, complaints) = run(&world, &["config", "set", "agent-loop.budgets.steps", "1"]);
    assert_eq!(code, 2);
    assert!(complaints.contains("mend the file first"), "{complaints}");
    assert_eq!(text(&world), "- id: [\n");
}

#[test]
fn a_row_in_a_group_is_named_by_the_way_to_it_and_keys_by_their_dots() {
    let world = World::new();
    let group = "- insert:\n  - id: mine\n    group: true\n    isolate: {llm: true}\n    config:\n    - id: llm\n    - id: far\n      name: openai-compatible\n      config: {provider: far, dialect: openai}\n";
    write(&world, FILE, group);
    assert_eq!(run(&world, &["config", "set", "mine:far.retry.maxRetries", "0"]).0, 0);
    let expected = json!({ "provider": "far", "dialect": "openai", "retry": { "maxRetries": 0 } });
    assert_eq!(config(&world, "mine:far"), expected);
    assert!(text(&world).starts_with(group.trim_end_matches("}\n")), "{}", text(&world));
}

#[test]
fn values_are_read_as_yaml_where_they_look_like_it_and_as_text_elsewhere() {
    let world = World::new();
    for (value, expected) in [
        ("true", json!("expected a string")),
        ("Be calm.", json!("Be calm.")),
        ("a: b", json!("a: b")),
        ("- a", json!("- a")),
        ("yes", json!("yes")),
        ("a # b", json!("a # b")),
        ("\"true\"", json!("true")),
        ("'5'", json!("5")),
        ("*x", json!("*x")),
        ("@home", json!("@home")),
        ("ü\u{2028}n", json!("ü\u{2028}n")),
        ("two\nlines", json!("two\nlines")),
    ] {
        let (code, _, complaints) =
            run(&world, &["config", "set", "--", "system-prompt.persona", value]);
        if value == "true" {
            assert!(code == 2 && complaints.contains("expected"), "{complaints}");
            continue;
        }
        assert_eq!(code, 0, "{value}: {complaints}");
        assert_eq!(config(&world, "system-prompt")["persona"], expected, "{value}");
    }
    let list = "[{id: a, contextWindow: 5}, {id: 'b'}]";
    assert_eq!(run(&world, &["config", "set", "llm-local.models", list]).0, 0);
    let expected = json!([{ "id": "a", "contextWindow": 5 }, { "id": "b" }]);
    assert_eq!(config(&world, "llm-local")["models"], expected);
}

#[test]
fn a_link_stays_a_link() {
    let world = World::new();
    let target = write(&world, "dotfiles/patch.yml", "# Kept elsewhere.\n[]\n");
    fs::create_dir_all(world.home()).unwrap();
    symlink(&target, world.root().join(FILE)).unwrap();
    assert_eq!(run(&world, &["config", "set", "agent-loop.budgets.steps", "2"]).0, 0);
    assert!(fs::symlink_metadata(world.root().join(FILE)).unwrap().is_symlink());
    assert!(fs::read_to_string(target).unwrap().contains("steps: 2"));
}

#[test]
fn a_home_that_cannot_be_written_is_said() {
    let world = World::new();
    write(&world, "file", "");
    for home in ["file", "file/home"] {
        let home = world.root().join(home).display().to_string();
        let arguments = ["config", "set", "agent-loop.budgets.steps", "2", "--home", &home];
        let (code, out, complaints) = run(&world, &arguments);
        assert_eq!((code, out.as_str()), (2, ""), "{complaints}");
        assert!(complaints.contains("ROOT/file"), "{complaints}");
    }
    fs::create_dir_all(world.root().join(FILE)).unwrap();
    let (code, _, complaints) = run(&world, &["config", "set", "agent-loop.budgets.steps", "2"]);
    assert_eq!(code, 2);
    assert!(complaints.contains("ROOT/home/cordis.patch.yml"), "{complaints}");
}
