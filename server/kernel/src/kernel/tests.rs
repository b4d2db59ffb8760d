//! The order in which plugins start and stop, and what a broken one leaves behind.

use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use super::{Kernel, PluginState};
use crate::context::Context;
use crate::plugin::{Plugin, Row, StartError};
use crate::registration::Registration;
use crate::service::Key;

type Journal = Mutex<Vec<String>>;

const JOURNAL: Key<Journal> = Key::new("journal");
const STORE: Key<String> = Key::new("store");

/// Writes down that two effects begin and end, and fails or panics when told to.
fn store(context: Context, config: Value) -> BoxFuture<'static, Result<(), StartError>> {
    Box::pin(async move {
        let journal = context.get(&JOURNAL)?;
        for name in ["first", "second"] {
            let journal = Arc::clone(&journal);
            let row = context.row().to_owned();
            context.keep(Registration::new(move || {
                journal.lock().unwrap().push(format!("{row} {name} undone"));
            }));
        }
        match config.as_str() {
            Some("fail") => return Err(StartError::Failed("told to".to_owned())),
            Some("panic") => panic!("told to"),
            Some(_) | None => {}
        }
        context.provide(&STORE, Arc::new("a store".to_owned()))
    })
}

fn reader(context: Context, _config: Value) -> BoxFuture<'static, Result<(), StartError>> {
    Box::pin(async move {
        let store = context.get(&STORE)?;
        let journal = context.get(&JOURNAL)?;
        journal.lock().unwrap().push(format!("reader found {store}"));
        context.keep(Registration::new(move || {
            journal.lock().unwrap().push("reader undone".to_owned());
        }));
        Ok(())
    })
}

const PLUGINS: &[Plugin] = &[
    Plugin { inject: &["store", "journal"], ..Plugin::new("reader", reader) },
    Plugin { inject: &["journal"], provides: &["store"], ..Plugin::new("store", store) },
];

async fn mounted(rows: &[(&str, &str, Value)]) -> (Kernel, Arc<Journal>) {
    let rows = rows
        .iter()
        .map(|(id, name, config)| Row { name: (*name).to_owned(), ..Row::new(id, config.clone()) })
        .collect();
    let journal = Arc::new(Journal::default());
    (Kernel::mount(rows, PLUGINS, &JOURNAL, Arc::clone(&journal)).await, journal)
}

fn state(kernel: &Kernel, id: &str) -> PluginState {
    kernel.plugins().iter().find(|plugin| plugin.id == id).unwrap().state.clone()
}

#[tokio::test]
async fn rows_start_when_their_services_are_there_and_stop_in_reverse() {
    let (kernel, journal) =
        mounted(&[("reader", "reader", Value::Null), ("store", "store", Value::Null)]).await;
    assert!(kernel.plugins().iter().all(|plugin| plugin.state == PluginState::Active));
    kernel.dispose().await;
    assert_eq!(
        *journal.lock().unwrap(),
        ["reader found a store", "reader undone", "store second undone", "store first undone"]
    );
    assert!(kernel.get(&STORE).is_none());
}

#[tokio::test]
async fn a_start_that_fails_or_panics_is_undone_and_its_dependents_wait() {
    for how in ["fail", "panic"] {
        let (kernel, journal) =
            mounted(&[("reader", "reader", Value::Null), ("store", "store", json!(how))]).await;
        assert!(matches!(state(&kernel, "store"), PluginState::Failed { .. }));
        assert_eq!(state(&kernel, "reader"), PluginState::Pending { waiting_for: vec!["store"] });
        assert_eq!(*journal.lock().unwrap(), ["store second undone", "store first undone"]);
    }
}

#[tokio::test]
async fn a_second_provider_of_a_service_is_told_who_has_it() {
    let (kernel, _) =
        mounted(&[("one", "store", Value::Null), ("two", "store", Value::Null)]).await;
    let PluginState::Failed { error } = state(&kernel, "two") else {
        panic!("two providers of one service")
    };
    assert!(error.contains("`store`") && error.contains("`one`"), "{error}");
    assert_eq!(kernel.get(&STORE).unwrap().as_str(), "a store");
}

#[tokio::test]
async fn unknown_plugins_and_taken_ids_are_reported() {
    let (kernel, _) = mounted(&[
        ("nobody", "nobody", Value::Null),
        ("store", "store", Value::Null),
        ("store", "reader", Value::Null),
    ])
    .await;
    let failed: Vec<_> = kernel
        .plugins()
        .iter()
        .filter(|plugin| matches!(plugin.state, PluginState::Failed { .. }))
        .collect();
    assert_eq!(failed.len(), 2);
}
