//! When plugins start, reload and stop.

use std::time::Duration;

use serde_json::json;

use super::harness::*;
use crate::kernel::Kernel;
use crate::status::PluginState;

#[tokio::test]
async fn a_dependent_waits_starts_stops_and_restarts_with_its_provider() {
    for order in [["reader", "store"], ["store", "reader"]] {
        let rows = |value: Option<u32>| {
            let mut rows: Vec<_> = order.iter().map(|id| plain(id, id)).collect();
            let store = order.iter().position(|id| *id == "store").unwrap();
            rows[store].disabled = value.is_none();
            rows[store].config = json!({ "value": value.unwrap_or_default() });
            rows
        };
        let (kernel, world) = mounted(rows(None)).await;
        assert_eq!(state(&kernel, "reader"), PluginState::Pending);
        assert_eq!(status(&kernel, "reader").waiting_for, ["store"]);
        assert_eq!(world.journal(), Vec::<String>::new());
        kernel.update(rows(Some(1))).await.unwrap();
        assert_eq!(world.journal(), ["store starts", "reader starts with store#1"]);
        kernel.update(rows(Some(2))).await.unwrap();
        assert_eq!(
            world.journal(),
            ["reader undone", "store undone", "store starts", "reader starts with store#2"]
        );
        kernel.update(rows(None)).await.unwrap();
        assert_eq!(world.journal(), ["reader undone", "store undone"]);
        assert_eq!(state(&kernel, "reader"), PluginState::Pending);
        assert_eq!(status(&kernel, "reader").error, None);
    }
}

#[tokio::test]
async fn a_failed_start_is_undone_and_retried_when_a_provider_changes() {
    let rows = |value: u32| {
        vec![
            row("store", "store", json!({ "value": value })),
            row("reader", "reader", json!({ "refuse": "store#1" })),
        ]
    };
    let (kernel, world) = mounted(rows(1)).await;
    assert_eq!(state(&kernel, "reader"), PluginState::Failed);
    assert_eq!(status(&kernel, "reader").error.unwrap(), "told to refuse this store");
    assert_eq!(world.journal(), ["store starts", "reader starts with store#1", "reader undone"]);
    assert_eq!(world.names.names(), ["store"]);
    kernel.update(rows(2)).await.unwrap();
    assert_eq!(state(&kernel, "reader"), PluginState::Active);
}

#[tokio::test]
async fn a_failed_start_is_retried_with_another_configuration() {
    let rows = |fail: Option<&str>| vec![row("plain", "plain", json!({ "fail": fail }))];
    let (kernel, _) = mounted(rows(Some("no"))).await;
    assert_eq!(status(&kernel, "plain").error.as_deref(), Some("no"));
    kernel.update(rows(None)).await.unwrap();
    assert_eq!(state(&kernel, "plain"), PluginState::Active);
}

#[tokio::test]
async fn what_a_slow_start_provides_is_invisible_until_it_is_complete() {
    let world = std::sync::Arc::new(World::default());
    let kernel = Kernel::new(PLUGINS, &WORLD, std::sync::Arc::clone(&world));
    let rows = vec![
        row("store", "store", json!({ "gate": "slow" })),
        plain("reader", "reader"),
        plain("plain", "plain"),
    ];
    let gate = world.gate("slow");
    let watching = async {
        gate.reached().await;
        assert!(kernel.get(&STORE).is_none());
        assert_eq!(states(&kernel), ["store loading", "reader pending", "plain pending"]);
        gate.open();
    };
    tokio::join!(kernel.load(rows), watching);
    assert_eq!(states(&kernel), ["store active", "reader active", "plain active"]);
    assert_eq!(kernel.get(&STORE).unwrap().as_str(), "store#0");
}

#[tokio::test(start_paused = true)]
async fn a_start_that_panics_or_hangs_is_undone_and_its_dependents_wait() {
    for (how, said) in [("panic", "told to panic"), ("hang", "did not start within 30s")] {
        let (kernel, world) = mounted(vec![
            plain("reader", "reader"),
            row("store", "store", json!({ how: true })),
            plain("plain", "plain"),
        ])
        .await;
        let store = status(&kernel, "store");
        assert!(store.error.as_deref().unwrap().contains(said), "{store:?}");
        assert_eq!((store.provides.len(), store.effects.len()), (0, 0));
        assert_eq!(states(&kernel), ["reader pending", "store failed", "plain active"]);
        assert_eq!(world.names.names(), ["plain"]);
    }
}

#[tokio::test]
async fn a_replaced_provider_reloads_each_dependent_once_and_dependents_go_first() {
    let rows = |value: u32| {
        vec![
            plain("page", "page"),
            plain("cache", "cache"),
            row("store", "store", json!({ "value": value })),
            plain("other", "plain"),
        ]
    };
    let (kernel, world) = mounted(rows(1)).await;
    world.journal();
    kernel.update(rows(2)).await.unwrap();
    assert_eq!(
        world.journal(),
        [
            "page undone",
            "cache undone",
            "store undone",
            "store starts",
            "cache starts with store#2",
            "page starts",
        ]
    );
}

