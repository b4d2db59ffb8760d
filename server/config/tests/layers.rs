//! Which layer wins, and what is said of layers that are wrong.

use dsh_config::problem::ProblemKind;
use expect_test::{Expect, expect};
use serde_json::json;

use crate::world::{World, config, environment};

const ROWS: &str = "- insert:\n    - id: a\n      name: p\n      config: {x: 1, list: [1, 2], deep: {k: 1, l: 2}}\n    - id: g\n      group: true\n      config:\n        - id: inner\n";

/// The problems of a home's patch file over the profile `none`.
fn problems(text: &str, expected: Expect) {
    let world = World::new();
    world.write("rows.yml", ROWS);
    world.write("patch.yml", text);
    expected.assert_eq(&world.show(&world.compose("none", &["rows.yml", "patch.yml"]).problems));
}

#[test]
fn a_later_layer_configures_and_disables_rows_of_an_earlier_one() {
    let world = World::with_home_patch(
        "- id: agent-default-model\n  merge: {provider: deepseek, model: deepseek-v4-pro}\n- id: tool-grep\n  disabled: true\n",
    );
    let composed = world.compose("editor", &[]);
    assert!(composed.problems.is_empty(), "{:?}", composed.problems);
    let model = json!({ "provider": "deepseek", "model": "deepseek-v4-pro" });
    assert_eq!(config(&composed, "agent-default-model"), model);
    let rows = composed.rows(&environment(&[])).unwrap();
    assert!(rows.iter().find(|row| row.id == "tool-grep").unwrap().disabled);

    std::fs::remove_file(world.path("home/cordis.patch.yml")).unwrap();
    let composed = world.compose("editor", &[]);
    let model = json!({ "provider": "offline", "model": "retrieval" });
    assert_eq!(config(&composed, "agent-default-model"), model);
}

#[test]
fn the_profile_is_below_the_home_and_the_home_below_the_command_line() {
    let world = World::with_home_patch("- id: agent-default-model\n  merge: {model: home, h: 1}\n");
    world.write(
        "home/profiles/editor/cordis.patch.yml",
        "- id: agent-default-model\n  merge: {model: profile, p: 1}\n",
    );
    world.write("one.yml", "- id: agent-default-model\n  merge: {model: one, o: 1}\n");
    world.write("two.yml", "- id: agent-default-model\n  merge: {model: two}\n");
    let model = |patches: &[&str]| {
        config(&world.compose("editor", patches), "agent-default-model")["model"].clone()
    };
    assert_eq!(model(&[]), "home");
    assert_eq!(model(&["one.yml", "two.yml"]), "two");
    assert_eq!(model(&["two.yml", "one.yml"]), "one");
    let composed = world.compose("editor", &["one.yml", "two.yml"]);
    let all = json!({ "provider": "offline", "model": "two", "p": 1, "h": 1, "o": 1 });
    assert_eq!(config(&composed, "agent-default-model"), all);
    let row = composed.rows.iter().find(|row| row.id == "agent-default-model").unwrap();
    assert_eq!(row.origin(), "bundle dsh-base");
    assert_eq!(row.patched_by.len(), 4);
}

#[test]
fn merge_is_deep_for_mappings_replaces_the_rest_and_null_removes() {
    let world = World::new();
    world.write("rows.yml", ROWS);
    world.write(
        "patch.yml",
        "- id: a\n  merge: {x: null, list: [3], deep: {k: {m: 1}, l: null}, new: {n: null}}\n",
    );
    let composed = world.compose("none", &["rows.yml", "patch.yml"]);
    assert_eq!(
        config(&composed, "a"),
        json!({ "list": [3], "deep": { "k": { "m": 1 } }, "new": {} })
    );
}

