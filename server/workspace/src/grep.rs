//! `grep`: every line of the folder's text files that a regular expression matches.

mod collection;
mod excerpt;
mod pattern;
mod sink;
#[cfg(test)]
mod tests;

use std::io::Read;
use std::sync::{Mutex, MutexGuard, PoisonError};

use dsh_protocol::workspace::{GrepArguments, GrepMode, GrepValue};
use grep_matcher::LineTerminator;
use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};

use crate::access::{self, Place};
use crate::content::{Buffer, Loaded, Stoppable, Trouble};
use crate::glob::pattern::Pattern;
use crate::named::internal_note;
use crate::overlay::Source;
use crate::stop::Stop;
use crate::tally::{Tally, counted};
use crate::walk::{Found, Visit, is_internal, prefix_length};
use crate::{Answer, Failure, Folder, Options};
use collection::Collection;
use sink::{Hits, LineSink};

const DEFAULT_LIMIT: u64 = 250;
const MAX_LIMIT: u64 = 5000;
const MAX_CONTEXT: u64 = 20;
/// Larger files are searched piece by piece instead of in memory.
const MAX_LOADED_BYTES: usize = 4 << 20;
/// A match that may span lines needs the whole file in memory.
const MAX_MULTILINE_BYTES: usize = 16 << 20;
/// A longer line ends the search of its file.
const MAX_LINE_BYTES: usize = 16 << 20;

impl Folder {
    /// Searches the folder, a folder in it or one file.
    pub fn grep(
        &self,
        arguments: &GrepArguments,
        stop: &Stop,
    ) -> Result<Answer<GrepValue>, Failure> {
        access::ensure_wanted(stop)?;
        let mut search = Search::new(self, arguments, stop)?;
        let view = self.view()?;
        let mut notes = Vec::new();
        let tally = match self.place(&view, arguments.path.as_deref().unwrap_or("."))? {
            Place::File(file) if file.real.iter().any(is_internal) => {
                notes.push(internal_note(&file.real));
                Tally::default()
            }
            Place::File(file) => {
                let mut tally = Tally::default();
                if file.size > self.options.max_file_size {
                    tally.too_large.add(&file.shown);
                } else {
                    Grepper::new(&search).search(&file.source, &file.shown, &mut tally);
                }
                tally
            }
            Place::Folder(base) => {
                search.prefix = prefix_length(&base);
                let (_, tally, lifted) =
                    self.walk_named(&view, &base, None, stop, || Grepper::new(&search));
                notes.extend(lifted);
                tally
            }
        };
        access::ensure_wanted(stop)?;
        let items = if search.mode == GrepMode::Matches { "match" } else { "file" };
        let (mut value, shown) =
            search.collection.into_inner().unwrap_or_else(PoisonError::into_inner).into_value();
        if value.truncated && !tally.is_partial() {
            let total = counted_items(value.total, items);
            notes.push(format!("{shown} of {total} shown; search for less or raise limit"));
        }
        value.truncated |= tally.is_partial();
        notes.extend(tally.notes("searched"));
        Ok(Answer { value, notes })
    }
}

fn counted_items(total: u64, item: &str) -> String {
    if item == "match" && total != 1 { format!("{total} matches") } else { counted(total, item) }
}

/// What all threads of one search share.
struct Search<'s> {
    matcher: RegexMatcher,
    include: Option<Pattern>,
    /// The length of the named folder's path and its `/`, which an include may leave out.
    prefix: usize,
    mode: GrepMode,
    is_multiline: bool,
    context: usize,
    limit: usize,
    options: &'s Options,
    stop: &'s Stop,
    collection: Mutex<Collection>,
}

