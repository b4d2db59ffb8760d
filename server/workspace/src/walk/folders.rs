//! The folders of a walk: taken from the file list where they are as they were, else listed anew.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use super::files::{Batch, Directory};
use super::{Job, Level, Part, Shared, Visit, Walk, display, is_internal};
use crate::beneath::Want;
use crate::directory::{self, Entry, Kind};
use crate::list::{self, Contents, List, Names, Stamp};
use crate::rules::Rules;
use crate::rules::sources::Sources;
use crate::tally::Tally;

/// A folder with more files is split, so that one flat folder keeps all threads busy.
const BATCH_FILES: usize = 128;

/// The rules that the folders above the walk's base set for what is in it.
pub(super) fn rules_above(walk: &Walk<'_>, list: Option<&List>, number: u64) -> Arc<Rules> {
    if walk.is_lifted {
        return Arc::default();
    }
    let slack = slack(list);
    let mut rules = list.map(|list| Arc::clone(&list.no_rules)).unwrap_or_default();
    let mut outer: Vec<&Path> = walk.base.ancestors().skip(1).collect();
    outer.reverse();
    for path in outer {
        let kept = list.and_then(|list| list.get(path, number));
        if let Some(kept) = &kept
            && walk.root.look(path).is_ok_and(|now| kept.holds(walk.root, path, &now, &rules))
        {
            rules = Arc::clone(&kept.rules);
            continue;
        }
        let moment = SystemTime::now();
        if let Ok(folder) = walk.root.open_plain(path, Want::Folder)
            && let Ok(metadata) = folder.metadata()
            && let Ok(entries) = directory::entries(&folder, walk.stop)
        {
            let stamp =
                Some(Stamp::of(&metadata)).filter(|stamp| stamp.is_settled_at(moment, slack));
            let sources = Sources::read(walk.root, path, &folder, &entries, slack);
            let inner = List::rules(kept.as_deref(), &rules, path, &sources);
            let outer = std::mem::replace(&mut rules, Arc::clone(&inner));
            if let Some(list) = list
                && walk.stop.reason().is_none()
            {
                let entry = list::Entry { stamp, outer, rules: inner, sources, contents: None };
                list.put(path, number, entry);
            }
        }
    }
    rules
}

impl<'s> Shared<'s> {
    pub(super) fn run<V: Visit>(&self, job: Job<'s>, part: &mut Part<V>) {
        match job {
            Job::Folder(level) => {
                let path = level.path.clone();
                match self.folder(level, part) {
                    Ok(()) => {}
                    // Removed since it was listed.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(_) => part.tally.unreadable.add(&display(&path)),
                }
            }
            Job::Files(batch) => self.files(&batch, part),
        }
    }