#[test]
fn fields_are_replaced_whole_and_null_clears_them() {
    let world = World::new();
    world.write("rows.yml", ROWS);
    world.write("one.yml", "- id: a\n  config: {y: 1}\n  disabled: true\n  inject: [clock]\n  isolate: {fs: true, llm: mine}\n");
    world.write("two.yml", "- id: a\n  disabled: null\n  inject:\n");
    let rows = |patches: &[&str]| {
        let composed = world.compose("none", patches);
        assert!(composed.problems.is_empty(), "{:?}", composed.problems);
        composed.rows(&environment(&[])).unwrap().remove(0)
    };
    let row = rows(&["rows.yml", "one.yml"]);
    assert_eq!((row.config, row.disabled), (json!({ "y": 1 }), true));
    assert_eq!((row.inject, row.isolate.len()), (vec!["clock".to_owned()], 2));
    let row = rows(&["rows.yml", "one.yml", "two.yml"]);
    assert_eq!((row.disabled, row.inject.len(), row.isolate.len()), (false, 0, 2));
}

#[test]
fn rows_in_groups_are_reached_by_their_id_or_by_the_way_to_it() {
    let world = World::new();
    world.write("rows.yml", ROWS);
    world.write("patch.yml", "- id: g\n  insert: [{id: more, name: p}]\n- id: g:inner\n  merge: {a: 1}\n- id: more\n  merge: {b: 1}\n");
    let composed = world.compose("none", &["rows.yml", "patch.yml"]);
    assert!(composed.problems.is_empty(), "{:?}", composed.problems);
    let group = composed.rows(&environment(&[])).unwrap().remove(1);
    let children = group.children.unwrap();
    let configs: Vec<_> = children.iter().map(|row| (row.id.as_str(), &row.config)).collect();
    assert_eq!(configs, [("inner", &json!({ "a": 1 })), ("more", &json!({ "b": 1 }))]);
}

#[test]
fn the_rows_of_a_group_can_be_replaced_whole_and_changed_afterwards() {
    let world = World::new();
    world.write("rows.yml", ROWS);
    world.write("patch.yml", "- id: g\n  config: [{id: other}]\n- id: other\n  disabled: true\n");
    let composed = world.compose("none", &["rows.yml", "patch.yml"]);
    assert!(composed.problems.is_empty(), "{:?}", composed.problems);
    let children = composed.rows[1].children.as_ref().unwrap();
    assert_eq!((children.len(), children[0].disabled.is_some()), (1, true));
}

