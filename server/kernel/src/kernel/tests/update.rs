//! Lists of rows are taken over whole or not at all.

use serde_json::{Value, json};

use super::harness::*;
use crate::kernel::Kernel;
use crate::plugin::Row;
use crate::update::{RowFailure, Stage, UpdateError};

async fn failures(kernel: &Kernel, rows: Vec<Row>) -> Vec<RowFailure> {
    match kernel.update(rows).await.unwrap_err() {
        UpdateError::Rows(failures) => failures,
        UpdateError::Closed => panic!("the kernel is open"),
    }
}

fn store(config: Value) -> Row {
    row("store", "store", config)
}

#[tokio::test]
async fn a_bad_replacement_leaves_the_old_one_running_and_a_good_one_applies() {
    let with = |config: Value| vec![store(config), plain("reader", "reader")];
    let (kernel, world) = mounted(with(json!({ "value": 1 }))).await;
    world.journal();
    for (bad, key) in [(json!({ "valeu": 2 }), "valeu"), (json!({ "value": 13 }), "value")] {
        let failed = failures(&kernel, with(bad)).await;
        let [RowFailure { id, name, stage: Stage::Apply, problems, .. }] = &failed[..] else {
            panic!("{failed:?}")
        };
        assert_eq!((id.as_str(), name.as_str(), problems.len()), ("store", "store", 1));
        assert_eq!(problems[0].path.to_string(), key);
        assert_eq!(world.journal(), Vec::<String>::new(), "nothing was stopped");
    }
    let failed = failures(&kernel, with(json!({ "value": 2, "fail": "no" }))).await;
    assert_eq!((failed.len(), failed[0].message.as_str()), (1, "no"));
    assert_eq!(kernel.get(&STORE).unwrap().as_str(), "store#1");
    assert_eq!(states(&kernel), ["store active", "reader active"]);
    kernel.update(with(json!({ "value": 3 }))).await.unwrap();
    assert_eq!(world.journal().last().unwrap(), "reader starts with store#3");
}

#[tokio::test]
async fn a_new_row_that_fails_takes_back_everything_of_its_batch() {
    let old = vec![store(json!({ "value": 1 })), plain("reader", "reader"), plain("gone", "plain")];
    let (kernel, world) = mounted(old).await;
    world.journal();
    let failed = failures(
        &kernel,
        vec![
            store(json!({ "value": 2 })),
            plain("reader", "reader"),
            plain("fresh", "plain"),
            row("bad", "plain", json!({ "fail": "first" })),
            row("worse", "plain", json!({ "panic": true })),
        ],
    )
    .await;
    let said: Vec<String> = failed.iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "row `bad` (plain) did not start: first",
            "row `worse` (plain) did not start: the plugin panicked while it started: told to panic",
        ]
    );
    assert_eq!(states(&kernel), ["store active", "reader active", "gone active"]);
    assert_eq!(kernel.get(&STORE).unwrap().as_str(), "store#1");
    assert_eq!(world.names.names(), ["gone", "reader", "store"]);
    let journal = world.journal();
    assert!(!journal.contains(&"gone undone".to_owned()), "what vanished stops last: {journal:?}");
    let fresh = journal.iter().position(|line| line == "fresh undone");
    let restored = journal.iter().rposition(|line| line == "store starts");
    assert!(fresh.is_some() && fresh < restored, "{journal:?}");
}

#[tokio::test]
async fn a_plugin_that_cannot_be_found_never_stops_the_running_one() {
    let (kernel, world) = mounted(vec![store(Value::Null)]).await;
    world.journal();
    let failed = failures(&kernel, vec![plain("store", "nobody"), plain("more", "nothing")]).await;
    let stages: Vec<_> = failed.iter().map(|it| (it.id.as_str(), it.stage)).collect();
    assert_eq!(stages, [("more", Stage::Import), ("store", Stage::Import)]);
    assert_eq!(world.journal(), Vec::<String>::new());
}

#[tokio::test]
async fn a_row_may_change_its_plugin() {
    let (kernel, world) = mounted(vec![plain("it", "store"), plain("reader", "reader")]).await;
    world.journal();
    kernel.update(vec![plain("it", "plain"), plain("reader", "reader")]).await.unwrap();
    assert_eq!(world.journal(), ["reader undone", "it undone", "it starts"]);
    assert_eq!(states(&kernel), ["it active", "reader pending"]);
}