impl<'s> Search<'s> {
    fn new(
        folder: &'s Folder,
        arguments: &GrepArguments,
        stop: &'s Stop,
    ) -> Result<Search<'s>, Failure> {
        let mode = arguments.mode.unwrap_or_default();
        let limit = arguments.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT);
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let context = arguments.context.unwrap_or(0).min(MAX_CONTEXT);
        let context = if mode == GrepMode::Matches { context } else { 0 };
        Ok(Search {
            matcher: pattern::compile(arguments)?,
            include: arguments.include.as_deref().map(|glob| folder.include(glob)).transpose()?,
            prefix: 0,
            mode,
            is_multiline: arguments.multiline.unwrap_or(false),
            context: usize::try_from(context).unwrap_or(0),
            limit,
            options: folder.options(),
            stop,
            collection: Mutex::new(Collection::new(mode, limit)),
        })
    }

    fn searcher(&self) -> SearcherBuilder {
        let mut builder = SearcherBuilder::new();
        builder
            // Whether a file is binary was decided before, by the same rule as for `read`.
            .binary_detection(BinaryDetection::none())
            .line_terminator(LineTerminator::crlf())
            .line_number(true)
            .multi_line(self.is_multiline)
            .before_context(self.context)
            .after_context(self.context)
            .heap_limit(Some(MAX_LINE_BYTES));
        builder
    }

    fn collection(&self) -> MutexGuard<'_, Collection> {
        self.collection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One thread's part in a search.
struct Grepper<'s> {
    search: &'s Search<'s>,
    searcher: Searcher,
    buffer: Buffer,
}

impl<'s> Grepper<'s> {
    fn new(search: &'s Search<'s>) -> Grepper<'s> {
        let searcher = search.searcher().bom_sniffing(false).build();
        Grepper { search, searcher, buffer: Buffer::new() }
    }

    fn search(&mut self, source: &Source, path: &str, tally: &mut Tally) {
        let search = self.search;
        let limit = if search.is_multiline { MAX_MULTILINE_BYTES } else { MAX_LOADED_BYTES };
        let loaded = match source {
            Source::Disk(file) => self.buffer.load(file, limit, search.stop),
            Source::Unsaved(unsaved) => Ok(Loaded::text(unsaved.text(), limit)),
        };
        let loaded = match loaded {
            Ok(loaded) => loaded,
            Err(Trouble::Binary) => return tally.binary.add(path),
            Err(Trouble::Stopped(_)) => return tally.stopped = true,
            Err(Trouble::Io(_)) => return tally.unreadable.add(path),
        };
        let keep = match search.mode {
            GrepMode::Matches if search.collection().is_full_before(path) => 0,
            GrepMode::Matches => search.limit,
            GrepMode::Files | GrepMode::Count => 0,
        };
        let (matcher, mode, stop) = (&search.matcher, search.mode, search.stop);
        let mut sink =
            LineSink { matcher, path, mode, keep, stop, hits: Hits::default(), before: Vec::new() };
        let result = match loaded {
            Loaded::Whole(bytes) => self.searcher.search_slice(matcher, bytes, &mut sink),
            Loaded::Head(_) if search.is_multiline => return tally.too_large.add(path),
            Loaded::Head(head) => {
                let rest: &mut dyn Read = match source {
                    Source::Disk(file) => &mut &*file,
                    Source::Unsaved(_) => &mut std::io::empty(),
                };
                let reader = head.chain(rest);
                let reader = Stoppable { reader, stop, budget: search.options.max_file_size };
                search.searcher().build().search_reader(matcher, reader, &mut sink)
            }
        };
        let hits = sink.hits;
        if hits.count > 0 {
            source.note(path, &mut self.buffer, stop, tally);
        }
        match result {
            Ok(()) => {}
            Err(_) if stop.reason().is_some() => tally.stopped = true,
            Err(error) if error.raw_os_error().is_some() => tally.unreadable.add(path),
            // The searcher's own errors: a line did not fit the heap that it may use.
            Err(_) => tally.too_long_line.add(path),
        }
        search.collection().add(path, hits);
    }
}

impl Visit for Grepper<'_> {
    fn file(&mut self, found: &Found<'_>, tally: &mut Tally) {
        let below = &found.path[self.search.prefix..];
        let is_included = |include: &Pattern| include.matches(found.path) || include.matches(below);
        if !self.search.include.as_ref().is_none_or(is_included) {
            return;
        }
        let options = self.search.options;
        if let Some(source) = access::open_found(found, options, options.max_file_size, tally) {
            self.search(&source, found.path, tally);
        }
    }
}
