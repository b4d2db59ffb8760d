//! From counts to passages: rare words weigh more, words close together more than words apart.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use super::Passage;
use super::counting::{Counts, FileHits, Hit, LineKind};
use crate::offline::place::Place;
use crate::offline::question::Question;

/// A passage has at most so many lines.
const WINDOW: usize = 12;
/// So many files are looked at closely.
const CANDIDATES: usize = 400;
const PASSAGES: usize = 8;
const PASSAGES_OF_ONE_FILE: usize = 2;
/// The part of the question's weight that one file must have at least, or nothing is said.
const ENOUGH: f32 = 0.5;
/// The same for a question of many words, some of which only carry the others.
const ENOUGH_OF_MANY: f32 = 0.4;
/// The part that is enough beside such a file.
const ALSO_ENOUGH: f32 = 0.35;
/// A rarer word does not weigh more, so that no word alone decides.
const RAREST: f32 = 7.0;

/// What each word is worth, known after the scan.
struct Worth {
    of_feature: Vec<f32>,
    of_term: Vec<f32>,
    whole: f32,
    average_size: f32,
}

/// The best passages of all files.
pub(super) fn best(counts: &Counts, files: Vec<FileHits>, question: &Question) -> Vec<Passage> {
    let worth = Worth::new(counts);
    let asked = Asked::new(question);
    let mut candidates: Vec<(f32, f32, FileHits)> = Vec::new();
    for file in files {
        let (file_score, coverage) = worth.file(counts, &file);
        let factor = asked.factor(&file.path);
        let score = (file_score + worth.path(counts, &file.path)) * coverage * factor;
        candidates.push((score, coverage, file));
    }
    candidates.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.2.path.cmp(&b.2.path)));
    candidates.truncate(CANDIDATES);
    let enough = if counts.terms > 3 { ENOUGH_OF_MANY } else { ENOUGH };
    if candidates.iter().all(|(_, coverage, _)| *coverage <= enough) {
        return Vec::new();
    }
    let mut passages: Vec<Passage> = Vec::new();
    let mut seen = BTreeSet::new();
    for (_, coverage, file) in &candidates {
        if *coverage < ALSO_ENOUGH {
            continue;
        }
        // Copies and other versions of a file say the same again.
        let is_copy = !seen.insert((ending(&file.path), file.hits.len() / 8));
        let factor = asked.factor(&file.path) * if is_copy { 0.4 } else { 1.0 };
        passages.extend(worth.passages(counts, file, factor));
    }
    passages.sort_by(|a, b| {
        b.score.total_cmp(&a.score).then_with(|| (&a.path, a.lines).cmp(&(&b.path, b.lines)))
    });
    let least = passages.first().map_or(0.0, |best| best.score * 0.3);
    passages.retain(|passage| passage.score >= least);
    passages.truncate(PASSAGES);
    passages
}

/// The last folders and the name of a file.
fn ending(path: &str) -> String {
    let parts: Vec<&str> = path.rsplit('/').take(3).collect();
    parts.join("/")
}

