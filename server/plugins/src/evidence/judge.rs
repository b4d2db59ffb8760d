//! Whether a claim holds in a file.

use dsh_protocol::evidence::{EvidenceFailure, EvidenceReason};

use super::claims::{Claim, Quote, QuoteKind};
use super::document::{Document, canonical, distance};
use super::place::Lines;
use super::words;

/// How far from the cited lines an identifier may stand.
const NEAR: u64 = 2;
/// A longer quote is told in part.
const SHOWN: usize = 200;

/// What is wrong with a claim about this file; nothing when it holds.
pub(super) fn judge(claim: &Claim, document: &Document) -> Option<EvidenceFailure> {
    let (first, last) = claim.lines?;
    let lines = Lines { first, last };
    let fail = |reason, quote: Option<&str>, now| {
        let quote = quote.map(shown);
        Some(EvidenceFailure { path: document.path.clone(), line: Some(first), quote, reason, now })
    };
    let count = document.count();
    let is_beyond = document.is_complete && last > count;
    if first == 0 || last < first || is_beyond {
        let found = claim.quotes.first().and_then(|quote| nearest(&whole(quote), lines, document));
        return fail(EvidenceReason::LineOutOfRange, None, found.map(|found| found.first));
    }
    if !document.is_complete && last > count {
        return None;
    }
    for quote in &claim.quotes {
        match find(quote, lines, document) {
            Found::Elsewhere(text, now) => {
                return fail(EvidenceReason::QuoteMoved, Some(&text), Some(now));
            }
            // In a file that was not read to its end it may stand further down.
            Found::Nowhere(text) if document.is_complete => {
                return fail(EvidenceReason::QuoteNotFound, Some(&text), None);
            }
            Found::There | Found::Nowhere(_) => {}
        }
    }
    let identifier = claim.identifier.as_deref()?;
    let near = Lines { first: first.saturating_sub(NEAR).max(1), last: last + NEAR };
    let nearest = document.nearest(identifier, lines);
    if nearest.is_some_and(|(_, away)| away <= NEAR) || document.has_spelling(identifier, near) {
        return None;
    }
    fail(EvidenceReason::IdentifierNotNear, Some(identifier), nearest.map(|(line, _)| line))
}

/// Whether a text stands in a file at all, and where nearest to a line.
pub(super) fn anywhere(text: &str, line: Option<u64>, document: &Document) -> Option<Lines> {
    nearest(&canonical(text), Lines::one(line.unwrap_or(1)), document)
}

enum Found {
    /// On the cited lines.
    There,
    /// On another line.
    Elsewhere(String, u64),
    Nowhere(String),
}

fn find(quote: &Quote, lines: Lines, document: &Document) -> Found {
    match quote.kind {
        QuoteKind::Block => find_block(&quote.lines, lines, document),
        QuoteKind::Tight | QuoteKind::Loose => find_inline(quote, lines, document),
    }
}

fn whole(quote: &Quote) -> String {
    canonical(&significant(&quote.lines).join("\n"))
}

/// The place nearest to some lines.
fn nearest(text: &str, lines: Lines, document: &Document) -> Option<Lines> {
    document.places(text).into_iter().min_by_key(|place| gap(*place, lines))
}

/// How many lines lie between two stretches of lines.
fn gap(place: Lines, lines: Lines) -> u64 {
    if place.last < lines.first { lines.first - place.last } else { distance(place.first, lines) }
}

fn find_inline(quote: &Quote, lines: Lines, document: &Document) -> Found {
    let text = quote.lines.concat();
    let is_loose = quote.kind == QuoteKind::Loose;
    let whole = canonical(&text);
    // A quote often ends before the line does, in a mark of the writer's own.
    let ended = whole.trim_end_matches([';', ',', '{', ':', '.', '\u{2026}']);
    for text_of in [whole.as_str(), ended] {
        if let Some(place) = nearest(text_of, lines, document) {
            // An expression that stands near is meant to explain the line, not to be it.
            let may_be_off = is_loose && !is_statement(&text);
            return if gap(place, lines) == 0 || may_be_off {
                Found::There
            } else {
                Found::Elsewhere(text, place.first)
            };
        }
    }
    if let Some(place) = elided(&text, lines, document) {
        return if gap(place, lines) == 0 || is_loose {
            Found::There
        } else {
            Found::Elsewhere(text, place.first)
        };
    }
    if is_loose && (has_ellipsis(&text) || !is_statement(&text)) {
        return Found::There;
    }
    // `parse(input)` may only say which function is meant.
    if let Some((name, _)) =
        text.split_once('(').filter(|_| text.ends_with(')') && !text.contains(' '))
    {
        let name = name.rsplit(['.', ':']).next().unwrap_or(name);
        if document.nearest(name, lines).is_some_and(|(_, away)| away <= NEAR) {
            return Found::There;
        }
    }
    Found::Nowhere(text)
}

