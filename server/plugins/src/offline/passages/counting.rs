//! The scan: which words of the question a file has, on which lines.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::offline::language::Language;
use crate::offline::place::Place;
use crate::offline::question::Question;
use crate::offline::words::{self, Stem};

/// A question has at most so many words and words like them.
const MAX_FEATURES: usize = 32;
/// A file with more hits is a word list.
const MAX_HITS: usize = 20_000;
/// Lines longer than this on average were not written by a person.
const MAX_AVERAGE_LINE: usize = 400;

/// A word to count: one of the question, or one that means the same.
#[derive(Clone, Copy)]
pub(super) struct Feature {
    stem: Stem,
    /// Which word of the question it stands for.
    pub term: usize,
    /// 1 for the word itself, less for one like it.
    pub weight: f32,
}

/// What a line is, beside its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineKind {
    Plain,
    Comment,
    Doc,
    Definition,
    Heading,
}

/// A word of the question on a line, in four bytes.
#[derive(Clone, Copy)]
pub(super) struct Hit(u32);

impl Hit {
    fn new(line: usize, feature: usize, kind: LineKind) -> Hit {
        let line = u32::try_from(line.min((1 << 24) - 1)).unwrap_or(0);
        let feature = u32::try_from(feature).unwrap_or(0);
        Hit(line << 8 | feature << 3 | kind as u32)
    }

    /// Counted from 0.
    pub(super) fn line(self) -> usize {
        (self.0 >> 8) as usize
    }

    pub(super) fn feature(self) -> usize {
        (self.0 >> 3 & 31) as usize
    }

    pub(super) fn kind(self) -> LineKind {
        match self.0 & 7 {
            1 => LineKind::Comment,
            2 => LineKind::Doc,
            3 => LineKind::Definition,
            4 => LineKind::Heading,
            _ => LineKind::Plain,
        }
    }
}

/// A file with words of the question.
pub(super) struct FileHits {
    pub path: String,
    pub size: usize,
    pub hits: Vec<Hit>,
}

/// What a scan counts, from several threads.
pub(super) struct Counts {
    pub features: Vec<Feature>,
    pub terms: usize,
    /// Where the first three letters of a wanted word lead, by [`slot`].
    begins: Box<[bool; SLOTS]>,
    /// How many files have each feature.
    pub with_feature: [AtomicU32; MAX_FEATURES],
    pub file_count: AtomicU32,
    pub byte_count: AtomicU64,
    pub files: Mutex<Vec<FileHits>>,
}

impl Counts {
    pub(super) fn new(question: &Question) -> Counts {
        let mut features: Vec<Feature> = Vec::new();
        let mut add = |word: &str, term: usize, weight: f32| {
            let Some(stem) = Stem::of(word.as_bytes()).filter(|stem| !stem.as_bytes().is_empty())
            else {
                return;
            };
            if features.len() < MAX_FEATURES && features.iter().all(|feature| feature.stem != stem)
            {
                features.push(Feature { stem, term, weight });
            }
        };
        for (term, wanted) in question.terms.iter().enumerate() {
            add(&wanted.word, term, 1.0);
        }
        for (term, wanted) in question.terms.iter().enumerate() {
            for other in words::synonyms(&wanted.word) {
                add(other, term, 0.5);
            }
        }
        let mut begins = Box::new([false; SLOTS]);
        for feature in &features {
            mark(&mut begins, feature.stem.as_bytes());
        }
        Counts {
            features,
            terms: question.terms.len(),
            begins,
            with_feature: [const { AtomicU32::new(0) }; MAX_FEATURES],
            file_count: AtomicU32::new(0),
            byte_count: AtomicU64::new(0),
            files: Mutex::new(Vec::new()),
        }
    }

    /// Counts one file.
    pub(super) fn visit(&self, path: &str, text: &str) {
        self.file_count.fetch_add(1, Ordering::Relaxed);
        self.byte_count.fetch_add(text.len() as u64, Ordering::Relaxed);
        let place = Place::of(path);
        if place.is_packed || place.is_lock {
            return;
        }
        let (hits, lines) = self.hits(path, text);
        if hits.is_empty() || text.len() / (lines + 1) > MAX_AVERAGE_LINE {
            return;
        }
        let features = hits.iter().fold(0u32, |mask, hit| mask | 1 << hit.feature());
        for feature in 0..self.features.len() {
            if features >> feature & 1 == 1 {
                self.with_feature[feature].fetch_add(1, Ordering::Relaxed);
            }
        }
        let terms = self.terms_of(features).count_ones();
        if self.terms >= 3 && terms < 2 && !self.is_in_path(path) {
            return;
        }
        let file = FileHits { path: path.to_owned(), size: text.len(), hits };
        self.files.lock().unwrap_or_else(PoisonError::into_inner).push(file);
    }

    /// Which terms a set of features stands for.
    pub(super) fn terms_of(&self, features: u32) -> u32 {
        let held = self.features.iter().enumerate().filter(|(index, _)| features >> index & 1 == 1);
        held.fold(0, |mask, (_, feature)| mask | 1 << feature.term)
    }

    /// The features in an identifier or a path.
    pub(super) fn features_of<'c>(&'c self, text: &'c str) -> impl Iterator<Item = usize> + 'c {
        words::subwords(text).into_iter().filter_map(|word| self.feature(word.as_bytes()))
    }

    /// Each term's best weight in a line.
    pub(super) fn line_score(&self, line: &str) -> f32 {
        let mut best = vec![0f32; self.terms];
        for feature in self.features_of(line) {
            let feature = &self.features[feature];
            best[feature.term] = best[feature.term].max(feature.weight);
        }
        best.iter().sum()
    }

