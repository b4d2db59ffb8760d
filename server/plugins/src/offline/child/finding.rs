//! A failed claim in plain words, with the places that show it.

use std::fmt::Write as _;

use dsh_protocol::evidence::{EvidenceFailure, EvidenceReason};
use dsh_protocol::workspace::GrepArguments;

use super::packet::{Certainty, Items, Kind, Place, beginning};
use crate::offline::definition::DOUBTFUL;
use crate::offline::plan::grep;
use crate::offline::question::Name;
use crate::offline::rank;
use crate::offline::results::{Matches, Sighting, Window};

/// How much of a line an item says.
const SHOWN: usize = 120;
/// How many matches a search for a name or a text shows.
const SEARCHED: u64 = 50;
/// Files of the same name that are told.
const NAMESAKES: usize = 3;

/// A claim that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failed {
    /// Who claims it, as the subject of a sentence.
    pub who: String,
    pub failure: EvidenceFailure,
}

/// A line that a tool has shown and that is not there any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Changed {
    /// Who saw it.
    pub who: String,
    /// What it read.
    pub quote: String,
    pub failure: EvidenceFailure,
}

/// What was looked at.
pub(super) struct There {
    pub reads: Vec<Window>,
    /// The files that a search for names has shown.
    pub globs: Vec<String>,
    /// What searches for text have shown, by their patterns.
    pub greps: Vec<(String, Matches)>,
}

/// The search for a name or a text that is not where it was said to be; none for a text that was told in part.
pub(super) fn search(failure: &EvidenceFailure) -> Option<GrepArguments> {
    let quote = failure.quote.as_deref()?.trim();
    let is_name = failure.reason == EvidenceReason::IdentifierNotNear;
    let pattern = if is_name { rank::exact_pattern(&[named(quote)]) } else { quote.to_owned() };
    let is_whole = !quote.is_empty() && !quote.ends_with('\u{2026}') && !quote.contains('\n');
    let (limit, fixed_strings) = (Some(SEARCHED), (!is_name).then_some(true));
    is_whole.then(|| GrepArguments { limit, fixed_strings, ..grep(pattern) })
}

fn named(name: &str) -> Name {
    Name { name: name.to_owned(), qualifiers: Vec::new(), kind: None, is_code: true }
}

impl There {
    /// A line as it reads now, if it was looked at.
    fn line(&self, path: &str, line: u64) -> Option<&str> {
        let mut windows = self.reads.iter().filter(|window| window.path == path);
        windows.find_map(|window| {
            let at = window.position(line)?;
            Some(window.lines[at].text.trim())
        })
    }

    /// A place with what stands there.
    fn place(&self, path: &str, line: u64) -> Place {
        let quote = self.line(path, line).filter(|text| !text.is_empty()).map(str::to_owned);
        Place { path: path.to_owned(), line: Some(line), quote }
    }

    /// Where a name is defined or a text stands that was searched for: in the file that was meant, if it is there.
    fn elsewhere(&self, failure: &EvidenceFailure) -> Option<&Sighting> {
        let pattern = search(failure)?.pattern;
        let (_, matches) = self.greps.iter().find(|(searched, _)| *searched == pattern)?;
        if failure.reason == EvidenceReason::QuoteNotFound {
            return matches.shown.first();
        }
        let name = [named(failure.quote.as_deref()?)];
        let mut found = rank::definitions(&name, matches);
        found.retain(|found| found.definition.strength >= DOUBTFUL);
        let best = found.iter().find(|found| found.at.path == failure.path).or(found.first())?;
        let is_it = |at: &&Sighting| at.path == best.at.path && at.line == best.at.line;
        matches.shown.iter().find(is_it)
    }

    /// The files that have the name of a path.
    fn namesakes(&self, path: &str) -> Vec<&str> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let same = self.globs.iter().map(String::as_str);
        same.filter(|other| other.rsplit('/').next() == Some(name)).take(NAMESAKES).collect()
    }

    /// ` Line 7 reads …`, if that was looked at.
    fn reads_now(&self, path: &str, line: u64) -> String {
        match self.line(path, line) {
            Some("") => format!(" Line {line} is blank."),
            Some(text) => format!(" Line {line} reads {}.", code(text)),
            None => String::new(),
        }
    }
}