    fn folder<V: Visit>(&self, mut level: Level, part: &mut Part<V>) -> io::Result<()> {
        let root = self.walk.root;
        let kept = self.list.and_then(|list| list.get(&level.path, self.number));
        let open = self.walk.buffers.within(&level.path);
        if let Some(kept) = &kept
            && let Some(contents) = &kept.contents
            && open.is_none()
            && let Ok(now) = root.look(&level.path)
            && Some(now.device) == self.device
            && kept.holds(root, &level.path, &now, &level.rules)
            && self.has_room_for(contents.entries)
        {
            level.rules = Arc::clone(&kept.rules);
            let directory = Directory::new(root, level.path.clone());
            self.enter(&level, directory, contents, part);
            return Ok(());
        }
        let moment = SystemTime::now();
        let folder = match root.open_plain(&level.path, Want::Folder) {
            Ok(folder) => folder,
            Err(error) if error.kind() == io::ErrorKind::NotFound && open.is_some() => {
                let contents =
                    self.sift(&level, self.completed(&level, Vec::new()), &mut part.tally);
                self.enter(&level, Directory::missing(root), &Arc::new(contents), part);
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let stamp = Stamp::of(&folder.metadata()?);
        if Some(stamp.device) != self.device {
            part.tally.mounts.add(&display(&level.path));
            return Ok(());
        }
        let entries = directory::entries(&folder, self.walk.stop)?;
        if level.depth > 0 && self.worktrees.is_linked(&level.path, &folder, &entries) {
            part.tally.worktrees.add(&display(&level.path));
            return Ok(());
        }
        let outer = Arc::clone(&level.rules);
        let slack = slack(self.list);
        let mut sources = Sources::default();
        if level.depth > 0 || !self.walk.is_lifted {
            sources = Sources::read(root, &level.path, &folder, &entries, slack);
            level.rules = List::rules(kept.as_deref(), &outer, &level.path, &sources);
        }
        // Whether a worktree is a double depends on more than what is in it.
        let is_worktree = entries.iter().any(|it| it.name == ".git" && it.kind == Kind::File);
        let entries = self.completed(&level, entries);
        let contents = Arc::new(self.sift(&level, entries, &mut part.tally));
        if let Some(list) = self.list
            && self.walk.stop.reason().is_none()
            && !part.tally.exhausted
        {
            let stamp = Some(stamp).filter(|stamp| stamp.is_settled_at(moment, slack));
            let rules = Arc::clone(&level.rules);
            let contents = (open.is_none() && !is_worktree).then(|| Arc::clone(&contents));
            list.put(
                &level.path,
                self.number,
                list::Entry { stamp, outer, rules, sources, contents },
            );
        }
        let directory = Directory::opened(root, level.path.clone(), folder);
        self.enter(&level, directory, &contents, part);
        Ok(())
    }

    /// A folder's entries with those that only editors have.
    fn completed(&self, level: &Level, mut entries: Vec<Entry>) -> Vec<Entry> {
        if let Some(open) = self.walk.buffers.within(&level.path) {
            open.complete(&mut entries);
        }
        entries
    }

    /// Takes up what is in a folder.
    fn enter<V: Visit>(
        &self,
        level: &Level,
        directory: Directory<'s>,
        contents: &Arc<Contents>,
        part: &mut Part<V>,
    ) {
        let tally = &mut part.tally;
        tally.ignored_files += contents.ignored_files;
        tally.ignored_folders += contents.ignored_folders;
        tally.secrets += contents.secrets;
        tally.links += contents.links;
        let directory = Arc::new(directory);
        let prefix: Arc<str> = prefix(&level.path).into();
        let open = self.walk.buffers.within(&level.path);
        let batch = |span| Batch {
            directory: Arc::clone(&directory),
            prefix: Arc::clone(&prefix),
            open,
            contents: Arc::clone(contents),
            span,
        };
        let mut batches = contents.files.spans(BATCH_FILES).into_iter().map(batch);
        let first = batches.next();
        let mut jobs: Vec<Job<'s>> = Vec::new();
        if self.walk.max_depth.is_none_or(|max| level.depth < max) {
            jobs.extend(contents.folders.iter().map(|name| {
                let (path, rules) = (level.path.join(name), Arc::clone(&level.rules));
                Job::Folder(Level { path, depth: level.depth + 1, rules })
            }));
        }
        // Last in, first out: reversed, what comes first by name is also searched first.
        jobs.reverse();
        let mut rest: Vec<_> = batches.map(Job::Files).collect();
        rest.reverse();
        jobs.extend(rest);
        self.queue.add(jobs);
        if let Some(first) = first {
            self.files(&first, part);
        }
    }

    /// Parts a folder's entries into what is visible and what is counted.
    fn sift(&self, level: &Level, entries: Vec<Entry>, tally: &mut Tally) -> Contents {
        let prefix = prefix(&level.path);
        let mut contents = Contents::default();
        let mut files: Vec<OsString> = Vec::new();
        let mut folders = Vec::new();
        let mut relative = prefix.clone();
        for entry in entries {
            tally.stopped |= self.walk.stop.reason().is_some();
            if tally.stopped || !self.has_room_for(1) {
                tally.exhausted |= !tally.stopped;
                break;
            }
            contents.entries += 1;
            let is_folder = match entry.kind {
                _ if is_internal(&entry.name) => continue,
                Kind::File => false,
                Kind::Folder => true,
                Kind::Link => {
                    contents.links += 1;
                    continue;
                }
                Kind::Special => continue,
            };
            relative.truncate(prefix.len());
            relative.push_str(&entry.name.to_string_lossy());
            if self.walk.secrets.is_secret(Path::new(&entry.name)) {
                contents.secrets += 1;
            } else if level.rules.ignores(Path::new(&relative), is_folder) {
                contents.ignored_files += u64::from(!is_folder);
                contents.ignored_folders += u64::from(is_folder);
            } else if is_folder {
                folders.push(entry.name);
            } else {
                files.push(entry.name);
            }
        }
        contents.files = Names::new(files.iter().map(OsString::as_os_str));
        contents.folders = folders.into();
        contents
    }

    /// Counts directory entries, if that many more may be looked at.
    fn has_room_for(&self, entries: u64) -> bool {
        let before = self.entries.fetch_add(entries, Ordering::Relaxed);
        let has_room = before + entries <= self.walk.max_entries;
        if !has_room {
            self.entries.fetch_sub(entries, Ordering::Relaxed);
        }
        has_room
    }
}

/// Where no list is kept it does not matter.
fn slack(list: Option<&List>) -> Duration {
    list.map(|list| list.slack).unwrap_or_default()
}

/// A folder's path as its files' begin.
fn prefix(path: &Path) -> String {
    if path.as_os_str().is_empty() { String::new() } else { display(path) + "/" }
}
