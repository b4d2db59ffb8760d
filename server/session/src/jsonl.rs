//! Logs as files: `<home>/sessions/<workspace slug>/<session id>.jsonl`, a header line and then one event or one
//! run of deltas to a line. Readable with a pager, searchable with grep.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dsh_protocol::event::Event;
use dsh_protocol::ids::SessionId;
use dsh_protocol::session::FileHeader;
use rustix::fs::OFlags;
use sha2::{Digest, Sha256};

use crate::log::Page;
use crate::store::{
    BoxFuture, Listed, PageWanted, Sink, StorageError, Store, StoreError, Stored, Summary,
    Unreadable,
};

mod ahead;
mod decode;
mod delete;
mod grown;
mod index;
mod lines;
mod page;
mod pending;
mod pick;
mod place;
mod read;
mod sink;

use grown::Grown;
use index::{Index, Stamp};
use lines::Mark;
use sink::FileSink;

const EXTENSION: &str = "jsonl";

/// The flag as the standard library takes it.
const O_NONBLOCK: i32 = OFlags::NONBLOCK.bits().cast_signed();

/// The logs of one workspace folder.
#[derive(Clone)]
pub struct JsonlStore {
    /// `<home>/sessions`.
    root: PathBuf,
    /// The folder for this workspace's logs.
    folder: PathBuf,
    index: Arc<Index>,
    grown: Arc<Grown>,
}

/// What the index is told of a log that was read.
type Made = (String, Stamp, Summary);

impl JsonlStore {
    /// The logs of `workspace` under `home`. Touches nothing yet.
    pub fn new(home: &Path, workspace: &Path) -> Self {
        let root = home.join("sessions");
        let folder = root.join(slug(workspace));
        let index = Arc::new(Index::new(&folder));
        Self { root, folder, index, grown: Arc::default() }
    }

    /// The files of all logs, by name.
    pub fn paths(&self) -> Result<Vec<PathBuf>, StoreError> {
        files(&self.folder).map_err(|error| storage("list", &self.folder, &error))
    }

    /// The file of a log.
    pub fn path(&self, id: &SessionId) -> PathBuf {
        self.folder.join(format!("{id}.{EXTENSION}"))
    }

