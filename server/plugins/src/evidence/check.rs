//! Finds the files of claims and has each claim judged: every file is read once, a few at a time, and none is
//! kept longer than it takes to judge its claims.

use std::sync::Arc;
use std::time::Duration;

use dsh_agent::evidence::{Checked, Ref};
use dsh_agent::files::{FileSystem, Search};
use dsh_agent::tool::ToolFailure;
use dsh_protocol::evidence::{EvidenceFailure, EvidenceReason};
use dsh_protocol::workspace::{GlobArguments, ToolErrorCode};
use futures_util::{StreamExt as _, stream};
use indexmap::{IndexMap, IndexSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::claims::{Claim, claims};
use super::document::Document;
use super::judge::{anywhere, judge};

/// Files that are read at once.
const AT_ONCE: usize = 4;
/// A file name that so many files have says nothing about which is meant.
const MOST_NAMESAKES: usize = 8;
/// More of an answer is not looked at.
const MOST_TEXT: usize = 2 << 20;

/// Checks texts against the files of one workspace folder.
pub(super) struct Checker {
    pub(super) files: Arc<dyn FileSystem>,
    pub(super) search: Option<Arc<dyn Search>>,
    /// Claims of one text.
    pub(super) most: usize,
    /// For one text.
    pub(super) deadline: Duration,
}

/// What became of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Verdict {
    Holds,
    Fails(EvidenceFailure),
    /// Nobody can say: not counted.
    Open,
    /// There is no file of this name.
    Missing,
}

impl Checker {
    /// Checks the claims of a text.
    pub(super) async fn check(&self, text: &str, cancel: CancellationToken) -> Checked {
        let mut end = text.len().min(MOST_TEXT);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let claims = claims(&text[..end], self.most);
        if claims.is_empty() {
            return Checked::default();
        }
        let until = Instant::now() + self.deadline;
        let mut by_path: IndexMap<String, Vec<usize>> = IndexMap::new();
        for (at, claim) in claims.iter().enumerate() {
            by_path.entry(claim.path.clone()).or_default().push(at);
        }
        let claims = Arc::new(claims);
        let mut verdicts = vec![Verdict::Open; claims.len()];
        let groups =
            by_path.iter().map(|(path, of_path)| (path.clone(), of_path.clone())).collect();
        self.judge_files(&claims, groups, until, &cancel, |at, verdict| verdicts[at] = verdict)
            .await;
        self.resolve(&claims, &by_path, &mut verdicts, until, &cancel).await;
        let mut checked = Checked::default();
        let mut told = IndexSet::new();
        for (claim, verdict) in claims.iter().zip(verdicts) {
            match verdict {
                Verdict::Holds => checked.checked += 1,
                Verdict::Fails(failure) => {
                    checked.checked += 1;
                    checked.failures.push(failure);
                }
                Verdict::Missing if claim.is_sure => {
                    let failure = missing(claim);
                    // One file that is not there is one failure for each line that is cited from it.
                    if told.insert((failure.path.clone(), failure.line)) {
                        checked.checked += 1;
                        checked.failures.push(failure);
                    }
                }
                Verdict::Missing | Verdict::Open => {}
            }
        }
        checked
    }

    /// Checks references, each for itself.
    pub(super) async fn check_refs(
        &self,
        refs: Vec<Ref>,
        cancel: CancellationToken,
    ) -> Vec<Result<(), EvidenceFailure>> {
        let mut by_path: IndexMap<String, Vec<usize>> = IndexMap::new();
        for (at, one) in refs.iter().enumerate() {
            by_path.entry(one.path.clone()).or_default().push(at);
        }
        let mut results: Vec<Result<(), EvidenceFailure>> = refs
            .iter()
            .map(|one| Err(failure(&one.path, one.line, None, EvidenceReason::MissingFile, None)))
            .collect();
        for (path, of_path) in by_path {
            let Ok(text) = self.files.text(path, cancel.clone()).await else { continue };
            let document = Document::new(text.path, text.text, text.is_complete);
            for at in of_path {
                results[at] = judge_ref(&refs[at], &document);
            }
        }
        results
    }

    /// Reads files and judges the claims about each.
    async fn judge_files(
        &self,
        claims: &Arc<Vec<Claim>>,
        groups: Vec<(String, Vec<usize>)>,
        until: Instant,
        cancel: &CancellationToken,
        mut judged: impl FnMut(usize, Verdict),
    ) {
        let work = groups.into_iter().map(|(path, of_path)| {
            let reading = self.files.text(path, cancel.clone());
            let claims = Arc::clone(claims);
            async move {
                let text = match reading.await {
                    Ok(text) => text,
                    Err(failed) => {
                        let all = of_path.into_iter();
                        return all.map(|at| (at, unreadable(&claims[at], &failed))).collect();
                    }
                };
                let judging = tokio::task::spawn_blocking(move || {
                    let document = Document::new(text.path, text.text, text.is_complete);
                    let verdict = |at: usize| match judge(&claims[at], &document) {
                        Some(failure) => Verdict::Fails(failure),
                        None => Verdict::Holds,
                    };
                    of_path.into_iter().map(|at| (at, verdict(at))).collect()
                });
                judging.await.unwrap_or_else(|error| {
                    tracing::error!(%error, "claims about a file could not be judged");
                    Vec::new()
                })
            }
        });
        let mut verdicts = stream::iter(work).buffer_unordered(AT_ONCE);
        while let Ok(Some(of_file)) = tokio::time::timeout_at(until, verdicts.next()).await {
            for (at, verdict) in of_file {
                judged(at, verdict);
            }
        }
    }

