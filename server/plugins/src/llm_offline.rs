//! Row `llm-offline`: mounts the model that needs no network and no key.

use std::sync::Arc;

use dsh_agent::evidence::EVIDENCE;
use dsh_agent::files::SEARCH;
use dsh_kernel::Context;
use dsh_kernel::plugin::{Plugin, StartError};
use dsh_llm::models::LLM;
use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::offline::Retrieval;

pub(crate) const PLUGIN: Plugin = Plugin {
    inject: &["llm", "search"],
    optional: &["evidence"],
    ..Plugin::new("llm-offline", start)
};

fn start(context: Context, _config: Value) -> BoxFuture<'static, Result<(), StartError>> {
    Box::pin(async move {
        let retrieval = Retrieval::new(context.get(&SEARCH)?, context.optional(&EVIDENCE)?);
        context.keep(context.get(&LLM)?.register(Arc::new(retrieval))?)?;
        Ok(())
    })
}
