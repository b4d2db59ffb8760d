//! What rows can say beside a plugin and its configuration.

use std::collections::BTreeMap;

use serde_json::json;

use super::harness::*;
use crate::config::KeyPath;
use crate::plugin::{Reference, Row};
use crate::status::PluginState;

fn with_reference(row: Row, path: &str, field: &str) -> Row {
    let service = "store".to_owned();
    let reference = Reference { path: KeyPath::from(path), service, field: field.to_owned() };
    Row { references: vec![reference], ..row }
}

#[tokio::test]
async fn a_group_joins_ids_and_disabling_it_stops_what_is_in_it() {
    let rows = |disabled: bool| {
        let inner = Row::group("inner", vec![plain("plain", "plain")]);
        let outer = Row::group("outer", vec![plain("store", "store"), inner]);
        vec![Row { disabled, ..outer }, plain("reader", "reader")]
    };
    let (kernel, world) = mounted(rows(false)).await;
    assert_eq!(
        states(&kernel),
        ["outer:store active", "outer:inner:plain active", "reader active"]
    );
    kernel.update(rows(true)).await.unwrap();
    assert_eq!(
        states(&kernel),
        ["outer:store disposed", "outer:inner:plain disposed", "reader pending"]
    );
    assert!(world.names.names().is_empty());
    kernel.update(rows(false)).await.unwrap();
    assert_eq!(
        states(&kernel),
        ["outer:store active", "outer:inner:plain active", "reader active"]
    );
}

#[tokio::test]
async fn a_disabled_row_is_not_looked_at() {
    let off = Row { disabled: true, ..row("odd", "nobody", json!({ "any": 1 })) };
    let (kernel, _) = mounted(vec![off.clone()]).await;
    assert_eq!(state(&kernel, "odd"), PluginState::Disposed);
    kernel.update(vec![off, plain("plain", "plain")]).await.unwrap();
}

#[tokio::test]
async fn a_row_may_wait_for_more_than_its_plugin_does() {
    let waiting = Row { inject: vec!["store".to_owned()], ..plain("plain", "plain") };
    let (kernel, world) = mounted(vec![waiting.clone()]).await;
    assert_eq!(status(&kernel, "plain").waiting_for, ["store"]);
    kernel.update(vec![waiting, plain("store", "store")]).await.unwrap();
    // Having declared it, the plugin may also ask for it.
    assert_eq!(world.journal(), ["store starts", "plain starts with store#0"]);
}

#[tokio::test]
async fn a_reference_is_filled_from_what_the_provider_says_and_follows_it() {
    let rows = |value: u32| {
        vec![
            with_reference(row("plain", "plain", json!({ "path": null })), "path", "path"),
            row("store", "store", json!({ "value": value })),
        ]
    };
    let (kernel, world) = mounted(rows(1)).await;
    assert_eq!(world.journal(), ["store starts", "plain starts at /store/1"]);
    kernel.update(rows(2)).await.unwrap();
    assert_eq!(world.journal().last().unwrap(), "plain starts at /store/2");
    kernel.update(rows(2)[..1].to_vec()).await.unwrap();
    assert_eq!(status(&kernel, "plain").waiting_for, ["store"]);
}

#[tokio::test]
async fn a_reference_to_what_nobody_says_or_of_the_wrong_kind_fails_the_start() {
    for (path, field, said) in [
        ("path", "nothing", "says nothing of `nothing`"),
        ("value", "path", "expected a whole number, found a string"),
        ("a.b", "path", "no such place"),
    ] {
        let row = with_reference(row("plain", "plain", json!({ "value": null })), path, field);
        let (kernel, _) = mounted(vec![row, plain("store", "store")]).await;
        let error = status(&kernel, "plain").error.unwrap();
        assert!(error.contains(said) && error.contains(path), "{error}");
    }
}

#[tokio::test]
async fn intercepted_configuration_is_merged_from_the_outside_in() {
    let intercepting =
        |row: Row, config| Row { intercept: BTreeMap::from([("store".to_owned(), config)]), ..row };
    let inner = intercepting(plain("inner", "curious"), json!({ "a": { "y": 2 }, "c": 3 }));
    let group = Row::group("g", vec![inner, plain("other", "curious")]);
    let group = intercepting(group, json!({ "a": { "x": 1, "y": 1 }, "b": 1 }));
    let (_kernel, world) = mounted(vec![group, plain("outside", "curious")]).await;
    assert_eq!(
        world.journal(),
        [
            r#"g:inner {"a":{"x":1,"y":2},"b":1,"c":3}"#,
            r#"g:other {"a":{"x":1,"y":1},"b":1}"#,
            "outside null",
        ]
    );
}

#[tokio::test]
async fn every_problem_of_a_row_stands_in_its_status() {
    let (kernel, _) = mounted(vec![
        row("plain", "plain", json!({ "valeu": 1, "panic": "no" })),
        row("unconfigured", "unconfigured", json!({ "any": 1 })),
        row("unlucky", "plain", json!({ "value": 13 })),
        plain("nobody", "nobody"),
        plain("plain", "store"),
    ])
    .await;
    let errors: Vec<String> =
        kernel.plugins().into_iter().map(|plugin| plugin.error.unwrap()).collect();
    assert!(errors[0].contains("`valeu`: unknown key") && errors[0].contains("`panic`: expected"));
    assert!(errors[1].contains("`any`: unknown key"));
    assert_eq!(errors[2], "config: `value`: 13 is unlucky");
    assert_eq!(errors[3], "there is no plugin named `nobody`");
    assert_eq!(errors[4], "the id `plain` is taken by an earlier row");
}