impl Failed {
    /// Adds the claim's item.
    pub(super) fn tell(&self, there: &There, items: &mut Items) {
        let (who, EvidenceFailure { path, line, quote, reason, now }) = (&self.who, &self.failure);
        let place = line.map_or_else(|| path.clone(), |line| format!("{path}:{line}"));
        let quote = code(quote.as_deref().unwrap_or_default());
        let mut refs: Vec<Place> = line.iter().map(|line| there.place(path, *line)).collect();
        let mut text = match reason {
            EvidenceReason::MissingFile => {
                return tell_missing(
                    &format!("{who} cites {place}, but there is no such file."),
                    path,
                    there,
                    items,
                );
            }
            EvidenceReason::LineOutOfRange => {
                refs = vec![Place { path: path.clone(), line: None, quote: None }];
                format!("{who} cites {place}, but the file has no such line.")
            }
            EvidenceReason::QuoteNotFound => {
                format!("{who} quotes {quote} from {place}, but the file does not have that text.")
            }
            EvidenceReason::QuoteMoved => {
                format!("{who} quotes {quote} from {place}, but it does not stand there.")
            }
            EvidenceReason::IdentifierNotNear => {
                format!("{who} places {quote} at {place}, but it does not occur near that line.")
            }
        };
        if *reason != EvidenceReason::LineOutOfRange
            && let Some(line) = line
        {
            text.push_str(&there.reads_now(path, *line));
        }
        if let Some(now) = now {
            let is_name = *reason == EvidenceReason::IdentifierNotNear;
            let subject = if is_name { "The nearest one is" } else { "It is" };
            let _ = write!(text, " {subject} on line {now} now.");
            refs.push(there.place(path, *now));
        } else if *reason == EvidenceReason::IdentifierNotNear {
            text.push_str(" The file does not have it at all.");
        }
        if let Some(at) = there.elsewhere(&self.failure) {
            let is_name = *reason == EvidenceReason::IdentifierNotNear;
            let verb = if is_name { "is defined" } else { "stands" };
            let _ = write!(text, " It {verb} at {}:{}.", at.path, at.line);
            refs.push(Place {
                path: at.path.clone(),
                line: Some(at.line),
                quote: Some(at.text.trim().to_owned()),
            });
        }
        // Which quote is meant for which place is read from the form of a text, and may be read wrongly.
        let certainty = if *reason == EvidenceReason::LineOutOfRange {
            Certainty::Certain
        } else {
            Certainty::Likely
        };
        items.add(Kind::PossibleError, certainty, &text, &refs);
    }
}

impl Changed {
    /// Adds the item of a file that was read and has changed since.
    pub(super) fn tell(&self, there: &There, items: &mut Items) {
        let (who, EvidenceFailure { path, line, reason, now, .. }) = (&self.who, &self.failure);
        let line = line.unwrap_or(1);
        let text = format!("{who} saw {} at {path}:{line};", code(&self.quote));
        if *reason == EvidenceReason::MissingFile {
            let text = format!("{text} the file is no longer there.");
            return tell_missing(&text, path, there, items);
        }
        let mut refs = vec![there.place(path, line)];
        let mut text = format!("{text} the file has changed since.");
        if *reason == EvidenceReason::LineOutOfRange {
            refs = vec![Place { path: path.clone(), line: None, quote: None }];
        } else {
            text.push_str(&there.reads_now(path, line));
        }
        if let Some(now) = now {
            let _ = write!(text, " That text is on line {now} now.");
            refs.push(there.place(path, *now));
        }
        items.add(Kind::Observation, Certainty::Certain, &text, &refs);
    }
}

/// Adds the item of a file that is not there.
fn tell_missing(text: &str, path: &str, there: &There, items: &mut Items) {
    let namesakes = there.namesakes(path);
    let mut text = text.to_owned();
    if !namesakes.is_empty() {
        let _ = write!(text, " That name is found at {}.", namesakes.join(", "));
    }
    let refs: Vec<Place> = namesakes
        .iter()
        .map(|path| Place { path: (*path).to_owned(), line: None, quote: None })
        .collect();
    items.add(Kind::PossibleError, Certainty::Certain, &text, &refs);
}

/// A piece of code in a sentence.
pub(super) fn code(text: &str) -> String {
    let text = text.trim();
    let shown = beginning(text, SHOWN);
    let more = if shown.len() < text.len() { "\u{2026}" } else { "" };
    let marks = if shown.contains('`') { "``" } else { "`" };
    let shown = shown.lines().next().unwrap_or_default();
    format!("{marks}{shown}{more}{marks}")
}
