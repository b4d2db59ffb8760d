//! How often tools and models occur in a folder's logs.

use std::collections::BTreeMap;

use dsh_protocol::event::{Event, EventData};
use dsh_runtime::agent::agents::Agents;
use dsh_runtime::session::log::Log;

/// The most sessions that are read, newest first.
pub(super) const SESSIONS: usize = 50;

/// How many events are looked at while a log stands still.
const PAGE: usize = 1000;

/// What the newest logs say.
#[derive(Default)]
pub(super) struct Used {
    /// The sessions that were read.
    pub(super) sessions: usize,
    /// Those that there are beside.
    pub(super) older: usize,
    /// Calls by tool.
    pub(super) tools: BTreeMap<String, u64>,
    /// Answers by model.
    pub(super) models: BTreeMap<String, u64>,
    /// Sessions that cannot be read, and why.
    pub(super) unreadable: Vec<String>,
}

/// Reads the newest logs. Appends nothing.
pub(super) async fn count(agents: &Agents) -> Used {
    let mut used = Used::default();
    let sessions = match agents.list().await {
        Ok(sessions) => sessions,
        Err(error) => {
            used.unreadable.push(error.to_string());
            return used;
        }
    };
    used.older = sessions.len().saturating_sub(SESSIONS);
    for session in sessions.iter().take(SESSIONS) {
        match agents.open(&session.session_id).await {
            Ok(agent) => used.add(agent.log()),
            Err(error) => used.unreadable.push(format!("{}: {error}", session.session_id)),
        }
    }
    used
}

impl Used {
    fn add(&mut self, log: &Log) {
        self.sessions += 1;
        let mut asked = String::new();
        let mut cursor = -1;
        loop {
            let page = log.page(cursor, PAGE, is_counted);
            for event in &page.events {
                if let EventData::RequestHeader(request) = &event.data {
                    asked = format!("{}/{}", request.header.provider, request.header.model);
                }
                if let EventData::ToolCall(call) = &event.data {
                    *self.tools.entry(call.name.clone()).or_default() += 1;
                }
                if let EventData::AssistantMessage(_) = &event.data {
                    *self.models.entry(asked.clone()).or_default() += 1;
                }
            }
            let last = page.events.last().and_then(|event| i64::try_from(event.seq).ok());
            match last {
                Some(last) if page.more => cursor = last,
                _ => return,
            }
        }
    }
}

fn is_counted(event: &Event) -> bool {
    matches!(
        event.data,
        EventData::ToolCall(_) | EventData::AssistantMessage(_) | EventData::RequestHeader(_)
    )
}
