//! How everything comes down, also in the middle of something else.

use std::sync::Arc;

use serde_json::json;

use super::harness::*;
use crate::kernel::Kernel;
use crate::update::UpdateError;

#[tokio::test]
async fn everything_stops_in_reverse_dependents_before_their_providers() {
    let (kernel, world) = mounted(vec![
        plain("page", "page"),
        plain("cache", "cache"),
        plain("store", "store"),
        plain("plain", "plain"),
    ])
    .await;
    world.journal();
    kernel.dispose().await;
    assert_eq!(world.journal(), ["plain undone", "page undone", "cache undone", "store undone"]);
    assert_eq!(
        states(&kernel),
        ["page disposed", "cache disposed", "store disposed", "plain disposed"]
    );
    assert!(kernel.get(&STORE).is_none() && world.names.names().is_empty());
}

#[tokio::test]
async fn disposing_twice_and_from_two_callers_cleans_up_once_and_both_wait() {
    let rows = vec![row("store", "store", json!({ "gate": "in" })), plain("reader", "reader")];
    let world = Arc::new(World::default());
    let kernel = Kernel::new(PLUGINS, &WORLD, Arc::clone(&world));
    world.gate("in").open();
    kernel.load(rows).await;
    world.journal();
    let down = async || {
        kernel.dispose().await;
        assert!(world.names.names().is_empty());
    };
    tokio::join!(down(), down());
    kernel.dispose().await;
    assert_eq!(world.journal(), ["reader undone", "store undone"]);
    assert_eq!(kernel.update(Vec::new()).await, Err(UpdateError::Closed));
}

#[tokio::test(start_paused = true)]
async fn a_cleanup_that_panics_or_hangs_does_not_stop_the_others() {
    for how in ["panics", "hangs"] {
        let rows = vec![row("store", "store", json!({ "undo": how })), plain("reader", "reader")];
        let (kernel, world) = mounted(rows).await;
        world.journal();
        kernel.dispose().await;
        assert_eq!(world.journal(), ["reader undone", "store undone"]);
        assert!(world.names.names().is_empty());
    }
}

#[tokio::test]
async fn a_boot_without_a_service_names_it_and_a_broken_plugin_shows_its_own_error() {
    let rows = vec![plain("reader", "reader"), row("plain", "plain", json!({ "fail": "no disk" }))];
    let (kernel, _) = mounted(rows).await;
    assert_eq!(status(&kernel, "reader").waiting_for, ["store"]);
    assert_eq!(status(&kernel, "plain").error.as_deref(), Some("no disk"));
}

#[tokio::test]
async fn a_shutdown_during_boot_is_clean() {
    let world = Arc::new(World::default());
    let kernel = Kernel::new(PLUGINS, &WORLD, Arc::clone(&world));
    let rows = vec![
        plain("plain", "plain"),
        row("store", "store", json!({ "gate": "never opened" })),
        plain("reader", "reader"),
    ];
    let gate = world.gate("never opened");
    let shutdown = async {
        gate.reached().await;
        kernel.dispose().await;
        assert!(world.names.names().is_empty());
    };
    tokio::join!(kernel.load(rows), shutdown);
    assert_eq!(world.journal(), ["plain starts", "store starts", "store undone", "plain undone"]);
    assert_eq!(states(&kernel), ["plain disposed", "store disposed", "reader disposed"]);
}

#[tokio::test]
async fn a_boot_that_nobody_waits_for_any_more_leaves_nothing_behind() {
    let world = Arc::new(World::default());
    let rows = vec![row("store", "store", json!({ "gate": "never opened" }))];
    let gate = world.gate("never opened");
    tokio::select! {
        _ = Kernel::mount(rows, PLUGINS, &WORLD, Arc::clone(&world)) => panic!("the gate is closed"),
        () = gate.reached() => {}
    }
    while Arc::strong_count(&world) > 1 {
        tokio::task::yield_now().await;
    }
    assert_eq!(world.journal(), ["store starts", "store undone"]);
    assert!(world.names.names().is_empty());
}

#[test]
fn a_kernel_that_is_dropped_outside_of_a_runtime_undoes_its_registrations() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let (kernel, world) =
        runtime.block_on(mounted(vec![plain("store", "store"), plain("reader", "reader")]));
    drop(runtime);
    drop(kernel);
    assert!(world.names.names().is_empty());
    assert_eq!(world.journal()[2..], ["reader undone", "store undone"]);
}

#[tokio::test]
async fn who_waits_for_running_work_hears_of_the_shutdown() {
    let config = json!({ "undoGate": "work", "patienceSeconds": 600 });
    let (kernel, world) = mounted(vec![row("plain", "plain", config)]).await;
    let gate = world.gate("work");
    let shutdown = async {
        gate.reached().await;
        kernel.dispose().await;
    };
    let (updated, ()) = tokio::join!(kernel.update(Vec::new()), shutdown);
    assert_eq!(updated, Err(UpdateError::Closed));
    assert_eq!(world.journal(), ["plain starts", "gives up waiting", "plain undone"]);
}
