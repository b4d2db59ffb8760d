//! An alternative: a second search, with other words than those of the question, from what the branch was told
//! alone.
//!
//! The names that it was told are looked for where they are defined, and the words of the question are replaced by
//! others of the same meaning. What the branch already names is nothing new.

use std::collections::BTreeMap;

use dsh_protocol::workspace::GrepArguments;
use regex::{Regex, RegexBuilder};

use super::Child;
use super::finding::code;
use super::packet::{Certainty, Items, Kind, Place};
use super::task::Task;
use crate::offline::definition::STRONG;
use crate::offline::place;
use crate::offline::plan::{call, grep, read_call};
use crate::offline::question::{Name, Question};
use crate::offline::rank::{self, Found};
use crate::offline::reply::{Call, Step};
use crate::offline::results::{self, Matches, Sighting};
use crate::offline::words;

const MOST_NAMES: usize = 4;
const MOST_WORDS: usize = 24;
/// How many matches a search shows.
const SHOWN: u64 = 300;
/// Definitions and places that are told.
const TOLD: usize = 3;
/// Lines that are this near to each other are about one thing.
const NEAR: u64 = 8;
/// Lines read before and behind one.
const AROUND: u64 = 6;

/// A word of the question and the words that stand for it.
#[derive(Clone, Debug)]
struct Group {
    others: Vec<String>,
    pattern: Regex,
}

/// What is searched for.
struct Wanted {
    names: Vec<Name>,
    groups: Vec<Group>,
    /// Everything that the branch was told, to know what is not new.
    told: String,
}

impl Child<'_> {
    pub(super) fn alternative(&self) -> Step {
        let mut items = Items::default();
        if !self.tools.contains("grep") {
            let content = "Nothing was searched: this branch has no tool to search with.";
            items.add(Kind::Unknown, Certainty::Certain, content, &[]);
            return self.hand_in(items);
        }
        let wanted = Wanted::read(&Task::read(&self.turn.prompt));
        let searches = wanted.searches();
        if self.turn.rounds == 0 && !searches.is_empty() {
            let calls = searches.iter().map(|search| call("grep", search)).collect();
            return Step::Calls(calls);
        }
        if let Some(failed) = self.turn.failure() {
            let content = format!("A call of {} failed: {}", failed.0, code(failed.1));
            items.add(Kind::Unknown, Certainty::Certain, &content, &[]);
        }
        let matches = self.matches();
        let found = wanted.definitions(&matches);
        let places = wanted.places(&matches, &found);
        if self.turn.rounds == 1 && self.tools.contains("read") {
            let at = found.iter().map(|found| &found.at).chain(&places);
            let calls: Vec<Call> = at.map(around).collect();
            if !calls.is_empty() {
                return Step::Calls(calls);
            }
        }
        for found in &found {
            tell_definition(found, &mut items);
        }
        for at in &places {
            wanted.tell_place(at, &mut items);
        }
        self.hand_in(items)
    }

    /// What the searches of this turn have shown.
    fn matches(&self) -> Matches {
        let mut all = Matches::default();
        for done in self.turn.results("grep") {
            let Ok(text) = &done.result else { continue };
            for at in results::grep(text).shown {
                if !all.shown.contains(&at) {
                    all.shown.push(at);
                }
            }
        }
        all
    }
}

fn around(at: &Sighting) -> Call {
    read_call(&at.path, at.line.saturating_sub(AROUND).max(1), 2 * AROUND + 1)
}

impl Wanted {
    fn read(task: &Task) -> Wanted {
        let mut texts = vec![task.goal.as_str(), task.focus.as_str()];
        texts.extend(task.unknowns.iter().chain(&task.observations).map(String::as_str));
        let told = texts.join("\n");
        let questions: Vec<Question> = texts.iter().map(|text| Question::read(text, &[])).collect();
        let mut names: Vec<Name> = Vec::new();
        let all = questions.iter().flat_map(|question| &question.names);
        for name in all.filter(|name| name.is_code) {
            if names.len() < MOST_NAMES && names.iter().all(|known| known.name != name.name) {
                names.push(name.clone());
            }
        }
        // Observations are what was found, not what is asked.
        let asked = questions.iter().take(2).flat_map(|question| &question.terms);
        let own: Vec<&str> = asked.map(|term| term.word.as_str()).collect();
        let is_own = |other: &str| own.iter().any(|word| same(word, other));
        let mut groups: Vec<Group> = Vec::new();
        let mut count = 0;
        for word in &own {
            let mut others: Vec<String> =
                words::synonyms(word).filter(|other| !is_own(other)).map(str::to_owned).collect();
            others.dedup();
            others.truncate(MOST_WORDS.saturating_sub(count));
            count += others.len();
            if let Some(pattern) = pattern_of(&others) {
                groups.push(Group { others, pattern });
            }
        }
        Wanted { names, groups, told }
    }

