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
    let mut transcript = Transcript::new();
    if !args.whole {
        transcript = transcript.cut_results(RESULT_LINES);
    }
    let wanted = |event: &Event| !matches!(event.data, EventData::AssistantChunk(_));
    for event in log.page(-1, usize::MAX, wanted).events {
        transcript.push(&event);
    }
    let requests = log.read(|fold| fold.totals.requests);
    let text = format!("{}\n{}", head(&session, requests), transcript.finish());
    cli::print(&printable(&text))?;
    Ok(ExitCode::SUCCESS)
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
