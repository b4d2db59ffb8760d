//! An alternative: a second search, with other words than those of the question, from what the branch was told
//! alone.
//!
//! The names that it was told are looked for where they are defined. The words of the question are replaced by
//! others of the same meaning, and the passages that are about those are read. What the branch was told is nothing
//! new.

use std::collections::BTreeSet;

use dsh_agent::tool::ToolFailure;
use dsh_protocol::workspace::GrepArguments;

use super::Child;
use super::finding::code;
use super::packet::{Certainty, Items, Kind, Place};
use super::task::Task;
use crate::offline::definition::STRONG;
use crate::offline::passages::{self, Passage};
use crate::offline::plan::{call, grep, read_call};
use crate::offline::question::{Name, Question, Term, Want};
use crate::offline::rank::{self, Found};
use crate::offline::reply::{Call, Step};
use crate::offline::results::{self, Matches, Sighting, Window};
use crate::offline::words;

const MOST_NAMES: usize = 4;
/// How often the words of the question are replaced by others.
const VARIANTS: usize = 2;
/// How many matches a search shows.
const SHOWN: u64 = 300;
/// Definitions, and passages, that are told.
const TOLD: usize = 3;
/// Lines read before and behind a passage.
const AROUND: u64 = 2;

/// What is searched for.
struct Wanted {
    names: Vec<Name>,
    /// The question in other words.
    variants: Vec<Question>,
    /// Everything that the branch was told, to know what is not new.
    told: String,
}

impl Child<'_> {
    pub(super) async fn alternative(&self) -> Step {
        let mut items = Items::default();
        if !self.tools.contains("grep") && !self.tools.contains("read") {
            let content = "Nothing was searched: this branch has no tool to search with.";
            items.add(Kind::Unknown, Certainty::Certain, content, &[]);
            return self.hand_in(items);
        }
        let wanted = Wanted::read(&Task::read(&self.turn.prompt));
        if self.turn.rounds == 0 {
            match self.searches(&wanted).await {
                Ok(calls) if !calls.is_empty() => return Step::Calls(calls),
                Ok(_) => {}
                Err(failed) => tell_failure("search", &failed.message, &mut items),
            }
        }
        if let Some((tool, message)) = self.turn.failure() {
            tell_failure(tool, message, &mut items);
        }
        for found in wanted.definitions(&self.matches()) {
            tell_definition(&found, &mut items);
        }
        for window in self.reads() {
            wanted.tell_passage(&window, &mut items);
        }
        self.hand_in(items)
    }

    async fn searches(&self, wanted: &Wanted) -> Result<Vec<Call>, ToolFailure> {
        let mut calls = Vec::new();
        if self.tools.contains("grep") && !wanted.names.is_empty() {
            let pattern = rank::exact_pattern(&wanted.names);
            calls.push(call("grep", &GrepArguments { limit: Some(SHOWN), ..grep(pattern) }));
        }
        if self.tools.contains("read") {
            let mut passages: Vec<Passage> = Vec::new();
            for variant in &wanted.variants {
                passages.extend(passages::find(self.search, variant, self.cancel).await?);
            }
            passages.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.path.cmp(&b.path)));
            let mut seen = BTreeSet::new();
            let is_new = |passage: &&Passage| {
                !wanted.told.contains(&passage.path) && seen.insert(passage.path.clone())
            };
            calls.extend(passages.iter().filter(is_new).take(TOLD).map(reading));
        }
        Ok(calls)
    }

    /// What the searches of this turn have shown.
    fn matches(&self) -> Matches {
        let done = self.turn.results("grep").filter_map(|done| done.result.as_ref().ok());
        let shown = done.flat_map(|text| results::grep(text).shown).collect();
        Matches { shown, ..Matches::default() }
    }
}

fn reading(passage: &Passage) -> Call {
    let (first, last) = passage.lines;
    let offset = first.saturating_sub(AROUND).max(1);
    read_call(&passage.path, offset, last + AROUND + 1 - offset)
}