    fn searches(&self) -> Vec<GrepArguments> {
        let mut searches = Vec::new();
        if !self.names.is_empty() {
            let pattern = rank::exact_pattern(&self.names);
            searches.push(GrepArguments { limit: Some(SHOWN), ..grep(pattern) });
        }
        if !self.groups.is_empty() {
            let all: Vec<&str> = self.groups.iter().map(|group| group.pattern.as_str()).collect();
            let (pattern, case_insensitive) = (all.join("|"), Some(true));
            searches.push(GrepArguments { limit: Some(SHOWN), case_insensitive, ..grep(pattern) });
        }
        searches
    }

    /// Where the names are defined, as far as nobody has said so.
    fn definitions(&self, matches: &Matches) -> Vec<Found> {
        let mut found = rank::definitions(&self.names, matches);
        found.retain(|found| found.definition.strength >= STRONG && !self.is_told(&found.at));
        found.truncate(TOLD);
        found
    }

    /// The lines around which most of the question's words stand in other words, one of each file.
    fn places(&self, matches: &Matches, found: &[Found]) -> Vec<Sighting> {
        let mut by_file: BTreeMap<&str, Vec<(&Sighting, Vec<usize>)>> = BTreeMap::new();
        for at in &matches.shown {
            let groups = self.groups_in(&at.text);
            if !groups.is_empty() {
                by_file.entry(&at.path).or_default().push((at, groups));
            }
        }
        let least = self.groups.len().min(2);
        let mut best: Vec<(usize, bool, Sighting)> = Vec::new();
        for (path, lines) in by_file {
            let is_found = found.iter().any(|found| found.at.path == path);
            if is_found || self.told.contains(path) {
                continue;
            }
            let score = |at: &Sighting| {
                let near = lines.iter().filter(|(other, _)| other.line.abs_diff(at.line) <= NEAR);
                let mut groups: Vec<usize> =
                    near.flat_map(|(_, groups)| groups.iter().copied()).collect();
                groups.sort_unstable();
                groups.dedup();
                groups.len()
            };
            let scored = lines.iter().filter(|(at, _)| !at.cut).map(|(at, groups)| {
                // The line itself counts as well, so that the fullest one is told.
                (score(at), groups.len(), *at)
            });
            let top = scored.max_by(|a, b| {
                (a.0, a.1, std::cmp::Reverse(a.2.line)).cmp(&(
                    b.0,
                    b.1,
                    std::cmp::Reverse(b.2.line),
                ))
            });
            if let Some((score, _, at)) = top.filter(|(score, _, _)| *score >= least) {
                best.push((score, is_aside(path), at.clone()));
            }
        }
        best.sort_by(|a, b| (b.0, a.1, &a.2.path).cmp(&(a.0, b.1, &b.2.path)));
        best.into_iter().take(TOLD).map(|(_, _, at)| at).collect()
    }

    fn groups_in(&self, line: &str) -> Vec<usize> {
        let groups = self.groups.iter().enumerate();
        groups.filter(|(_, group)| group.pattern.is_match(line)).map(|(at, _)| at).collect()
    }

    fn is_told(&self, at: &Sighting) -> bool {
        self.told.contains(&format!("{}:{}", at.path, at.line))
    }

    fn tell_place(&self, at: &Sighting, items: &mut Items) {
        let groups = self.groups_in(&at.text);
        let words: Vec<&str> = groups
            .iter()
            .flat_map(|group| &self.groups[*group].others)
            .map(String::as_str)
            .filter(|word| at.text.to_lowercase().contains(word))
            .collect();
        let content = format!(
            "Other words for the question (`{}`) lead to {}:{}, which it does not name: {}.",
            words.join("`, `"),
            at.path,
            at.line,
            code(&at.text),
        );
        items.add(Kind::Suggestion, Certainty::Uncertain, &content, &[place_of(at)]);
    }
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

fn place_of(at: &Sighting) -> Place {
    Place { path: at.path.clone(), line: Some(at.line), quote: Some(at.text.trim().to_owned()) }
}

/// Whether a file only speaks about what others do.
fn is_aside(path: &str) -> bool {
    let place = place::Place::of(path);
    place.is_test
        || place.is_example
        || place.is_foreign
        || place.is_lock
        || place.is_docs
        || place.is_data
}

fn same(one: &str, other: &str) -> bool {
    words::Stem::of(one.as_bytes()) == words::Stem::of(other.as_bytes())
}

/// A pattern that finds the words, also as parts of names; none without words.
fn pattern_of(words: &[String]) -> Option<Regex> {
    if words.is_empty() {
        return None;
    }
    let words: Vec<String> = words.iter().map(|word| regex::escape(word)).collect();
    // A part of a name begins and ends at `_` too, which no word boundary does.
    let text = format!(r"(?:\b|_)(?:{})(?:s|ed|ing)?(?:\b|_)", words.join("|"));
    RegexBuilder::new(&text).case_insensitive(true).build().ok()
}
