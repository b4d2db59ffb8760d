//! Reads log files: a header, events, and perhaps the torn end of a line that a crash cut off.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use dsh_protocol::event::{Event, EventData};
use dsh_protocol::session::FileHeader;

use crate::store::{StorageError, StoreError};

/// A log file's content.
pub(super) struct ReadLog {
    pub(super) header: FileHeader,
    pub(super) events: Vec<Event>,
    /// Where the last whole line ends. What stands behind it is torn.
    pub(super) length: u64,
}

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

/// Reads a whole file.
pub(super) fn log(file: &File) -> Result<ReadLog, ReadError> {
    let bytes = read_from(file, 0)?;
    let length = whole_lines(&bytes);
    let mut lines = bytes[..length].split_inclusive(|byte| *byte == b'\n');
    let first = lines.next().ok_or_else(|| damaged(1, "the header line is missing"))?;
    let header = header(first)?;
    let events = events(lines, 2, 0)?;
    Ok(ReadLog { header, events, length: length as u64 })
}

/// What another process has appended behind `offset`: its events, and where its last whole line ends.
pub(super) fn tail(
    file: &File,
    offset: u64,
    next_seq: u64,
) -> Result<(Vec<Event>, u64), ReadError> {
    let bytes = read_from(file, offset)?;
    let length = whole_lines(&bytes);
    let lines = bytes[..length].split_inclusive(|byte| *byte == b'\n');
    let events = events(lines, next_seq + 2, next_seq)?;
    Ok((events, offset + length as u64))
}

fn read_from(mut file: &File, offset: u64) -> Result<Vec<u8>, ReadError> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(offset)).map_err(ReadError::Io)?;
    file.read_to_end(&mut bytes).map_err(ReadError::Io)?;
    Ok(bytes)
}

fn whole_lines(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1)
}

pub(super) fn header(line: &[u8]) -> Result<FileHeader, ReadError> {
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
    serde_json::from_value(value).map_err(|error| damaged(1, &error.to_string()))
}

fn events<'a>(
    lines: impl Iterator<Item = &'a [u8]>,
    first_line: u64,
    first_seq: u64,
) -> Result<Vec<Event>, ReadError> {
    let mut events = Vec::new();
    for (at, line) in (0..).zip(lines) {
        let number = first_line + at;
        let event: Event =
            serde_json::from_slice(line).map_err(|error| damaged(number, &error.to_string()))?;
        if event.seq != first_seq + at {
            return Err(damaged(
                number,
                &format!("seq {} where {} is due", event.seq, first_seq + at),
            ));
        }
        if let EventData::Unknown(unknown) = &event.data
            && !event.ignorable
        {
            return Err(ReadError::Unsupported(format!(
                "line {number} has an event of type `{}`, which this server does not know",
                unknown.name
            )));
        }
        events.push(event);
    }
    Ok(events)
}

pub(super) fn damaged(line: u64, reason: &str) -> ReadError {
    ReadError::Damaged { line, reason: reason.to_owned() }
}
