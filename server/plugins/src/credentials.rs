//! Row `credentials`: the `credentials` service. A credential is the environment variable of its name.

use std::sync::Arc;

use dsh_kernel::Context;
use dsh_kernel::plugin::{Plugin, StartError};
use dsh_llm::credentials::{CREDENTIALS, Credentials, FromEnvironment, ProcessEnvironment};
use futures_util::future::BoxFuture;
use serde_json::Value;

pub(crate) const PLUGIN: Plugin =
    Plugin { provides: &["credentials"], ..Plugin::new("credentials", start) };

fn start(context: Context, _config: Value) -> BoxFuture<'static, Result<(), StartError>> {
    Box::pin(async move {
        let credentials = Arc::new(FromEnvironment(ProcessEnvironment));
        context.provide(&CREDENTIALS, credentials as Arc<dyn Credentials>)
    })
}
