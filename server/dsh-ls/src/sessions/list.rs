//! `dsh-ls sessions list`.

use std::fmt::Write as _;
use std::process::ExitCode;

use clap::Args;
use dsh_protocol::session::{SessionInfo, SessionStatus};
use dsh_runtime::agent::agents::listed;
use dsh_runtime::runtime::Runtime;
use dsh_runtime::session::export::rfc3339;
use dsh_runtime::session::store::Unreadable;
use serde_json::{Value, json};

use crate::cli::{self, ServerArgs, complain, printable};

#[derive(Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    pub(super) server: ServerArgs,
    /// Only sessions whose title or id has this text
    #[arg(long, value_name = "TEXT")]
    query: Option<String>,
    /// Also sessions that agents started
    #[arg(long)]
    children: bool,
    /// At most this many
    #[arg(long, value_name = "COUNT")]
    limit: Option<usize>,
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(runtime: &Runtime, args: ListArgs) -> anyhow::Result<ExitCode> {
    let (mut sessions, mut unreadable): (Vec<SessionInfo>, Vec<Unreadable>) = Default::default();
    for workspace in runtime.workspaces().await? {
        let (listed, not_read) = workspace.agents().await?.list_all().await?;
        sessions.extend(listed);
        unreadable.extend(not_read);
    }
    let query = args.query.unwrap_or_default();
    let mut sessions = listed(sessions, &query, args.children);
    sessions.truncate(args.limit.unwrap_or(usize::MAX));
    if args.json {
        let unreadable: Vec<_> = unreadable.iter().map(on_the_wire).collect();
        let listed = json!({ "sessions": sessions, "unreadable": unreadable });
        return cli::print(&format!("{listed}\n")).map(|()| ExitCode::SUCCESS);
    }
    if sessions.is_empty() && unreadable.is_empty() {
        complain(&printable(&format!("no sessions in {}", runtime.folder_uris().join(", "))));
    } else if !sessions.is_empty() {
        cli::print(&printable(&table(&sessions)))?;
    }
    for log in &unreadable {
        complain(&printable(&format!("{} cannot be read: {}{}", log.id, log.error, place(log))));
    }
    Ok(ExitCode::SUCCESS)
}

fn place(log: &Unreadable) -> String {
    log.path.as_ref().map(|path| format!(" ({})", path.display())).unwrap_or_default()
}

fn on_the_wire(log: &Unreadable) -> Value {
    json!({ "sessionId": log.id, "path": log.path, "message": log.error.to_string() })
}

fn table(sessions: &[SessionInfo]) -> String {
    let head = ["ID", "UPDATED", "STATUS", "EVENTS", "MODEL", "TITLE"].map(str::to_owned);
    let rows = sessions.iter().map(|session| {
        [
            session.session_id.0.clone(),
            rfc3339(session.updated_at),
            status(session.status).to_owned(),
            (session.last_seq + 1).to_string(),
            session.model.to_string(),
            session.title.clone().unwrap_or_default(),
        ]
    });
    let rows: Vec<_> = std::iter::once(head).chain(rows).collect();
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let widths: [usize; 6] = std::array::from_fn(width);
    let mut text = String::new();
    for row in &rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(widths) {
            let _ = write!(line, "{cell:width$}  ");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn status(status: SessionStatus) -> &'static str {
    match status {
        SessionStatus::Idle => "idle",
        SessionStatus::Running => "running",
        SessionStatus::Parked => "parked",
    }
}