    fn create_now(&self, header: &FileHeader) -> Result<Arc<dyn Sink>, StoreError> {
        create_folder(&self.folder).map_err(|error| storage("create", &self.folder, &error))?;
        if uuid::Uuid::try_parse(header.id.as_str()).is_err() && self.is_taken(&header.id)? {
            return Err(StoreError::Taken(header.id.clone()));
        }
        let path = self.path(&header.id);
        let mut file = match open_options().create_new(true).open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(StoreError::Taken(header.id.clone()));
            }
            Err(error) => return Err(storage("create", &path, &error)),
        };
        let mut line = serde_json::to_vec(header)
            .map_err(|error| StorageError(format!("{}: {error}", path.display())))?;
        line.push(b'\n');
        if let Err(error) = file.write_all(&line) {
            // A file with half a header would block the id for good.
            let _ = fs::remove_file(&path);
            return Err(storage("write", &path, &error));
        }
        let mark = Mark { offset: line.len() as u64, lines: 1, next_seq: 0 };
        let sink = FileSink::new(file, true, path, mark, Arc::clone(&self.index));
        sink.sync_entry();
        Ok(Arc::new(sink))
    }

    fn open_now(&self, id: &SessionId) -> Result<Stored, StoreError> {
        let path = self.path(id);
        // What cannot be written can be read all the same.
        let writable = open_log(&path, id, &open_options());
        let (file, writable) = match writable {
            Ok(file) => (file, true),
            Err(StoreError::Storage(error)) => {
                (open_log(&path, id, &reading()).map_err(|_| error)?, false)
            }
            Err(error) => return Err(error),
        };
        let (log, mark) = read::log(&file).map_err(|error| error.in_file(&path))?;
        check_id(log.header(), id)?;
        let sink = Arc::new(FileSink::new(file, writable, path, mark, Arc::clone(&self.index)));
        Ok(Stored { log, sink })
    }

    fn list_now(&self, loaded: &BTreeSet<SessionId>) -> Result<Vec<Listed>, StoreError> {
        self.index.refresh();
        let mut listed = Vec::new();
        let mut names = BTreeSet::new();
        let mut read = Vec::new();
        for path in self.paths()? {
            let Some(name) = path.file_stem().and_then(OsStr::to_str) else { continue };
            names.insert(name.to_owned());
            let id = SessionId::from(name);
            if loaded.contains(&id) {
                listed.push(Listed::Loaded(id));
                continue;
            }
            match self.summary_of(&path, &id, &mut read) {
                Ok(summary) => listed.push(Listed::Stored(Box::new(summary))),
                // It was deleted meanwhile.
                Err(StoreError::NotFound(_)) => {}
                Err(error) => {
                    let unreadable = Unreadable { id, path: Some(path.clone()), error };
                    listed.push(Listed::Unreadable(Box::new(unreadable)));
                }
            }
        }
        self.index.add(read);
        self.index.keep(|name| names.contains(name));
        Ok(listed)
    }

    fn summary_now(&self, id: &SessionId) -> Result<Summary, StoreError> {
        self.index.refresh();
        let mut read = Vec::new();
        let summary = self.summary_of(&self.path(id), id, &mut read);
        self.index.add(read);
        summary
    }

    /// A log's summary: from the index, else from the log, which is then added to what was read.
    fn summary_of(
        &self,
        path: &Path,
        id: &SessionId,
        read: &mut Vec<Made>,
    ) -> Result<Summary, StoreError> {
        let metadata = match fs::metadata(path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(StoreError::NotFound(id.clone()));
            }
            Err(error) => return Err(storage("open", path, &error)),
        };
        let stamp = Stamp::of(&metadata);
        if let Some(summary) = self.index.get(id.as_str(), stamp) {
            // Only a turn that is open may be somebody's who writes now.
            let written_elsewhere =
                summary.open_turn && File::open(path).is_ok_and(|file| sink::is_locked(&file));
            if !written_elsewhere {
                self.grown.forget(&metadata);
            }
            return Ok(Summary { written_elsewhere, ..summary });
        }
        let file = open_log(path, id, &reading())?;
        let written_elsewhere = sink::is_locked(&file);
        let read_now = self.grown.summary(&file, written_elsewhere);
        let (header, summary) = read_now.map_err(|error| error.in_file(path))?;
        check_id(&header, id)?;
        read.push((id.to_string(), stamp, summary.clone()));
        Ok(Summary { written_elsewhere, ..summary })
    }

    /// Whether a log of any workspace has this id, without regard to case.
    fn is_taken(&self, id: &SessionId) -> Result<bool, StoreError> {
        let listed = |error| storage("list", &self.root, &error);
        for entry in fs::read_dir(&self.root).map_err(listed)? {
            let folder = entry.map_err(listed)?.path();
            let taken = files(&folder).unwrap_or_default().iter().any(|path| {
                path.file_stem().is_some_and(|stem| stem.eq_ignore_ascii_case(id.as_str()))
            });
            if taken {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Store for JsonlStore {
    fn create(&self, header: FileHeader) -> BoxFuture<'_, Result<Arc<dyn Sink>, StoreError>> {
        let store = self.clone();
        blocking(move || store.create_now(&header))
    }

    fn open(&self, id: SessionId) -> BoxFuture<'_, Result<Stored, StoreError>> {
        let store = self.clone();
        blocking(move || store.open_now(&id))
    }

    fn discard(&self, id: SessionId) -> BoxFuture<'_, Result<(), StoreError>> {
        let path = self.path(&id);
        blocking(move || fs::remove_file(&path).map_err(|error| storage("delete", &path, &error)))
    }

    fn pick(
        &self,
        id: SessionId,
        types: &'static [&'static str],
    ) -> BoxFuture<'_, Result<Vec<Event>, StoreError>> {
        let path = self.path(&id);
        blocking(move || pick_from(&path, types).map(|(_, events)| events))
    }

    fn list(&self, loaded: BTreeSet<SessionId>) -> BoxFuture<'_, Result<Vec<Listed>, StoreError>> {
        let store = self.clone();
        blocking(move || store.list_now(&loaded))
    }

    fn summary(&self, id: SessionId) -> BoxFuture<'_, Result<Summary, StoreError>> {
        let store = self.clone();
        blocking(move || store.summary_now(&id))
    }

    fn page(
        &self,
        id: SessionId,
        wanted: PageWanted,
    ) -> BoxFuture<'_, Result<Option<Page>, StoreError>> {
        let path = self.path(&id);
        blocking(move || match page::page(&path, &id, &wanted) {
            Ok(page) => Ok(page),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(StoreError::NotFound(id)),
            Err(error) => Err(storage("read", &path, &error)),
        })
    }

    fn delete(&self, ids: Vec<SessionId>) -> BoxFuture<'_, Result<Vec<SessionId>, StoreError>> {
        let store = self.clone();
        blocking(move || delete::logs(&store, &ids))
    }

    fn folder(&self) -> Option<PathBuf> {
        Some(self.folder.clone())
    }
}

