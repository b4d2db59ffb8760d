//! What a search left out or took from an editor, counted, and the notes that say so.

use std::collections::BTreeSet;

/// Names that a note gives as examples.
const MAX_EXAMPLES: usize = 3;

/// A count of paths with the first few of them by name, whichever thread met them first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Paths {
    pub(crate) count: u64,
    examples: BTreeSet<String>,
}

impl Paths {
    pub(crate) fn add(&mut self, path: &str) {
        self.count += 1;
        let is_late = self.examples.len() == MAX_EXAMPLES
            && self.examples.last().is_some_and(|last| last.as_str() <= path);
        if !is_late {
            self.examples.insert(path.to_owned());
            self.trim();
        }
    }

    fn merge(&mut self, other: Paths) {
        self.count += other.count;
        self.examples.extend(other.examples);
        self.trim();
    }

    fn trim(&mut self) {
        while self.examples.len() > MAX_EXAMPLES {
            self.examples.pop_last();
        }
    }

    fn listed(&self) -> String {
        let names: Vec<&str> = self.examples.iter().map(String::as_str).collect();
        let more = if self.count > names.len() as u64 { ", …" } else { "" };
        format!("{}{more}", names.join(", "))
    }
}

/// Everything that one thread, or one call, left out or took from elsewhere.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    /// Files that the rules of visibility let through.
    pub(crate) visible: u64,
    pub(crate) ignored_files: u64,
    pub(crate) ignored_folders: u64,
    pub(crate) secrets: u64,
    pub(crate) links: u64,
    /// Documents that are not on disk yet.
    pub(crate) new: Paths,
    /// Documents whose text is not that of the file.
    pub(crate) unsaved: Paths,
    pub(crate) binary: Paths,
    pub(crate) too_large: Paths,
    pub(crate) too_long_line: Paths,
    pub(crate) hard_linked: Paths,
    pub(crate) unreadable: Paths,
    pub(crate) worktrees: Paths,
    pub(crate) mounts: Paths,
    /// The call had to end before everything was looked at.
    pub(crate) stopped: bool,
    /// The bound on directory entries was reached.
    pub(crate) exhausted: bool,
}

impl Tally {
    pub(crate) fn merge(&mut self, other: Tally) {
        self.visible += other.visible;
        self.ignored_files += other.ignored_files;
        self.ignored_folders += other.ignored_folders;
        self.secrets += other.secrets;
        self.links += other.links;
        self.new.merge(other.new);
        self.unsaved.merge(other.unsaved);
        self.binary.merge(other.binary);
        self.too_large.merge(other.too_large);
        self.too_long_line.merge(other.too_long_line);
        self.hard_linked.merge(other.hard_linked);
        self.unreadable.merge(other.unreadable);
        self.worktrees.merge(other.worktrees);
        self.mounts.merge(other.mounts);
        self.stopped |= other.stopped;
        self.exhausted |= other.exhausted;
    }

    /// Something that would have been looked at was not, so a total is a lower bound.
    pub(crate) fn is_partial(&self) -> bool {
        self.stopped || self.exhausted
    }

    pub(crate) fn ignored(&self) -> u64 {
        self.ignored_files + self.ignored_folders
    }

    /// One sentence for each kind of omission. `done` is what the rest was: "searched" or "listed".
    pub(crate) fn notes(&self, done: &str) -> Vec<String> {
        let mut notes = Vec::new();
        if self.stopped {
            let hint = "name a smaller folder as path";
            notes.push(format!(
                "stopped at the deadline: partial result, and totals are lower bounds; {hint}"
            ));
        }
        if self.exhausted {
            let hint = "name a smaller folder as path";
            notes.push(format!("the folder has too many entries: partial result, and totals are lower bounds; {hint}"));
        }
        self.unsaved_notes(done, &mut notes);
        let named = |paths: &Paths, noun: &str, what: &str, notes: &mut Vec<String>| {
            if paths.count > 0 {
                notes.push(format!("{} {what}: {}", counted(paths.count, noun), paths.listed()));
            }
        };
        named(&self.binary, "binary file", "skipped", &mut notes);
        named(&self.too_large, "file", "over the size limit skipped", &mut notes);
        named(
            &self.too_long_line,
            "file",
            "searched only up to a line that is too long",
            &mut notes,
        );
        named(&self.hard_linked, "hard-linked file", "skipped, as configured", &mut notes);
        named(&self.unreadable, "path", "not readable", &mut notes);
        named(
            &self.worktrees,
            "linked git worktree",
            "skipped, which may be named as path",
            &mut notes,
        );
        named(&self.mounts, "folder", "on another file system skipped", &mut notes);
        if self.secrets > 0 {
            let were = if self.secrets == 1 {
                "name looks like a secret was"
            } else {
                "names look like secrets were"
            };
            notes.push(format!("{} whose {were} not {done}", counted(self.secrets, "path")));
        }
        if self.ignored() > 0 {
            notes.push(self.ignored_note(done));
        }
        notes
    }

    fn unsaved_notes(&self, done: &str, notes: &mut Vec<String>) {
        let kinds = [
            (&self.unsaved, "instead of the file on disk", "instead of the files on disk"),
            (&self.new, "that is not on disk yet", "that are not on disk yet"),
        ];
        for (paths, one, many) in kinds {
            let (were, what) = if paths.count == 1 { ("was", one) } else { ("were", many) };
            if paths.count > 0 {
                let buffers = counted(paths.count, "unsaved buffer");
                notes.push(format!("{buffers} {were} {done} {what}: {}", paths.listed()));
            }
        }
    }

    fn ignored_note(&self, done: &str) -> String {
        let files = (self.ignored_files > 0).then(|| counted(self.ignored_files, "file"));
        let folders = (self.ignored_folders > 0).then(|| counted(self.ignored_folders, "folder"));
        let what: Vec<String> = files.into_iter().chain(folders).collect();
        let were = if self.ignored() == 1 { "was" } else { "were" };
        format!("{} ignored by .gitignore or .ignore {were} not {done}", what.join(" and "))
    }
}

/// A number with its noun.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_do_not_depend_on_who_met_what_first() {
        let tally = |paths: [&str; 5]| {
            let mut parts = [Tally::default(), Tally::default()];
            for (index, path) in paths.into_iter().enumerate() {
                parts[index % 2].binary.add(path);
            }
            let [mut first, second] = parts;
            first.merge(second);
            first.notes("searched")
        };
        let notes = tally(["e", "d", "c", "b", "a"]);
        assert_eq!(notes, ["5 binary files skipped: a, b, c, …"]);
        assert_eq!(tally(["a", "c", "e", "b", "d"]), notes);
    }

    #[test]
    fn one_and_many_are_told_apart() {
        let one = Tally { ignored_folders: 1, secrets: 1, ..Tally::default() };
        let expected = [
            "1 path whose name looks like a secret was not listed",
            "1 folder ignored by .gitignore or .ignore was not listed",
        ];
        assert_eq!(one.notes("listed"), expected);
        let many = Tally { ignored_folders: 2, ignored_files: 1, ..Tally::default() };
        assert_eq!(
            many.notes("searched"),
            ["1 file and 2 folders ignored by .gitignore or .ignore were not searched"]
        );
    }
}