/// Whether a text reads as a line of code of its own.
fn is_statement(text: &str) -> bool {
    let first = text.split_whitespace().next().unwrap_or_default();
    let has_body = text.split_whitespace().count() > 1;
    has_body
        && (words::declares(first) || text.trim_end().ends_with([';', '{']) || text.contains(" = "))
}

fn has_ellipsis(text: &str) -> bool {
    text.contains("...") || text.contains('\u{2026}')
}

/// Where the pieces around an ellipsis stand in order, close to each other.
fn elided(text: &str, lines: Lines, document: &Document) -> Option<Lines> {
    const FAR: u64 = 40;
    if !has_ellipsis(text) {
        return None;
    }
    let text = text.replace("...", "\u{2026}");
    let pieces: Vec<String> = text
        .split('\u{2026}')
        .map(|piece| canonical(piece.trim().trim_matches(['/', '*'])))
        .filter(|piece| piece.chars().any(char::is_alphanumeric))
        .collect();
    let first = nearest(pieces.first()?, lines, document)?;
    let reach = Lines { first: first.first, last: first.last + FAR };
    let mut end = first.last;
    for piece in &pieces[1..] {
        let next = document
            .places(piece)
            .into_iter()
            .find(|place| place.first >= end && gap(*place, reach) == 0)?;
        end = next.last;
    }
    Some(Lines { first: first.first, last: end })
}

/// A block without blank lines and lines of marks at its ends.
fn significant(lines: &[String]) -> Vec<&str> {
    let says = |line: &&String| line.chars().any(char::is_alphanumeric);
    let first = lines.iter().position(|line| says(&line));
    let last = lines.iter().rposition(|line| says(&line));
    match (first, last) {
        (Some(first), Some(last)) => lines[first..=last].iter().map(String::as_str).collect(),
        _ => Vec::new(),
    }
}

fn find_block(all: &[String], lines: Lines, document: &Document) -> Found {
    let all: Vec<String> = all.iter().filter(|line| !is_elision(line)).cloned().collect();
    let block = significant(&all);
    let Some(first_line) = block.first() else { return Found::There };
    let fits = |place: Lines| {
        let is_one = lines.first == lines.last;
        if is_one {
            gap(place, lines) == 0
        } else {
            place.first >= lines.first && place.last <= lines.last
        }
    };
    let places = document.places(&canonical(&block.join("\n")));
    if places.iter().any(|place| fits(*place)) {
        return Found::There;
    }
    if let Some(place) = places.into_iter().min_by_key(|place| gap(*place, lines)) {
        return Found::Elsewhere((*first_line).trim().to_owned(), place.first);
    }
    // Lines were left out, or one is not as it is in the file: each is looked for by itself.
    // The first one is where the block begins; the longest one says most about where it is from.
    let mut first: Option<Lines> = None;
    let mut longest: Option<(usize, Lines)> = None;
    for line in block.iter().filter(|line| line.chars().any(char::is_alphanumeric)) {
        let Some(place) = nearest_line(line, lines, document) else {
            if is_remark(line) {
                continue;
            }
            return Found::Nowhere((*line).trim().to_owned());
        };
        first = first.or(Some(place));
        if longest.is_none_or(|(length, _)| line.len() > length) {
            longest = Some((line.len(), place));
        }
    }
    let is_there = first.is_some_and(|place| gap(place, lines) == 0);
    match longest.filter(|(_, place)| !is_there && gap(*place, lines) > 0) {
        Some((_, place)) => Found::Elsewhere((*first_line).trim().to_owned(), place.first),
        None => Found::There,
    }
}

/// A line of a block, also without the remark at its end.
fn nearest_line(line: &str, lines: Lines, document: &Document) -> Option<Lines> {
    nearest(&canonical(line), lines, document).or_else(|| elided(line, lines, document)).or_else(
        || {
            let cut = ["//", " #", "<-", "/*", "--", "\u{2190}"]
                .iter()
                .filter_map(|mark| line.find(mark))
                .min()?;
            let code = canonical(&line[..cut]);
            code.chars()
                .any(char::is_alphanumeric)
                .then(|| nearest(&code, lines, document))
                .flatten()
        },
    )
}

/// Whether a line stands for lines that were left out.
fn is_elision(line: &str) -> bool {
    has_ellipsis(line) && !line.chars().any(char::is_alphanumeric)
        || is_remark(line) && has_ellipsis(line)
}

/// Whether a line is a comment, which a writer may have put there.
fn is_remark(line: &str) -> bool {
    let line = line.trim_start();
    ["//", "#", "/*", "*", "--", "<!--", ";"].iter().any(|mark| line.starts_with(mark))
        && !line.starts_with("#[")
}

/// The beginning of a quote that may be long.
fn shown(quote: &str) -> String {
    match quote.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}\u{2026}", &quote[..end]),
        None => quote.to_owned(),
    }
}
