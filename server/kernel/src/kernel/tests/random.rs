//! Random sequences of updates end where a fresh mount of the last good list ends, and leave nothing behind.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::harness::*;
use crate::kernel::Kernel;
use crate::plugin::{Isolation, Row};

/// One row as the generator sees it.
#[derive(Clone, Debug)]
struct Draft {
    id: usize,
    plugin: usize,
    config: usize,
    disabled: bool,
    grouped: bool,
    /// Looks for `store`, and provides it, in a realm of this label.
    isolated: bool,
}

const IDS: [&str; 5] = ["a", "b", "c", "d", "e"];
const NAMES: [&str; 7] = ["store", "cache", "reader", "page", "hopeful", "plain", "nobody"];

fn isolated() -> (String, Isolation) {
    ("store".to_owned(), Isolation::Label("apart".to_owned()))
}

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
            isolate: draft.isolated.then(isolated).into_iter().collect(),
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
    let seldom = || prop::bool::weighted(0.15);
    let draft = (0..IDS.len(), plugin, config, seldom(), seldom(), seldom());
    let draft = draft.prop_map(|(id, plugin, config, disabled, grouped, isolated)| Draft {
        id,
        plugin,
        config,
        disabled,
        grouped,
        isolated,
    });
    prop::collection::vec(draft, 0..6)
}

/// Where rows stand, the names that are registered, and for each name by whom and with which store.
type Outcome = (Vec<String>, Vec<String>, Vec<String>);

fn outcome(kernel: &Kernel, world: &World) -> Outcome {
    (sorted(states(kernel)), world.names.names(), world.names.all())
}

/// How a fresh mount comes out.
async fn fresh(rows: Vec<Row>) -> Outcome {
    let (kernel, world) = mounted(rows).await;
    let outcome = outcome(&kernel, &world);
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
        let before = outcome(&kernel, &world);
        match kernel.update(candidate.clone()).await {
            Ok(()) => good = candidate,
            Err(_) => {
                assert_eq!(outcome(&kernel, &world), before, "a refused list changed something");
            }
        }
        assert!(!states(&kernel).iter().any(|state| state.ends_with("failed")));
        assert_eq!(outcome(&kernel, &world), fresh(good.clone()).await);
    }
    kernel.dispose().await;
    assert!(world.names.names().is_empty());
    let journal = world.journal();
    let count = |suffix: &str| journal.iter().filter(|line| line.contains(suffix)).count();
    assert_eq!(count(" starts"), count(" undone"), "{journal:?}");
}

proptest! {
    #[test]
    fn updates_end_where_a_fresh_mount_of_the_last_good_list_ends(
        lists in prop::collection::vec(list(), 1..8)
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(check(lists));
    }
}
