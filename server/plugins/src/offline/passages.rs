//! Finds the passages that a question in prose is about: one scan of the workspace counts the question's
//! words, then the rare ones decide.
//!
//! A scan sees every byte of the tree, so it allocates only for files that have hits, and it looks closer
//! only at words that begin like one that is wanted. How rare a word is is known after the scan; until then
//! a file is four bytes for each hit.

mod counting;
mod ranking;
#[cfg(test)]
mod tests;

use std::sync::{Arc, PoisonError};

use dsh_agent::files::Search;
use dsh_agent::tool::ToolFailure;
use tokio_util::sync::CancellationToken;

use super::question::Question;
use counting::Counts;

/// Lines of one file that are about the question.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Passage {
    pub path: String,
    /// First and last line, counted from 1.
    pub lines: (u64, u64),
    pub score: f32,
}

/// The passages that are most about the question, best first; none if nothing is enough about it.
pub(super) async fn find(
    search: &Arc<dyn Search>,
    question: &Question,
    cancel: &CancellationToken,
) -> Result<Vec<Passage>, ToolFailure> {
    let counts = Arc::new(Counts::new(question));
    let counting = Arc::clone(&counts);
    let visit = Arc::new(move |path: &str, text: &str| counting.visit(path, text));
    search.scan(visit, cancel.clone()).await?;
    let files = std::mem::take(&mut *counts.files.lock().unwrap_or_else(PoisonError::into_inner));
    Ok(ranking::best(&counts, files, question))
}

/// How much a line says about the question: for choosing lines out of a passage.
pub(super) fn line_score(question: &Question, line: &str) -> f32 {
    let counts = Counts::new(question);
    counts.line_score(line)
}
