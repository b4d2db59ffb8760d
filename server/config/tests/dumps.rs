//! A dump is a patch file that makes the same tree.

use dsh_config::dump::{DumpOptions, dump, list_rows};
use expect_test::expect;
use serde_json::json;

use crate::world::{World, environment};

const ROWS: &str = r#"
- insert:
    - id: plain
    - id: all
      name: other/plugin
      isolate: {llm: true, fs: shared}
      inject: [clock]
      intercept: {fs: {root: x}}
      disabled: !env {name: DOWN, default: true}
      config:
        text: "yes"
        lines: "a\nb"
        url: "http://x:1/#a"
        empty: {}
        list: []
        words: [a, "b c", "d, e"]
        rows: [{a: 1, b: [1]}, [x], !home]
        key: !env [KEY, fallback]
        where: !platform {linux: !cwd a/b, default: null}
        what: !service store.path
        number: 1.5
    - id: group
      group: true
      config:
        - id: inner
          config: {a: 1}
        - id: more
"#;

#[test]
fn a_dump_shows_expressions_unevaluated_and_loads() {
    let world = World::new();
    world.write("rows.yml", ROWS);
    let composed = world.compose("none", &["rows.yml"]);
    let text = dump(&composed, DumpOptions::default());
    expect![[r#"
        - insert:
            - id: plain
              name: plain
            - id: all
              name: other/plugin
              disabled: !env
                name: DOWN
                default: true
              inject: [clock]
              intercept:
                fs:
                  root: x
              isolate:
                fs: shared
                llm: true
              config:
                text: "yes"
                lines: "a\nb"
                url: "http://x:1/#a"
                empty: {}
                list: []
                words: [a, b c, "d, e"]
                rows:
                  - a: 1
                    b: [1]
                  - [x]
                  - !home
                key: !env
                  name: KEY
                  default: fallback
                where: !platform
                  linux: !cwd a/b
                  default: null
                what: !service store.path
                number: 1.5
            - id: group
              name: group
              group: true
              config:
                - id: inner
                  name: inner
                  config:
                    a: 1
                - id: more
                  name: more
    "#]]
    .assert_eq(&text);
    world.write("dump.yml", &text);
    let again = world.compose("none", &["dump.yml"]);
    assert!(again.problems.is_empty(), "{:?}", again.problems);
    let environment = environment(&[]);
    assert_eq!(again.rows(&environment).unwrap(), composed.rows(&environment).unwrap());
    assert_eq!(dump(&again, DumpOptions::default()), text);
}

#[test]
fn origins_are_said_where_they_change() {
    let world = World::new();
    world.write("rows.yml", ROWS);
    world.write("home/cordis.patch.yml", "- insert: [{id: mine}, {id: yours}]\n");
    world.write(
        "patch.yml",
        "- id: plain\n  merge: {a: 1}\n- id: inner\n  disabled: true\n- id: yours\n  config: {}\n",
    );
    let composed = world.compose("none", &["rows.yml", "patch.yml"]);
    let text = dump(&composed, DumpOptions { origin: true, default: false });
    let comments: Vec<String> = text
        .lines()
        .filter(|line| line.contains("# ") || line.contains("id:") || line.contains("insert:"))
        .filter(|line| !line.contains("http"))
        .map(|line| line.replace(&world.path("").display().to_string(), ""))
        .collect();
    expect![[r#"
        - insert:
            # origin: home/cordis.patch.yml
            - id: mine
            # origin: home/cordis.patch.yml; patched by: patch.yml
            - id: yours
            # origin: rows.yml; patched by: patch.yml
            - id: plain
            # origin: rows.yml
            - id: all
            - id: group
                # origin: rows.yml; patched by: patch.yml
                - id: inner
                # origin: rows.yml
                - id: more
    "#]]
    .assert_eq(&(comments.join("\n") + "\n"));
    world.write("dump.yml", &text);
    let environment = environment(&[]);
    let again = world.compose("none", &["dump.yml"]);
    assert_eq!(again.rows(&environment).unwrap(), composed.rows(&environment).unwrap());
}

#[test]
fn the_default_is_the_bundles_alone() {
    let world = World::with_home_patch("- id: fs\n  disabled: true\n- insert: [{id: x}]\n");
    let composed = world.compose("editor", &[]);
    let text = dump(&composed, DumpOptions { origin: true, default: true });
    expect![[r#"
        - insert:
            # origin: bundle dsh-base
            - id: llm
              name: llm
            - id: credentials
              name: credentials
            - id: llm-deepseek
              name: openai-compatible
              config:
                provider: deepseek
                dialect: deepseek
                apiKey: DEEPSEEK_API_KEY
                models:
                  - id: deepseek-v4-flash
                    contextWindow: 1000000
                  - id: deepseek-v4-pro
                    contextWindow: 1000000
                  - id: deepseek-v4-flash-vision-exp
                    contextWindow: 1000000
                    input: [text, image]
            - id: llm-openai
              name: openai-compatible
              config:
                provider: openai
                dialect: openai
                apiKey: OPENAI_API_KEY
            - id: llm-local
              name: openai-compatible
              config:
                provider: local
                dialect: ollama
            - id: llm-offline
              name: llm-offline
            - id: llm-replay
              name: llm-replay
            - id: agent-default-model
              name: agent-default-model
              config:
                provider: offline
                model: retrieval
            - id: session-store
              name: session-store
            - id: sessions
              name: sessions
            - id: system-prompt
              name: system-prompt
            - id: tools
              name: tools
            - id: agents
              name: agents
            - id: agent-loop
              name: agent-loop
            - id: fs
              name: fs
            - id: evidence
              name: evidence
            - id: tool-read
              name: tool-read
            - id: tool-grep
              name: tool-grep
            - id: tool-glob
              name: tool-glob
    "#]]
    .assert_eq(&text);
}

#[test]
fn a_tree_without_rows_is_a_patch_file_too() {
    let world = World::new();
    let text = dump(&world.compose("none", &[]), DumpOptions::default());
    assert_eq!(text, "- insert: []\n");
}

#[test]
fn clients_get_rows_with_their_layers() {
    let world = World::with_home_patch(
        "- insert: [{id: g, group: true, config: [{id: i, config: {a: !env X}}]}]\n- id: i\n  disabled: !env DOWN\n",
    );
    let composed = world.compose("none", &[]);
    let listed = list_rows(&composed, &environment(&[("DOWN", "1")]));
    let home = world.home().join("cordis.patch.yml").display().to_string();
    assert_eq!(
        serde_json::to_value(&listed).unwrap(),
        json!([
            { "id": "g", "name": "g", "config": null, "disabled": false, "origin": home, "patchedBy": [] },
            {
                "id": "g:i",
                "name": "i",
                "config": { "a": { "!env": "X" } },
                "disabled": true,
                "origin": home,
                "patchedBy": [home],
            },
        ])
    );
}
