//! Row `subagent-fork`: starts subagents that know every turn of their parent's session that has ended.

use std::sync::Arc;

use dsh_agent::subagents::SUBAGENTS;
use dsh_agent::subagents::error::StartError as Refused;
use dsh_agent::subagents::in_process::{InProcess, SUPPORTS};
use dsh_agent::subagents::provider::{Capabilities, SubagentProvider, SubagentRun};
use dsh_agent::subagents::request::StartRequest;
use dsh_kernel::Context;
use dsh_kernel::plugin::{Plugin, StartError};
use dsh_protocol::event::{Event, EventData};
use dsh_session::log::Log;
use futures_util::future::BoxFuture;
use serde_json::Value;

pub(crate) const PLUGIN: Plugin = Plugin {
    inject: &["subagents", "agents", "host", "tools", "llm"],
    ..Plugin::new("subagent-fork", start)
};

const NAME: &str = "fork";

fn start(context: Context, _config: Value) -> BoxFuture<'static, Result<(), StartError>> {
    Box::pin(async move {
        let fork = Fork { children: InProcess::new(&context)? };
        context.keep(context.get(&SUBAGENTS)?.register(Arc::new(fork))?)?;
        Ok(())
    })
}

struct Fork {
    children: InProcess,
}

impl SubagentProvider for Fork {
    fn name(&self) -> &str {
        NAME
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { inherits_parent_context: true, supports: SUPPORTS }
    }

    fn start(
        &self,
        request: StartRequest,
    ) -> BoxFuture<'static, Result<Box<dyn SubagentRun>, Refused>> {
        let children = self.children.clone();
        Box::pin(async move {
            let seed = ended_turns(children.parent(&request)?.log());
            children.start(NAME, request, seed).await
        })
    }
}

/// The events up to the end of the last turn that has ended; none if none has.
fn ended_turns(log: &Log) -> Vec<Arc<Event>> {
    let mut events = log.page(-1, usize::MAX, |_| true).events;
    let ended = events.iter().rposition(|event| matches!(event.data, EventData::TurnEnd(_)));
    events.truncate(ended.map_or(0, |at| at + 1));
    events
}
