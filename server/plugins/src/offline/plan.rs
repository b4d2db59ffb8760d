//! Decides the next step of a turn from what has been found so far.
//!
//! Nothing is remembered between steps: the question is read again and the results are taken from the
//! conversation, so the same conversation always leads to the same step.

mod names;

use std::collections::BTreeSet;
use std::sync::Arc;

use dsh_agent::files::Search;
use dsh_agent::tool::ToolFailure;
use dsh_protocol::workspace::{GlobArguments, GrepArguments, ReadArguments};
use serde_json::{Value, to_value};
use tokio_util::sync::CancellationToken;

use super::answer;
use super::definition::STRONG;
use super::passages::{self, Passage};
use super::question::{Question, Want};
use super::rank::Found;
use super::reply::{Call, Step};
use super::results::{self, Matches, Window};
use super::turn::Turn;

/// How many matches a search shows.
const SHOWN: u64 = 400;
/// How many definitions are read around.
const READS: usize = 3;

/// What a step is decided from.
pub(super) struct Plan<'p> {
    pub search: &'p Arc<dyn Search>,
    pub turn: &'p Turn,
    pub question: &'p Question,
    /// The names of the tools that may be called.
    pub tools: BTreeSet<&'p str>,
    pub cancel: &'p CancellationToken,
}

