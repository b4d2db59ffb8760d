//! Row `subagent-spawn`: starts subagents that know nothing of their parent's session.

use std::sync::Arc;

use dsh_agent::subagents::SUBAGENTS;
use dsh_agent::subagents::error::StartError as Refused;
use dsh_agent::subagents::in_process::{InProcess, SUPPORTS};
use dsh_agent::subagents::provider::{Capabilities, SubagentProvider, SubagentRun};
use dsh_agent::subagents::request::StartRequest;
use dsh_kernel::Context;
use dsh_kernel::plugin::{Plugin, StartError};
use futures_util::future::BoxFuture;
use serde_json::Value;

pub(crate) const PLUGIN: Plugin = Plugin {
    inject: &["subagents", "agents", "host", "tools", "llm"],
    ..Plugin::new("subagent-spawn", start)
};

const NAME: &str = "spawn";

fn start(context: Context, _config: Value) -> BoxFuture<'static, Result<(), StartError>> {
    Box::pin(async move {
        let spawn = Spawn { children: InProcess::new(&context)? };
        context.keep(context.get(&SUBAGENTS)?.register(Arc::new(spawn))?)?;
        Ok(())
    })
}

struct Spawn {
    children: InProcess,
}

impl SubagentProvider for Spawn {
    fn name(&self) -> &str {
        NAME
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { inherits_parent_context: false, supports: SUPPORTS }
    }

    fn start(
        &self,
        request: StartRequest,
    ) -> BoxFuture<'static, Result<Box<dyn SubagentRun>, Refused>> {
        let children = self.children.clone();
        Box::pin(async move { children.start(NAME, request, Vec::new()).await })
    }
}
