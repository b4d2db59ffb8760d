//! What expressions stand for, and what is no expression.

use dsh_kernel::config::KeyPath;
use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::world::{World, environment};

/// The row of a file that holds one.
fn row(config: &str, variables: &[(&str, &str)]) -> dsh_kernel::plugin::Row {
    let world = World::new();
    let config = config.replace('\n', "\n      ");
    world.write("rows.yml", &format!("- insert:\n  - id: a\n    config:\n      {config}\n"));
    let composed = world.compose("none", &["rows.yml"]);
    let rows = composed.rows(&environment(variables));
    rows.unwrap_or_else(|problems| panic!("{}", world.show(&problems))).remove(0)
}

fn config(text: &str, variables: &[(&str, &str)]) -> Value {
    row(text, variables).config
}

fn problems(config: &str, expected: Expect) {
    let world = World::new();
    let config = config.replace('\n', "\n      ");
    world.write("rows.yml", &format!("- insert:\n  - id: a\n    config:\n      {config}\n"));
    let composed = world.compose("none", &["rows.yml"]);
    let environment = environment(&[("BAD", "{not json"), ("WORD", "maybe")]);
    let problems = composed.rows(&environment).unwrap_err();
    expected.assert_eq(&world.show(&problems));
}

#[test]
fn a_variable_is_its_text_or_its_default_or_nothing() {
    let text =
        "a: !env X\nb: !env [X, 5]\nc: !env {name: X, default: [1]}\nl: [!env X]\nd: {e: !env X}";
    assert_eq!(
        config(text, &[("X", "7")]),
        json!({ "a": "7", "b": "7", "c": "7", "l": ["7"], "d": { "e": "7" } })
    );
    for unset in [&[][..], &[("X", "")]] {
        assert_eq!(config(text, unset), json!({ "b": 5, "c": [1], "l": [null], "d": {} }));
    }
}

#[test]
fn a_variable_may_hold_json() {
    let text = "a: !env {name: X, json: true, default: 3}";
    assert_eq!(config(text, &[("X", "{\"k\": [1]}")]), json!({ "a": { "k": [1] } }));
    assert_eq!(config(text, &[]), json!({ "a": 3 }));
}

#[test]
fn a_default_may_be_an_expression() {
    let text = "a: !env\n  name: X\n  default: !env [Y, !home z]";
    assert_eq!(config(text, &[("Y", "y")]), json!({ "a": "y" }));
    assert_eq!(config(text, &[]), json!({ "a": "/h/z" }));
}

#[test]
fn paths_are_in_the_home_or_the_current_directory() {
    let text = "a: !home\nb: !home x/y\nc: !cwd\nd: !cwd ./z/";
    assert_eq!(config(text, &[]), json!({ "a": "/h", "b": "/h/x/y", "c": "/w", "d": "/w/z" }));
}

#[test]
fn a_platform_chooses() {
    let text = "a: !platform {linux: 1, default: 2}\nb: !platform {macos: 1, default: !env [X, d]}\nc: !platform {macos: 1}";
    assert_eq!(config(text, &[]), json!({ "a": 1, "b": "d" }));
}

#[test]
fn a_field_of_a_service_is_a_reference_of_the_row() {
    let row =
        row("a: {b: [1, !service store.path]}\nc: !platform {default: !service store.name}", &[]);
    let found: Vec<_> = row
        .references
        .iter()
        .map(|it| (it.path.to_string(), it.service.as_str(), it.field.as_str()))
        .collect();
    assert_eq!(found, [("a.b[1]".to_owned(), "store", "path"), ("c".to_owned(), "store", "name")]);
    assert_eq!(KeyPath::from("a.b[1]").get(&row.config), Some(&Value::Null));
}

