//! Which quotes and identifiers of a paragraph belong to which place.
//!
//! A place has at most one neighbour on each side, and a neighbour belongs to one place. Marks between them, as
//! in `a.rs:3` — `code`, bind more than words do; an enumeration, a new sentence or a negation part them.

use std::ops::Range;

use super::claims::{Quote, QuoteKind};
use super::place::Lines;
use super::words;

/// A piece of a paragraph that can make a claim, or stands between those that do.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) kind: ItemKind,
    /// Where it stands in the paragraph.
    pub(super) range: Range<usize>,
}

#[derive(Debug)]
pub(super) enum ItemKind {
    Place {
        path: String,
        is_sure: bool,
        lines: Vec<Lines>,
        /// What its own token quotes.
        rest: Option<Quote>,
    },
    /// A name of the code, its last part.
    Identifier(String),
    /// Other code.
    Code(String),
    /// Text between quotation marks.
    Quotation(String),
    /// Code that says nothing.
    Other,
}

/// What belongs to one place.
#[derive(Debug, Default)]
pub(super) struct Bound {
    pub(super) quotes: Vec<Quote>,
    pub(super) identifier: Option<String>,
}

/// How the text between two items parts or joins them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gap {
    /// Only marks.
    Tight,
    /// A few words.
    Loose,
    /// They have nothing to do with each other.
    Apart,
}

/// What belongs to each item; nothing to those that are no places.
pub(super) fn bind(paragraph: &str, items: &[Item]) -> Vec<Bound> {
    let mut taken = vec![false; items.len()];
    let mut all = Vec::with_capacity(items.len());
    for (at, item) in items.iter().enumerate() {
        let mut bound = Bound::default();
        if let ItemKind::Place { lines, rest: None, .. } = &item.kind
            && !lines.is_empty()
        {
            let left = left_neighbour(items, at).filter(|left| !taken[*left]);
            let left_gap = left.map_or(Gap::Apart, |left| {
                before_place(
                    &paragraph[items[left].range.end.min(item.range.start)..item.range.start],
                )
            });
            if let Some(left) = left.filter(|_| left_gap != Gap::Apart) {
                taken[left] = take(&items[left].kind, left_gap, false, &mut bound);
            }
            let is_bound = bound.identifier.is_some() || !bound.quotes.is_empty();
            if let Some(right) = right_neighbour(items, at) {
                let gap = &paragraph
                    [item.range.end.min(items[right].range.start)..items[right].range.start];
                let belongs_on = has_its_own_place(paragraph, items, right);
                let gap = behind_place(gap);
                let is_wanted = gap == Gap::Tight || gap == Gap::Loose && !is_bound;
                if is_wanted && !belongs_on {
                    taken[right] = take(&items[right].kind, gap, true, &mut bound);
                }
            }
        }
        all.push(bound);
    }
    all
}

/// The item before a place. The same place again, as a link has it, is passed over.
fn left_neighbour(items: &[Item], at: usize) -> Option<usize> {
    let left = at.checked_sub(1)?;
    let is_same = are_same_place(&items[left], &items[at]);
    if is_same { left.checked_sub(1) } else { Some(left) }
}

fn right_neighbour(items: &[Item], at: usize) -> Option<usize> {
    let right = at + 1;
    let is_same = items.get(right).is_some_and(|next| are_same_place(&items[at], next));
    // The second of a pair takes what is behind it.
    (right < items.len() && !is_same).then_some(right)
}

fn are_same_place(one: &Item, other: &Item) -> bool {
    let (ItemKind::Place { path, .. }, ItemKind::Place { path: again, .. }) =
        (&one.kind, &other.kind)
    else {
        return false;
    };
    (again.ends_with(path.as_str()) || path.ends_with(again.as_str()))
        && other.range.start < one.range.end + 3
}

/// Whether an item is followed by a place of its own in parentheses or behind marks.
fn has_its_own_place(paragraph: &str, items: &[Item], at: usize) -> bool {
    let Some(next) = items.get(at + 1) else { return false };
    let ItemKind::Place { lines, .. } = &next.kind else { return false };
    let gap = paragraph.get(items[at].range.end..next.range.start).unwrap_or_default();
    !lines.is_empty() && before_place(gap) != Gap::Apart
}

/// Gives what an item is to a place; tells whether it was of use.
fn take(kind: &ItemKind, gap: Gap, is_behind: bool, bound: &mut Bound) -> bool {
    match kind {
        ItemKind::Identifier(identifier) => {
            if bound.identifier.is_none() {
                bound.identifier = Some(identifier.clone());
            }
            true
        }
        ItemKind::Code(code) => {
            let kind = if gap == Gap::Tight { QuoteKind::Tight } else { QuoteKind::Loose };
            // `retry after` may be what a flag is called; what follows a place with a colon is its line.
            let is_line = is_behind && gap == Gap::Tight && code.contains(' ') && !is_command(code);
            if is_line || is_code(code) {
                bound.quotes.push(Quote { lines: vec![code.clone()], kind });
            }
            true
        }
        ItemKind::Quotation(text) => {
            // Only whole phrases: single words between quotation marks are seldom quotes.
            if gap == Gap::Tight && text.split_whitespace().count() >= 3 {
                bound.quotes.push(Quote { lines: vec![text.clone()], kind: QuoteKind::Tight });
            }
            gap == Gap::Tight
        }
        ItemKind::Place { .. } | ItemKind::Other => false,
    }
}

