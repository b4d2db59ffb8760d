//! Takes one file's matching lines from the searcher.

use std::io;

use dsh_protocol::workspace::{GrepMatch, GrepMode, Line};
use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkContextKind, SinkMatch};

use super::excerpt::{excerpt, units, without_line_end};
use crate::stop::Stop;

/// Between two looks at the stop.
const STEP_LINES: u64 = 256;

/// What one file has.
#[derive(Debug, Default)]
pub(super) struct Hits {
    /// The first ones.
    pub(super) matches: Vec<GrepMatch>,
    /// All of them.
    pub(super) count: u64,
}

pub(super) struct LineSink<'s> {
    pub(super) matcher: &'s RegexMatcher,
    pub(super) path: &'s str,
    pub(super) mode: GrepMode,
    /// How many matches to keep; the others are counted.
    pub(super) keep: usize,
    pub(super) stop: &'s Stop,
    pub(super) hits: Hits,
    /// Context that came before the next match.
    pub(super) before: Vec<Line>,
}

impl LineSink<'_> {
    fn keep(&mut self, found: &SinkMatch<'_>) -> io::Result<()> {
        let bytes = without_line_end(found.bytes());
        let range = self.matcher.find(bytes)?.map_or(0..0, |found| found.start()..found.end());
        let mut text = excerpt(bytes, &range);
        // Only a match of several lines has line ends within.
        if text.contains("\r\n") {
            text = text.replace("\r\n", "\n");
        }
        self.hits.matches.push(GrepMatch {
            path: self.path.to_owned(),
            line: found.line_number().unwrap_or(1),
            column: units(&bytes[..range.start]) + 1,
            text,
            before: std::mem::take(&mut self.before),
            after: Vec::new(),
        });
        Ok(())
    }
}

impl Sink for LineSink<'_> {
    type Error = io::Error;

    fn matched(&mut self, _searcher: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        self.hits.count += 1;
        match self.mode {
            GrepMode::Files => return Ok(false),
            GrepMode::Matches if self.hits.matches.len() < self.keep => self.keep(found)?,
            GrepMode::Matches | GrepMode::Count => self.before.clear(),
        }
        if self.hits.count.is_multiple_of(STEP_LINES) && self.stop.reason().is_some() {
            return Err(io::Error::from(io::ErrorKind::TimedOut));
        }
        Ok(true)
    }

    fn context(&mut self, _searcher: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        let bytes = without_line_end(context.bytes());
        let number = context.line_number().unwrap_or(1);
        let is_last_kept = self.hits.count == self.hits.matches.len() as u64;
        match context.kind() {
            SinkContextKind::Before if self.hits.matches.len() < self.keep => {
                self.before.push(Line { number, text: excerpt(bytes, &(0..0)) });
            }
            SinkContextKind::After if is_last_kept => {
                if let Some(last) = self.hits.matches.last_mut() {
                    last.after.push(Line { number, text: excerpt(bytes, &(0..0)) });
                }
            }
            SinkContextKind::Before | SinkContextKind::After | SinkContextKind::Other => {}
        }
        Ok(true)
    }
}
