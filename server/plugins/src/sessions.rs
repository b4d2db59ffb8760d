//! Row `sessions`: opens and creates logs.

use std::sync::Arc;

use dsh_agent::host::HOST;
use dsh_agent::sessions::{SESSIONS, Sessions};
use dsh_kernel::Context;
use dsh_kernel::plugin::{Plugin, StartError};
use dsh_session::store::SESSION_STORE;
use futures_util::future::BoxFuture;
use serde_json::Value;

pub(crate) const PLUGIN: Plugin = Plugin {
    inject: &["host", "sessionStore"],
    provides: &["sessions"],
    ..Plugin::new("sessions", start)
};

fn start(context: Context, _config: Value) -> BoxFuture<'static, Result<(), StartError>> {
    Box::pin(async move {
        let clock = Arc::clone(&context.get(&HOST)?.clock);
        let sessions = Sessions::new(context.get(&SESSION_STORE)?, clock);
        context.provide(&SESSIONS, Arc::new(sessions))
    })
}
