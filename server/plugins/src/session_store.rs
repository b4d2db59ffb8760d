//! Row `session-store`: keeps logs as JSONL files under the home folder.

use std::sync::Arc;

use dsh_agent::host::HOST;
use dsh_kernel::Context;
use dsh_kernel::plugin::{Plugin, StartError};
use dsh_session::jsonl::JsonlStore;
use dsh_session::store::{SESSION_STORE, Store};
use futures_util::future::BoxFuture;
use serde_json::Value;

pub(crate) const PLUGIN: Plugin = Plugin {
    inject: &["host"],
    provides: &["sessionStore"],
    ..Plugin::new("session-store", start)
};

fn start(context: Context, _config: Value) -> BoxFuture<'static, Result<(), StartError>> {
    Box::pin(async move {
        let host = context.get(&HOST)?;
        let store = JsonlStore::new(&host.home, &host.workspace);
        context.provide(&SESSION_STORE, Arc::new(store) as Arc<dyn Store>)
    })
}
