//! Quotations: a line behind its place, and the lines around one.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::offline::language::Language;
use crate::offline::passages;
use crate::offline::question::Question;
use crate::offline::results::{Sighting, Window};

/// Longer lines are quoted in part.
const MAX_QUOTE: usize = 160;
/// Lines of a comment or of attributes that are quoted above a definition.
const ABOVE: usize = 8;
const BELOW: usize = 8;
/// Lines of a passage that are quoted.
const AROUND: usize = 4;
const OPENING: usize = 12;

/// `path:line` and the line, or the piece of it around `focus`.
pub(super) fn citation(at: &Sighting, focus: &str) -> String {
    let quote = piece(&at.text, focus);
    if quote.is_empty() {
        return format!("`{}:{}`", at.path, at.line);
    }
    format!("`{}:{}`: `{quote}`", at.path, at.line)
}

/// A piece of a line that stands in it word for word, holds no backtick, and is not too long; `…` stands where it is cut.
fn piece<'t>(text: &'t str, focus: &str) -> Cow<'t, str> {
    let text = text.trim();
    let pieces = text.split('`').map(str::trim).filter(|piece| !piece.is_empty());
    let has_focus = |piece: &&str| !focus.is_empty() && piece.contains(focus);
    let best = pieces.clone().find(has_focus).or_else(|| pieces.max_by_key(|piece| piece.len()));
    let best = best.unwrap_or_default();
    if best.len() <= MAX_QUOTE {
        return best.into();
    }
    let at = if focus.is_empty() { 0 } else { best.find(focus).unwrap_or(0) };
    let start = if at + focus.len() < MAX_QUOTE { 0 } else { at.saturating_sub(MAX_QUOTE / 3) };
    let start = (start..=best.len()).find(|&at| best.is_char_boundary(at)).unwrap_or(0);
    let end = (start + MAX_QUOTE).min(best.len());
    let end = (start..=end).rev().find(|&at| best.is_char_boundary(at)).unwrap_or(start);
    let mark = |is_cut: bool| if is_cut { "\u{2026}" } else { "" };
    format!("{}{}{}", mark(start > 0), best[start..end].trim(), mark(end < best.len())).into()
}

/// A definition with the comment above it and the beginning of its body.
pub(super) fn block(window: &Window, line: u64) -> Option<String> {
    let at = window.position(line)?;
    let lines = &window.lines;
    let mut first = at;
    while first > 0 && at - first < ABOVE && is_preface(&lines[first - 1].text) {
        first -= 1;
    }
    let own = indent(&lines[at].text);
    let mut last = at;
    while last + 1 < lines.len() && last - at < BELOW {
        let next = &lines[last + 1].text;
        let trimmed = next.trim();
        let closes = !trimmed.is_empty() && indent(next) <= own;
        let is_continued = trimmed.starts_with([')', '{', '}', ']', 'w']);
        if closes && !is_continued {
            break;
        }
        last += 1;
        if closes && trimmed.starts_with('}') {
            break;
        }
    }
    while last > at && lines[last].text.trim().is_empty() {
        last -= 1;
    }
    // One line alone has been quoted already.
    (last > first).then(|| fenced(&window.path, &lines[first..=last])).flatten()
}

/// The lines around one of a passage.
pub(super) fn around(window: &Window, at: usize) -> String {
    let first = at.saturating_sub(AROUND);
    let last = (at + AROUND).min(window.lines.len().saturating_sub(1));
    fenced(&window.path, &window.lines[first..=last]).unwrap_or_default()
}

/// How a file begins, behind pictures, blank lines and remarks of tools.
pub(super) fn opening(window: &Window) -> String {
    let is_manifest = Language::of(&window.path) == Language::Config;
    let is_ornament = |line: &Sighting| {
        let text = line.text.trim();
        text.is_empty()
            || is_manifest && text.starts_with('#')
            || text.starts_with("[![")
            || text.starts_with('<')
            || text.starts_with("![")
    };
    let start = window.lines.iter().position(|line| !is_ornament(line)).unwrap_or(0);
    let end = (start + OPENING).min(window.lines.len());
    fenced(&window.path, &window.lines[start..end]).unwrap_or_default()
}

/// The line of a passage that says most about the question.
pub(super) fn best_line(question: &Question, window: &Window) -> Option<usize> {
    let mut best: Option<(f32, usize)> = None;
    for (at, line) in window.lines.iter().enumerate() {
        let is_quotable = !line.cut && line.text.trim().len() > 3;
        let score = passages::line_score(question, &line.text);
        if is_quotable && best.is_none_or(|(most, _)| score > most) {
            best = Some((score, at));
        }
    }
    best.map(|(_, at)| at)
}

/// Whether the line is in something whose lines define things: an enumeration, a structure, a class. Looks
/// for the nearest line above that is indented less.
pub(super) fn enclosing(window: &Window, at: &Sighting) -> bool {
    let Some(outer) = outer(window, at) else {
        return false;
    };
    let words = [
        "enum",
        "struct",
        "union",
        "interface",
        "class",
        "type",
        "trait",
        "record",
        "namespace",
        "const (",
    ];
    outer.text.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|word| words.contains(&word))
}

/// Whether the line is one of a list of imports.
pub(super) fn imports(window: &Window, at: &Sighting) -> bool {
    outer(window, at).is_some_and(|outer| {
        let text = outer.text.trim();
        let begins = ["use ", "pub use ", "import ", "from ", "export {", "pub(crate) use "];
        begins.iter().any(|begin| text.starts_with(begin)) || text.ends_with("::{")
    })
}

/// The nearest line above that is indented less.
fn outer<'w>(window: &'w Window, at: &Sighting) -> Option<&'w Sighting> {
    let position = window.position(at.line).filter(|_| window.path == at.path)?;
    let inner = indent(&at.text);
    window.lines[..position].iter().rev().find(|line| {
        !line.text.trim().is_empty()
            && indent(&line.text) < inner
            && !line.text.trim_start().starts_with(['#', '}', ')'])
    })
}

/// The first lines of a fence stand right behind their place, so that each can be checked. A closing bracket of
/// something above says nothing and is no place to cite.
fn fenced(path: &str, lines: &[Sighting]) -> Option<String> {
    let says = |line: &Sighting| line.text.chars().any(char::is_alphanumeric);
    let start = lines.iter().position(says)?;
    let lines = &lines[start..];
    let whole = lines.iter().position(|line| line.cut).unwrap_or(lines.len());
    let lines = &lines[..whole];
    let first = lines.first()?;
    let has_fence = lines.iter().any(|line| line.text.contains("```"));
    let fence = if has_fence { "````" } else { "```" };
    let mut text = format!("From `{path}:{}`:\n{fence}{}\n", first.line, Language::fence(path));
    for line in lines {
        let _ = writeln!(text, "{}", line.text);
    }
    let _ = write!(text, "{fence}\n\n");
    Some(text)
}

fn is_preface(line: &str) -> bool {
    let line = line.trim();
    ["//", "/*", "*", "#[", "# ", "@", "--", "template"].iter().any(|start| line.starts_with(start))
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}