#[tokio::test]
async fn an_id_that_stands_twice_is_named() {
    let (kernel, _) = mounted(vec![plain("plain", "plain")]).await;
    let twice = vec![
        Row::group("g", vec![plain("x", "plain")]),
        plain("plain", "plain"),
        Row::group("g", vec![plain("x", "store")]),
    ];
    let failed = failures(&kernel, twice).await;
    assert_eq!((failed.len(), failed[0].id.as_str()), (1, "g:x"));
    assert!(failed[0].message.contains("`g:x`"));
    assert_eq!(states(&kernel), ["plain active"]);
}

#[tokio::test]
async fn rows_that_wait_are_legal() {
    let (kernel, _) = mounted(Vec::new()).await;
    kernel.update(vec![plain("page", "page"), plain("reader", "reader")]).await.unwrap();
    assert_eq!(states(&kernel), ["page pending", "reader pending"]);
}

#[tokio::test]
async fn a_provider_under_another_id_takes_over() {
    let (kernel, world) = mounted(vec![plain("old", "store"), plain("reader", "reader")]).await;
    world.journal();
    kernel.update(vec![plain("reader", "reader"), plain("new", "store")]).await.unwrap();
    assert_eq!(kernel.get(&STORE).unwrap().as_str(), "new#0");
    assert_eq!(states(&kernel), ["reader active", "new active"]);
    // The same with a name in a registry, and the other way round.
    let named = |id: &str| row(id, "store", json!({ "takes": "the name" }));
    kernel.update(vec![named("left"), plain("reader", "reader")]).await.unwrap();
    kernel.update(vec![named("right"), plain("reader", "reader")]).await.unwrap();
    assert_eq!(world.names.get("the name").as_deref(), Some("right"));
    // And when the newcomer fails for its own reasons, the old one is back.
    let failing = row("third", "store", json!({ "takes": "the name", "fail": "no" }));
    let failed = failures(&kernel, vec![failing, plain("reader", "reader")]).await;
    assert_eq!((failed.len(), failed[0].message.as_str()), (1, "no"));
    assert_eq!(world.names.get("the name").as_deref(), Some("right"));
    assert_eq!(states(&kernel), ["right active", "reader active"]);
}

#[tokio::test]
async fn a_dependent_that_cannot_live_with_the_new_provider_keeps_the_old_one() {
    let rows = |value: u32| {
        vec![
            store(json!({ "value": value })),
            row("reader", "reader", json!({ "refuse": "store#2" })),
        ]
    };
    let (kernel, _) = mounted(rows(1)).await;
    let failed = failures(&kernel, rows(2)).await;
    assert_eq!((failed.len(), failed[0].id.as_str()), (1, "reader"));
    assert_eq!(states(&kernel), ["store active", "reader active"]);
    assert_eq!(kernel.get(&STORE).unwrap().as_str(), "store#1");
}

#[tokio::test]
async fn a_row_that_had_failed_already_does_not_hold_up_the_others() {
    let broken = row("broken", "reader", json!({ "fail": "always" }));
    let (kernel, _) = mounted(vec![broken.clone(), store(Value::Null)]).await;
    kernel.update(vec![broken, store(json!({ "value": 2 }))]).await.unwrap();
    assert_eq!(states(&kernel), ["broken failed", "store active"]);
    assert_eq!(kernel.get(&STORE).unwrap().as_str(), "store#2");
}

#[tokio::test]
async fn what_cannot_be_undone_or_restored_is_told_as_well() {
    // The old store starts once only: the name that it takes is not free when it comes back.
    let old = json!({ "value": 1, "undo": "panics" });
    let (kernel, world) = mounted(vec![store(old)]).await;
    let squatter = world.names.register("late", "somebody".to_owned()).unwrap();
    let new = json!({ "value": 2, "takes": "late" });
    let failed = failures(&kernel, vec![store(new)]).await;
    let stages: Vec<_> = failed.iter().map(|it| it.stage).collect();
    assert_eq!(stages, [Stage::Apply, Stage::Dispose]);
    assert_eq!(states(&kernel), ["store active"]);
    drop(squatter);
}

#[tokio::test]
async fn an_unchanged_list_touches_nothing() {
    let rows = vec![store(Value::Null), plain("reader", "reader")];
    let (kernel, world) = mounted(rows.clone()).await;
    world.journal();
    kernel.update(rows.into_iter().rev().collect()).await.unwrap();
    assert_eq!(world.journal(), Vec::<String>::new());
    assert_eq!(states(&kernel), ["reader active", "store active"]);
}
