//! Which files are ignored: `.gitignore`, `.ignore` and `.git/info/exclude`, from the workspace folder down.
//!
//! The files are honoured with or without a repository. Nothing above the workspace folder and nothing of
//! the user's own configuration counts, so the same tree looks the same on every machine. As in git, the
//! `.gitignore` files of an outer repository do not reach into a nested one.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::beneath::{Root, Want};
use crate::directory::{self, Entry, Kind};
use crate::stop::Stop;

/// A longer file of rules is not one that a person wrote.
const MAX_RULES_BYTES: u64 = 1 << 20;

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
    /// The rules that the folders above `base` set for what is in it.
    pub(crate) fn above(root: &Root, base: &Path, stop: &Stop) -> Arc<Rules> {
        let mut rules = Arc::new(Rules::default());
        let mut outer: Vec<&Path> = base.ancestors().skip(1).collect();
        outer.reverse();
        for path in outer {
            if let Ok(folder) = root.open_plain(path, Want::Folder)
                && let Ok(entries) = directory::entries(&folder, stop)
            {
                rules = Rules::within(rules, root, path, &folder, &entries);
            }
        }
        rules
    }

    /// The rules inside the folder at `path`; they are `outer` itself if the folder adds none.
    pub(crate) fn within(
        outer: Arc<Rules>,
        root: &Root,
        path: &Path,
        folder: &File,
        entries: &[Entry],
    ) -> Arc<Rules> {
        let find =
            |name: &str| entries.binary_search_by(|it| it.name.as_os_str().cmp(name.as_ref())).ok();
        let is_file =
            |name: &str| find(name).is_some_and(|index| entries[index].kind == Kind::File);
        let own = |name: &str| {
            let file =
                is_file(name).then(|| directory::open_file(folder, name.as_ref()).ok())??;
            compile(path, file)
        };
        let repository = find(".git").map(|index| entries[index].kind);
        let plain = own(".ignore");
        let git = own(".gitignore");
        if plain.is_none() && git.is_none() && repository.is_none() {
            return outer;
        }
        let exclude = (repository == Some(Kind::Folder))
            .then(|| root.open_plain(&path.join(".git/info/exclude"), Want::File).ok())
            .flatten()
            .and_then(|file| compile(path, file));
        Arc::new(Rules {
            outer: Some(outer),
            plain,
            git,
            exclude,
            is_repository: repository.is_some(),
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

/// Reads a file of rules for the folder at `path`. A line that is not valid is passed over, as git does.
fn compile(path: &Path, file: File) -> Option<Gitignore> {
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(MAX_RULES_BYTES).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let mut builder = GitignoreBuilder::new(path);
    for line in text.trim_start_matches('\u{feff}').lines() {
        drop(builder.add_line(None, line));
    }
    builder.build().ok().filter(|rules| !rules.is_empty())
}
