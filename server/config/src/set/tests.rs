//! What an edit changes, and that it changes nothing else.

use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn check(text: &str, key: &str, value: &Value, expected: Expect) {
    let found = match set(text, "agent-loop", &KeyPath::from(key), value) {
        Ok(text) => text,
        Err(error) => format!("refused: {error}\n"),
    };
    expected.assert_eq(&found);
}

const FILE: &str = "\
# Mine.
- id: agent-loop # the loop
  merge:
    # Not too many.
    maxParallelToolCalls: 4 # four
    budgets:
      steps: 20
      # Long enough.
      minutes: 30

# The end of the loop.
- id: fs
  disabled: false
";

#[test]
fn a_value_that_stands_there_is_replaced() {
    check(
        FILE,
        "maxParallelToolCalls",
        &json!(8),
        expect![[r"
        # Mine.
        - id: agent-loop # the loop
          merge:
            # Not too many.
            maxParallelToolCalls: 8 # four
            budgets:
              steps: 20
              # Long enough.
              minutes: 30

        # The end of the loop.
        - id: fs
          disabled: false
    "]],
    );
}

#[test]
fn a_key_is_added_behind_its_siblings() {
    check(
        FILE,
        "budgets.tokens",
        &json!(100_000),
        expect![[r"
        # Mine.
        - id: agent-loop # the loop
          merge:
            # Not too many.
            maxParallelToolCalls: 4 # four
            budgets:
              steps: 20
              # Long enough.
              minutes: 30
              tokens: 100000

        # The end of the loop.
        - id: fs
          disabled: false
    "]],
    );
}

#[test]
fn a_mapping_is_added_in_lines() {
    check(
        FILE,
        "retry",
        &json!({ "maxRetries": 3, "names": ["a", "b: c"] }),
        expect![[r#"
        # Mine.
        - id: agent-loop # the loop
          merge:
            # Not too many.
            maxParallelToolCalls: 4 # four
            budgets:
              steps: 20
              # Long enough.
              minutes: 30
            retry:
              maxRetries: 3
              names: [a, "b: c"]

        # The end of the loop.
        - id: fs
          disabled: false
    "#]],
    );
}

#[test]
fn an_empty_file_gets_an_entry() {
    check(
        "",
        "budgets.steps",
        &json!(5),
        expect![[r"
        - id: agent-loop
          merge:
            budgets:
              steps: 5
    "]],
    );
    check(
        "# Nothing yet.",
        "name",
        &json!("yes"),
        expect![[r#"
        # Nothing yet.
        - id: agent-loop
          merge:
            name: "yes"
    "#]],
    );
}

#[test]
fn an_empty_list_becomes_one_with_an_entry() {
    check(
        "[] # none\n",
        "budgets.steps",
        &json!(5),
        expect![[r"
        - id: agent-loop
          merge:
            budgets:
              steps: 5 # none
    "]],
    );
}

#[test]
fn a_list_in_brackets_stays_one() {
    check(
        "[{id: fs, merge: {a: 1}}]\n",
        "budgets.steps",
        &json!(5),
        expect![[r"
        [{id: fs, merge: {a: 1}}, {id: agent-loop, merge: {budgets: {steps: 5}}}]
    "]],
    );
    check(
        "[{id: agent-loop, merge: {a: 1}}]\n",
        "budgets.steps",
        &json!(5),
        expect![[r"
        [{id: agent-loop, merge: {a: 1, budgets: {steps: 5}}}]
    "]],
    );
    check(
        "[{id: agent-loop, merge: {}}]\n",
        "a",
        &json!(null),
        expect![[r"
        [{id: agent-loop, merge: {a: null}}]
    "]],
    );
}

#[test]
fn the_last_entry_that_configures_the_row_is_changed() {
    let text = "- id: agent-loop\n  config: {a: 1}\n- id: agent-loop\n  merge: {b: 1}\n";
    check(
        text,
        "a",
        &json!(2),
        expect![[r"
        - id: agent-loop
          config: {a: 1}
        - id: agent-loop
          merge: {b: 1, a: 2}
    "]],
    );
}

#[test]
fn an_entry_that_may_not_apply_is_left_alone() {
    let text = "- id: agent-loop\n  name: other\n  merge: {a: 1}\n";
    check(
        text,
        "a",
        &json!(2),
        expect![[r"
        - id: agent-loop
          name: other
          merge: {a: 1}
        - id: agent-loop
          merge:
            a: 2
    "]],
    );
}

#[test]
fn the_configuration_of_an_inserted_row_is_changed_where_it_is() {
    let text = "- insert:\n    - id: agent-loop\n      config:\n        a: 1\n        b:\n          - x: 1\n          - x: 2\n";
    check(
        text,
        "b[1].x",
        &json!("new"),
        expect![[r"
        - insert:
            - id: agent-loop
              config:
                a: 1
                b:
                  - x: 1
                  - x: new
    "]],
    );
    check(
        text,
        "c",
        &json!(1.5),
        expect![[r"
        - insert:
            - id: agent-loop
              config:
                a: 1
                b:
                  - x: 1
                  - x: 2
                c: 1.5
    "]],
    );
}

#[test]
fn values_of_every_spelling_are_replaced() {
    let text = "- id: agent-loop\n  merge:\n    a: |\n      one\n      two\n    b:\n    c: !env HOME # home\n    d:\n      x: 1\n    e: 'text' # text\n    f: [1,\n      2]\n    g:\n";
    for key in ["a", "b", "c", "d", "e", "f", "g"] {
        let set = set(text, "agent-loop", &KeyPath::from(key), &json!("new")).unwrap();
        let mut lines: Vec<&str> = text.lines().collect();
        lines.retain(|line| !set.contains(line));
        let line = set.lines().find(|line| line.contains("new")).unwrap();
        let expected = match key {
            "c" => "    c: new # home",
            "e" => "    e: new # text",
            _ => &format!("    {key}: new"),
        };
        assert_eq!(line, expected);
        assert_eq!(set.matches(" # ").count(), 2, "{set}");
        assert!(lines.len() <= 3, "{lines:?}");
    }
}

#[test]
fn line_ends_and_the_mark_stay() {
    let text = "\u{feff}- id: agent-loop\r\n  merge:\r\n    a: 1\r\n";
    let set = set(text, "agent-loop", &KeyPath::from("b.c"), &json!(true)).unwrap();
    assert_eq!(
        set,
        "\u{feff}- id: agent-loop\r\n  merge:\r\n    a: 1\r\n    b:\r\n      c: true\r\n"
    );
}

#[test]
fn what_others_share_is_left_alone() {
    let text = "- id: agent-loop\n  merge: &m\n    a: 1\n- id: fs\n  merge: *m\n";
    check(
        text,
        "a",
        &json!(2),
        expect![[r"
        - id: agent-loop
          merge: &m
            a: 1
        - id: fs
          merge: *m
        - id: agent-loop
          merge:
            a: 2
    "]],
    );
}

#[test]
fn a_list_that_is_elsewhere_is_not_reached_into() {
    check(
        FILE,
        "routes[0].name",
        &json!("a"),
        expect![[r"
        refused: `routes[0].name` leads into a list that this file does not set; set the whole list
    "]],
    );
}

#[test]
fn a_broken_file_is_not_touched() {
    check(
        "- id: a\n  id: b\n",
        "a",
        &json!(1),
        expect![[r"
        refused: mend the file first: cordis.patch.yml:2:3: error: id: `id` stands here twice; the first is in line 1
          |
        2 |   id: b
          |   ^^
    "]],
    );
    check(
        "a: 1\n",
        "a",
        &json!(1),
        expect![[r"
        refused: mend the file first: cordis.patch.yml:1:1: error: expected a list of patches and found a mapping; write `[]` for none
          |
        1 | a: 1
          | ^^^^
    "]],
    );
}

#[test]
fn a_file_that_ends_before_its_end_is_not_touched() {
    check(
        "- id: a\n  disabled: true\n...\n",
        "a",
        &json!(1),
        expect![[r"
        refused: the value cannot be set without changing something else; edit the file by hand
    "]],
    );
}

#[test]
fn no_key_is_no_way() {
    check(
        "",
        "",
        &json!(1),
        expect![[r"
        refused: name a key of the row's configuration, like `ROW.KEY`
    "]],
    );
}

/// A value for a key.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[ -~]{0,12}".prop_map(Value::from),
        "(yes|no|\\n|ü|# x|: |\u{2028}){0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            proptest::collection::btree_map("[a-c]", inner, 0..3)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// A patch file as people write it: entries with comments, in lines or in brackets.
fn file() -> impl Strategy<Value = String> {
    let comment = prop_oneof![
        Just(String::new()),
        Just("# one\n".to_owned()),
        Just("\n  # two\n".to_owned())
    ];
    let scalar = prop_oneof![
        Just(" 1".to_owned()),
        Just(" 'q' # three".to_owned()),
        Just(String::new()),
        Just(" {x: 1, a: {b: 2}}".to_owned()),
        Just(" !env X".to_owned()),
        Just(" |\n      text\n\n      more".to_owned()),
        Just("\n      # four\n      a: 1\n      b: # five\n        c: ''".to_owned()),
        Just("\n    - 1\n    - a: 1".to_owned()),
    ];
    let entry = (
        comment,
        prop_oneof![Just("agent-loop"), Just("fs")],
        prop_oneof![Just("merge"), Just("config")],
        proptest::collection::btree_map("[a-d]", scalar, 1..4),
    );
    let entry = entry.prop_map(|(comment, id, field, keys)| {
        let keys = keys.iter().map(|(key, value)| format!("    {key}:{value}\n"));
        let keys: Vec<String> = keys.collect();
        format!("{comment}- id: {id} # six\n  {field}:\n{}", keys.concat())
    });
    proptest::collection::vec(entry, 0..4).prop_map(|entries| entries.concat())
}

/// What a patch file makes of a row, without places.
fn effect(text: &str, row: &str) -> Value {
    let base = Source::built_in("base", "- insert: [{id: agent-loop}, {id: fs}]");
    let layer = Source::built_in("layer", if text.trim().is_empty() { "[]" } else { text });
    let composed = crate::compose::compose_layers(&[base], &[layer]);
    assert!(!composed.problems.iter().any(Problem::is_error), "{:?}", composed.problems);
    let row = composed.rows.iter().find(|known| known.id == row).unwrap();
    row.config.as_ref().map_or(Value::Null, Setting::to_json)
}

proptest! {
    #[test]
    fn a_set_changes_its_key_and_nothing_else(
        text in file(),
        key in "[a-d](\\.[a-c]){0,2}",
        value in value(),
    ) {
        let path = KeyPath::from(key.as_str());
        let before = effect(&text, "agent-loop");
        let edited = set(&text, "agent-loop", &path, &value).unwrap();
        prop_assert_eq!(effect(&text, "fs"), effect(&edited, "fs"));

        let mut expected = before.as_object().cloned().map_or_else(|| json!({}), Value::Object);
        let patch = nested(&path.steps, &value).unwrap();
        merge(&mut expected, &patch);
        let mut after = effect(&edited, "agent-loop");
        // A value in brackets that stood there is replaced; a mapping that is merged keeps its other keys.
        if value.is_object() {
            after = Value::Null;
            expected = Value::Null;
        }
        strip(&mut after);
        strip(&mut expected);
        prop_assert_eq!(after, expected, "{}\n---\n{}", text, edited);

        for comment in ["# one", "# two", "# three", "# four", "# five", "# six"] {
            let of = |text: &str| text.matches(comment).count();
            prop_assert_eq!(of(&text), of(&edited), "{}\n---\n{}", text, edited);
        }
    }

    #[test]
    fn no_text_makes_it_panic(text in "(- id: a|merge:|  |\n|[a-c]: |[{}\\[\\],#'|-]|ü){0,30}", key in "[a-c.]{0,5}") {
        let _ = set(&text, "a", &KeyPath::from(key.as_str()), &json!(1));
    }
}

fn merge(base: &mut Value, patch: &Value) {
    let Value::Object(changes) = patch else {
        *base = patch.clone();
        return;
    };
    // An expression is no mapping.
    if !base.is_object() || base.get("!env").is_some() {
        *base = json!({});
    }
    let Value::Object(map) = base else { return };
    for (key, change) in changes {
        if change.is_null() {
            map.shift_remove(key);
        } else {
            merge(map.entry(key.clone()).or_insert(Value::Null), change);
        }
    }
}

/// Without keys that hold nothing and in one order: `null` in `config` and an absent key mean the same.
fn strip(value: &mut Value) {
    if let Value::Object(map) = value {
        map.retain(|_, value| !value.is_null());
        map.sort_keys();
        map.values_mut().for_each(strip);
    }
}