#[test]
fn whether_a_row_stays_down_may_depend_on_the_environment() {
    let world = World::new();
    world.write("rows.yml", "- insert: [{id: a, disabled: !env NO_A}]\n");
    let composed = world.compose("none", &["rows.yml"]);
    let is_down =
        |variables: &[(&str, &str)]| composed.rows(&environment(variables)).unwrap()[0].disabled;
    assert!(!is_down(&[]) && !is_down(&[("NO_A", "0")]) && !is_down(&[("NO_A", "off")]));
    assert!(is_down(&[("NO_A", "1")]) && is_down(&[("NO_A", "true")]));
    let problems = composed.rows(&environment(&[("NO_A", "perhaps")])).unwrap_err();
    expect![[r"
        ./rows.yml:1:30: error: a.disabled: `disabled` comes to neither `true` nor `false`
          |
        1 | - insert: [{id: a, disabled: !env NO_A}]
          |                              ^^^^^^^^^
    "]]
    .assert_eq(&world.show(&problems));
}

#[test]
fn code_is_no_expression() {
    problems(
        "a: !!js process.env.HOME\nb: !js x\nc: !Env X\nd: !include x.yml",
        expect![[r"
        ./rows.yml:4:10: error: a.a: `!!js` is no expression; there are `!env`, `!home`, `!cwd`, `!platform` or `!service`
          |
        4 |       a: !!js process.env.HOME
          |          ^^^^^^^^^^^^^^^^^^^^^
        ./rows.yml:5:10: error: a.b: `!js` is no expression; there are `!env`, `!home`, `!cwd`, `!platform` or `!service`
          |
        5 |       b: !js x
          |          ^^^^^
        ./rows.yml:6:10: error: a.c: `!Env` is no expression; there are `!env`, `!home`, `!cwd`, `!platform` or `!service`
          |
        6 |       c: !Env X
          |          ^^^^^^
        ./rows.yml:7:10: error: a.d: `!include` is no expression; there are `!env`, `!home`, `!cwd`, `!platform` or `!service`
          |
        7 |       d: !include x.yml
          |          ^^^^^^^^^^^^^^
    "]],
    );
}

#[test]
fn expressions_that_are_wrong_say_what_was_expected() {
    problems(
        "a: !env\nb: !env [X]\nc: !env {nam: X}\nd: !env {name: X, json: yes}\ne: !env A=B\nf: !home ../x\ng: !cwd /x\nh: !platform {beos: 1}\ni: !platform x\nj: !service store\nk: !home [a]",
        expect![[r"
            ./rows.yml:4:10: error: a.a: expected the name of a variable and found nothing
              |
            4 |       a: !env
              |          ^^^^
            ./rows.yml:5:10: error: a.b: expected `!env NAME`, `!env [NAME, default]` or `!env {name: NAME, default: …, json: true}`
              |
            5 |       b: !env [X]
              |          ^^^^^^^^
            ./rows.yml:6:16: error: a.c: expected `!env NAME`, `!env [NAME, default]` or `!env {name: NAME, default: …, json: true}`
              |
            6 |       c: !env {nam: X}
              |                ^^^
            ./rows.yml:7:31: error: a.d: `json` must be `true` or `false`
              |
            7 |       d: !env {name: X, json: yes}
              |                               ^^^
            ./rows.yml:8:10: error: a.e: expected the name of a variable, without `=` and spaces
              |
            8 |       e: !env A=B
              |          ^^^^^^^^
            ./rows.yml:9:10: error: a.f: expected a path inside the folder: relative, with `/`, without `..`
              |
            9 |       f: !home ../x
              |          ^^^^^^^^^^
            ./rows.yml:10:10: error: a.g: expected a path inside the folder: relative, with `/`, without `..`
               |
            10 |       g: !cwd /x
               |          ^^^^^^^
            ./rows.yml:11:21: error: a.h: `beos` is no platform; there are `linux`, `macos`, `windows` or `default`
               |
            11 |       h: !platform {beos: 1}
               |                     ^^^^
            ./rows.yml:12:10: error: a.i: expected a mapping from `linux`, `macos`, `windows` or `default`
               |
            12 |       i: !platform x
               |          ^^^^^^^^^^^
            ./rows.yml:13:10: error: a.j: expected `!service name.field`
               |
            13 |       j: !service store
               |          ^^^^^^^^^^^^^^
            ./rows.yml:14:10: error: a.k: expected a relative path, or nothing
               |
            14 |       k: !home [a]
               |          ^^^^^^^^^
        "]],
    );
}

#[test]
fn what_is_no_json_is_said_without_the_value() {
    problems(
        "a: {b: !env {name: BAD, json: true}}",
        expect![[r"
        ./rows.yml:4:14: error: a.a.b: the variable `BAD` is no JSON (column 2)
          |
        4 |       a: {b: !env {name: BAD, json: true}}
          |              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    "]],
    );
}

#[test]
fn expressions_stand_in_config_and_disabled_only() {
    let world = World::new();
    world.write(
        "rows.yml",
        "- insert:\n  - id: !env X\n    name: x\n  - {id: a, inject: [!env X], intercept: {fs: {root: !cwd}}, disabled: !service a.b}\n- !env X\n",
    );
    expect![[r"
        ./rows.yml:2:9: error: `id` takes a text and found an expression
          |
        2 |   - id: !env X
          |         ^^^^^^
        ./rows.yml:4:21: error: a.inject: expected a list of names of services
          |
        4 |   - {id: a, inject: [!env X], intercept: {fs: {root: !cwd}}, disabled: !service a.b}
          |                     ^^^^^^^^
        ./rows.yml:4:22: error: a.inject[0]: `!env` is not evaluated here; expressions stand in `config` and `disabled`
          |
        4 |   - {id: a, inject: [!env X], intercept: {fs: {root: !cwd}}, disabled: !service a.b}
          |                      ^^^^^^
        ./rows.yml:4:54: error: a.intercept.fs.root: `!cwd` is not evaluated here; expressions stand in `config` and `disabled`
          |
        4 |   - {id: a, inject: [!env X], intercept: {fs: {root: !cwd}}, disabled: !service a.b}
          |                                                      ^^^^
        ./rows.yml:4:72: error: a.disabled: expected `true` or `false` and found an expression
          |
        4 |   - {id: a, inject: [!env X], intercept: {fs: {root: !cwd}}, disabled: !service a.b}
          |                                                                        ^^^^^^^^^^^^
        ./rows.yml:5:3: error: expected a patch, which is a mapping, and found an expression
          |
        5 | - !env X
          |   ^^^^^^
    "]].assert_eq(&world.show(&world.compose("none", &["rows.yml"]).problems));
}
