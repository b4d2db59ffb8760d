//! Which files are ignored: `.gitignore`, `.ignore` and `.git/info/exclude`, from the workspace folder down.
//!
//! The files are honoured with or without a repository. Nothing above the workspace folder and nothing of
//! the user's own configuration counts, so the same tree looks the same on every machine. As in git, the
//! `.gitignore` files of an outer repository do not reach into a nested one.

pub(crate) mod sources;

use std::path::Path;
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use sources::{Source, Sources};

/// The rules that hold in one folder: its own and, through `outer`, those of the folders above it.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    outer: Option<Arc<Rules>>,
    /// `.ignore`, which outranks git's files.
    plain: Option<Gitignore>,
    git: Option<Gitignore>,
    /// `.git/info/exclude`.
    exclude: Option<Gitignore>,
    /// The folder is the top of a repository.
    is_repository: bool,
}

impl Rules {
    /// The rules inside the folder at `path`; they are `outer` itself if the folder adds none.
    pub(crate) fn within(outer: &Arc<Rules>, path: &Path, sources: &Sources) -> Arc<Rules> {
        if sources.are_none() {
            return Arc::clone(outer);
        }
        let compiled = |source: &Option<Source>| compile(path, source.as_ref()?.text.as_deref()?);
        Arc::new(Rules {
            outer: Some(Arc::clone(outer)),
            plain: compiled(&sources.plain),
            git: compiled(&sources.git),
            exclude: compiled(&sources.exclude),
            is_repository: sources.is_repository,
        })
    }

    /// Whether the entry at `path`, relative to the workspace folder, is ignored. The folders above it are not.
    pub(crate) fn ignores(&self, path: &Path, is_folder: bool) -> bool {
        let mut plain = Match::None;
        let mut git = Match::None;
        let mut exclude = Match::None;
        let mut is_nested = false;
        let mut next = Some(self);
        while let Some(rules) = next {
            plain = plain.or(verdict(rules.plain.as_ref(), path, is_folder));
            if !is_nested {
                git = git.or(verdict(rules.git.as_ref(), path, is_folder));
                exclude = exclude.or(verdict(rules.exclude.as_ref(), path, is_folder));
            }
            is_nested |= rules.is_repository;
            next = rules.outer.as_deref();
        }
        plain.or(git).or(exclude).is_ignore()
    }
}

fn verdict(rules: Option<&Gitignore>, path: &Path, is_folder: bool) -> Match<()> {
    rules.map_or(Match::None, |rules| rules.matched(path, is_folder).map(|_| ()))
}

/// Compiles a file of rules for the folder at `path`. A line that is not valid is passed over, as git does.
fn compile(path: &Path, bytes: &[u8]) -> Option<Gitignore> {
    let text = String::from_utf8_lossy(bytes);
    let mut builder = GitignoreBuilder::new(path);
    for line in text.trim_start_matches('\u{feff}').lines() {
        drop(builder.add_line(None, line));
    }
    builder.build().ok().filter(|rules| !rules.is_empty())
}