    /// Looks for files that a claim names by the end of their path only: `turn.rs`, `agent/turn.rs`.
    async fn resolve(
        &self,
        claims: &Arc<Vec<Claim>>,
        by_path: &IndexMap<String, Vec<usize>>,
        verdicts: &mut [Verdict],
        until: Instant,
        cancel: &CancellationToken,
    ) {
        let missing: Vec<&String> = by_path
            .iter()
            .filter(|(path, of_path)| {
                verdicts[of_path[0]] == Verdict::Missing && !path.starts_with('/')
            })
            .map(|(path, _)| path)
            .collect();
        if missing.is_empty() {
            return;
        }
        let Some(found) = self.namesakes(&missing, until, cancel).await else {
            // Whether there are any could not be found out.
            for path in missing {
                set(verdicts, &by_path[path], &Verdict::Open);
            }
            return;
        };
        let mut groups = Vec::new();
        for path in missing {
            let ending = format!("/{path}");
            let mut namesakes: Vec<&String> =
                found.iter().filter(|found| found.ends_with(&ending)).collect();
            // A file that the answer names in full is the one that it means.
            let named: Vec<&String> =
                namesakes.iter().copied().filter(|found| by_path.contains_key(*found)).collect();
            if !named.is_empty() {
                namesakes = named;
            }
            let of_path = &by_path[path];
            if namesakes.len() > MOST_NAMESAKES {
                set(verdicts, of_path, &Verdict::Open);
                continue;
            }
            groups
                .extend(namesakes.into_iter().map(|namesake| (namesake.clone(), of_path.clone())));
        }
        // A claim that holds in one of them holds.
        let of_groups: Vec<usize> =
            groups.iter().flat_map(|(_, of_path)| of_path.clone()).collect();
        set(verdicts, of_groups.as_slice(), &Verdict::Open);
        self.judge_files(claims, groups, until, cancel, |at, verdict| {
            let is_better = match (&verdicts[at], &verdict) {
                (Verdict::Open, _) | (_, Verdict::Holds) => true,
                (Verdict::Fails(one), Verdict::Fails(other)) => other.path < one.path,
                _ => false,
            };
            if is_better {
                verdicts[at] = verdict;
            }
        })
        .await;
    }

    /// The files that have the names of these paths, from one walk; nothing if it did not come to its end.
    async fn namesakes(
        &self,
        paths: &[&String],
        until: Instant,
        cancel: &CancellationToken,
    ) -> Option<Vec<String>> {
        const MOST: u64 = 5000;
        let is_plain =
            |name: &&str| name.chars().all(|char| char.is_alphanumeric() || "._-+@".contains(char));
        let names: IndexSet<&str> =
            paths.iter().filter_map(|path| path.rsplit('/').next()).filter(is_plain).collect();
        let names: Vec<&str> = names.into_iter().collect();
        let pattern = match names.as_slice() {
            [] => return Some(Vec::new()),
            [name] => format!("**/{name}"),
            names => format!("**/{{{}}}", names.join(",")),
        };
        let arguments = GlobArguments { pattern, path: None, order: None, limit: Some(MOST) };
        let walking = self.search.as_ref()?.glob(arguments, cancel.clone());
        let answer = tokio::time::timeout_at(until, walking).await.ok()?.ok()?;
        (!answer.value.truncated).then_some(answer.value.paths)
    }
}

fn set(verdicts: &mut [Verdict], of: &[usize], verdict: &Verdict) {
    for at in of {
        verdicts[*at] = verdict.clone();
    }
}

/// What becomes of a claim about a file that was not read.
fn unreadable(claim: &Claim, failed: &ToolFailure) -> Verdict {
    if failed.code == ToolErrorCode::FsNotFound || failed.code == ToolErrorCode::FsNotDirectory {
        return Verdict::Missing;
    }
    let is_named = claim.lines.is_none();
    let is_there =
        [ToolErrorCode::FsNotText, ToolErrorCode::FsNotRegularFile].contains(&failed.code);
    // What may not be read is not spoken of, whether it is there or not.
    if is_named && is_there { Verdict::Holds } else { Verdict::Open }
}

fn missing(claim: &Claim) -> EvidenceFailure {
    let line = claim.lines.map(|(first, _)| first);
    failure(&claim.path, line, None, EvidenceReason::MissingFile, None)
}

fn failure(
    path: &str,
    line: Option<u64>,
    quote: Option<&str>,
    reason: EvidenceReason,
    now: Option<u64>,
) -> EvidenceFailure {
    EvidenceFailure { path: path.to_owned(), line, quote: quote.map(str::to_owned), reason, now }
}

fn judge_ref(one: &Ref, document: &Document) -> Result<(), EvidenceFailure> {
    let quote = one.quote.as_deref().filter(|quote| !quote.trim().is_empty());
    let found = quote.and_then(|quote| anywhere(quote, one.line, document));
    let fail = |reason, now| Err(failure(&document.path, one.line, quote, reason, now));
    if let Some(line) = one.line
        && (line == 0 || document.is_complete && line > document.count())
    {
        return fail(EvidenceReason::LineOutOfRange, found.map(|found| found.first));
    }
    match (quote, found, one.line) {
        (Some(_), None, _) => fail(EvidenceReason::QuoteNotFound, None),
        (Some(_), Some(found), Some(line)) if line < found.first || line > found.last => {
            fail(EvidenceReason::QuoteMoved, Some(found.first))
        }
        (None | Some(_), _, _) => Ok(()),
    }
}