    fn is_in_path(&self, path: &str) -> bool {
        self.features_of(path).next().is_some()
    }

    fn feature(&self, word: &[u8]) -> Option<usize> {
        let stem = Stem::of(word)?;
        self.features.iter().position(|feature| feature.stem == stem)
    }

    /// Whether a text goes on like one of the features: all but the last letter, which may be an inflected `y`.
    /// Cheap, and it spares most words their stemming.
    fn may_continue(&self, text: &[u8]) -> bool {
        self.features.iter().any(|feature| {
            let stem = feature.stem.as_bytes();
            let head = &stem[..stem.len() - 1];
            text.get(..head.len()).is_some_and(|start| start.eq_ignore_ascii_case(head))
        })
    }

    /// The one loop that sees every byte: a multiplication and a look into a small table for each. Lines are
    /// counted only as far as there are hits.
    fn hits(&self, path: &str, text: &str) -> (Vec<Hit>, usize) {
        let bytes = text.as_bytes();
        let language = Language::of(path);
        let mut hits: Vec<Hit> = Vec::new();
        let mut place = LinePlace::default();
        for (start, four) in bytes.array_windows::<4>().enumerate() {
            if self.begins[slot(*four)]
                && self.may_continue(&bytes[start..])
                && words::begins_word(bytes, start)
                && let Some(feature) = self.feature(word_at(bytes, start))
            {
                place.advance(language, text, start);
                hits.push(Hit::new(place.line, feature, place.kind));
                if hits.len() >= MAX_HITS {
                    break;
                }
            }
        }
        place.advance(language, text, bytes.len());
        (hits, place.line)
    }
}

/// Where in a text the scan is, by lines.
struct LinePlace {
    line: usize,
    kind: LineKind,
    /// Up to where line ends have been counted.
    counted: usize,
    /// Where the line whose kind is known begins.
    known: Option<usize>,
}

impl Default for LinePlace {
    fn default() -> LinePlace {
        LinePlace { line: 0, kind: LineKind::Plain, counted: 0, known: None }
    }
}

impl LinePlace {
    fn advance(&mut self, language: Language, text: &str, to: usize) {
        let passed = &text.as_bytes()[self.counted..to];
        // Pieces whose count fits a byte are counted many bytes at once.
        let count = |piece: &[u8]| piece.iter().map(|byte| u8::from(*byte == b'\n')).sum::<u8>();
        let ends: usize = passed.chunks(255).map(|piece| usize::from(count(piece))).sum();
        self.line += ends;
        self.counted = to;
        if ends == 0 && self.known.is_some() {
            return;
        }
        let start =
            text.as_bytes()[..to].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        self.known = Some(start);
        self.kind = line_kind(language, line_at(text, start));
    }
}

/// How many beginnings of words the table tells apart. It fits the fastest cache beside the text.
const SLOTS: usize = 1 << 13;

/// The slot of the first three of four bytes, whatever their case.
fn slot(four: [u8; 4]) -> usize {
    let three = u32::from_le_bytes(four) & 0x00df_dfdf;
    (three.wrapping_mul(0x9e37_79b1) >> 19) as usize
}

/// Lets words that begin like `stem` through. One of two letters lets through all that begins with them, and
/// its third letter may have been inflected from a `y`.
fn mark(begins: &mut [bool; SLOTS], stem: &[u8]) {
    let letter = |at: usize| stem.get(at).copied().unwrap_or_default();
    let thirds = if stem.len() < 3 { 0..=u8::MAX } else { letter(2)..=letter(2) };
    for third in thirds {
        begins[slot([letter(0), letter(1), third, 0])] = true;
    }
    if stem.len() == 3 && letter(2) == b'y' {
        begins[slot([letter(0), letter(1), b'i', 0])] = true;
    }
}

/// The part of a compound that begins at `at`.
fn word_at(bytes: &[u8], at: usize) -> &[u8] {
    let ends = |&end: &usize| !bytes[end].is_ascii_alphabetic() || words::begins_word(bytes, end);
    let end = (at + 1..bytes.len()).find(ends).unwrap_or(bytes.len());
    &bytes[at..end]
}

fn line_at(text: &str, start: usize) -> &str {
    let rest = text.get(start..).unwrap_or_default();
    let end = rest.bytes().take(400).position(|byte| byte == b'\n');
    let mut end = end.unwrap_or(rest.len().min(400));
    while !rest.is_char_boundary(end) {
        end -= 1;
    }
    &rest[..end]
}

fn line_kind(language: Language, line: &str) -> LineKind {
    let trimmed = line.trim_start();
    if language == Language::Prose {
        let is_heading = trimmed.starts_with('#') || trimmed.starts_with("==");
        return if is_heading { LineKind::Heading } else { LineKind::Plain };
    }
    if ["///", "//!", "/**", "\"\"\"", "* "].iter().any(|mark| trimmed.starts_with(mark)) {
        return LineKind::Doc;
    }
    if language.is_comment(trimmed) {
        return LineKind::Comment;
    }
    let mut words =
        trimmed.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty());
    let is_definition = words.by_ref().take(4).any(|word| DEFINING.contains(&word));
    let is_c_function = language == Language::C
        && !line.starts_with([' ', '\t', '#'])
        && trimmed.contains('(')
        && !trimmed.ends_with(';');
    if is_definition || is_c_function { LineKind::Definition } else { LineKind::Plain }
}

const DEFINING: &[&str] = &[
    "fn",
    "struct",
    "enum",
    "trait",
    "type",
    "mod",
    "macro_rules",
    "impl",
    "function",
    "class",
    "interface",
    "namespace",
    "module",
    "def",
    "func",
    "define",
];
