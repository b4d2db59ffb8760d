//! How often tools and models occur in a folder's logs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use dsh_protocol::event::{Event, EventData};
use dsh_protocol::session::FileHeader;
use dsh_runtime::agent::agents::Agents;
use dsh_runtime::session::jsonl::read_file;
use dsh_runtime::session::log::Log;

/// The most sessions that are read, newest first.
pub(super) const SESSIONS: usize = 50;

/// The longest header line that is read.
const HEADER: u64 = 64 * 1024;

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

/// Reads the newest logs of a folder. Appends nothing.
pub(super) async fn count(agents: &Agents, home: &Path, workspace: &Path) -> Used {
    let mut used = Used::default();
    let sessions = match agents.list().await {
        Ok(sessions) => sessions,
        Err(error) => {
            used.unreadable.push(error.to_string());
            return used;
        }
    };
    let listed = sessions.iter().map(|session| session.session_id.to_string()).collect();
    used.unreadable = left_out(&home.join("sessions"), workspace, &listed);
    used.older = sessions.len().saturating_sub(SESSIONS);
    for session in sessions.iter().take(SESSIONS) {
        match agents.open(&session.session_id).await {
            Ok(agent) => used.add(agent.log()),
            Err(error) => used.unreadable.push(format!("{}: {error}", session.session_id)),
        }
    }
    used
}

/// The logs of a folder that no list shows because they cannot be read, and those that do not say of which folder
/// they are. What cannot be looked at is told by the check of all sessions.
fn left_out(root: &Path, workspace: &Path, listed: &BTreeSet<String>) -> Vec<String> {
    let mut found = Vec::new();
    for log in entries(root).iter().flat_map(|folder| entries(folder)) {
        let Some(id) = log.file_stem().and_then(|stem| stem.to_str()) else { continue };
        if log.extension().is_none_or(|it| it != "jsonl") || listed.contains(id) {
            continue;
        }
        if cwd(&log).is_none_or(|cwd| cwd == workspace)
            && let Err(error) = read_file(&log)
        {
            found.push(format!("{}: {error}", log.display()));
        }
    }
    found.sort();
    found
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// The folder of a log by its header.
fn cwd(log: &Path) -> Option<PathBuf> {
    let mut line = String::new();
    BufReader::new(File::open(log).ok()?.take(HEADER)).read_line(&mut line).ok()?;
    serde_json::from_str::<FileHeader>(&line).ok().map(|header| header.cwd.into())
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
