//! The lines of a log file, one after the other: nothing is in memory but the line that is looked at.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};

/// The longest line that is read, in bytes: far more than any event has.
const LINE_MOST: u64 = 256 * 1024 * 1024;

/// How much is read at once, at most.
const BLOCK: usize = 64 * 1024;

/// How far a log file was read: always to the end of a whole line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mark {
    /// Where the last line ends.
    pub(super) offset: u64,
    /// How many lines there are before.
    pub(super) lines: u64,
    /// Seq of the next event.
    pub(super) next_seq: u64,
}

/// Reads whole lines.
pub(super) struct Lines<'a> {
    file: BufReader<&'a File>,
    line: Vec<u8>,
    offset: u64,
}

impl<'a> Lines<'a> {
    /// The lines from a place on.
    pub(super) fn from(mut file: &'a File, offset: u64) -> io::Result<Self> {
        file.seek(SeekFrom::Start(offset))?;
        let left = file.metadata()?.len().saturating_sub(offset);
        let block = usize::try_from(left).map_or(BLOCK, |left| left.clamp(1, BLOCK));
        let file = BufReader::with_capacity(block, file);
        Ok(Self { file, line: Vec::new(), offset })
    }

    /// Where the last line that was returned ends.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// The next line with its newline; `None` at the end of the file, and for what has no newline.
    pub(super) fn next(&mut self) -> io::Result<Option<&[u8]>> {
        self.line.clear();
        let read = self.file.by_ref().take(LINE_MOST).read_until(b'\n', &mut self.line)?;
        if self.line.last() != Some(&b'\n') {
            return if read as u64 == LINE_MOST {
                Err(io::Error::other("a line has more than 256 MiB"))
            } else {
                Ok(None)
            };
        }
        self.offset += read as u64;
        Ok(Some(&self.line))
    }
}
