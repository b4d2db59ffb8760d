//! `scan`: hands every visible text file to a visitor, for rankers that read the whole folder.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::path::Path;

use crate::access;
use crate::content::{Buffer, Loaded, Trouble};
use crate::overlay::Source;
use crate::stop::Stop;
use crate::tally::Tally;
use crate::walk::{Found, Visit};
use crate::{Failure, Folder};

/// What a scan went through.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScanSummary {
    /// Text files that were visited.
    pub files: u64,
    /// Bytes of decoded text that were visited.
    pub bytes: u64,
    /// Whether every visible text file was visited; otherwise the deadline or a bound came first.
    pub complete: bool,
    /// What was left out, or is not as it is on disk, in words.
    pub notes: Vec<String>,
}

impl Folder {
    /// Calls `visit` with the relative path and the decoded text of every file that `grep` would search,
    /// from several threads and in no particular order. Binary files and files over
    /// [`crate::Options::max_scan_size`] are left out.
    pub fn scan(
        &self,
        stop: &Stop,
        visit: impl Fn(&str, &str) + Sync,
    ) -> Result<ScanSummary, Failure> {
        access::ensure_wanted(stop)?;
        let view = self.view()?;
        let visitor = || Scanner {
            folder: self,
            stop,
            visit: &visit,
            buffer: Buffer::new(),
            summary: ScanSummary::default(),
        };
        let (scanners, tally, _) = self.walk_named(&view, Path::new(""), None, stop, visitor);
        access::ensure_wanted(stop)?;
        let mut summary = ScanSummary::default();
        for scanner in scanners {
            summary.files += scanner.summary.files;
            summary.bytes += scanner.summary.bytes;
        }
        summary.complete = !tally.is_partial();
        summary.notes = tally.notes("read");
        Ok(summary)
    }
}

struct Scanner<'s, F> {
    folder: &'s Folder,
    stop: &'s Stop,
    visit: &'s F,
    buffer: Buffer,
    summary: ScanSummary,
}

impl<F: Fn(&str, &str) + Sync> Visit for Scanner<'_, F> {
    fn file(&mut self, found: &Found<'_>, tally: &mut Tally) {
        let options = self.folder.options();
        let Some(source) = access::open_found(found, options, options.max_scan_size, tally) else {
            return;
        };
        let limit = usize::try_from(options.max_scan_size).unwrap_or(usize::MAX);
        source.note(found.path, &mut self.buffer, self.stop, tally);
        let loaded = match &source {
            Source::Disk(file) => self.buffer.load(file, limit, self.stop),
            Source::Unsaved(unsaved) => Ok(Loaded::text(unsaved.text(), limit)),
        };
        let bytes = match loaded {
            Ok(Loaded::Whole(bytes)) => bytes,
            Ok(Loaded::Head(_)) => return tally.too_large.add(found.path),
            Err(Trouble::Binary) => return tally.binary.add(found.path),
            Err(Trouble::Stopped(_)) => return tally.stopped = true,
            Err(Trouble::Io(_)) => return tally.unreadable.add(found.path),
        };
        // Valid text, which nearly all is, is checked faster by itself.
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => String::from_utf8_lossy(bytes),
        };
        self.summary.files += 1;
        self.summary.bytes += text.len() as u64;
        (self.visit)(found.path, &text);
    }
}
