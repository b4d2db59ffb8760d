//! The steps for a question about identifiers: the lines that have them, what is read around their
//! definitions, and their uses.

use dsh_agent::tool::ToolFailure;
use dsh_protocol::workspace::GrepArguments;

use super::{Lookup, Plan, READS, SHOWN, call, grep, read_call};
use crate::offline::answer;
use crate::offline::definition::{self, PART, STRONG, find_word};
use crate::offline::passages;
use crate::offline::question::{Name, Want};
use crate::offline::rank::{self, Found};
use crate::offline::reply::{Call, Step};
use crate::offline::results::{self, Matches};

/// When a search has more matches than it shows, all of them up to this many are looked at without being shown.
const ALL: u64 = 5000;
/// A name on more lines than this is looked for among definitions only.
const COMMON: usize = 8000;
/// How many lines are read before a line, to find what it is in.
const BEFORE: u64 = 60;
const READ_LINES: u64 = 90;
/// After this many rounds the answer is made from what there is.
const MAX_ROUNDS: usize = 8;

/// What the searches for names have shown so far.
struct Looked {
    /// Every line that has one of the names, or the first of them; none when a name is qualified.
    lines: Option<Matches>,
    /// The lines that define one of them, best first.
    found: Vec<Found>,
    /// Whether there were too many definitions to show.
    is_wide: bool,
    is_defined: bool,
}

impl Looked {
    /// The lines that are known to use the names, unless a search of its own has to find them.
    fn known_uses(&self) -> Option<&Matches> {
        self.lines.as_ref().filter(|lines| self.is_defined || !lines.shown.is_empty())
    }

    fn is_partial(&self) -> bool {
        self.lines.as_ref().is_none_or(|lines| lines.partial)
    }
}

