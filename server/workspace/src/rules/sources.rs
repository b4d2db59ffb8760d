//! The files that a folder's rules are written in, and whether they are as they were.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::beneath::{Root, Want};
use crate::directory::{self, Entry, Kind};
use crate::list::Stamp;

/// A longer file of rules is not one that a person wrote.
const MAX_RULES_BYTES: u64 = 1 << 20;
/// What a byte of rules takes when it is compiled, about, and what any file of rules takes.
const COMPILED_FACTOR: usize = 32;
const COMPILED_BYTES: usize = 8 << 10;

pub(super) const PLAIN: &str = ".ignore";
pub(super) const GIT: &str = ".gitignore";
pub(super) const EXCLUDE: &str = ".git/info/exclude";

/// What is written in a folder's own files of rules.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    pub(super) plain: Option<Source>,
    pub(super) git: Option<Source>,
    /// Only where the folder is the top of a repository; then also when there is no such file.
    pub(super) exclude: Option<Source>,
    pub(super) is_repository: bool,
}

/// One file of rules.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Source {
    /// How it was when it was read; nothing if there was none, or it had changed too shortly before.
    stamp: Option<Stamp>,
    /// Nothing if it is not there, or no regular file, or cannot be read.
    pub(super) text: Option<Box<[u8]>>,
}

impl Sources {
    /// Reads those of the folder at `path`, which is open and has these entries.
    pub(crate) fn read(
        root: &Root,
        path: &Path,
        folder: &File,
        entries: &[Entry],
        slack: Duration,
    ) -> Sources {
        let find =
            |name: &str| entries.binary_search_by(|it| it.name.as_os_str().cmp(name.as_ref())).ok();
        let own = |name: &str| {
            let is_file = find(name).is_some_and(|index| entries[index].kind == Kind::File);
            is_file.then(|| Source::read(slack, || directory::open_file(folder, name.as_ref())))
        };
        let repository = find(".git").map(|index| entries[index].kind);
        let exclude = (repository == Some(Kind::Folder))
            .then(|| Source::read(slack, || root.open_plain(&path.join(EXCLUDE), Want::File)));
        Sources { plain: own(PLAIN), git: own(GIT), exclude, is_repository: repository.is_some() }
    }

    /// The folder has none and is no repository.
    pub(super) fn are_none(&self) -> bool {
        self.plain.is_none() && self.git.is_none() && !self.is_repository
    }

    /// Whether the files are as they were when they were read, judged by a look at each. Which of the
    /// folder's own there are, its stamp tells.
    pub(crate) fn are_unchanged(&self, root: &Root, path: &Path) -> bool {
        let look = |name| root.look(&path.join(name));
        // The folders on the way to this one are not looked at, so none of them may be a link.
        let open = |name| {
            let file = root.open_plain(&path.join(name), Want::File)?;
            Ok(Stamp::of(&file.metadata()?))
        };
        let is_unchanged = |source: &Option<Source>, now: &dyn Fn() -> io::Result<Stamp>| {
            source.as_ref().is_none_or(|source| source.is_unchanged(now()))
        };
        is_unchanged(&self.plain, &|| look(PLAIN))
            && is_unchanged(&self.git, &|| look(GIT))
            && is_unchanged(&self.exclude, &|| open(EXCLUDE))
    }

    /// Whether the same is written in both.
    pub(crate) fn are_like(&self, other: &Sources) -> bool {
        let is_like = |a: &Option<Source>, b: &Option<Source>| {
            a.as_ref().map(|it| it.text.as_deref()) == b.as_ref().map(|it| it.text.as_deref())
        };
        self.is_repository == other.is_repository
            && is_like(&self.plain, &other.plain)
            && is_like(&self.git, &other.git)
            && is_like(&self.exclude, &other.exclude)
    }

    /// About how much memory they take together with what they are compiled to.
    pub(crate) fn weight(&self) -> usize {
        let texts = [&self.plain, &self.git, &self.exclude].into_iter().flatten();
        let texts = texts.filter_map(|source| source.text.as_ref());
        texts.map(|text| COMPILED_BYTES + COMPILED_FACTOR * text.len()).sum()
    }
}

impl Source {
    fn read(slack: Duration, open: impl FnOnce() -> io::Result<File>) -> Source {
        let nothing = Source { stamp: None, text: None };
        let moment = SystemTime::now();
        let Ok(file) = open() else { return nothing };
        let Ok(metadata) = file.metadata() else { return nothing };
        if !metadata.is_file() {
            return nothing;
        }
        let stamp = Some(Stamp::of(&metadata)).filter(|stamp| stamp.is_settled_at(moment, slack));
        let mut bytes = Vec::new();
        match file.take(MAX_RULES_BYTES).read_to_end(&mut bytes) {
            Ok(_) => Source { stamp, text: Some(bytes.into()) },
            Err(_) => nothing,
        }
    }

    fn is_unchanged(&self, now: io::Result<Stamp>) -> bool {
        match (now, &self.text) {
            (Ok(now), Some(_)) => self.stamp == Some(now),
            (Err(_), None) => true,
            (Ok(_), None) | (Err(_), Some(_)) => false,
        }
    }
}