impl Worth {
    fn new(counts: &Counts) -> Worth {
        #[expect(clippy::cast_precision_loss, reason = "counts of files are far below 2^24")]
        let with = |feature: usize| counts.with_feature[feature].load(Ordering::Relaxed) as f32;
        #[expect(clippy::cast_precision_loss, reason = "as above")]
        let files = (counts.file_count.load(Ordering::Relaxed) as f32).max(1.0);
        #[expect(clippy::cast_precision_loss, reason = "an average need not be exact")]
        let bytes = counts.byte_count.load(Ordering::Relaxed) as f32;
        let rarity = |with: f32| (1.0 + (files - with + 0.5) / (with + 0.5)).ln().min(RAREST);
        let mut of_term = vec![0f32; counts.terms];
        for (index, feature) in counts.features.iter().enumerate() {
            // A word that nobody uses here is worth what the first word like it is worth.
            if of_term[feature.term] <= 0.0 && with(index) > 0.0 {
                of_term[feature.term] = rarity(with(index)).max(0.4);
            }
        }
        // What is missing altogether may be the very thing that is asked for, or one of many words around it.
        let rarest = of_term.iter().copied().fold(1.0, f32::max);
        let missing = rarest * if counts.terms <= 2 { 1.0 } else { 0.6 };
        for worth in of_term.iter_mut().filter(|worth| **worth <= 0.0) {
            *worth = missing;
        }
        let of_feature = counts.features.iter().enumerate().map(|(index, feature)| {
            let own = rarity(with(index)).max(0.4);
            if feature.weight >= 1.0 {
                own
            } else {
                own.min(of_term[feature.term]) * feature.weight
            }
        });
        let of_feature = of_feature.collect();
        let whole = of_term.iter().sum::<f32>().max(0.1);
        Worth { of_feature, of_term, whole, average_size: (bytes / files).max(1.0) }
    }

    /// How much a whole file is about the question, and which part of the question's weight it has.
    fn file(&self, counts: &Counts, file: &FileHits) -> (f32, f32) {
        let mut times = vec![0f32; counts.features.len()];
        for hit in &file.hits {
            times[hit.feature()] += 1.0;
        }
        #[expect(clippy::cast_precision_loss, reason = "sizes are below the scan's limit")]
        let length = (file.size as f32 / self.average_size).min(8.0);
        let mut of_term = vec![0f32; counts.terms];
        let mut held = vec![0f32; counts.terms];
        for (index, feature) in
            counts.features.iter().enumerate().filter(|(index, _)| times[*index] > 0.0)
        {
            let saturated = times[index] * 2.2 / (times[index] + 1.2 * (0.25 + 0.75 * length));
            let score = self.of_feature[index] * saturated;
            of_term[feature.term] = of_term[feature.term].max(score);
            held[feature.term] = held[feature.term].max(self.held(feature.weight, feature.term));
        }
        for feature in counts.features_of(&file.path) {
            let feature = &counts.features[feature];
            held[feature.term] = held[feature.term].max(self.held(feature.weight, feature.term));
        }
        (of_term.iter().sum(), held.iter().sum::<f32>() / self.whole)
    }

    /// A word like the one that was asked for counts for most of it.
    fn held(&self, weight: f32, term: usize) -> f32 {
        self.of_term[term] * if weight >= 1.0 { 1.0 } else { 0.7 }
    }

    /// How much a path is about the question.
    fn path(&self, counts: &Counts, path: &str) -> f32 {
        let (folders, file) = path.rsplit_once('/').unwrap_or(("", path));
        let mut of_term = vec![0f32; counts.terms];
        for (text, part) in [(file, 1.2), (folders, 0.5)] {
            for feature in counts.features_of(text) {
                let term = counts.features[feature].term;
                of_term[term] = of_term[term].max(self.of_feature[feature] * part);
            }
        }
        of_term.iter().sum()
    }

    /// The best windows of a file.
    fn passages(&self, counts: &Counts, file: &FileHits, factor: f32) -> Vec<Passage> {
        let (file_score, _) = self.file(counts, file);
        #[expect(clippy::cast_precision_loss, reason = "sizes are below the scan's limit")]
        let bulk = (file.size as f32 / self.average_size / 8.0).max(1.0);
        // In a very long file words stand together by chance.
        let factor = factor / (1.0 + 0.2 * bulk.ln());
        let base = 0.35 * file_score + 0.8 * self.path(counts, &file.path);
        let mut windows: Vec<(f32, usize, usize)> = Vec::new();
        for start in 0..file.hits.len() {
            let first = file.hits[start].line();
            if start > 0 && file.hits[start - 1].line() == first {
                continue;
            }
            let length =
                file.hits[start..].iter().take_while(|hit| hit.line() < first + WINDOW).count();
            let hits = &file.hits[start..start + length];
            let last = hits.last().map_or(first, |hit| hit.line());
            windows.push((self.window(counts, hits), first, last));
        }
        windows.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut taken: Vec<(f32, usize, usize)> = Vec::new();
        for window in windows {
            let is_apart = taken
                .iter()
                .all(|other| window.2 + WINDOW < other.1 || other.2 + WINDOW < window.1);
            if is_apart && taken.len() < PASSAGES_OF_ONE_FILE {
                taken.push(window);
            }
        }
        let passage = |(at, (score, first, last)): (usize, (f32, usize, usize))| Passage {
            path: file.path.clone(),
            lines: (first as u64 + 1, last as u64 + 1),
            // Another file is more likely to add something than the same file again.
            score: (score + base) * factor * if at == 0 { 1.0 } else { 0.6 },
        };
        taken.into_iter().enumerate().map(passage).collect()
    }