impl Plan<'_> {
    pub(super) async fn names(&self, names: &[Name]) -> Result<Step, ToolFailure> {
        let looked = match self.look(names).await? {
            Ok(looked) => looked,
            Err(call) => return Ok(Step::Calls(vec![call])),
        };
        let searches = 2 + usize::from(looked.lines.as_ref().is_some_and(|lines| lines.partial));
        if self.turn.rounds < searches && self.reads().is_empty() {
            let calls = self.first_look(names, &looked).await?;
            if !calls.is_empty() {
                return Ok(Step::Calls(calls));
            }
        }
        let mut occurrences = match self.occurrences(names, &looked).await? {
            Lookup::Have(matches) => matches,
            Lookup::Ask(call) => return Ok(Step::Calls(vec![call])),
        };
        // The lines of a common name may have left no room for those of the others.
        if names.len() > 1 && looked.is_partial() {
            for name in names {
                let has_it = |text: &str| find_word(text, &name.name).next().is_some();
                let is_seen = looked.found.iter().any(|found| found.name == name.name)
                    || occurrences.shown.iter().any(|at| has_it(&at.text));
                if is_seen {
                    continue;
                }
                let search = uses(rank::exact_pattern(std::slice::from_ref(name)));
                match self.grepped_in_time(&search).await? {
                    Lookup::Have(matches) => occurrences.shown.extend(matches.shown),
                    Lookup::Ask(call) => return Ok(Step::Calls(vec![call])),
                }
            }
        }
        Ok(Step::Say(answer::names(
            self.question,
            &looked.found,
            &occurrences,
            &self.reads(),
            self.turn.failure(),
        )))
    }

    /// The lines with the names and their definitions, or the call that has to come first.
    async fn look(&self, names: &[Name]) -> Result<Result<Looked, Call>, ToolFailure> {
        // One look at every line that has the name is enough, and tells of its uses as well; unless there are
        // too many of them, or what a qualified name stands in matters.
        let mut lines = None;
        if names.iter().all(|name| name.qualifiers.is_empty()) {
            let search = GrepArguments { limit: Some(SHOWN), ..grep(rank::exact_pattern(names)) };
            match self.grepped(&search).await? {
                Lookup::Ask(call) => return Ok(Err(call)),
                Lookup::Have(found) => lines = Some(found),
            }
        }
        let (matches, is_wide) = match &lines {
            Some(lines) if !lines.partial => (lines.clone(), false),
            // A name as common as this has more definitions than can be shown: no pass over the tree is spent
            // on learning that.
            Some(lines) if lines.total > COMMON => (self.all_defining(names).await?, true),
            Some(_) | None => match self.defining(names).await? {
                (Lookup::Ask(call), _) => return Ok(Err(call)),
                (Lookup::Have(matches), is_wide) => (matches, is_wide),
            },
        };
        let found = rank::definitions(names, &matches);
        let is_defined =
            found.iter().any(|found| found.definition.strength >= definition::DOUBTFUL);
        Ok(Ok(Looked { lines, found, is_wide, is_defined }))
    }

    /// What is read, and searched for beside it, once the definitions are known.
    async fn first_look(&self, names: &[Name], looked: &Looked) -> Result<Vec<Call>, ToolFailure> {
        let passages = if self.wants_passages(&looked.found) {
            passages::find(self.search, self.question, self.cancel).await?
        } else {
            Vec::new()
        };
        // What only looks like a definition is read around even if all have to be looked at again for it.
        let best = looked.found.iter().map(|found| found.definition.strength).max();
        let is_clear = best.is_some_and(|best| best >= PART - 5);
        let mut calls =
            if looked.is_wide && is_clear { Vec::new() } else { self.reads_of(&looked.found) };
        calls.extend(passages.iter().filter_map(|passage| self.read_passage(passage)));
        let wants_uses = !looked.is_wide && looked.known_uses().is_none();
        if wants_uses && (passages.is_empty() || !looked.is_defined) && self.tools.contains("grep")
        {
            // Where every line with the name is known and there is none, only other spellings are left.
            let pattern = if looked.is_defined || looked.lines.is_none() {
                rank::exact_pattern(names)
            } else {
                rank::loose_pattern(names)
            };
            calls.push(call("grep", &uses(pattern)));
        }
        Ok(calls)
    }

    /// The lines that use the names. Nothing is called unknown before a search for exactly it has shown no line.
    async fn occurrences(&self, names: &[Name], looked: &Looked) -> Result<Lookup, ToolFailure> {
        if let Some(lines) = looked.known_uses() {
            return Ok(Lookup::Have(lines.clone()));
        }
        let exact = uses(rank::exact_pattern(names));
        if looked.is_defined {
            // Beside passages they were not asked for.
            return Ok(match self.grepped(&exact).await? {
                Lookup::Have(matches) if !looked.is_wide => Lookup::Have(matches),
                Lookup::Have(_) | Lookup::Ask(_) => Lookup::Have(Matches::default()),
            });
        }
        // In any case and spelling, a common word could hide the name behind other words.
        for search in [exact, uses(rank::loose_pattern(names))] {
            let matches = if looked.is_wide {
                // Another step would look at all definitions again.
                let answer = self.search.grep(search, self.cancel.clone()).await?;
                results::grep_value(answer.value)
            } else if looked.lines.is_some() && search.pattern == rank::exact_pattern(names) {
                continue;
            } else {
                match self.grepped_in_time(&search).await? {
                    Lookup::Have(matches) => matches,
                    ask @ Lookup::Ask(_) => return Ok(ask),
                }
            };
            if !matches.shown.is_empty() {
                return Ok(Lookup::Have(matches));
            }
        }
        Ok(Lookup::Have(Matches::default()))
    }

    /// As `grepped`, but a turn that has taken many steps comes to its end.
    async fn grepped_in_time(&self, search: &GrepArguments) -> Result<Lookup, ToolFailure> {
        match self.grepped(search).await? {
            Lookup::Ask(_) if self.turn.rounds >= MAX_ROUNDS => {
                Ok(Lookup::Have(Matches::default()))
            }
            lookup @ (Lookup::Have(_) | Lookup::Ask(_)) => Ok(lookup),
        }
    }

    /// The lines that may define one of the names, and whether there are too many to show. The best one may be
    /// among those that were not shown: that takes another pass over the tree, so the answer is said at once,
    /// for a later step would make it again.
    async fn defining(&self, names: &[Name]) -> Result<(Lookup, bool), ToolFailure> {
        let search =
            GrepArguments { limit: Some(SHOWN), ..grep(definition::search_pattern(names)) };
        match self.grepped(&search).await? {
            Lookup::Have(shown) if shown.partial && self.question.want != Want::Uses => {
                Ok((Lookup::Have(self.all_defining(names).await?), true))
            }
            lookup @ (Lookup::Have(_) | Lookup::Ask(_)) => Ok((lookup, false)),
        }
    }

    /// Every line that may define one of the names, without showing the search.
    async fn all_defining(&self, names: &[Name]) -> Result<Matches, ToolFailure> {
        let all = GrepArguments { limit: Some(ALL), ..grep(definition::search_pattern(names)) };
        Ok(results::grep_value(self.search.grep(all, self.cancel.clone()).await?.value))
    }

    fn reads_of(&self, found: &[Found]) -> Vec<Call> {
        let mut calls: Vec<Call> = Vec::new();
        let is_strong = found.iter().any(|found| found.definition.strength >= STRONG);
        // Doubtful ones are read with what is before them, to see what they are in.
        let count = if is_strong { READS } else { READS * 2 };
        for found in found
            .iter()
            .filter(|found| found.definition.strength >= definition::DOUBTFUL)
            .take(count)
        {
            let before = if is_strong { 12 } else { BEFORE };
            let offset = found.at.line.saturating_sub(before).max(1);
            let limit = if is_strong { 36 } else { READ_LINES };
            let call = read_call(&found.at.path, offset, limit);
            if self.tools.contains("read") && !found.at.cut && !calls.contains(&call) {
                calls.push(call);
            }
        }
        calls
    }
}

/// A search for uses.
fn uses(pattern: String) -> GrepArguments {
    GrepArguments { limit: Some(SHOWN / 2), ..grep(pattern) }
}
