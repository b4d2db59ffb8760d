//! Reads a page out of a log file without reading the log: lines stand in the order of their seqs, so that the
//! first one is found by halving.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use dsh_protocol::event::Event;
use dsh_protocol::ids::SessionId;
use dsh_protocol::session::FileHeader;
use serde::Deserialize;

use super::decode::Decoder;
use super::lines::Lines;
use super::{ahead, read, sink};
use crate::log::Page;
use crate::run::Entry;
use crate::store::PageWanted;

/// Logs below this size are loaded instead: it takes some milliseconds and looks at the whole log.
const LEAST: u64 = 1024 * 1024;

/// Within how many bytes lines are read one after the other.
const NEAR: u64 = 64 * 1024;

/// How far back the start of the last line is looked for.
const LAST_LINE_MOST: u64 = 256 * 1024 * 1024;

/// A page of a big log; `None` for a small one, and for one that cannot be read like this: loading it then says
/// what is wrong with it.
pub(super) fn page(path: &Path, id: &SessionId, wanted: &PageWanted) -> io::Result<Option<Page>> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    if length < LEAST || is_ahead(path, &file) {
        return Ok(None);
    }
    let Ok((FileHeader { id: named, .. }, header)) = read::header(&file) else { return Ok(None) };
    if named != *id {
        return Ok(None);
    }
    let Some((last_line, end)) = last_line(&file, header.offset, length)? else { return Ok(None) };
    let Some((of_last_line, next_seq)) = seqs_at(&file, last_line)? else { return Ok(None) };
    let last_seq = i64::try_from(next_seq).unwrap_or(i64::MAX) - 1;
    let mut page = Page { last_seq, ..Page::default() };
    let start = u64::try_from(wanted.after.saturating_add(1)).unwrap_or(0);
    if start >= next_seq {
        return Ok(Some(page));
    }
    let found = if start < of_last_line {
        find(&file, header.offset, last_line, start)?
    } else {
        Some(last_line)
    };
    let Some(offset) = found else { return Ok(None) };
    let mut lines = Lines::from(&file, offset)?;
    let mut decoder = Decoder::default();
    let mut due = None;
    while lines.offset() < end {
        let Some(line) = lines.next()? else { return Ok(None) };
        let Ok(entry) = decoder.decode(line) else { return Ok(None) };
        let (seq, next_seq) = entry.seqs();
        if due.is_some_and(|due| due != seq) {
            return Ok(None);
        }
        due = Some(next_seq);
        if next_seq > start && wanted.takes(entry.name()) {
            page.more = !add(&mut page.events, entry, start, wanted.limit);
            if page.more {
                break;
            }
        }
    }
    Ok(Some(page))
}

/// Whether a process that was killed has left something beside the log that belongs behind its end.
fn is_ahead(path: &Path, file: &File) -> bool {
    ahead::path(path).exists() && !sink::is_locked(file)
}

/// Adds events from `start` on; says whether all had room.
fn add(events: &mut Vec<Arc<Event>>, entry: Entry, start: u64, limit: usize) -> bool {
    match entry {
        Entry::One(_) if events.len() == limit => return false,
        Entry::One(event) => events.push(Arc::new(event)),
        Entry::Run(run) => {
            for event in run.events().filter(|event| event.seq >= start) {
                if events.len() == limit {
                    return false;
                }
                events.push(Arc::new(event));
            }
        }
    }
    true
}

/// Where the last whole line begins and ends; `None` if there is none behind the header.
fn last_line(file: &File, from: u64, length: u64) -> io::Result<Option<(u64, u64)>> {
    let mut reach = NEAR;
    loop {
        let start = length.saturating_sub(reach).max(from);
        let mut bytes = vec![0; usize::try_from(length - start).unwrap_or(0)];
        file.read_exact_at(&mut bytes, start)?;
        let newline = |bytes: &[u8]| bytes.iter().rposition(|byte| *byte == b'\n');
        if let Some(end) = newline(&bytes) {
            let begin = newline(&bytes[..end]).map(|at| at + 1);
            if let Some(begin) = begin.or((start == from).then_some(0)) {
                return Ok(Some((start + begin as u64, start + end as u64 + 1)));
            }
        }
        if start == from || reach >= LAST_LINE_MOST {
            return Ok(None);
        }
        reach *= 8;
    }
}

/// Where a line begins at or before the one that has a seq, not far from it; that one stands in front of `last`.
/// `None`: the file is damaged.
fn find(file: &File, first: u64, last: u64, seq: u64) -> io::Result<Option<u64>> {
    let (mut low, mut high) = (first, last);
    while high - low > NEAR {
        let middle = low + (high - low) / 2;
        let line = {
            let mut lines = Lines::from(file, middle)?;
            // What is left of the line that the middle is in.
            if lines.next()?.is_none() {
                return Ok(None);
            }
            lines.offset()
        };
        if line >= high {
            high = middle;
            continue;
        }
        let Some((at, _)) = seqs_at(file, line)? else { return Ok(None) };
        if at <= seq {
            low = line;
        } else {
            high = middle;
        }
    }
    Ok(Some(low))
}

/// The first seq of the line that begins at a place, and the one behind its last.
fn seqs_at(file: &File, offset: u64) -> io::Result<Option<(u64, u64)>> {
    #[derive(Deserialize)]
    struct Seqs {
        seq: Option<u64>,
        seq0: Option<u64>,
        #[serde(default)]
        data: Gaps,
    }
    #[derive(Default, Deserialize)]
    struct Gaps {
        #[serde(default)]
        dt: Vec<i64>,
    }
    let mut lines = Lines::from(file, offset)?;
    let Some(line) = lines.next()? else { return Ok(None) };
    let Ok(seqs) = serde_json::from_slice::<Seqs>(line) else { return Ok(None) };
    Ok(match (seqs.seq, seqs.seq0) {
        (Some(seq), None) => Some((seq, seq + 1)),
        (None, Some(seq)) => Some((seq, seq + seqs.data.dt.len() as u64 + 1)),
        (None, None) | (Some(_), Some(_)) => None,
    })
}
