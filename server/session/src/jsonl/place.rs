//! Tells a place of one log file from the same place of another one.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use serde::{Deserialize, Serialize};

use super::index::digest;

/// How many bytes in front of a place are looked at: more than one event has in common with another.
const LOOK: u64 = 512;

/// A place in a log file, and what stands in front of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Place {
    pub(super) offset: u64,
    /// The digest of the bytes before it.
    before: u64,
}

impl Place {
    /// The place of a file that goes at least so far.
    pub(super) fn of(log: &File, offset: u64) -> io::Result<Self> {
        let start = offset.saturating_sub(LOOK);
        let mut bytes = vec![0; usize::try_from(offset - start).unwrap_or(0)];
        log.read_exact_at(&mut bytes, start)?;
        Ok(Self { offset, before: digest(&bytes) })
    }
}
