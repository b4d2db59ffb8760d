//! Random sequences of updates end where a fresh mount of the last good list ends, and leave nothing behind.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::harness::*;
use crate::plugin::Row;

/// One row as the generator sees it.
#[derive(Clone, Debug)]
struct Draft {
    id: usize,
    plugin: usize,
    config: usize,
    disabled: bool,
    grouped: bool,
}

const IDS: [&str; 5] = ["a", "b", "c", "d", "e"];
const NAMES: [&str; 7] = ["store", "cache", "reader", "page", "hopeful", "plain", "nobody"];

fn configs() -> [Value; 8] {
    [
        Value::Null,
        json!({ "value": 1 }),
        json!({ "value": 2 }),
        json!({ "takes": "shared" }),
        json!({ "fail": "no" }),
        json!({ "panic": true }),
        json!({ "unknown": 1 }),
        json!({ "undo": "panics" }),
    ]
}

fn rows(drafts: &[Draft]) -> Vec<Row> {
    let (mut rows, mut inside) = (Vec::new(), Vec::new());
    for draft in drafts {
        let row = Row {
            disabled: draft.disabled,
            ..row(IDS[draft.id], NAMES[draft.plugin], configs()[draft.config].clone())
        };
        if draft.grouped { inside.push(row) } else { rows.push(row) }
    }
    rows.push(Row::group("group", inside));
    rows
}

fn list() -> impl Strategy<Value = Vec<Draft>> {
    let config = prop_oneof![6 => 0..4_usize, 1 => 4..8_usize];
    let plugin = prop_oneof![20 => 0..6_usize, 1 => Just(6_usize)];
    let draft =
        (0..IDS.len(), plugin, config, prop::bool::weighted(0.15), prop::bool::weighted(0.2));
    let draft = draft.prop_map(|(id, plugin, config, disabled, grouped)| Draft {
        id,
        plugin,
        config,
        disabled,
        grouped,
    });
    prop::collection::vec(draft, 0..6)
}

/// What runs and what is registered: who provides a service to whom is part of it, as the states of the
/// dependents say.
async fn active(rows: Vec<Row>) -> (Vec<String>, Vec<String>) {
    let (kernel, world) = mounted(rows).await;
    let outcome = (sorted(states(&kernel)), world.names.names());
    kernel.dispose().await;
    outcome
}

fn sorted(mut states: Vec<String>) -> Vec<String> {
    states.sort();
    states
}

async fn check(lists: Vec<Vec<Draft>>) {
    let (kernel, world) = mounted(Vec::new()).await;
    let mut good = Vec::new();
    for drafts in lists {
        let candidate = rows(&drafts);
        let before = sorted(states(&kernel));
        match kernel.update(candidate.clone()).await {
            Ok(()) => good = candidate,
            Err(_) => {
                assert_eq!(sorted(states(&kernel)), before, "a refused list changed something");
            }
        }
        assert!(!states(&kernel).iter().any(|state| state.ends_with("failed")));
        let fresh = active(good.clone()).await;
        assert_eq!((sorted(states(&kernel)), world.names.names()), fresh);
    }
    kernel.dispose().await;
    assert!(world.names.names().is_empty());
    let journal = world.journal();
    let count = |suffix: &str| journal.iter().filter(|line| line.contains(suffix)).count();
    assert_eq!(count(" starts"), count(" undone"), "{journal:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn updates_end_where_a_fresh_mount_of_the_last_good_list_ends(
        lists in prop::collection::vec(list(), 1..8)
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(check(lists));
    }
}
