//! The claims that a text makes about files: places, what is quoted from them, and what is said to be there.

use std::collections::HashSet;
use std::ops::Range;

use super::beside::{self, Item, ItemKind};
use super::fences;
use super::markdown::{Part, Piece, PieceKind, parts, pieces};
use super::place::{Lines, Place, lines_before, lines_in_words, place, place_with_blanks};
use super::words;

/// Something that a text says of a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Claim {
    /// The file, as the text names it.
    pub(super) path: String,
    /// Whether the text says that there is such a file. Otherwise a missing one is no failure.
    pub(super) is_sure: bool,
    /// The cited lines.
    pub(super) lines: Option<(u64, u64)>,
    /// What is quoted from there.
    pub(super) quotes: Vec<Quote>,
    /// What is said to be there.
    pub(super) identifier: Option<String>,
}

/// Text that is quoted beside a place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Quote {
    pub(super) lines: Vec<String>,
    pub(super) kind: QuoteKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum QuoteKind {
    /// A fenced block.
    Block,
    /// Beside its place with nothing but marks between.
    Tight,
    /// Beside its place with words between: it may also be the writer's own.
    Loose,
}

/// The claims of a text in its order, at most `most` of them.
pub(super) fn claims(text: &str, most: usize) -> Vec<Claim> {
    let mut claims: Vec<Claim> = Vec::new();
    let mut intro = fences::Intro::default();
    for part in parts(text) {
        if claims.len() > most {
            break;
        }
        match part {
            Part::Paragraph(paragraph) => {
                let found = of_paragraph(paragraph);
                intro = fences::Intro::new(paragraph, claims.len(), &found);
                claims.extend(found.into_iter().map(|(claim, _)| claim));
            }
            Part::Fence { info, lines } => {
                fences::take_in(&mut claims, &std::mem::take(&mut intro), info, &lines);
            }
        }
    }
    once_each(claims, most)
}

/// Drops what is said twice: the same claim again, and the mere name of a file that is cited.
fn once_each(claims: Vec<Claim>, most: usize) -> Vec<Claim> {
    let cited: HashSet<String> = claims
        .iter()
        .filter(|claim| claim.lines.is_some())
        .map(|claim| claim.path.clone())
        .collect();
    let detailed: HashSet<(String, Option<(u64, u64)>)> = claims
        .iter()
        .filter(|claim| !claim.is_bare())
        .map(|claim| (claim.path.clone(), claim.lines))
        .collect();
    let mut seen = HashSet::new();
    let is_new = |claim: &Claim| {
        let is_implied = match claim.lines {
            None => cited.contains(&claim.path),
            Some(_) => claim.is_bare() && detailed.contains(&(claim.path.clone(), claim.lines)),
        };
        !is_implied && seen.insert(claim.clone())
    };
    claims.into_iter().filter(is_new).take(most).collect()
}

impl Claim {
    pub(super) fn at(path: String, is_sure: bool, lines: Option<Lines>) -> Self {
        let lines = lines.map(|lines| (lines.first, lines.last));
        Self { path, is_sure, lines, quotes: Vec::new(), identifier: None }
    }

    /// Whether it says nothing beyond the place.
    fn is_bare(&self) -> bool {
        self.quotes.is_empty() && self.identifier.is_none()
    }
}

/// The claims of a paragraph, each with where its place ends in it.
fn of_paragraph(paragraph: &str) -> Vec<(Claim, usize)> {
    let items = items(paragraph);
    let bound = beside::bind(paragraph, &items);
    let mut claims = Vec::new();
    for (item, bound) in items.iter().zip(bound) {
        let ItemKind::Place { path, is_sure, lines, rest } = &item.kind else { continue };
        let (before, after) = surroundings(paragraph, item);
        let is_denied = match lines.first() {
            None => words::is_absent(before, after) || words::is_built(path),
            Some(_) => words::denies(before) || words::is_gone(after),
        };
        let mut claim = Claim::at(path.clone(), *is_sure && !is_denied, lines.first().copied());
        claim.quotes.extend(rest.clone());
        if !lines.is_empty() {
            claim.quotes.extend(bound.quotes);
            claim.identifier = bound.identifier;
        }
        // With several lines it stands near one of them, and nobody says which.
        if lines.len() > 1 {
            claim.identifier = None;
            claim.quotes.clear();
        }
        claims.push((claim, item.range.end));
        for more in lines.iter().skip(1) {
            let claim = Claim::at(path.clone(), *is_sure && !is_denied, Some(*more));
            claims.push((claim, item.range.end));
        }
    }
    claims
}

