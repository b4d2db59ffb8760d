//! Takes a text in Markdown apart: paragraphs, fenced blocks, and the pieces of a paragraph that can make a
//! claim. One pass over the text each.

use std::collections::HashMap;
use std::ops::Range;

/// A part of a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part<'t> {
    /// Lines that belong together.
    Paragraph(&'t str),
    /// A fenced block.
    Fence { info: &'t str, lines: Vec<&'t str> },
}

/// The parts of a text in their order.
pub(super) fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut paragraph: Option<Range<usize>> = None;
    let mut fence: Option<(Marker, &str, Vec<&str>)> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let line = line.trim_end_matches(['\n', '\r']);
        let end = start + line.len();
        if let Some((marker, _, lines)) = &mut fence {
            if !marker.is_closed_by(line) {
                lines.push(line);
            } else if let Some((_, info, lines)) = fence.take() {
                parts.push(Part::Fence { info, lines });
            }
            continue;
        }
        let opened = Marker::opened_by(line);
        if opened.is_some() || line.trim().is_empty() || begins_anew(line) {
            parts.extend(paragraph.take().map(|range| Part::Paragraph(&text[range])));
        }
        if let Some((marker, info)) = opened {
            fence = Some((marker, info, Vec::new()));
        } else if !line.trim().is_empty() {
            let first = paragraph.map_or(start, |range| range.start);
            paragraph = Some(first..end);
        }
    }
    parts.extend(paragraph.map(|range| Part::Paragraph(&text[range])));
    // An answer that was cut may end inside a fence.
    parts.extend(fence.map(|(_, info, lines)| Part::Fence { info, lines }));
    parts
}

/// What opened a fence.
struct Marker {
    char: char,
    count: usize,
}

impl Marker {
    /// The marker and what stands behind it.
    fn opened_by(line: &str) -> Option<(Marker, &str)> {
        let line = past_list_marker(line.trim_start_matches([' ', '\t', '>']));
        let char = line.chars().next().filter(|char| ['`', '~'].contains(char))?;
        let info = line.trim_start_matches(char);
        let count = line.len() - info.len();
        (count >= 3 && !(char == '`' && info.contains('`')))
            .then(|| (Marker { char, count }, info.trim()))
    }

    fn is_closed_by(&self, line: &str) -> bool {
        let line = line.trim_matches([' ', '\t', '>']);
        line.len() >= self.count && line.chars().all(|char| char == self.char)
    }
}

fn past_list_marker(line: &str) -> &str {
    let rest = line.trim_start_matches(|char: char| char.is_ascii_digit());
    let marks: &[&str] = if rest.len() < line.len() { &[". ", ") "] } else { &["- ", "* ", "+ "] };
    let behind = marks.iter().find_map(|mark| rest.strip_prefix(mark));
    behind.map_or(line, str::trim_start)
}

/// Whether a line is no continuation of the one above it.
fn begins_anew(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with(['#', '|', '>']) || past_list_marker(line).len() < line.len()
}

/// A piece of a paragraph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece<'t> {
    pub(super) kind: PieceKind,
    /// Without its marks.
    pub(super) text: &'t str,
    /// Where it stands in the paragraph, with its marks.
    pub(super) range: Range<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PieceKind {
    /// Between backticks.
    Code,
    /// The target of a link.
    Target,
    /// Between quotation marks.
    Quoted,
    /// A run of other characters.
    Word,
}

/// The pieces of a paragraph in their order. Words inside quotation marks are pieces as well.
pub(super) fn pieces(paragraph: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut plain = 0;
    for code in code_spans(paragraph) {
        plain_pieces(paragraph, plain..code.range.start, &mut pieces);
        plain = code.range.end;
        pieces.push(code);
    }
    plain_pieces(paragraph, plain..paragraph.len(), &mut pieces);
    pieces
}

/// Spans between runs of equally many backticks.
fn code_spans(paragraph: &str) -> Vec<Piece<'_>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (at, _) in paragraph.match_indices('`') {
        match runs.last_mut() {
            Some(run) if run.end == at => run.end += 1,
            Some(_) | None => runs.push(at..at + 1),
        }
    }
    // The next run of the same length, found from behind so that odd runs cost nothing.
    let mut next = vec![None; runs.len()];
    let mut last: HashMap<usize, usize> = HashMap::new();
    for (number, run) in runs.iter().enumerate().rev() {
        next[number] = last.insert(run.len(), number);
    }
    let mut spans = Vec::new();
    let mut number = 0;
    while number < runs.len() {
        let Some(closing) = next[number] else {
            number += 1;
            continue;
        };
        let (open, close) = (&runs[number], &runs[closing]);
        spans.push(Piece {
            kind: PieceKind::Code,
            text: paragraph[open.end..close.start].trim(),
            range: open.start..close.end,
        });
        number = closing + 1;
    }
    spans
}

/// Words, link targets and quotations of a stretch without code.
fn plain_pieces<'t>(paragraph: &'t str, stretch: Range<usize>, pieces: &mut Vec<Piece<'t>>) {
    let text = &paragraph[stretch.clone()];
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let from = stretch.start + at;
        if let Some(target) = rest.strip_prefix("](").and_then(closed) {
            let range = from..from + 2 + target.len() + 1;
            at += range.len();
            pieces.push(Piece { kind: PieceKind::Target, text: target, range });
            continue;
        }
        let Some(first) = rest.chars().next() else { return };
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        if let Some(quoted) = quoted(rest, first) {
            let range = from..from + first.len_utf8() + quoted.len() + first.len_utf8();
            pieces.push(Piece { kind: PieceKind::Quoted, text: quoted, range });
        }
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let end = rest[..end].find("](").filter(|end| *end > 0).unwrap_or(end);
        pieces.push(Piece { kind: PieceKind::Word, text: &rest[..end], range: from..from + end });
        at += end;
    }
}

/// A link target without its title. Long ones are none, so that unclosed ones cost little.
fn closed(rest: &str) -> Option<&str> {
    const MOST: usize = 500;
    let mut depth = 0;
    for (at, byte) in rest.bytes().enumerate().take(MOST) {
        match byte {
            b'(' => depth += 1,
            b')' if depth == 0 => return Some(&rest[..at]),
            b')' => depth -= 1,
            b'\n' => return None,
            _ => {}
        }
    }
    None
}

/// What a text quotes that begins with a quotation mark.
fn quoted(rest: &str, first: char) -> Option<&str> {
    const MOST: usize = 300;
    let close = match first {
        '"' => '"',
        '\u{201c}' => '\u{201d}',
        _ => return None,
    };
    let inside = &rest[first.len_utf8()..];
    let end = inside.char_indices().take(MOST).find(|(_, char)| *char == close)?.0;
    Some(&inside[..end]).filter(|quoted| !quoted.trim().is_empty())
}
