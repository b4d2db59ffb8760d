//! Logs as files: `<home>/sessions/<workspace slug>/<session id>.jsonl`, a header line and then one event
//! to a line. Readable with a pager, searchable with grep.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use dsh_protocol::event::Event;
use dsh_protocol::ids::SessionId;
use dsh_protocol::session::FileHeader;
use rustix::fs::OFlags;
use sha2::{Digest, Sha256};

use crate::store::{BoxFuture, Sink, StorageError, Store, StoreError, Stored, Summary};

mod delete;
mod read;
mod sink;

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
    summaries: Arc<Mutex<BTreeMap<PathBuf, Cached>>>,
}

/// A summary and the state of the file that it was made from.
struct Cached {
    length: u64,
    modified: Option<SystemTime>,
    summary: Summary,
}

impl JsonlStore {
    /// The logs of `workspace` under `home`. Touches nothing yet.
    pub fn new(home: &Path, workspace: &Path) -> Self {
        let root = home.join("sessions");
        let folder = root.join(slug(workspace));
        Self { root, folder, summaries: Arc::default() }
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
        let sink = FileSink::new(file, path, line.len() as u64, 0);
        sink.sync_entry();
        Ok(Arc::new(sink))
    }

    fn open_now(&self, id: &SessionId) -> Result<Stored, StoreError> {
        let path = self.path(id);
        let file = match open_options().open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(StoreError::NotFound(id.clone()));
            }
            Err(error) => return Err(storage("open", &path, &error)),
        };
        if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
            return Err(StoreError::Unsupported("it is not a regular file".to_owned()));
        }
        let log = read::log(&file).map_err(|error| error.in_file(&path))?;
        let sink = Arc::new(FileSink::new(file, path, log.length, log.events.len() as u64));
        Ok(Stored { header: log.header, events: log.events, sink })
    }

    fn list_now(&self) -> Result<Vec<Summary>, StoreError> {
        let mut summaries = Vec::new();
        for path in files(&self.folder).map_err(|error| storage("list", &self.folder, &error))? {
            match self.summary(&path) {
                Ok(summary) => summaries.push(summary),
                Err(error) => {
                    tracing::warn!(path = %path.display(), %error, "session left out of the list");
                }
            }
        }
        Ok(summaries)
    }

    /// A file's summary: read again only when the file has changed.
    fn summary(&self, path: &Path) -> Result<Summary, StoreError> {
        let file = File::open(path).map_err(|error| storage("open", path, &error))?;
        let metadata = file.metadata().map_err(|error| storage("open", path, &error))?;
        let written_elsewhere = sink::is_locked(&file);
        {
            let cache = self.summaries.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(cached) = cache.get(path)
                && cached.length == metadata.len()
                && cached.modified == metadata.modified().ok()
            {
                return Ok(Summary { written_elsewhere, ..cached.summary.clone() });
            }
        }
        let log = read::log(&file).map_err(|error| error.in_file(path))?;
        let fold = crate::fold::Fold::of(&log.events).map_err(|violation| StoreError::Damaged {
            line: violation.seq + 2,
            reason: violation.rule,
        })?;
        let summary = Summary::of(&log.header, &fold);
        let cached = Cached {
            length: metadata.len(),
            modified: metadata.modified().ok(),
            summary: summary.clone(),
        };
        self.summaries
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(path.to_owned(), cached);
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

    fn list(&self) -> BoxFuture<'_, Result<Vec<Summary>, StoreError>> {
        let store = self.clone();
        blocking(move || store.list_now())
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
    let file = File::open(path).map_err(|error| storage("open", path, &error))?;
    let log = read::log(&file).map_err(|error| error.in_file(path))?;
    Ok((log.header, log.events))
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