/// The words of the sentence before and behind an item, not far from it.
fn surroundings<'t>(paragraph: &'t str, item: &Item) -> (&'t str, &'t str) {
    const FAR: usize = 60;
    let mut start = item.range.start.saturating_sub(FAR);
    while !paragraph.is_char_boundary(start) {
        start += 1;
    }
    let mut end = (item.range.end + FAR).min(paragraph.len());
    while !paragraph.is_char_boundary(end) {
        end -= 1;
    }
    let before = &paragraph[start..item.range.start];
    let ends = |(at, _): &(usize, &str)| {
        !before[..*at].ends_with("e.g") && !before[..*at].ends_with("i.e")
    };
    let before = match before.rmatch_indices(". ").find(ends) {
        Some((at, _)) => &before[at + 2..],
        None => before,
    };
    let after = &paragraph[item.range.end..end];
    (before, after.find(". ").map_or(after, |at| &after[..at]))
}

/// The places, quotes and identifiers of a paragraph in their order.
fn items(paragraph: &str) -> Vec<Item> {
    let mut items = Vec::new();
    // Where the last place between quotation marks ends: the words in it are its own.
    let mut quoted = 0;
    for piece in pieces(paragraph) {
        match piece.kind {
            PieceKind::Code => of_code(paragraph, &piece, &mut items),
            PieceKind::Target => of_target(&piece, &mut items),
            PieceKind::Word if piece.range.start < quoted => {}
            PieceKind::Quoted => {
                if let Some(place) = place_with_blanks(piece.text) {
                    quoted = piece.range.end;
                    items.push(item_of_place(place, piece.range, None));
                    continue;
                }
                let kind = ItemKind::Quotation(piece.text.to_owned());
                items.push(Item { kind, range: piece.range });
            }
            PieceKind::Word => of_word(paragraph, &piece, &mut items),
        }
    }
    items
}

fn item_of_place(place: Place<'_>, range: Range<usize>, rest: Option<Quote>) -> Item {
    let Place { path, lines, is_sure, .. } = place;
    Item { kind: ItemKind::Place { path, is_sure, lines, rest }, range }
}

fn of_code(paragraph: &str, piece: &Piece<'_>, items: &mut Vec<Item>) {
    let text = piece.text;
    let token = text.split_whitespace().next().unwrap_or_default();
    if let Some(mut place) = place(text).filter(|place| place.rest.is_empty()) {
        let range = add_lines_in_words(paragraph, &piece.range, &mut place);
        items.push(item_of_place(place, range, None));
        return;
    }
    if let Some(place) = place(token).filter(|place| !place.lines.is_empty()) {
        let all: Vec<_> = text.split([',', ' ', ';']).filter(|token| !token.is_empty()).collect();
        let places: Vec<_> = all.iter().filter_map(|token| self::place(token)).collect();
        if all.len() > 1 && places.len() == all.len() {
            // Several places in one pair of backticks.
            let each =
                places.into_iter().map(|place| item_of_place(place, piece.range.clone(), None));
            items.extend(each);
            return;
        }
        // A line of a search's result.
        let rest = fences::result_line(&text[token.len() - place.rest.len()..]);
        items.push(item_of_place(place, piece.range.clone(), rest));
        return;
    }
    if let Some(place) = place_with_blanks(text).filter(|place| !place.lines.is_empty()) {
        items.push(item_of_place(place, piece.range.clone(), None));
        return;
    }
    let kind = match beside::identifier(text) {
        Some(identifier) if words::is_generic(&identifier) => ItemKind::Other,
        Some(identifier) => ItemKind::Identifier(identifier),
        None => ItemKind::Code(text.to_owned()),
    };
    items.push(Item { kind, range: piece.range.clone() });
}