impl Plan<'_> {
    /// The next step.
    pub(super) async fn next(&self) -> Step {
        let question = self.question;
        let step = if question.want == Want::Nothing {
            Ok(Step::Say(answer::introduction()))
        } else if question.want == Want::Overview {
            self.overview().await
        } else if !question.names.is_empty() {
            self.names(&question.names).await
        } else if !question.files.is_empty() {
            self.files().await
        } else if let Some(phrase) = &question.phrase {
            self.phrase(phrase).await
        } else {
            self.prose().await
        };
        step.unwrap_or_else(|failure| Step::Say(answer::failure(&failure.message)))
    }

    /// Whether prose is wanted beside or instead of definitions.
    fn wants_passages(&self, found: &[Found]) -> bool {
        let is_strong = found.iter().any(|found| found.definition.strength >= STRONG);
        self.question.wants_passages() || self.question.is_soft && !is_strong
    }

    async fn files(&self) -> Result<Step, ToolFailure> {
        let wanted: Vec<GlobArguments> =
            self.question.files.iter().map(|file| glob(file)).collect();
        let asked: Vec<Call> = wanted.iter().filter_map(|glob| self.unasked_glob(glob)).collect();
        if !asked.is_empty() {
            return Ok(Step::Calls(asked));
        }
        let mut paths = Vec::new();
        for glob in &wanted {
            paths.extend(self.globbed(glob).await?);
        }
        if paths.is_empty()
            && let Some(name) = self.question.files.first().and_then(|file| answer::name_in(file))
        {
            // `response.json` may be a file or a field.
            return self.names(&[name]).await;
        }
        let reads = self.reads();
        if reads.is_empty() && !paths.is_empty() && self.tools.contains("read") {
            let first = self.question.line.map_or(1, |line| line.saturating_sub(30).max(1));
            let read = |path: &String| read_call(path, first, 60);
            return Ok(Step::Calls(paths.iter().take(READS).map(read).collect()));
        }
        Ok(Step::Say(answer::files(self.question, &paths, &reads)))
    }

    async fn phrase(&self, phrase: &str) -> Result<Step, ToolFailure> {
        let first_line = phrase.lines().next().unwrap_or(phrase);
        let search = GrepArguments {
            fixed_strings: Some(true),
            limit: Some(SHOWN / 4),
            ..grep(first_line.to_owned())
        };
        match self.grepped(&search).await? {
            Lookup::Ask(call) => Ok(Step::Calls(vec![call])),
            Lookup::Have(matches) => {
                Ok(Step::Say(answer::phrase(first_line, &matches, self.turn.failure())))
            }
        }
    }

    async fn prose(&self) -> Result<Step, ToolFailure> {
        let reads = self.reads();
        if !reads.is_empty() || self.turn.rounds > 0 {
            return Ok(Step::Say(answer::passages(self.question, &reads)));
        }
        let passages = passages::find(self.search, self.question, self.cancel).await?;
        if passages.is_empty() {
            return Ok(Step::Say(answer::nothing(self.question)));
        }
        if self.tools.contains("read") {
            let calls = passages.iter().filter_map(|passage| self.read_passage(passage)).collect();
            return Ok(Step::Calls(calls));
        }
        let mut windows = Vec::new();
        for passage in &passages {
            windows.extend(self.without_reading(passage).await?);
        }
        Ok(Step::Say(answer::passages(self.question, &windows)))
    }

    async fn overview(&self) -> Result<Step, ToolFailure> {
        let wanted = [
            glob("README*"),
            glob("{Cargo.toml,package.json,pyproject.toml,go.mod,setup.py,CMakeLists.txt,pom.xml}"),
        ];
        let asked: Vec<Call> = wanted.iter().filter_map(|glob| self.unasked_glob(glob)).collect();
        if !asked.is_empty() {
            return Ok(Step::Calls(asked));
        }
        let mut paths = Vec::new();
        for glob in &wanted {
            let mut found = self.globbed(glob).await?;
            found.sort_by_key(|path| (path.matches('/').count(), path.len(), path.clone()));
            paths.extend(found.into_iter().take(1));
        }
        let reads = self.reads();
        if reads.is_empty() && !paths.is_empty() && self.tools.contains("read") {
            let read = |path: &String| read_call(path, 1, 60);
            return Ok(Step::Calls(paths.iter().map(read).collect()));
        }
        Ok(Step::Say(answer::overview(&paths, &reads)))
    }

    /// The matches of a search: from the conversation, or to be asked for, or searched for here when there is
    /// no tool for it.
    async fn grepped(&self, arguments: &GrepArguments) -> Result<Lookup, ToolFailure> {
        let done = self.turn.results("grep").find(|done| done.arguments == value(arguments));
        match done.map(|done| &done.result) {
            Some(Ok(text)) => Ok(Lookup::Have(results::grep(text))),
            Some(Err(_)) => Ok(Lookup::Have(Matches::default())),
            None if self.tools.contains("grep") => Ok(Lookup::Ask(call("grep", arguments))),
            None => {
                let answer = self.search.grep(arguments.clone(), self.cancel.clone()).await?;
                Ok(Lookup::Have(results::grep_value(answer.value)))
            }
        }
    }

    fn unasked_glob(&self, arguments: &GlobArguments) -> Option<Call> {
        let wanted = value(arguments);
        let is_asked = self.turn.results("glob").any(|done| done.arguments == wanted);
        (self.tools.contains("glob") && !is_asked).then(|| call("glob", arguments))
    }

    async fn globbed(&self, arguments: &GlobArguments) -> Result<Vec<String>, ToolFailure> {
        let wanted = value(arguments);
        if let Some(done) = self.turn.results("glob").find(|done| done.arguments == wanted) {
            return Ok(done.result.as_ref().map(|text| results::glob(text)).unwrap_or_default());
        }
        Ok(self.search.glob(arguments.clone(), self.cancel.clone()).await?.value.paths)
    }

    /// What has been read, in the order in which it was asked for.
    fn reads(&self) -> Vec<Window> {
        self.turn
            .results("read")
            .filter_map(|done| results::read(done.result.as_ref().ok()?))
            .collect()
    }

    fn read_passage(&self, passage: &Passage) -> Option<Call> {
        let (first, last) = passage.lines;
        let offset = first.saturating_sub(3).max(1);
        self.tools.contains("read").then(|| read_call(&passage.path, offset, last - offset + 5))
    }

    /// The lines of a passage that a search in its file shows.
    async fn without_reading(&self, passage: &Passage) -> Result<Option<Window>, ToolFailure> {
        let words = self.question.terms.iter().map(|term| regex::escape(&term.word));
        let pattern = format!("(?i){}", words.collect::<Vec<_>>().join("|"));
        let search =
            GrepArguments { path: Some(passage.path.clone()), limit: Some(SHOWN), ..grep(pattern) };
        let matches =
            results::grep_value(self.search.grep(search, self.cancel.clone()).await?.value);
        let (first, last) = passage.lines;
        let is_inside = |line: u64| (first..=last).contains(&line);
        let line = matches.shown.into_iter().find(|at| is_inside(at.line));
        Ok(line.map(|line| Window { path: passage.path.clone(), lines: vec![line] }))
    }
}

/// Matches, or the call that would give them.
enum Lookup {
    Have(Matches),
    Ask(Call),
}

pub(super) fn grep(pattern: String) -> GrepArguments {
    GrepArguments {
        pattern,
        path: None,
        include: None,
        fixed_strings: None,
        case_insensitive: None,
        multiline: None,
        context: None,
        mode: None,
        limit: None,
    }
}

pub(super) fn glob(file: &str) -> GlobArguments {
    let pattern = if file.contains('/') {
        format!("**/{}", file.trim_start_matches('/'))
    } else {
        file.to_owned()
    };
    GlobArguments { pattern, path: None, order: None, limit: None }
}

pub(super) fn read_call(path: &str, offset: u64, limit: u64) -> Call {
    let arguments =
        ReadArguments { file_path: path.to_owned(), offset: Some(offset), limit: Some(limit) };
    call("read", &arguments)
}

pub(super) fn call(tool: &'static str, arguments: &impl serde::Serialize) -> Call {
    Call { tool, arguments: value(arguments) }
}

fn value(arguments: &impl serde::Serialize) -> Value {
    to_value(arguments).unwrap_or(Value::Null)
}
