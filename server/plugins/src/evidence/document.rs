//! One file's text, for questions about its lines.
//!
//! Quotes are compared in a canonical form: blanks stand only where they part two words, so that indentation,
//! line ends and spacing around marks make no difference.

use std::sync::OnceLock;

use super::place::Lines;

/// More places of one quote are not looked at.
const MOST_PLACES: usize = 1000;

/// A file's text.
pub(super) struct Document {
    /// As the tools show it.
    pub(super) path: String,
    text: String,
    /// Whether the file ends where the text ends.
    pub(super) is_complete: bool,
    /// Where each line starts.
    starts: Vec<usize>,
    canonical: OnceLock<Canonical>,
}

/// A text in canonical form, and where each of its lines starts in it.
struct Canonical {
    text: String,
    starts: Vec<usize>,
}

impl Document {
    pub(super) fn new(path: String, text: String, is_complete: bool) -> Self {
        let mut starts = vec![0];
        starts.extend(text.match_indices('\n').map(|(at, _)| at + 1));
        if starts.last().is_some_and(|last| *last == text.len()) {
            starts.pop();
        }
        Self { path, text, is_complete, starts, canonical: OnceLock::new() }
    }

    /// How many lines there are.
    pub(super) fn count(&self) -> u64 {
        self.starts.len() as u64
    }

    fn canonical(&self) -> &Canonical {
        self.canonical.get_or_init(|| {
            let mut canonical =
                Canonical { text: String::with_capacity(self.text.len()), starts: Vec::new() };
            let mut writer = Writer::default();
            for line in self.text.split('\n') {
                canonical.starts.push(canonical.text.len());
                writer.write(line, &mut canonical.text);
                writer.blank();
            }
            canonical
        })
    }

    /// Where a canonical text stands, as lines. A text that begins or ends with a word matches whole words.
    pub(super) fn places(&self, quote: &str) -> Vec<Lines> {
        if quote.is_empty() {
            return Vec::new();
        }
        let canonical = self.canonical();
        let found = canonical.text.match_indices(quote).filter(|(at, _)| {
            let end = at + quote.len();
            is_bounded(&canonical.text[..*at], quote, &canonical.text[end..])
        });
        let places = found.map(|(at, _)| Lines {
            first: canonical.line(at),
            last: canonical.line(at + quote.len() - 1),
        });
        places.take(MOST_PLACES).collect()
    }

    /// The line nearest to `lines` on which an identifier stands as a whole word, and how far away that is.
    pub(super) fn nearest(&self, identifier: &str, lines: Lines) -> Option<(u64, u64)> {
        let mut best: Option<(u64, u64)> = None;
        for (at, _) in self.text.match_indices(identifier) {
            if !is_bounded(&self.text[..at], identifier, &self.text[at + identifier.len()..]) {
                continue;
            }
            let line = self.starts.partition_point(|start| *start <= at) as u64;
            let away = distance(line, lines);
            if best.is_none_or(|(_, least)| away < least) {
                best = Some((line, away));
            }
            if line > lines.last {
                break;
            }
        }
        best
    }

    /// Whether an identifier stands on some lines in another spelling: `maxLines` for `max_lines`.
    pub(super) fn has_spelling(&self, identifier: &str, lines: Lines) -> bool {
        let wanted = bare(identifier);
        let text = bare(self.lines(lines));
        !wanted.is_empty() && text.contains(&wanted)
    }

    /// The text of some lines, as far as there are such.
    fn lines(&self, lines: Lines) -> &str {
        let at = |line: u64| {
            let index = usize::try_from(line).unwrap_or(usize::MAX);
            self.starts.get(index).copied().unwrap_or(self.text.len())
        };
        let first = at(lines.first.saturating_sub(1));
        &self.text[first..at(lines.last).max(first)]
    }
}

impl Canonical {
    /// The line, from 1, that a place belongs to. Empty lines start where the next one does.
    fn line(&self, at: usize) -> u64 {
        self.starts.partition_point(|start| *start <= at) as u64
    }
}

/// How many lines lie between a line and some lines.
pub(super) fn distance(line: u64, lines: Lines) -> u64 {
    lines.first.saturating_sub(line).max(line.saturating_sub(lines.last))
}

/// A text in canonical form.
pub(super) fn canonical(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    Writer::default().write(text, &mut out);
    out
}

/// Writes canonical text.
#[derive(Default)]
struct Writer {
    /// Blanks came since the last character.
    is_apart: bool,
    last: Option<char>,
}

impl Writer {
    fn blank(&mut self) {
        self.is_apart = true;
    }

    fn write(&mut self, text: &str, out: &mut String) {
        for char in text.chars() {
            if char.is_whitespace() || char == '\u{feff}' {
                self.is_apart = true;
                continue;
            }
            if self.is_apart && is_word(char) && self.last.is_some_and(is_word) {
                out.push(' ');
            }
            self.is_apart = false;
            self.last = Some(char);
            out.push(char);
        }
    }
}

fn is_word(char: char) -> bool {
    char.is_alphanumeric() || char == '_'
}

/// Whether a match between two texts cuts no word.
fn is_bounded(before: &str, matched: &str, after: &str) -> bool {
    let cuts = |left: Option<char>, right: Option<char>| {
        left.is_some_and(is_word) && right.is_some_and(is_word)
    };
    !cuts(before.chars().next_back(), matched.chars().next())
        && !cuts(matched.chars().next_back(), after.chars().next())
}

/// Only letters and digits, in lower case.
fn bare(text: &str) -> String {
    text.chars().filter(|char| char.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}
