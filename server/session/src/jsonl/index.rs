//! What a list shows of each log of a folder, kept in a file beside them so that nobody has to read the logs.
//!
//! The file is a shortcut and never the truth: an entry counts only while its log has the size, time and inode that
//! it was made from. Whoever has made a new entry appends it as a line, and the last one of a log counts; what
//! cannot be read is passed over. So several processes share it without a lock, and losing it costs time only.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use super::lines::Lines;
use crate::store::Summary;

/// The file's name.
const NAME: &str = "sessions.index";

/// The first line: a file of another form is written anew.
const FORM: &[u8] = b"{\"index\":1}\n";

/// How many lines that do not count any more may stand in the file, beside one for each log.
const STALE_MOST: usize = 1000;

/// The index of one folder.
pub(super) struct Index {
    folder: PathBuf,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    entries: BTreeMap<String, Entry>,
    /// The file that was read, and how far.
    inode: u64,
    offset: u64,
    lines: usize,
}

/// A summary and the state of the log that it was made from.
#[derive(Clone, Serialize, Deserialize)]
struct Entry {
    log: String,
    stamp: Stamp,
    summary: Summary,
}

/// The state of a log file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stamp {
    length: u64,
    /// Nanoseconds since the epoch.
    modified: i64,
    inode: u64,
}

impl Stamp {
    pub(super) fn of(metadata: &Metadata) -> Self {
        Self {
            length: metadata.len(),
            modified: metadata
                .mtime()
                .saturating_mul(1_000_000_000)
                .saturating_add(metadata.mtime_nsec()),
            inode: metadata.ino(),
        }
    }
}

impl Index {
    pub(super) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), state: Mutex::default() }
    }

    /// Takes in what other processes have added.
    pub(super) fn refresh(&self) {
        let mut state = self.lock();
        if let Err(error) = state.read(&self.path())
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(folder = %self.folder.display(), %error, "the index of sessions was not read");
        }
    }

    /// The summary of a log in this state.
    pub(super) fn get(&self, log: &str, stamp: Stamp) -> Option<Summary> {
        let state = self.lock();
        let entry = state.entries.get(log)?;
        (entry.stamp == stamp).then(|| entry.summary.clone())
    }

    /// Adds summaries. One that cannot be written is made again when somebody needs it.
    pub(super) fn add(&self, summaries: Vec<(String, Stamp, Summary)>) {
        if summaries.is_empty() {
            return;
        }
        let mut state = self.lock();
        let mut lines = Vec::new();
        for (log, stamp, summary) in summaries {
            let entry = Entry { log, stamp, summary };
            push_line(&mut lines, &entry);
            state.entries.insert(entry.log.clone(), entry);
        }
        if let Err(error) = state.append(&self.path(), &lines) {
            tracing::warn!(folder = %self.folder.display(), %error, "the index of sessions was not written");
        }
    }

    /// Forgets the logs that are gone, and writes the file anew if most of it does not count any more.
    pub(super) fn keep(&self, is_there: impl Fn(&str) -> bool) {
        let mut state = self.lock();
        state.entries.retain(|log, _| is_there(log));
        if state.lines > 2 * state.entries.len() + STALE_MOST
            && let Err(error) = state.rewrite(&self.path())
        {
            tracing::warn!(folder = %self.folder.display(), %error, "the index of sessions was not written");
        }
    }

    fn path(&self) -> PathBuf {
        self.folder.join(NAME)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Reads what stands behind the place that was read before; everything, when the file is another one.
    fn read(&mut self, path: &Path) -> io::Result<()> {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        if metadata.ino() != self.inode || metadata.len() < self.offset {
            (self.inode, self.offset, self.lines) = (metadata.ino(), 0, 0);
        }
        if metadata.len() == self.offset {
            return Ok(());
        }
        let mut lines = Lines::from(&file, self.offset)?;
        if self.offset == 0 && lines.next()? != Some(FORM) {
            return self.rewrite(path);
        }
        while let Some(line) = lines.next()? {
            self.lines += 1;
            if let Some(entry) = parsed(line) {
                self.entries.insert(entry.log.clone(), entry);
            }
        }
        self.offset = lines.offset();
        Ok(())
    }

    /// One write for everything, so that what two processes add at once does not mix.
    fn append(&mut self, path: &Path, lines: &[u8]) -> io::Result<()> {
        let mut options = OpenOptions::new();
        let mut file = match options.append(true).open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return self.rewrite(path),
            Err(error) => return Err(error),
        };
        file.write_all(lines)
    }

    /// Puts a new file in the place of the old one.
    fn rewrite(&mut self, path: &Path) -> io::Result<()> {
        let mut bytes = FORM.to_vec();
        for entry in self.entries.values() {
            push_line(&mut bytes, entry);
        }
        let new = path.with_extension(format!("index-{}", std::process::id()));
        // One that a crash left, or a link that somebody put there.
        let _ = fs::remove_file(&new);
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(0o600).open(&new)?;
        let written = file.write_all(&bytes).and_then(|()| fs::rename(&new, path));
        if written.is_err() {
            let _ = fs::remove_file(&new);
        }
        written?;
        self.inode = file.metadata()?.ino();
        (self.offset, self.lines) = (bytes.len() as u64, self.entries.len());
        Ok(())
    }
}

/// Adds an entry behind the digest of its text, so that one that was damaged is not taken for what it says.
fn push_line(bytes: &mut Vec<u8>, entry: &Entry) {
    let Ok(text) = serde_json::to_string(entry) else { return };
    bytes.extend_from_slice(format!("{:016x} {text}\n", digest(text.as_bytes())).as_bytes());
}

fn parsed(line: &[u8]) -> Option<Entry> {
    let (sum, text) = line.strip_suffix(b"\n")?.split_at_checked(17)?;
    let sum = u64::from_str_radix(std::str::from_utf8(sum).ok()?.trim_end(), 16).ok()?;
    if sum != digest(text) {
        return None;
    }
    serde_json::from_slice(text).ok()
}

/// FNV-1a: against accidents, not against people.
pub(super) fn digest(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