    fn window(&self, counts: &Counts, hits: &[Hit]) -> f32 {
        let mut best = vec![0f32; counts.terms];
        let mut held = vec![0f32; counts.terms];
        let mut more = 0f32;
        let (mut line, mut line_terms, mut line_score, mut best_line) =
            (usize::MAX, 0u32, 0f32, 0f32);
        for hit in hits {
            let feature = &counts.features[hit.feature()];
            let value = self.of_feature[hit.feature()];
            let weighed = value * weight(hit.kind());
            if best[feature.term] > 0.0 {
                more += 0.06 * value;
            }
            best[feature.term] = best[feature.term].max(weighed);
            held[feature.term] = held[feature.term].max(self.held(feature.weight, feature.term));
            if hit.line() != line {
                (line, line_terms, line_score) = (hit.line(), 0, 0.0);
            }
            if line_terms >> feature.term & 1 == 0 {
                line_terms |= 1 << feature.term;
                line_score += value;
                if line_terms.count_ones() > 1 {
                    best_line = best_line.max(line_score);
                }
            }
        }
        let coverage = held.iter().sum::<f32>() / self.whole;
        (best.iter().sum::<f32>() + more.min(0.25 * self.whole) + 0.5 * best_line)
            * coverage.powf(1.2)
    }
}

fn weight(kind: LineKind) -> f32 {
    match kind {
        LineKind::Plain => 1.0,
        LineKind::Comment => 1.05,
        LineKind::Doc => 1.2,
        LineKind::Heading => 1.4,
        LineKind::Definition => 1.5,
    }
}

/// What sort of files a question is about.
#[expect(clippy::struct_excessive_bools, reason = "facts that do not depend on each other")]
struct Asked {
    about_use: bool,
    tests: bool,
    examples: bool,
    licences: bool,
    changes: bool,
}

impl Asked {
    fn new(question: &Question) -> Asked {
        let has = |words: &[&str]| {
            question.terms.iter().any(|term| words.iter().any(|word| term.word.starts_with(word)))
        };
        Asked {
            about_use: question.about_use,
            tests: has(&["test", "spec", "assert", "fixture"]),
            examples: has(&["example", "bench", "demo", "sample"]),
            licences: has(&["licen", "copyright", "legal"]),
            changes: has(&["change", "release", "history", "version", "breaking"]),
        }
    }

    /// How likely a file of this sort holds the answer.
    fn factor(&self, path: &str) -> f32 {
        let place = Place::of(path);
        let mut factor = 1.0;
        for (holds, by) in [
            (place.is_test && !self.tests, 0.6),
            (place.is_example && !self.examples, 0.7),
            (place.is_foreign, 0.6),
            (place.is_changelog && !self.changes, 0.35),
            (place.is_licence && !self.licences, 0.2),
            (place.is_licence && self.licences, 1.5),
            (place.is_data, 0.5),
            (place.is_docs && self.about_use, 1.25),
            (place.is_docs && !self.about_use, 0.85),
        ] {
            if holds {
                factor *= by;
            }
        }
        factor
    }
}
