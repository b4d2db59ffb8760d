//! A review or an audit: every claim of what the child sees is checked without a model, what fails is looked at
//! through the tools that there are, and each failure becomes an item.

use std::sync::Arc;

use dsh_agent::evidence::{Evidence, Ref};
use dsh_protocol::deliberation::BranchRole;
use dsh_protocol::evidence::{EvidenceFailure, EvidenceReason};
use indexmap::IndexMap;

use super::Child;
use super::finding::{self, Changed, Failed, There};
use super::packet::{Certainty, Items, Kind};
use super::seen::{Seen, Statement, inherited};
use super::snapshot;
use super::spelling::joined;
use super::task::Task;
use crate::offline::plan::{call, glob, read_call};
use crate::offline::reply::{Call, Step};
use crate::offline::results;

/// Texts that are checked, the last ones first.
const MOST_STATEMENTS: usize = 40;
/// Failures that are looked at.
const LOOKED_AT: usize = 12;
/// How many lines are read around one.
const AROUND: u64 = 2;
/// Lines of tools' results that are compared with what is there now.
const MOST_LINES: usize = 400;
/// A shorter line stands everywhere.
const SAYS: usize = 8;

impl Child<'_> {
    pub(super) async fn review(&self) -> Step {
        let Some(evidence) = self.evidence else {
            let mut items = Items::default();
            let content = "Nothing was checked: the row `evidence` is not active.";
            items.add(Kind::Unknown, Certainty::Certain, content, &[]);
            return self.hand_in(items);
        };
        let seen = self.seen();
        let failed = self.failed(evidence, &seen.statements).await;
        let changed = self.changed(evidence, &seen, &failed).await;
        if self.turn.rounds == 0 {
            let calls = self.looks(&failed, &changed);
            if !calls.is_empty() {
                return Step::Calls(calls);
            }
        }
        let there = self.there();
        let mut items = Items::default();
        for failed in &failed {
            failed.tell(&there, &mut items);
        }
        for changed in &changed {
            changed.tell(&there, &mut items);
        }
        self.hand_in(items)
    }

    /// What this child may judge, what was said last first.
    fn seen(&self) -> Seen {
        let (mut seen, task) = if self.role == BranchRole::TrajectoryAudit {
            let task = Task::read(&self.turn.prompt);
            let mut seen = inherited(self.messages);
            let who = "The incumbent".to_owned();
            let text = task.incumbent.clone();
            let incumbent = Statement { who, text, or: None, is_final: true };
            seen.statements.push(incumbent);
            (seen, task)
        } else {
            match snapshot::split(&self.turn.prompt) {
                Some((inside, behind)) => (snapshot::read(inside), Task::read(behind)),
                None => (Seen::default(), Task::read(&self.turn.prompt)),
            }
        };
        seen.statements.extend(task.observations.into_iter().map(|text| Statement {
            who: "A supplied observation".to_owned(),
            text,
            or: None,
            is_final: true,
        }));
        seen.statements.reverse();
        seen.statements.truncate(MOST_STATEMENTS);
        seen.outcomes.reverse();
        seen
    }

    /// The claims that do not hold, each once.
    async fn failed(&self, evidence: &Arc<dyn Evidence>, all: &[Statement]) -> Vec<Failed> {
        let mut failed: Vec<Failed> = Vec::new();
        for statement in all {
            let check = |text: &str| evidence.check(joined(text), self.cancel.clone());
            let failures = check(&statement.text).await.failures;
            let in_other_words = match &statement.or {
                Some(or) if !failures.is_empty() => Some(check(or).await.failures),
                Some(_) | None => None,
            };
            for failure in failures {
                let is_same = |other: &EvidenceFailure| {
                    other.path == failure.path && other.line == failure.line
                };
                if in_other_words.as_ref().is_some_and(|others| !others.iter().any(is_same)) {
                    continue;
                }
                let is_meant = statement.is_final || failure.line.is_some();
                let is_new = failed.iter().all(|known| known.failure != failure);
                if is_meant && is_new {
                    failed.push(Failed { who: statement.who.clone(), failure });
                }
            }
        }
        failed
    }

    /// Files whose lines no longer read as tools have shown them, apart from those of failed claims. A file that a
    /// search came across matters only where something is said of it, if anything is said at all.
    async fn changed(
        &self,
        evidence: &Arc<dyn Evidence>,
        seen: &Seen,
        failed: &[Failed],
    ) -> Vec<Changed> {
        let lines = shown_lines(seen);
        let refs = lines.iter().map(|(_, one)| one.clone()).collect();
        let judged = evidence.check_refs(refs, self.cancel.clone()).await;
        let is_cited = |failure: &EvidenceFailure| {
            let place = format!("{}:{}", failure.path, failure.line.unwrap_or(1));
            seen.statements.iter().any(|said| said.text.contains(&place))
        };
        // One line of a file is enough: the one that somebody cites, else the first.
        let mut changed: IndexMap<String, Changed> = IndexMap::new();
        for ((who, shown), judged) in lines.into_iter().zip(judged) {
            let Err(failure) = judged else { continue };
            let is_failed = failed.iter().any(|failed| failed.failure.path == failure.path);
            let known = changed.get(&failure.path);
            let is_better =
                known.is_none_or(|known| !is_cited(&known.failure) && is_cited(&failure));
            if !is_failed && is_better {
                let quote = shown.quote.unwrap_or_default();
                changed.insert(failure.path.clone(), Changed { who, quote, failure });
            }
        }
        changed.into_values().collect()
    }

    /// The calls that show what is really there.
    fn looks(&self, failed: &[Failed], changed: &[Changed]) -> Vec<Call> {
        let failed = failed.iter().map(|failed| &failed.failure);
        let failures = failed.chain(changed.iter().map(|changed| &changed.failure));
        let mut calls: Vec<Call> = Vec::new();
        for failure in failures.take(LOOKED_AT) {
            let wanted = if failure.reason == EvidenceReason::MissingFile {
                Vec::new()
            } else {
                self.lines(failure)
            };
            for call in wanted.into_iter().chain(self.elsewhere(failure)) {
                if !calls.contains(&call) {
                    calls.push(call);
                }
            }
        }
        calls
    }

    /// The search for what is not where it was said to be.
    fn elsewhere(&self, failure: &EvidenceFailure) -> Option<Call> {
        match failure.reason {
            EvidenceReason::MissingFile => {
                let name = failure.path.rsplit('/').next().filter(|name| !name.is_empty())?;
                self.tools.contains("glob").then(|| call("glob", &glob(name)))
            }
            EvidenceReason::IdentifierNotNear | EvidenceReason::QuoteNotFound => {
                let search = finding::search(failure)?;
                self.tools.contains("grep").then(|| call("grep", &search))
            }
            // They say themselves where it is.
            EvidenceReason::LineOutOfRange | EvidenceReason::QuoteMoved => None,
        }
    }

    fn lines(&self, failure: &EvidenceFailure) -> Vec<Call> {
        if !self.tools.contains("read") {
            return Vec::new();
        }
        let cited = failure.line.filter(|_| failure.reason != EvidenceReason::LineOutOfRange);
        let around = |line: u64| {
            read_call(&failure.path, line.saturating_sub(AROUND).max(1), 2 * AROUND + 1)
        };
        // Where no line can be shown, the first one tells how many there are.
        let first = cited.map_or_else(|| read_call(&failure.path, 1, 1), around);
        let now = failure.now.filter(|now| cited.is_none_or(|cited| now.abs_diff(cited) > AROUND));
        std::iter::once(first).chain(now.map(around)).collect()
    }

    fn there(&self) -> There {
        let globs = self.turn.results("glob").filter_map(|done| done.result.as_ref().ok());
        let greps = self.turn.results("grep").filter_map(|done| {
            let pattern = done.arguments["pattern"].as_str()?.to_owned();
            Some((pattern, results::grep(done.result.as_ref().ok()?)))
        });
        There {
            reads: self.reads(),
            globs: globs.flat_map(|text| results::glob(text)).collect(),
            greps: greps.collect(),
        }
    }
}

/// The lines that `read` and `grep` have shown, with who saw them.
fn shown_lines(seen: &Seen) -> Vec<(String, Ref)> {
    let is_named = |path: &str| {
        seen.statements.is_empty() || seen.statements.iter().any(|said| said.text.contains(path))
    };
    let mut lines: Vec<(String, Ref)> = Vec::new();
    for outcome in &seen.outcomes {
        let shown = match outcome.tool.as_str() {
            "read" => results::read(&outcome.text).map(|window| window.lines).unwrap_or_default(),
            "grep" => results::grep(&outcome.text).shown,
            _ => continue,
        };
        for at in shown {
            let says = at.text.chars().filter(|char| char.is_alphanumeric()).count() >= SAYS;
            let is_meant = outcome.tool == "read" || is_named(&at.path);
            let is_clear = !at.cut && !snapshot::is_ambiguous(&at.text);
            if !says || !is_meant || !is_clear || at.path.starts_with("spill:") {
                continue;
            }
            if lines.len() >= MOST_LINES {
                return lines;
            }
            let (line, quote) = (Some(at.line), Some(at.text));
            lines.push((outcome.who.clone(), Ref { path: at.path, line, quote }));
        }
    }
    lines
}
