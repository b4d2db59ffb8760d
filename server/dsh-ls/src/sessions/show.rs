//! `dsh-ls sessions show`.

use std::fmt::Write as _;
use std::process::ExitCode;

use clap::Args;
use dsh_protocol::event::{Event, EventData};
use dsh_protocol::params::session::SessionGetResult;
use dsh_protocol::session::SessionInfo;
use dsh_protocol::transcript::Transcript;
use dsh_runtime::runtime::Runtime;
use dsh_runtime::session::export::rfc3339;
use dsh_runtime::session::jsonl::sound_events;

use super::{FAILED, agent};
use crate::cli::{self, ServerArgs, complain, printable};

/// How many lines of a tool's result are shown unless asked.
const RESULT_LINES: usize = 10;

#[derive(Args)]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    pub(super) server: ServerArgs,
    /// The session
    #[arg(value_name = "ID")]
    id: String,
    /// Show the results of tools whole
    #[arg(long)]
    whole: bool,
    /// Print the session's summary, tokens and queue as one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(runtime: &Runtime, args: ShowArgs) -> anyhow::Result<ExitCode> {
    let Some(agent) = agent(runtime, &args.id).await? else {
        if !args.json {
            show_sound_part(runtime, &args).await?;
        }
        return Ok(ExitCode::from(FAILED));
    };
    let session = match agent.info().await {
        Ok(session) => session,
        Err(error) => {
            complain(&error.to_string());
            return Ok(ExitCode::from(FAILED));
        }
    };
    let log = agent.log();
    if args.json {
        let summary = log.read(|fold| SessionGetResult {
            session,
            usage: fold.usage,
            totals: fold.totals,
            queue: fold.inbox.queue(),
            pending_approvals: Vec::new(),
        });
        cli::print(&format!("{}\n", serde_json::to_string(&summary)?))?;
        return Ok(ExitCode::SUCCESS);
    }
    let events = log.page(-1, usize::MAX, |_| true).events;
    let transcript = transcript(events.iter().map(AsRef::as_ref), args.whole);
    let requests = log.read(|fold| fold.totals.requests);
    cli::print(&printable(&format!("{}\n{transcript}", head(&session, requests))))?;
    Ok(ExitCode::SUCCESS)
}

fn transcript<'e>(events: impl Iterator<Item = &'e Event>, whole: bool) -> String {
    let mut transcript = Transcript::new();
    if !whole {
        transcript = transcript.cut_results(RESULT_LINES);
    }
    for event in events.filter(|event| !matches!(event.data, EventData::AssistantChunk(_))) {
        transcript.push(event);
    }
    transcript.finish()
}

/// Shows what stands before the line at which a log is damaged.
async fn show_sound_part(runtime: &Runtime, args: &ShowArgs) -> anyhow::Result<()> {
    for workspace in runtime.workspaces().await? {
        let (_, unreadable) = workspace.agents().await?.list_all().await?;
        let Some(log) = unreadable.into_iter().find(|log| log.id.0 == args.id) else { continue };
        let Some(path) = log.path else { return Ok(()) };
        let events = match tokio::task::spawn_blocking(move || sound_events(&path)).await? {
            Ok(events) if !events.is_empty() => events,
            Ok(_) | Err(_) => return Ok(()),
        };
        cli::print(&printable(&transcript(events.iter(), args.whole)))?;
        complain(&format!(
            "shown are the {} events before that; the file is left as it is",
            events.len()
        ));
        return Ok(());
    }
    Ok(())
}

fn head(session: &SessionInfo, requests: u64) -> String {
    let mut text = format!("session {}\n", session.session_id);
    if let Some(title) = &session.title {
        let _ = writeln!(text, "title   {title}");
    }
    if let Some(fork) = &session.forked_from {
        let _ = writeln!(text, "from    {} up to event {}", fork.session_id, fork.seq);
    }
    if let Some(parent) = &session.parent_session_id {
        let _ = writeln!(text, "parent  {parent}");
    }
    let _ = writeln!(text, "folder  {}", session.workspace);
    let _ = writeln!(text, "model   {}", session.model);
    let _ = writeln!(text, "created {}", rfc3339(session.created_at));
    let _ = writeln!(text, "updated {}", rfc3339(session.updated_at));
    let _ = writeln!(text, "events  {}", session.last_seq + 1);
    let _ = writeln!(text, "asked   {requests} times");
    text
}
