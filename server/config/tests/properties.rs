//! What holds for all layers.

use dsh_config::compose::{Composed, compose_layers};
use dsh_config::dump::{DumpOptions, dump};
use dsh_config::evaluate::Environment;
use dsh_config::source::Source;
use proptest::prelude::*;

/// A value in brackets.
fn value() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just("-12".to_owned()),
        Just("1e3".to_owned()),
        Just("yes".to_owned()),
        Just("!env X".to_owned()),
        Just("!env [X, {a: 1}]".to_owned()),
        Just("!env {name: X, json: true}".to_owned()),
        Just("!home a".to_owned()),
        Just("!cwd".to_owned()),
        Just("!platform {linux: [1], default: !home}".to_owned()),
        Just("!service s.f".to_owned()),
        any::<String>()
            .prop_map(|text| serde_json::Value::from(text.replace('\u{7f}', "")).to_string())
            .prop_map(|text| text.chars().map(escaped).collect()),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4)
                .prop_map(|items| format!("[{}]", items.join(", "))),
            mapping("[a-d]|'# k'|\"ü: \"", inner),
        ]
    })
}

/// YAML reads fewer characters than JSON.
fn escaped(char: char) -> String {
    match u32::from(char) {
        0x20..=0x7e | 0xa0..=0xd7ff => char.to_string(),
        code @ 0..=0xffff => format!("\\u{code:04x}"),
        code => format!("\\U{code:08x}"),
    }
}

fn mapping(
    key: &'static str,
    value: impl Strategy<Value = String>,
) -> impl Strategy<Value = String> {
    proptest::collection::btree_map(key, value, 0..4).prop_map(|map| {
        let entries: Vec<String> =
            map.iter().map(|(key, value)| format!("{key}: {value}")).collect();
        format!("{{{}}}", entries.join(", "))
    })
}

/// A row, perhaps a group.
fn row() -> impl Strategy<Value = String> {
    let config = mapping("[a-d]", value());
    let disabled = prop_oneof![Just("true"), Just("false"), Just("!env DOWN")];
    let leaf = ("[a-e]", "[p-r]", disabled, config).prop_map(|(id, name, disabled, config)| {
        format!("{{id: {id}, name: {name}, disabled: {disabled}, isolate: {{s: true}}, config: {config}}}")
    });
    leaf.prop_recursive(2, 6, 3, |inner| {
        ("[f-h]", proptest::collection::vec(inner, 0..3)).prop_map(|(id, rows)| {
            format!("{{id: {id}, group: true, config: [{}]}}", rows.join(", "))
        })
    })
}

fn layer() -> impl Strategy<Value = String> {
    let entry = prop_oneof![
        row().prop_map(|row| format!("- insert: [{row}]\n")),
        ("[f-h]", row()).prop_map(|(id, row)| format!("- id: {id}\n  insert: [{row}]\n")),
        ("[a-h]", mapping("[a-d]", value()))
            .prop_map(|(id, map)| format!("- id: {id}\n  merge: {map}\n")),
        ("[a-e]", mapping("[a-d]", value()))
            .prop_map(|(id, map)| format!("- id: {id}\n  config: {map}\n")),
        "[a-h]".prop_map(|id| format!("- id: {id}\n  disabled: true\n  inject: [s]\n")),
    ];
    proptest::collection::vec(entry, 1..4).prop_map(|entries| entries.concat())
}

fn composed(texts: &[String]) -> Composed {
    let sources: Vec<_> =
        (0..).zip(texts).map(|(at, text)| Source::built_in(&format!("{at}"), text)).collect();
    compose_layers(&[], &sources)
}

fn environment() -> Environment {
    let variables = [("X", "5"), ("DOWN", "1")];
    Environment {
        variables: variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        home: "/h".into(),
        cwd: "/w".into(),
        platform: "linux".to_owned(),
    }
}

proptest! {
    #[test]
    fn a_dump_composes_to_what_was_dumped(layers in proptest::collection::vec(layer(), 1..5), origin: bool) {
        let mut first = composed(&layers);
        let text = dump(&first, DumpOptions { origin, default: false });
        let again = composed(std::slice::from_ref(&text));
        prop_assert!(again.problems.is_empty(), "{:?}\n{}", again.problems, text);
        first.problems.clear();
        let rows = |of: &Composed| of.rows(&environment());
        prop_assert_eq!(rows(&again), rows(&first), "{}", text);
        let plain = DumpOptions::default();
        prop_assert_eq!(dump(&again, plain), dump(&first, plain));
    }

    #[test]
    fn a_dump_over_any_of_the_layers_it_came_from_makes_the_same_tree(
        layers in proptest::collection::vec(layer(), 1..4),
        below in 0..4_usize,
    ) {
        let mut first = composed(&layers);
        let text = dump(&first, DumpOptions::default());
        // The home's patch file is read for the profile `none` too, and lies below the dump.
        let mut layers = layers[below.min(layers.len())..].to_vec();
        layers.push(text);
        let mut again = composed(&layers);
        first.problems.clear();
        again.problems.clear();
        prop_assert_eq!(again.rows(&environment()), first.rows(&environment()));
    }

    #[test]
    fn no_layer_makes_it_panic(text in "(- |insert|id|name|merge|config|group|disabled|: |\\[|\\]|\\{|\\}|, |[a-c]|true|!env |!x |&a |\\*a|\n|  |'|#){0,60}") {
        let composed = composed(&["- insert: [{id: a}]".to_owned(), text]);
        let _ = composed.rows(&environment());
        let _ = dump(&composed, DumpOptions { origin: true, default: false });
        let _ = dsh_config::check::check(&composed, &environment(), &[]);
    }
}