#[test]
fn an_inserted_row_that_is_there_already_takes_its_place_and_is_noted() {
    let world = World::with_home_patch("- insert:\n    - id: tool-grep\n      name: my-grep\n");
    let composed = world.compose("editor", &[]);
    expect![[r"
        ./home/cordis.patch.yml:2:11: note: tool-grep: takes the place of the row of bundle dsh-base
          |
        2 |     - id: tool-grep
          |           ^^^^^^^^^
    "]]
    .assert_eq(&world.show(&composed.problems));
    let greps: Vec<_> = composed.rows.iter().filter(|row| row.id == "tool-grep").collect();
    assert_eq!((greps.len(), greps[0].name.as_str()), (1, "my-grep"));
    assert!(composed.rows(&environment(&[])).is_ok());
}

#[test]
fn one_id_twice_in_a_file_is_an_error() {
    problems(
        "- insert: [{id: b}]\n- insert:\n    - id: c\n    - id: b\n",
        expect![[r"
        ./patch.yml:4:11: error: b: `b` is inserted twice; the first is in line 1
          |
        4 |     - id: b
          |           ^
    "]],
    );
}

#[test]
fn a_patch_to_no_row_is_a_warning_that_names_its_layer() {
    let world = World::with_home_patch(
        "- id: tool-grepp\n  disabled: true\n- id: tool-read\n  disabled: true\n",
    );
    let composed = world.compose("editor", &[]);
    expect![[r"
        ./home/cordis.patch.yml:1:7: warning: tool-grepp: no earlier layer has a row `tool-grepp`, so the patch is left out; did you mean `tool-grep`?
          |
        1 | - id: tool-grepp
          |       ^^^^^^^^^^
    "]].assert_eq(&world.show(&composed.problems));
    let rows = composed.rows(&environment(&[])).unwrap();
    assert!(rows.iter().find(|row| row.id == "tool-read").unwrap().disabled);
}

#[test]
fn an_id_that_two_groups_have_needs_the_way_to_it() {
    problems(
        "- insert: [{id: h, group: true, config: [{id: inner}]}]\n- id: inner\n  disabled: true\n- id: h:inner\n  disabled: true\n",
        expect![[r"
            ./patch.yml:2:7: warning: inner: `inner` may be `g:inner` or `h:inner`, so the patch is left out; write one of them
              |
            2 | - id: inner
              |       ^^^^^
        "]],
    );
}

#[test]
fn a_text_can_stand_in_for_the_homes_patch_file() {
    let world = World::with_home_patch("- id: fs\n  disabled: true\n");
    let sources = world.sources("editor", &[]);
    let composed =
        dsh_config::compose::compose_with_home_patch(&sources, "- id: fs\n  disabled: 5\n");
    expect![[r"
        ./home/cordis.patch.yml:2:13: error: fs.disabled: expected `true` or `false` and found a number
          |
        2 |   disabled: 5
          |             ^
    "]].assert_eq(&world.show(&composed.problems));
    let composed = dsh_config::compose::compose_with_home_patch(&sources, "[]");
    assert!(composed.rows.iter().all(|row| row.disabled.is_none()));
}

#[test]
fn a_name_that_does_not_fit_keeps_the_patch_out() {
    problems(
        "- id: a\n  name: q\n  config: {}\n- id: a\n  name: p\n  disabled: true\n",
        expect![[r"
            ./patch.yml:2:9: warning: a: the row's name is `p`, not `q`; the patch is left out
              |
            2 |   name: q
              |         ^
        "]],
    );
}

#[test]
fn rows_are_not_inserted_into_what_is_no_group() {
    problems(
        "- id: a\n  insert: [{id: b}]\n- id: g\n  merge: {}\n",
        expect![[r"
        ./patch.yml:1:3: warning: a: the row is no group; rows cannot be inserted into it
          |
        1 | - id: a
          |   ^^^^^
        ./patch.yml:4:10: error: g: the row is a group; its `config` is a list of rows, which `insert` adds to
          |
        4 |   merge: {}
          |          ^^
    "]],
    );
}

#[test]
fn unknown_fields_are_errors_with_the_nearest_one() {
    problems(
        "- id: a\n  disable: true\n- insert:\n    - id: b\n      nmae: x\n    - id: c\n      merge: {}\n",
        expect![[r"
            ./patch.yml:2:3: error: a patch has no `disable`; did you mean `disabled`?
              |
            2 |   disable: true
              |   ^^^^^^^
            ./patch.yml:5:7: error: a row has no `nmae`; did you mean `name`?
              |
            5 |       nmae: x
              |       ^^^^
            ./patch.yml:7:7: error: a row has no `merge`; it has id, name, disabled, group, inject, intercept, isolate, config
              |
            7 |       merge: {}
              |       ^^^^^
        "]],
    );
}

#[test]
fn entries_that_say_nothing_are_errors() {
    problems(
        "- {}\n- disabled: true\n- insert: []\n  disabled: true\n- insert: {}\n- id: 5\n- insert: [{name: x}, {id: 'a:b'}]\n- id: a\n  merge: {}\n  config: {}\n- id: a\n  merge: 5\n",
        expect![[r"
            ./patch.yml:1:3: error: a patch needs an `id`, or `insert` with rows
              |
            1 | - {}
              |   ^^
            ./patch.yml:2:3: error: a patch needs an `id`, or `insert` with rows
              |
            2 | - disabled: true
              |   ^^^^^^^^^^^^^^
            ./patch.yml:4:3: error: without `id` an entry has `insert` only
              |
            4 |   disabled: true
              |   ^^^^^^^^
            ./patch.yml:5:11: error: expected a list of rows and found a mapping
              |
            5 | - insert: {}
              |           ^^
            ./patch.yml:6:7: error: `id` takes a text and found a number; put it into quotes
              |
            6 | - id: 5
              |       ^
            ./patch.yml:7:12: error: a row needs an `id`
              |
            7 | - insert: [{name: x}, {id: 'a:b'}]
              |            ^^^^^^^^^
            ./patch.yml:7:28: error: `a:b` is no id: ids have no `:`, no `.` and no spaces
              |
            7 | - insert: [{name: x}, {id: 'a:b'}]
              |                            ^^^^^
            ./patch.yml:9:10: error: a: `merge` and `config` in one entry contradict each other; use one of them
              |
            9 |   merge: {}
              |          ^^
            ./patch.yml:12:10: error: a: `merge` takes a mapping and found a number
               |
            12 |   merge: 5
               |          ^
        "]],
    );
}

#[test]
fn words_that_were_booleans_once_are_errors_with_the_right_word() {
    problems(
        "- id: a\n  disabled: yes\n- id: a\n  disabled: 'no'\n- insert: [{id: h, group: on}]\n",
        expect![[r"
            ./patch.yml:2:13: error: a.disabled: expected `true` or `false` and found a text; write `true`
              |
            2 |   disabled: yes
              |             ^^^
            ./patch.yml:4:13: error: a.disabled: expected `true` or `false` and found a text
              |
            4 |   disabled: 'no'
              |             ^^^^
            ./patch.yml:5:27: error: h.group: expected `true` or `false` and found a text; write `true`
              |
            5 | - insert: [{id: h, group: on}]
              |                           ^^
        "]],
    );
}

#[test]
fn patch_files_that_are_wrong_have_a_kind_each() {
    let world = World::new();
    world.write("malformed.yml", "- id: [\n");
    world.write("mapping.yml", "id: a\n");
    world.write("empty.yml", "");
    world.write("comments.yml", "# nothing\n");
    world.write("text.yml", "- hello\n");
    world.write("folder.yml/file", "");
    let names = [
        "absent.yml",
        "malformed.yml",
        "mapping.yml",
        "empty.yml",
        "comments.yml",
        "text.yml",
        "folder.yml",
    ];
    let found: Vec<_> = names
        .iter()
        .map(|name| {
            let composed = world.compose("none", &[name]);
            assert!(composed.rows(&environment(&[])).is_err());
            composed.problems[0].kind
        })
        .collect();
    assert_eq!(
        found,
        [
            ProblemKind::Unreadable,
            ProblemKind::Unparsable,
            ProblemKind::NotAList,
            ProblemKind::NotAList,
            ProblemKind::NotAList,
            ProblemKind::EntryNotAMapping,
            ProblemKind::Unreadable,
        ]
    );
    expect![[r"
        ./absent.yml: error: there is no such file
        ./comments.yml: error: expected a list of patches and found nothing; write `[]` for none
        ./empty.yml: error: expected a list of patches and found nothing; write `[]` for none
        ./folder.yml: error: is no file
        ./malformed.yml:1:7: error: is no YAML: unclosed bracket '['
          |
        1 | - id: [
          |       ^
        ./mapping.yml:1:1: error: expected a list of patches and found a mapping; write `[]` for none
          |
        1 | id: a
          | ^^^^^
        ./text.yml:1:3: error: expected a patch, which is a mapping, and found a text
          |
        1 | - hello
          |   ^^^^^
    "]].assert_eq(&world.show(&world.compose("none", &names).problems));
}

#[test]
fn a_broken_layer_is_an_error_and_says_where_and_a_mended_one_is_used() {
    let world = World::with_home_patch("- id: tool-grep\n  disabled: true\n");
    let is_down = || {
        let rows = world.compose("editor", &[]).rows(&environment(&[])).ok()?;
        rows.iter().find(|row| row.id == "tool-grep").map(|row| row.disabled)
    };
    assert_eq!(is_down(), Some(true));
    world.write("home/cordis.patch.yml", "- id: tool-grep\n  disabled: [\n");
    assert_eq!(is_down(), None);
    world.write("home/cordis.patch.yml", "- id: tool-grep\n  disabled: false\n");
    assert_eq!(is_down(), Some(false));
    std::fs::remove_file(world.path("home/cordis.patch.yml")).unwrap();
    assert_eq!(is_down(), Some(false));
}

#[test]
fn names_of_profiles_cannot_leave_their_folder() {
    let world = World::new();
    for name in ["", " ", ".", "..", "../x", "a/b", "a\\b", "a\nb"] {
        let sources = world.sources(name, &[]);
        let kind = dsh_config::compose::compose(&sources).problems[0].kind;
        assert_eq!(kind, ProblemKind::ProfileName, "{name:?}");
        assert_eq!(sources.watched().len(), 2, "{name:?}");
    }
}

#[test]
fn profiles_that_are_wrong_say_what_there_is() {
    let world = World::new();
    world.write("home/profiles/mine/profile.yml", "bundles: [dsh-base, dsh-editr]\n");
    world.write("home/profiles/odd/profile.yml", "bundle: []\n");
    world.write("home/profiles/text/profile.yml", "bundles: dsh-base\n");
    world.write("home/profiles/empty/profile.yml", "# bundles\n");
    let mut shown = String::new();
    for name in ["edtor", "mine", "odd", "text", "empty"] {
        shown.push_str(&world.show(&world.compose(name, &[]).problems));
    }
    expect![[r"
        profile: error: there is no profile `edtor`; there are `editor`, `empty`, `headless`, `mine`, `none`, `odd`, `text` or `web`, and ./home/profiles/edtor/profile.yml would make it one; did you mean `editor`?
        ./home/profiles/mine/profile.yml:1:21: error: there is no bundle `dsh-editr`; there are `dsh-base`, `dsh-deliberation`, `dsh-editor` or `dsh-headless`
          |
        1 | bundles: [dsh-base, dsh-editr]
          |                     ^^^^^^^^^
        ./home/profiles/odd/profile.yml:1:1: error: a profile has no `bundle`; it has `bundles`
          |
        1 | bundle: []
          | ^^^^^^
        ./home/profiles/text/profile.yml:1:10: error: expected `bundles: […]` and found a text
          |
        1 | bundles: dsh-base
          |          ^^^^^^^^
        ./home/profiles/empty/profile.yml: error: expected `bundles: […]`
    "]].assert_eq(&shown);
}

#[test]
fn a_profile_of_ones_own_has_the_bundles_that_it_lists() {
    let world = World::new();
    world.write("home/profiles/mine/profile.yml", "bundles: [dsh-base]\n");
    world.write("home/profiles/mine/cordis.patch.yml", "- insert: [{id: extra}]\n");
    let composed = world.compose("mine", &[]);
    assert!(composed.problems.is_empty(), "{:?}", composed.problems);
    world.write("home/profiles/same/profile.yml", "bundles: [dsh-base]\n");
    assert_eq!(composed.rows.len(), world.compose("same", &[]).rows.len() + 1);
    assert!(composed.rows.len() < world.compose("editor", &[]).rows.len());
    assert_eq!(composed.defaults.len() + 1, composed.rows.len());
    assert!(world.compose("none", &[]).rows.is_empty());
}

#[test]
fn composing_writes_nothing() {
    let world = World::new();
    for profile in ["editor", "web", "headless", "none"] {
        assert!(world.compose(profile, &[]).problems.is_empty());
    }
    assert_eq!(std::fs::read_dir(world.home()).unwrap().count(), 0);
}

#[test]
fn what_is_watched_is_named_exactly_whether_it_exists_or_not() {
    let world = World::new();
    let watched = world.sources("editor", &["p.yml"]).watched();
    let expected = [
        "home/profiles/editor/profile.yml",
        "home/profiles/editor/cordis.patch.yml",
        "home/cordis.patch.yml",
        "home/.env",
        "p.yml",
    ];
    assert_eq!(watched, expected.map(|name| world.path(name)));
}