impl Wanted {
    fn read(task: &Task) -> Wanted {
        let mut texts = vec![task.goal.as_str(), task.focus.as_str()];
        texts.extend(task.unknowns.iter().chain(&task.observations).map(String::as_str));
        let told = texts.join("\n");
        let mut names: Vec<Name> = Vec::new();
        for text in &texts {
            let of_text = Question::read(text, &[]).names;
            for name in of_text.into_iter().filter(|name| name.is_code) {
                if names.len() < MOST_NAMES && names.iter().all(|known| known.name != name.name) {
                    names.push(name);
                }
            }
        }
        let goal = Question::read(&task.goal, &[]);
        let goal = if goal.terms.is_empty() { Question::read(&task.focus, &[]) } else { goal };
        let variants = (0..VARIANTS).filter_map(|number| in_other_words(&goal, number)).collect();
        Wanted { names, variants, told }
    }

    /// Where the names are defined, as far as nobody has said so.
    fn definitions(&self, matches: &Matches) -> Vec<Found> {
        let is_told = |at: &Sighting| self.told.contains(&format!("{}:{}", at.path, at.line));
        let mut found = rank::definitions(&self.names, matches);
        found.retain(|found| found.definition.strength >= STRONG && !is_told(&found.at));
        found.truncate(TOLD);
        found
    }

    /// Tells the line of a passage that says most in the other words.
    fn tell_passage(&self, window: &Window, items: &mut Items) {
        let mut best: Option<(f32, &Question, &Sighting)> = None;
        for variant in &self.variants {
            for at in window.lines.iter().filter(|at| !at.cut) {
                let score = passages::line_score(variant, &at.text);
                if score > best.map_or(0.0, |(most, _, _)| most) {
                    best = Some((score, variant, at));
                }
            }
        }
        let Some((_, variant, at)) = best else { return };
        let words: Vec<&str> = variant.terms.iter().map(|term| term.word.as_str()).collect();
        let content = format!(
            "Searched for as `{}`, the question leads to {}:{}, which it does not name: {}.",
            words.join(" "),
            at.path,
            at.line,
            code(&at.text),
        );
        items.add(Kind::Suggestion, Certainty::Uncertain, &content, &[place_of(at)]);
    }
}

/// A question in which words have others of the same meaning in their place; nothing when no word has another one.
fn in_other_words(question: &Question, number: usize) -> Option<Question> {
    let mut is_other = false;
    let mut terms: Vec<Term> = Vec::new();
    for term in &question.terms {
        let is_own = |other: &str| question.terms.iter().any(|own| same(&own.word, other));
        let other = words::synonyms(&term.word).filter(|other| !is_own(other)).nth(number);
        is_other |= other.is_some();
        let word = other.map_or_else(|| term.word.clone(), str::to_owned);
        if terms.iter().all(|known| !same(&known.word, &word)) {
            terms.push(Term { word });
        }
    }
    is_other.then(|| Question {
        want: Want::Explanation,
        names: Vec::new(),
        files: Vec::new(),
        line: None,
        phrase: None,
        terms,
        about_use: question.about_use,
        is_soft: false,
    })
}

fn same(one: &str, other: &str) -> bool {
    words::Stem::of(one.as_bytes()) == words::Stem::of(other.as_bytes())
}

fn tell_definition(found: &Found, items: &mut Items) {
    let Found { name, definition, at, .. } = found;
    let content = format!(
        "`{name}` is defined at {}:{} ({}), which the question does not name: {}.",
        at.path,
        at.line,
        definition.kind,
        code(&at.text)
    );
    items.add(Kind::Observation, Certainty::Certain, &content, &[place_of(at)]);
}

fn tell_failure(what: &str, message: &str, items: &mut Items) {
    let content = format!("A call of {what} failed: {}", code(message));
    items.add(Kind::Unknown, Certainty::Certain, &content, &[]);
}

fn place_of(at: &Sighting) -> Place {
    Place { path: at.path.clone(), line: Some(at.line), quote: Some(at.text.trim().to_owned()) }
}
