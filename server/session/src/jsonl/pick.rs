//! Finds the events of some types in a log file without understanding the others, which are most of it.

use std::fs::File;

use dsh_protocol::event::Event;
use dsh_protocol::session::FileHeader;

use super::lines::Lines;
use super::read::{self, ReadError, damaged};

/// What a line begins with, as this server writes it.
const BEGINNING: &[u8] = b"{\"type\":\"";

/// The header of a file and those of its events that are of one of the types. Deltas, which may be packed, are not
/// found.
pub(super) fn events(file: &File, types: &[&str]) -> Result<(FileHeader, Vec<Event>), ReadError> {
    let (header, mark) = read::header(file)?;
    let mut lines = Lines::from(file, mark.offset).map_err(ReadError::Io)?;
    let mut events = Vec::new();
    let mut number = mark.lines;
    while let Some(line) = lines.next().map_err(ReadError::Io)? {
        number += 1;
        if may_be_of(line, types) {
            let event: Event =
                serde_json::from_slice(line).map_err(|it| damaged(number, &it.to_string()))?;
            if types.contains(&event.data.name()) {
                events.push(event);
            }
        }
    }
    Ok((header, events))
}

/// Whether a line has to be understood to know whether it is of one of the types.
fn may_be_of(line: &[u8], types: &[&str]) -> bool {
    let Some(rest) = line.strip_prefix(BEGINNING) else { return true };
    types.iter().any(|name| {
        rest.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.first() == Some(&b'"'))
    })
}
