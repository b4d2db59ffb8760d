//! Isolated realms.

use std::collections::BTreeMap;

use super::harness::*;
use crate::plugin::{Isolation, Row};
use crate::status::PluginState;

fn isolated(row: Row, isolation: Isolation) -> Row {
    Row { isolate: BTreeMap::from([("store".to_owned(), isolation)]), ..row }
}

fn label(label: &str) -> Isolation {
    Isolation::Label(label.to_owned())
}

#[tokio::test]
async fn an_isolated_group_sees_its_own_provider_and_others_see_the_common_one() {
    let inside = vec![plain("store", "store"), plain("reader", "reader")];
    let (kernel, world) = mounted(vec![
        plain("store", "store"),
        isolated(Row::group("apart", inside), Isolation::Private),
        plain("reader", "reader"),
    ])
    .await;
    assert_eq!(
        world.journal(),
        [
            "store starts",
            "apart:store starts",
            "apart:reader starts with apart:store#0",
            "reader starts with store#0",
        ]
    );
    assert_eq!(kernel.get(&STORE).unwrap().as_str(), "store#0");
}

#[tokio::test]
async fn a_realm_without_a_provider_leaves_its_rows_waiting() {
    let inside = vec![plain("reader", "reader")];
    let (kernel, _) = mounted(vec![
        plain("store", "store"),
        isolated(Row::group("apart", inside), Isolation::Private),
    ])
    .await;
    assert_eq!(status(&kernel, "apart:reader").waiting_for, ["store"]);
}

#[tokio::test]
async fn rows_with_one_label_share_a_realm() {
    let (_kernel, world) = mounted(vec![
        isolated(plain("left", "store"), label("l")),
        isolated(plain("right", "store"), label("r")),
        isolated(plain("reader", "reader"), label("r")),
    ])
    .await;
    assert_eq!(world.journal()[2..], ["reader starts with right#0"]);
}

#[tokio::test]
async fn a_second_provider_in_a_realm_is_refused_and_told_who_has_it() {
    let (kernel, _) = mounted(vec![
        isolated(plain("one", "store"), label("shared")),
        isolated(plain("two", "store"), label("shared")),
        plain("common", "store"),
    ])
    .await;
    assert_eq!(states(&kernel), ["one active", "two failed", "common active"]);
    let error = status(&kernel, "two").error.unwrap();
    assert!(error.contains("`store`") && error.contains("`one`"), "{error}");
}

#[tokio::test]
async fn who_found_a_service_taken_starts_when_it_is_free() {
    let rows = vec![plain("one", "store"), plain("two", "store"), plain("reader", "reader")];
    let (kernel, _) = mounted(rows.clone()).await;
    assert_eq!(state(&kernel, "two"), PluginState::Failed);
    kernel.update(rows[1..].to_vec()).await.unwrap();
    assert_eq!(states(&kernel), ["two active", "reader active"]);
}

#[tokio::test]
async fn two_realms_do_not_disturb_each_other() {
    let group = |id: &str, value: u32| {
        let store = row("store", "store", serde_json::json!({ "value": value }));
        isolated(Row::group(id, vec![store, plain("reader", "reader")]), Isolation::Private)
    };
    let (kernel, world) = mounted(vec![group("a", 1), group("b", 1)]).await;
    world.journal();
    kernel.update(vec![group("a", 2), group("b", 1)]).await.unwrap();
    assert_eq!(
        world.journal(),
        ["a:reader undone", "a:store undone", "a:store starts", "a:reader starts with a:store#2"]
    );
}
