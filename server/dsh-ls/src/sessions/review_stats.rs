//! `dsh-ls sessions review-stats`: what reviews have found, what became of it and what they have cost. Read from the
//! logs, without the configuration and beside servers that run.

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

use anyhow::bail;
use clap::Args;
use dsh_runtime::session::jsonl::JsonlStore;
use dsh_runtime::session::review_stats::{ReviewStats, Sums};
use serde_json::{Value, json};

use crate::Folders;
use crate::cli::{self, ServerArgs, printable};

#[derive(Args)]
pub(crate) struct ReviewStatsArgs {
    #[command(flatten)]
    pub(super) server: ServerArgs,
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &ReviewStatsArgs) -> anyhow::Result<ExitCode> {
    if args.server.workspace.len() > 1 {
        bail!("reviews are counted for one folder; give --workspace once");
    }
    let Some(folder) = crate::folders(&args.server, Folders::OrCurrent)?.pop() else {
        bail!("name a folder with --workspace");
    };
    let folder = std::fs::canonicalize(&folder).unwrap_or(folder);
    let store = JsonlStore::new(&crate::home(&args.server)?, &folder);
    let stats = ReviewStats::of(&store.paths()?);
    for (log, reason) in &stats.unreadable {
        cli::complain(&printable(&format!("left out: {}: {reason}", log.display())));
    }
    cli::print(&if args.json { as_json(&folder, &stats) } else { as_text(&stats) })?;
    Ok(ExitCode::SUCCESS)
}

fn as_json(folder: &Path, stats: &ReviewStats) -> String {
    let sums = |sums: &Sums| -> Value {
        let names = ROWS.iter().map(|(name, _, value)| ((*name).to_owned(), value(sums).into()));
        Value::Object(names.collect())
    };
    let stats = json!({
        "workspace": folder,
        "sessions": stats.sessions,
        "automatic": sums(&stats.automatic),
        "byPerson": sums(&stats.by_person),
        "unreadable": stats.unreadable.len(),
    });
    format!("{stats:#}\n")
}

/// A row of the table: its name for scripts, its name for people, and its value.
type Row = (&'static str, &'static str, fn(&Sums) -> u64);

const ROWS: &[Row] = &[
    ("reviews", "reviews", |sums| sums.reviews),
    ("updates", "  found something", |sums| sums.updates),
    ("noUpdates", "  found nothing", |sums| sums.no_updates),
    ("failed", "  failed", |sums| sums.failed),
    ("cancelled", "  cancelled", |sums| sums.cancelled),
    ("open", "  not settled", |sums| sums.open),
    ("released", "attempts that do not count", |sums| sums.released),
    ("published", "told to the model", |sums| sums.published),
    ("items", "findings", |sums| sums.items),
    ("accepted", "  accepted", |sums| sums.accepted),
    ("dismissed", "  dismissed", |sums| sums.dismissed),
    ("inputTokens", "tokens read", |sums| sums.input_tokens),
    ("outputTokens", "tokens written", |sums| sums.output_tokens),
    ("durationMs", "milliseconds", |sums| sums.duration_ms),
];

fn as_text(stats: &ReviewStats) -> String {
    let mut out = format!("{:<26} {:>12} {:>12}\n", "", "automatic", "by a person");
    for (_, name, value) in ROWS {
        let (automatic, by_person) = (value(&stats.automatic), value(&stats.by_person));
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{name:<26} {automatic:>12} {by_person:>12}");
    }
    let _ = writeln!(out, "sessions with reviews: {}", stats.sessions);
    out
}
