//! Finds the events of some types in a log file without understanding the others, which are most of it.

use std::fs::File;
use std::io::{BufRead, BufReader};

use dsh_protocol::event::Event;
use dsh_protocol::session::FileHeader;

use super::read::{ReadError, damaged, header};

/// What a line begins with, as this server writes it.
const BEGINNING: &[u8] = b"{\"type\":\"";

/// The header of a file and those of its events that are of one of the types.
pub(super) fn events(file: &File, types: &[&str]) -> Result<(FileHeader, Vec<Event>), ReadError> {
    let mut reader = BufReader::with_capacity(1 << 16, file);
    let mut line = Vec::new();
    read_line(&mut reader, &mut line)?;
    let header = header(&line)?;
    let mut events = Vec::new();
    for number in 2.. {
        read_line(&mut reader, &mut line)?;
        // The torn end of a crash, or of an append that is under way, is no line.
        if line.last() != Some(&b'\n') {
            break;
        }
        if may_be_of(&line, types) {
            let event: Event =
                serde_json::from_slice(&line).map_err(|it| damaged(number, &it.to_string()))?;
            if types.contains(&event.data.name()) {
                events.push(event);
            }
        }
    }
    Ok((header, events))
}

fn read_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> Result<(), ReadError> {
    line.clear();
    reader.read_until(b'\n', line).map(|_| ()).map_err(ReadError::Io)
}

/// Whether a line has to be understood to know whether it is of one of the types.
fn may_be_of(line: &[u8], types: &[&str]) -> bool {
    let Some(rest) = line.strip_prefix(BEGINNING) else { return true };
    types.iter().any(|name| {
        rest.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.first() == Some(&b'"'))
    })
}
