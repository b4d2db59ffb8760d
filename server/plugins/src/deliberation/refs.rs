//! Checks what a packet refers to against the workspace, unsaved text included. What does not hold, or could not be
//! looked at in time, is dropped and counted.

use std::sync::Arc;

use dsh_agent::files::FileSystem;
use dsh_protocol::deliberation::{FileRef, Packet};
use dsh_protocol::workspace::{ReadArguments, ReadValue};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

/// How many lines are read at once when a quote is looked for in a whole file.
const WINDOW: u64 = 2_000;

/// The packet without the references that do not hold, and how many those were.
pub(super) async fn verified(
    mut packet: Packet,
    files: Option<&Arc<dyn FileSystem>>,
    until: Instant,
) -> (Packet, u64) {
    let mut dropped = 0;
    for item in packet.items.iter_mut().flatten() {
        let Some(refs) = item.refs.take() else { continue };
        let mut kept = Vec::new();
        for reference in refs {
            let is_kept = match files {
                Some(files) => timeout_at(until, holds(files, &reference)).await.unwrap_or(false),
                None => false,
            };
            if is_kept {
                kept.push(reference);
            } else {
                dropped += 1;
            }
        }
        item.refs = (!kept.is_empty()).then_some(kept);
    }
    (packet, dropped)
}

async fn holds(files: &Arc<dyn FileSystem>, reference: &FileRef) -> bool {
    let quote: Vec<String> =
        reference.quote.iter().flat_map(|quote| quote.trim().lines()).map(squeezed).collect();
    let height = quote.len().max(1) as u64;
    if let Some(line) = reference.line {
        return match read(files, reference, line, height).await {
            Some(found) => line <= found.total_lines && stands_at(&lines(&found), &quote),
            None => false,
        };
    }
    let mut offset = 1;
    loop {
        let Some(found) = read(files, reference, offset, WINDOW).await else { return false };
        let lines = lines(&found);
        if (0..=lines.len()).any(|at| stands_at(&lines[at..], &quote)) {
            return true;
        }
        // A window is cut where it is long; the next begins so that a quote across the cut is seen whole.
        let read_on = found.lines.last().map_or(0, |last| last.number + 2).saturating_sub(height);
        if read_on <= offset || read_on > found.total_lines {
            return false;
        }
        offset = read_on;
    }
}

async fn read(
    files: &Arc<dyn FileSystem>,
    reference: &FileRef,
    offset: u64,
    limit: u64,
) -> Option<ReadValue> {
    // A stored result is the session's own and no place of the workspace.
    if reference.path.starts_with("spill:") {
        return None;
    }
    let arguments = ReadArguments {
        file_path: reference.path.clone(),
        offset: Some(offset),
        limit: Some(limit),
    };
    // Dropped with the future, which stops the reading.
    files.read(arguments, CancellationToken::new()).await.ok().map(|answer| answer.value)
}

fn lines(found: &ReadValue) -> Vec<String> {
    found.lines.iter().map(|line| squeezed(&line.text)).collect()
}

/// Whether the quote stands in these lines, beginning with the first: whole lines, or a part of each.
fn stands_at(lines: &[String], quote: &[String]) -> bool {
    quote.len() <= lines.len()
        && lines.iter().zip(quote).all(|(line, quoted)| line.contains(quoted.as_str()))
}

/// A line without the differences that no reader sees: how it is indented and how wide its gaps are.
fn squeezed(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}