/// The text from a neighbour to the place behind it.
fn before_place(gap: &str) -> Gap {
    if gap.contains('\n') && !gap.trim_end().ends_with(':') {
        return Gap::Apart;
    }
    if is_marks(gap) {
        return if gap.contains([';', '.']) || gap.trim() == "," { Gap::Apart } else { Gap::Tight };
    }
    if is_parting(gap) || gap.contains(')') {
        return Gap::Apart;
    }
    // `foo` is handled in `a.rs:3`, but not: `foo` is why `a.rs:3` is slow.
    let last =
        gap.trim_end_matches([' ', '(', '[', '*']).rsplit([' ', '(']).next().unwrap_or_default();
    let leads = [
        "in", "at", "from", "of", "see", "is", "on", "under", "inside", "near", "line", "lines",
        "file",
    ];
    let is_leading = leads.contains(&last.trim_end_matches(':'));
    if is_leading && gap.split_whitespace().count() <= 7 && gap.len() <= 60 {
        Gap::Loose
    } else {
        Gap::Apart
    }
}

/// The text from a place to the neighbour behind it.
fn behind_place(gap: &str) -> Gap {
    if is_marks(gap) {
        let is_list =
            gap.contains([';', '.', '|', '/']) || gap.trim().starts_with(',') || gap.contains("),");
        let is_closed =
            gap.contains(')') && !gap.contains(':') && !gap.contains(['\u{2014}', '\u{2013}', '-']);
        let is_next_line = gap.contains('\n') && !gap.trim_end().ends_with(':');
        return if is_list || is_closed || is_next_line { Gap::Apart } else { Gap::Tight };
    }
    if gap.contains('\n') || is_parting(gap) || gap.contains(['(', ')']) {
        return Gap::Apart;
    }
    if gap.split_whitespace().count() <= 4 && gap.len() <= 40 { Gap::Loose } else { Gap::Apart }
}

fn is_marks(gap: &str) -> bool {
    !gap.chars().any(char::is_alphanumeric)
}

/// Whether words part what stands around them.
fn is_parting(gap: &str) -> bool {
    const PARTING: &str = "and or but not never no without instead rather unlike than before after while whereas \
        isn't doesn't don't nor except also then";
    gap.contains([',', ';', '|', '!', '?'])
        || gap.contains(". ")
        || gap.ends_with('.')
        || words::has_word(gap, PARTING)
}

/// The last part of a name of the code: `run` of `Agent::run()`.
pub(super) fn identifier(text: &str) -> Option<String> {
    let text = text.strip_suffix("()").or_else(|| text.strip_suffix("(\u{2026})")).unwrap_or(text);
    let text = text.strip_suffix("(...)").or_else(|| text.strip_suffix("(..)")).unwrap_or(text);
    let text = text.trim_end_matches(['!', '?']).trim_start_matches(['&', '*', '@', '.']);
    let text = match text.split_once('<') {
        Some((name, generics)) if generics.ends_with('>') && !generics.contains(['(', '=']) => name,
        Some(_) | None => text,
    };
    let last = text.rsplit("::").next()?.rsplit(['.', '#']).next()?;
    let is_name = |part: &str| {
        let mut chars = part.chars();
        chars.next().is_some_and(|first| first.is_alphabetic() || ['_', '$'].contains(&first))
            && chars.all(|char| char.is_alphanumeric() || ['_', '$'].contains(&char))
    };
    let parts = text.split("::").flat_map(|part| part.split(['.', '#']));
    (text.len() <= 120 && parts.clone().all(is_name)).then(|| last.to_owned())
}

/// Whether a text between backticks is code, and no command, path or phrase.
fn is_code(text: &str) -> bool {
    let first = text.split_whitespace().next().unwrap_or_default();
    if is_command(text) {
        return false;
    }
    words::begins_code(first)
        || text.contains(['(', '{', '[', ';', '=', '<', '"', '+'])
        || text.contains("->")
}

/// Whether a text is a command, or too short to be anything.
fn is_command(text: &str) -> bool {
    const COMMANDS: &[&str] = &[
        "cargo", "npm", "npx", "yarn", "pnpm", "git", "make", "docker", "pip", "python", "python3",
        "node", "go", "rustup", "cd", "ls", "cat", "grep", "rg", "sed", "curl", "sh", "bash",
        "sudo", "kubectl", "pytest", "just",
    ];
    let first = text.split_whitespace().next().unwrap_or_default();
    COMMANDS.contains(&first) || text.chars().filter(|char| char.is_alphanumeric()).count() < 3
}
