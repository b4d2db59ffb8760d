//! Answers about a made-up source tree, right ones and ones with one known fault each. Imports nothing of the
//! product: what an answer says is known from how it was made.

mod sentences;
mod tree;

use std::collections::BTreeSet;

use crate::seed::Seed;
use sentences::{citation, decoration};
pub use tree::{File, Tree};

/// What can be wrong with an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sort {
    /// The cited file never was.
    WrongFile,
    /// The cited line is behind the file's end.
    PastTheEnd,
    /// The quoted line reads otherwise.
    Misquoted,
    /// The identifier beside the citation is not the one there.
    Renamed,
    /// The citation is five lines off.
    OffByFive,
    /// The cited file was deleted.
    Deleted,
    /// The quoted line was edited and the edit is not saved.
    EditedUnsaved,
    /// The quoted line stands further down by now.
    Moved,
    /// The cited range ends behind the file's end.
    WrongRangeEnd,
    /// The cited file has another extension.
    WrongExtension,
}

/// Every sort of fault.
pub const SORTS: [Sort; 10] = [
    Sort::WrongFile,
    Sort::PastTheEnd,
    Sort::Misquoted,
    Sort::Renamed,
    Sort::OffByFive,
    Sort::Deleted,
    Sort::EditedUnsaved,
    Sort::Moved,
    Sort::WrongRangeEnd,
    Sort::WrongExtension,
];

/// A fault and how it has to be found.
#[derive(Clone, Debug)]
pub struct Fault {
    /// Which sort it is.
    pub sort: Sort,
    /// The file that it is about.
    pub path: String,
    /// The reasons that name it rightly.
    pub reasons: Vec<&'static str>,
    /// Where the cited text really is, for faults that must say so.
    pub now: Option<usize>,
}

/// An answer of a model.
#[derive(Clone, Debug)]
pub struct MadeAnswer {
    /// Its text in Markdown.
    pub text: String,
    /// What is wrong with it, if something is.
    pub fault: Option<Fault>,
}

/// `count` right answers and `count` wrong ones about a tree, always the same for one seed.
pub fn answers(tree: &Tree, seed: u64, count: usize) -> Vec<MadeAnswer> {
    let mut seed = Seed::new(seed);
    let mut answers = Vec::new();
    for number in 0..count {
        answers.push(answer(tree, &mut seed, None));
        answers.push(answer(tree, &mut seed, Some(SORTS[number % SORTS.len()])));
    }
    answers
}

fn answer(tree: &Tree, seed: &mut Seed, sort: Option<Sort>) -> MadeAnswer {
    let claims = 2 + seed.size(4);
    let wrong = usize::try_from(seed.below(claims as u64)).unwrap();
    let mut parts = vec![sentences::opening(seed)];
    let mut fault = None;
    for number in 0..claims {
        if let (true, Some(sort)) = (number == wrong, sort) {
            let (text, found) = faulty(tree, seed, sort);
            parts.push(text);
            fault = Some(found);
        } else {
            parts.push(citation(tree.any(seed), seed));
        }
        if seed.below(2) == 0 {
            parts.push(decoration(tree.any(seed), seed));
        }
    }
    MadeAnswer { text: parts.join("\n\n"), fault }
}

/// A statement with a fault.
fn faulty(tree: &Tree, seed: &mut Seed, sort: Sort) -> (String, Fault) {
    let file = tree.any(seed);
    let fault = |path: &str, reasons: &[&'static str], now| Fault {
        sort,
        path: path.to_owned(),
        reasons: reasons.to_vec(),
        now,
    };
    match sort {
        Sort::WrongFile => {
            let path = file.path.replace('.', &format!("_{}.", seed.below(90) + 10));
            let text = sentences::place_only(&path, file.definition(seed).0, seed);
            (text, fault(&path, &["missing-file"], None))
        }
        Sort::WrongExtension => {
            let stem = file.path.rsplit_once('.').unwrap().0;
            let path = format!("{stem}.rb");
            let text = sentences::place_only(&path, file.definition(seed).0, seed);
            (text, fault(&path, &["missing-file"], None))
        }
        Sort::Deleted => {
            let file =
                &tree.deleted[usize::try_from(seed.below(tree.deleted.len() as u64)).unwrap()];
            (citation(file, seed), fault(&file.path, &["missing-file"], None))
        }
        Sort::PastTheEnd => {
            let line = file.lines.len() + 1 + seed.size(300);
            let text = sentences::place_only(&file.path, line, seed);
            (text, fault(&file.path, &["line-out-of-range"], None))
        }
        Sort::WrongRangeEnd => {
            let (line, _) = file.definition(seed);
            let text =
                sentences::range(&file.path, line, file.lines.len() + 1 + seed.size(40), seed);
            (text, fault(&file.path, &["line-out-of-range"], None))
        }
        Sort::Misquoted => {
            let (line, text) = file.unique_line(seed);
            let wrong = sentences::misquoted(&text, seed);
            let text = sentences::quote(&file.path, line, &wrong, file.language(), seed);
            (text, fault(&file.path, &["quote-not-found"], None))
        }
        Sort::Renamed => {
            let (line, name) = file.definition(seed);
            let names: BTreeSet<&str> =
                file.definitions.iter().map(|(_, name)| name.as_str()).collect();
            let wrong = sentences::renamed(name, seed);
            assert!(!names.contains(wrong.as_str()));
            let text = sentences::identifier(&file.path, line, &wrong, seed);
            (text, fault(&file.path, &["identifier-not-near"], None))
        }
        Sort::OffByFive => {
            let (line, text) = file.unique_line(seed);
            let off = if line > 5 && seed.below(2) == 0 { line - 5 } else { line + 5 };
            let off = if off > file.lines.len() { line - 5 } else { off };
            let text = sentences::quote(&file.path, off, &text, file.language(), seed);
            (text, fault(&file.path, &["quote-moved"], Some(line)))
        }
        Sort::EditedUnsaved => {
            let (before, after) =
                &tree.edited[usize::try_from(seed.below(tree.edited.len() as u64)).unwrap()];
            let changed: Vec<usize> = (0..before.lines.len())
                .filter(|at| before.lines[*at] != after.lines[*at])
                .collect();
            let at = changed[usize::try_from(seed.below(changed.len() as u64)).unwrap()];
            let text = before.lines[at].trim();
            let text = sentences::quote(&before.path, at + 1, text, before.language(), seed);
            (text, fault(&before.path, &["quote-not-found"], None))
        }
        Sort::Moved => {
            let (before, after) =
                &tree.moved[usize::try_from(seed.below(tree.moved.len() as u64)).unwrap()];
            let (line, text) = before.unique_line(seed);
            let now = after.lines.iter().position(|other| other.trim() == text).unwrap() + 1;
            let text = sentences::quote(&before.path, line, &text, before.language(), seed);
            (text, fault(&before.path, &["quote-moved"], Some(now)))
        }
    }
}
