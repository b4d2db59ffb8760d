//! The name that somebody probably meant, for the message that says there is no such file.

use std::path::Path;
use std::time::Duration;

use crate::Folder;
use crate::beneath::{Root, Want};
use crate::directory::{self, Kind};
use crate::stop::Stop;
use crate::walk::{display, is_internal};

/// Letters that may differ. Two cover a slip, and an accent that is one character here and two there.
const MAX_DISTANCE: usize = 2;
/// Longer names, and larger folders, are not worth the time.
const MAX_NAME_CHARS: usize = 80;
const MAX_TIME: Duration = Duration::from_millis(50);
const MAX_ENTRIES: usize = 5000;

impl Folder {
    /// A path in the same folder whose name is nearly `relative`'s. Never one that the tools would refuse.
    pub(crate) fn similar_name(&self, root: &Root, relative: &Path) -> Option<String> {
        let parent = relative.parent()?;
        let wanted = relative.file_name()?.to_str()?;
        let opened = root.open_following(parent, Want::Folder).ok()?;
        if self.secrets.holds(&opened.real) {
            return None;
        }
        let entries = directory::entries(&opened.file, &Stop::new(Some(MAX_TIME))).ok()?;
        let mut best: Option<(usize, &str)> = None;
        for entry in entries.iter().take(MAX_ENTRIES) {
            let Some(name) = entry.name.to_str() else {
                continue;
            };
            let is_offered = matches!(entry.kind, Kind::File | Kind::Folder)
                && !is_internal(&entry.name)
                && !self.secrets.is_secret(Path::new(name));
            if !is_offered {
                continue;
            }
            let distance =
                if name.eq_ignore_ascii_case(wanted) { Some(0) } else { distance(name, wanted) };
            if let Some(distance) = distance
                && best.is_none_or(|(least, _)| distance < least)
            {
                best = Some((distance, name));
            }
        }
        best.map(|(_, name)| display(&parent.join(name)))
    }
}

/// How many characters to insert, remove or replace; nothing if more than a few, or nearly all of the name.
fn distance(a: &str, b: &str) -> Option<usize> {
    let a: Vec<char> = a.chars().take(MAX_NAME_CHARS + 1).collect();
    let b: Vec<char> = b.chars().take(MAX_NAME_CHARS + 1).collect();
    let most = MAX_DISTANCE.min(a.len().max(b.len()) / 2);
    if a.len() > MAX_NAME_CHARS || b.len() > MAX_NAME_CHARS || a.len().abs_diff(b.len()) > most {
        return None;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, &left) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &right) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(left != right);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row.last().copied().filter(|&distance| distance <= most)
}
