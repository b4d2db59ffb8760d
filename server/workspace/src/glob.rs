//! `glob`: the folder's files whose path matches a pattern.

pub(crate) mod pattern;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use dsh_protocol::workspace::{GlobArguments, GlobOrder, GlobValue, ToolErrorCode};

use crate::access::{self, NamedFile, Place};
use crate::overlay::{Document, Saved, Source, Unsaved, View};
use crate::stop::Stop;
use crate::tally::{Tally, counted};
use crate::walk::{Found, Visit, display, is_internal, prefix_length};
use crate::{Answer, Failure, Folder};
use pattern::{Pattern, Start};

const DEFAULT_LIMIT: u64 = 100;
const MAX_LIMIT: u64 = 5000;

impl Folder {
    /// Lists the files that match.
    pub fn glob(
        &self,
        arguments: &GlobArguments,
        stop: &Stop,
    ) -> Result<Answer<GlobValue>, Failure> {
        access::ensure_wanted(stop)?;
        let start = self.start(&arguments.pattern)?;
        let view = self.view()?;
        let given = arguments.path.as_deref().filter(|_| !start.is_rooted).unwrap_or(".");
        let given = self.spelling(given)?;
        self.folder(&view, &given)?;
        let given = display(&given.relative);
        if let Some(file) = self.literal(&view, &given, &start) {
            let mut tally = Tally::default();
            if matches!(file.source, Source::Unsaved(Unsaved { saved: Saved::Missing, .. })) {
                tally.new.add(&file.shown);
            }
            let value = GlobValue { paths: vec![file.shown], total: 1, truncated: false };
            return Ok(Answer { value, notes: tally.notes("listed") });
        }
        let spelling = self.spelling(&joined(&given, &start.folder))?;
        let base = match self.folder(&view, &spelling) {
            Ok(base) => base,
            Err(failure) if is_absence(failure.code) => {
                let value = GlobValue { paths: Vec::new(), total: 0, truncated: false };
                return Ok(Answer { value, notes: vec![failure.message] });
            }
            Err(failure) => return Err(failure),
        };
        let limit = arguments.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT);
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let order = arguments.order.unwrap_or_default();
        let prefix = prefix_length(&base);
        let visitor = || Lister {
            pattern: &start.pattern,
            prefix,
            order,
            limit,
            first: BTreeSet::new(),
            total: 0,
        };
        let (listers, tally, lifted) =
            self.walk_named(&view, &base, start.max_depth, stop, visitor);
        access::ensure_wanted(stop)?;
        let value = merged(listers, limit, tally.is_partial());
        let mut notes: Vec<String> = lifted.into_iter().collect();
        if base != spelling.relative {
            notes.push(format!("{} is a link to {}", display(&spelling.relative), display(&base)));
        }
        notes.extend(result_notes(&value, &tally));
        Ok(Answer { value, notes })
    }

    /// The file whose name is the pattern itself, whatever its characters would mean in a glob.
    fn literal(&self, view: &View, given: &str, start: &Start) -> Option<NamedFile> {
        let path = joined(given, start.literal.as_deref()?);
        if Path::new(&path).iter().any(is_internal) {
            return None;
        }
        match self.place(view, &path) {
            Ok(Place::File(file)) => Some(file),
            Ok(Place::Folder(_)) | Err(_) => None,
        }
    }
}

fn joined(folder: &str, path: &str) -> String {
    match (folder, path) {
        (".", "") => ".".to_owned(),
        (".", path) => path.to_owned(),
        (folder, "") => folder.to_owned(),
        (folder, path) => format!("{folder}/{path}"),
    }
}

fn is_absence(code: ToolErrorCode) -> bool {
    code == ToolErrorCode::FsNotFound || code == ToolErrorCode::FsNotDirectory
}

fn result_notes(value: &GlobValue, tally: &Tally) -> Vec<String> {
    let mut notes = Vec::new();
    if value.truncated && !tally.is_partial() {
        let shown = value.paths.len();
        notes.push(format!(
            "{shown} of {} shown; match less or raise limit",
            counted(value.total, "path")
        ));
    }
    notes.extend(tally.notes("listed"));
    if value.total == 0 && !tally.is_partial() {
        let rule = "nothing matches: `*` stays within one folder, `**` crosses folders, a glob without `/` \
                    is a file name at any depth, and folders themselves are not listed";
        notes.push(rule.to_owned());
        if tally.links > 0 {
            notes.push(format!("{} not followed", counted(tally.links, "link")));
        }
    }
    notes
}

/// One thread's part in a listing. The first number orders before the path: 0, or the age.
struct Lister<'s> {
    pattern: &'s Pattern,
    /// The length of the base and its `/`, which the pattern does not see.
    prefix: usize,
    order: GlobOrder,
    limit: usize,
    first: BTreeSet<(i128, String)>,
    total: u64,
}

fn is_absent(found: &Found<'_>) -> bool {
    found.modified().is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

impl Lister<'_> {
    /// Lists what is not on disk yet: nothing is newer.
    fn document(&mut self, path: &str, document: &Document, tally: &mut Tally) {
        // Closed a moment ago, it is nowhere.
        if document.text().is_none() {
            return;
        }
        tally.new.add(path);
        self.total += 1;
        self.add(if self.order == GlobOrder::Newest { i128::MIN } else { 0 }, path);
    }

    fn add(&mut self, rank: i128, path: &str) {
        let is_late = self.first.len() == self.limit
            && self.first.last().is_some_and(|(last, name)| (*last, name.as_str()) <= (rank, path));
        if is_late {
            return;
        }
        self.first.insert((rank, path.to_owned()));
        if self.first.len() > self.limit {
            self.first.pop_last();
        }
    }
}

impl Visit for Lister<'_> {
    fn file(&mut self, found: &Found<'_>, tally: &mut Tally) {
        if !self.pattern.matches(&found.path[self.prefix..]) {
            return;
        }
        if let Some(document) = found.document
            && is_absent(found)
        {
            self.document(found.path, document, tally);
            return;
        }
        let rank = match self.order {
            GlobOrder::Path => Ok(0),
            GlobOrder::Newest => found.modified().map(|time| -time),
        };
        // A file that is gone by now is none.
        if let Ok(rank) = rank {
            self.total += 1;
            self.add(rank, found.path);
        }
    }
}

fn merged(listers: Vec<Lister<'_>>, limit: usize, is_partial: bool) -> GlobValue {
    let mut first = BTreeSet::new();
    let mut total = 0;
    for lister in listers {
        total += lister.total;
        first.extend(lister.first);
    }
    let paths: Vec<String> = first.into_iter().take(limit).map(|(_, path)| path).collect();
    let truncated = is_partial || (paths.len() as u64) < total;
    GlobValue { paths, total, truncated }
}