/// Reads a log file wherever it stands. Changes nothing; the torn end of a crash is left out. Blocks.
pub fn read_file(path: &Path) -> Result<(FileHeader, Vec<Event>), StoreError> {
    let file = reading().open(path).map_err(|error| storage("open", path, &error))?;
    read::events(&file).map_err(|error| error.in_file(path))
}

/// Reads the events of a log file that stand before the first line which cannot be read. Changes nothing. Blocks.
pub fn sound_events(path: &Path) -> Result<Vec<Event>, StoreError> {
    let file = reading().open(path).map_err(|error| storage("open", path, &error))?;
    read::sound_events(&file).map_err(|error| error.in_file(path))
}

/// Reads the header and the events of some types of a log file wherever it stands, and passes over the rest. Changes
/// nothing. Blocks.
pub fn pick_from(path: &Path, types: &[&str]) -> Result<(FileHeader, Vec<Event>), StoreError> {
    let file = reading().open(path).map_err(|error| storage("open", path, &error))?;
    pick::events(&file, types).map_err(|error| error.in_file(path))
}

/// Runs file work where it may block.
fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> BoxFuture<'static, Result<T, StoreError>> {
    Box::pin(async move {
        match tokio::task::spawn_blocking(work).await {
            Ok(outcome) => outcome,
            Err(error) => {
                Err(StorageError(format!("the file work did not finish: {error}")).into())
            }
        }
    })
}

/// A folder's name under `sessions`: the workspace's own name, so that people find it, and a digest of its
/// whole path, so that no two share it.
fn slug(workspace: &Path) -> String {
    let digest = Sha256::digest(workspace.as_os_str().as_encoded_bytes());
    let name = workspace.file_name().unwrap_or_default().to_string_lossy();
    let readable: String = name
        .chars()
        .take(40)
        .map(|char| if char.is_ascii_alphanumeric() || "._-".contains(char) { char } else { '-' })
        .collect();
    let mut slug = readable.trim_start_matches('.').to_owned();
    slug.push('-');
    for byte in &digest[..6] {
        let _ = write!(slug, "{byte:02x}");
    }
    slug
}

fn create_folder(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

fn open_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    // Opening a pipe must not wait for somebody at its other end.
    options.read(true).append(true).mode(0o600).custom_flags(O_NONBLOCK);
    options
}

/// Opens a log that is there.
fn open_log(path: &Path, id: &SessionId, options: &OpenOptions) -> Result<File, StoreError> {
    let file = match options.open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(StoreError::NotFound(id.clone()));
        }
        Err(error) => return Err(storage("open", path, &error)),
    };
    if file.metadata().is_ok_and(|metadata| metadata.is_file()) {
        Ok(file)
    } else {
        Err(StoreError::Unsupported("it is not a regular file".to_owned()))
    }
}

/// For files that are only read.
fn reading() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(O_NONBLOCK);
    options
}

/// A log is that of the session that its file is named after.
fn check_id(header: &FileHeader, id: &SessionId) -> Result<(), StoreError> {
    if header.id == *id {
        return Ok(());
    }
    let reason = format!("it is the log of `{}`", header.id);
    Err(StoreError::Damaged { line: 1, reason })
}

/// The log files of a folder, by name; none when the folder is not there yet.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut paths = Vec::new();
    for entry in entries {
        let entry = entry?;
        let path = entry.path();
        // A pipe of that name would be waited for when it is opened.
        if entry.file_type()?.is_file()
            && path.extension().is_some_and(|extension| extension == EXTENSION)
        {
            paths.push(path);
        }
    }
    paths.sort_unstable();
    Ok(paths)
}

fn storage(action: &str, path: &Path, error: &io::Error) -> StoreError {
    StorageError(format!("cannot {action} `{}`: {error}", path.display())).into()
}

#[cfg(test)]
mod tests;
