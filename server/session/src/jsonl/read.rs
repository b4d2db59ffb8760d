//! Reads log files: a header, events, and perhaps the torn end of a line that a crash cut off.

use std::fs::File;
use std::io;
use std::path::Path;

use dsh_protocol::event::Event;
use dsh_protocol::session::FileHeader;

use super::decode::{Decoder, Refusal};
use super::lines::{Lines, Mark};
use crate::fold::{Fold, Violation};
use crate::log::{Loading, Log};
use crate::run::Entry;
use crate::store::{StorageError, StoreError};

/// Why a log file could not be read.
pub(super) enum ReadError {
    Io(io::Error),
    Damaged { line: u64, reason: String },
    Unsupported(String),
}

impl ReadError {
    pub(super) fn in_file(self, path: &Path) -> StoreError {
        match self {
            Self::Io(error) => {
                StorageError(format!("cannot read `{}`: {error}", path.display())).into()
            }
            Self::Damaged { line, reason } => StoreError::Damaged { line, reason },
            Self::Unsupported(what) => StoreError::Unsupported(what),
        }
    }
}

/// Reads a whole log. The mark says where its last whole line ends; what stands behind it is torn.
pub(super) fn log(file: &File) -> Result<(Log, Mark), ReadError> {
    let (header, mark) = header(file)?;
    let mut loading = Loading::default();
    let mark = entries(file, mark, |entry| loading.push(entry))?;
    check_seed(&header, mark)?;
    Ok((loading.done(header), mark))
}

/// Folds what stands behind a mark of a log, without keeping it.
pub(super) fn fold(
    file: &File,
    header: &FileHeader,
    mark: Mark,
    fold: &mut Fold,
) -> Result<Mark, ReadError> {
    let mark = entries(file, mark, |entry| fold.push_entry(&entry))?;
    check_seed(header, mark)?;
    Ok(mark)
}

/// The events before the first line of a log that cannot be read; that they keep the rules is not looked at.
pub(super) fn sound_events(file: &File) -> Result<Vec<Event>, ReadError> {
    let (_, mark) = header(file)?;
    let mut events = Vec::new();
    match each_event(file, mark, &mut events) {
        Err(ReadError::Io(error)) => Err(ReadError::Io(error)),
        Ok(_) | Err(ReadError::Damaged { .. } | ReadError::Unsupported(_)) => Ok(events),
    }
}

/// The events of a whole log; that they keep the rules is not looked at.
pub(super) fn events(file: &File) -> Result<(FileHeader, Vec<Event>), ReadError> {
    let (header, mark) = header(file)?;
    Ok((header, tail(file, mark)?.0))
}

/// Whether all that the session inherited is there: a crash may have cut off its making.
fn check_seed(header: &FileHeader, mark: Mark) -> Result<(), ReadError> {
    let (due, there) = (header.seed_length.unwrap_or_default(), mark.next_seq);
    if there < due {
        let reason = format!(
            "{there} of the {due} events that it was to inherit are there: its making was cut off, so delete it"
        );
        return Err(damaged(mark.lines, &reason));
    }
    Ok(())
}

/// What another process has appended behind a mark: its events, and the mark behind its last whole line.
pub(super) fn tail(file: &File, mark: Mark) -> Result<(Vec<Event>, Mark), ReadError> {
    let mut events = Vec::new();
    let mark = each_event(file, mark, &mut events)?;
    Ok((events, mark))
}

fn each_event(file: &File, mark: Mark, events: &mut Vec<Event>) -> Result<Mark, ReadError> {
    entries(file, mark, |entry| {
        match entry {
            Entry::One(event) => events.push(event),
            Entry::Run(run) => events.extend(run.events()),
        }
        Ok(())
    })
}

/// Hands out what the lines behind a mark hold.
fn entries(
    file: &File,
    mut mark: Mark,
    mut take: impl FnMut(Entry) -> Result<(), Violation>,
) -> Result<Mark, ReadError> {
    let mut lines = Lines::from(file, mark.offset).map_err(ReadError::Io)?;
    let mut decoder = Decoder::default();
    while let Some(line) = lines.next().map_err(ReadError::Io)? {
        let number = mark.lines + 1;
        let entry = decoder.decode(line).map_err(|refusal| match refusal {
            Refusal::Damaged(reason) => damaged(number, &reason),
            Refusal::Unsupported(what) => {
                ReadError::Unsupported(format!("line {number} has {what}"))
            }
        })?;
        let (seq, next_seq) = entry.seqs();
        if seq != mark.next_seq {
            return Err(damaged(number, &format!("seq {seq} where {} is due", mark.next_seq)));
        }
        take(entry).map_err(|violation| damaged(number, &violation.rule))?;
        mark = Mark { offset: lines.offset(), lines: number, next_seq };
    }
    Ok(mark)
}

/// The header line, and the mark behind it.
pub(super) fn header(file: &File) -> Result<(FileHeader, Mark), ReadError> {
    let mut lines = Lines::from(file, 0).map_err(ReadError::Io)?;
    let line = lines.next().map_err(ReadError::Io)?;
    let header = parsed(line.ok_or_else(|| damaged(1, "the header line is missing"))?)?;
    Ok((header, Mark { offset: lines.offset(), lines: 1, next_seq: 0 }))
}

fn parsed(line: &[u8]) -> Result<FileHeader, ReadError> {
    let value: serde_json::Value =
        serde_json::from_slice(line).map_err(|error| damaged(1, &error.to_string()))?;
    match value.get("version").and_then(serde_json::Value::as_u64) {
        Some(FileHeader::VERSION) => {}
        Some(version) => {
            return Err(ReadError::Unsupported(format!(
                "its version is {version}; this server knows 0"
            )));
        }
        None => return Err(damaged(1, "the header has no version")),
    }
    let header: FileHeader =
        serde_json::from_value(value).map_err(|error| damaged(1, &error.to_string()))?;
    if header.r#type != "session" {
        return Err(damaged(1, "the header is not of type `session`"));
    }
    Ok(header)
}

pub(super) fn damaged(line: u64, reason: &str) -> ReadError {
    ReadError::Damaged { line, reason: reason.to_owned() }
}