fn of_target(piece: &Piece<'_>, items: &mut Vec<Item>) {
    let target = piece.text.trim();
    let target = match target.strip_prefix('<') {
        // Such a target may have blanks; behind the others stands a title.
        Some(target) => target.split('>').next(),
        None => target.split(' ').next(),
    };
    let target = target.unwrap_or_default();
    if target.starts_with('#') {
        return;
    }
    let decoded = decoded(target);
    let meant = match decoded.split_once('#') {
        Some((path, anchor)) if !anchor.starts_with('L') => path,
        Some(_) | None => &decoded,
    };
    let place = place(meant).or_else(|| place_with_blanks(meant));
    if let Some(mut place) = place {
        // Of a name with blanks the last word stands in the link's text like a name of its own.
        let is_part = |item: &mut Item| matches!(&item.kind, ItemKind::Place { path, .. } if place.path.ends_with(&format!(" {path}")));
        let _ = items.pop_if(is_part);
        // The target of a link is a path even where its name says little.
        place.is_sure |= place.path.contains('.') && !place.path.contains("path/to");
        let (path, lines, is_sure) = (place.path, place.lines, place.is_sure);
        let kind = ItemKind::Place { path, is_sure, lines, rest: None };
        items.push(Item { kind, range: piece.range.clone() });
    }
}

/// A link target with `%20` and the like replaced.
fn decoded(target: &str) -> String {
    let mut bytes = Vec::with_capacity(target.len());
    let mut rest = target.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let hex = behind.get(..2).filter(|_| *first == b'%');
        let code = hex
            .and_then(|hex| std::str::from_utf8(hex).ok())
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &behind[2..] } else { behind };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn of_word(paragraph: &str, piece: &Piece<'_>, items: &mut Vec<Item>) {
    let text =
        piece.text.trim_start_matches(['(', '[', '{', '<', '"', '\'', '*', '\u{201c}', '|', ',']);
    let start = piece.range.start + piece.text.len() - text.len();
    let mut token = text;
    loop {
        let shorter = token.trim_end_matches([
            '.', ',', ';', ':', '!', '?', ']', '}', '>', '"', '\'', '*', '\u{201d}', '|',
        ]);
        let is_open =
            shorter.ends_with(')') && shorter.matches(')').count() > shorter.matches('(').count();
        let shorter = if is_open { &shorter[..shorter.len() - 1] } else { shorter };
        if shorter.len() == token.len() {
            break;
        }
        token = shorter;
    }
    let Some(mut place) = place(token) else { return };
    let range = start..start + token.len();
    let range = add_lines_in_words(paragraph, &range, &mut place);
    if place.lines.is_empty() && !place.path.contains('/') && !is_plain_name(&place.path) {
        return;
    }
    if !place.rest.is_empty() && !place.rest.starts_with([':', ',', ')', ';']) {
        return;
    }
    items.push(item_of_place(place, range, None));
}

/// Whether a bare word of prose is a file's name and no product's.
fn is_plain_name(path: &str) -> bool {
    let Some((stem, extension)) = path.rsplit_once('.') else { return false };
    let is_script = ["js", "io", "net"].contains(&extension);
    let is_product = is_script && stem.starts_with(char::is_uppercase);
    !is_product && !words::is_ambiguous(extension)
}

/// Takes the lines of `a.rs (line 10)` and of `line 10 of a.rs`. Returns where the place stands with the words that
/// are behind it: what comes next is beside them.
fn add_lines_in_words(
    paragraph: &str,
    range: &Range<usize>,
    place: &mut Place<'_>,
) -> Range<usize> {
    const FAR: usize = 40;
    if !place.lines.is_empty() {
        return range.clone();
    }
    let mut start = range.start.saturating_sub(FAR);
    while !paragraph.is_char_boundary(start) {
        start += 1;
    }
    let behind = lines_in_words(&paragraph[range.end..]);
    let lines = match behind {
        Some((lines, _)) => Some(lines),
        None => lines_before(&paragraph[start..range.start]),
    };
    place.lines.extend(lines);
    // `x.ts, line 3` is a file, whatever `x.ts` alone would be.
    place.is_sure |= lines.is_some() && !place.path.contains("...");
    range.start..range.end + behind.map_or(0, |(_, length)| length)
}