#[tokio::test]
async fn an_optional_service_that_comes_goes_or_changes_reloads_its_consumer() {
    let rows = |value: Option<u32>| {
        let mut rows = vec![plain("hopeful", "hopeful")];
        rows.extend(value.map(|value| row("store", "store", json!({ "value": value }))));
        rows
    };
    let (kernel, world) = mounted(rows(None)).await;
    assert_eq!(world.journal(), ["hopeful starts"]);
    for (value, expected) in [
        (Some(1), vec!["store starts", "hopeful undone", "hopeful starts with store#1"]),
        (
            Some(2),
            vec!["hopeful undone", "store undone", "store starts", "hopeful starts with store#2"],
        ),
        (None, vec!["hopeful undone", "store undone", "hopeful starts"]),
    ] {
        kernel.update(rows(value)).await.unwrap();
        assert_eq!(world.journal(), expected);
    }
}

#[tokio::test]
async fn who_may_get_an_optional_service_lets_its_provider_start_first() {
    let (_kernel, world) = mounted(vec![
        plain("hopeful", "hopeful"),
        plain("plain", "plain"),
        plain("store", "store"),
    ])
    .await;
    assert_eq!(world.journal(), ["plain starts", "store starts", "hopeful starts with store#0"]);
}

#[tokio::test]
async fn plugins_that_reload_each_other_for_ever_are_stopped() {
    let rows = vec![plain("courting", "courting"), plain("cache", "cache")];
    let (kernel, _) = mounted(rows).await;
    assert_eq!(states(&kernel), ["courting active", "cache failed"]);
    assert!(status(&kernel, "cache").error.unwrap().contains("did not come to rest"));
}

#[tokio::test]
async fn every_registry_empties_after_its_contributor_unloads() {
    let both = vec![plain("store", "store"), plain("reader", "reader")];
    let (kernel, world) = mounted(both.clone()).await;
    assert_eq!(world.names.names(), ["reader", "store"]);
    kernel.update(both[..1].to_vec()).await.unwrap();
    assert_eq!(world.names.names(), ["store"]);
    kernel.update(Vec::new()).await.unwrap();
    assert_eq!(world.names.names(), Vec::<String>::new());
    assert!(kernel.get(&STORE).is_none() && kernel.plugins().is_empty());
}

#[tokio::test]
async fn registering_while_unloading_is_refused_and_undone() {
    let (kernel, world) =
        mounted(vec![row("plain", "plain", json!({ "undo": "registers" }))]).await;
    world.journal();
    kernel.update(Vec::new()).await.unwrap();
    assert_eq!(
        world.journal(),
        ["late one undone", "plain registers late: Err(\"plain\")", "plain undone"]
    );
}

#[tokio::test]
async fn what_is_not_declared_is_neither_given_nor_taken() {
    let rows = vec![plain("store", "store"), plain("sneaky", "sneaky"), plain("stray", "stray")];
    let (kernel, _) = mounted(rows).await;
    let error = |id: &str| status(&kernel, id).error.unwrap();
    assert!(error("sneaky").contains("`inject`"), "{}", error("sneaky"));
    assert!(error("stray").contains("`provides`"), "{}", error("stray"));
}

#[tokio::test]
async fn whoever_watches_hears_of_every_change() {
    let (kernel, world) = mounted(vec![plain("plain", "plain")]).await;
    let mut watch = kernel.watch();
    watch.mark_unchanged();
    let gate = world.gate("g");
    let rows = vec![row("plain", "plain", json!({ "gate": "g" }))];
    let watching = async {
        gate.reached().await;
        assert!(watch.has_changed().unwrap());
        watch.mark_unchanged();
        gate.open();
        watch.changed().await.unwrap();
    };
    let (updated, ()) = tokio::join!(kernel.update(rows), watching);
    updated.unwrap();
    assert_eq!(status(&kernel, "plain").effects.len(), 3);
}

#[tokio::test]
async fn a_change_goes_on_when_nobody_waits_for_it_any_more() {
    let (kernel, world) = mounted(Vec::new()).await;
    let gate = world.gate("g");
    let rows = vec![row("plain", "plain", json!({ "gate": "g" }))];
    tokio::select! {
        _ = kernel.update(rows.clone()) => panic!("the gate is closed"),
        () = gate.reached() => {}
    }
    gate.open();
    kernel.update(rows).await.unwrap();
    assert_eq!(world.journal(), ["plain starts"]);
}

#[tokio::test(start_paused = true)]
async fn an_effect_may_ask_for_time_to_wait_for_running_work() {
    let config = json!({ "undoGate": "work", "patienceSeconds": 600 });
    let (kernel, world) = mounted(vec![row("plain", "plain", config)]).await;
    let gate = world.gate("work");
    let working = async {
        gate.reached().await;
        tokio::time::advance(Duration::from_secs(500)).await;
        assert_eq!(state(&kernel, "plain"), PluginState::Unloading);
        gate.open();
    };
    let (updated, ()) = tokio::join!(kernel.update(Vec::new()), working);
    updated.unwrap();
    assert_eq!(world.journal(), ["plain starts", "plain undone"]);
}
