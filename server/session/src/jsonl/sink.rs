//! Writes one log file: behind the session's back, or at once when it flushes.

use std::fs::{self, File};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use dsh_protocol::event::Event;
use rustix::fs::{FlockOperation, flock};

use super::read::{self, ReadError};
use crate::store::{BoxFuture, LeaseError, Sink, StorageError};

/// How long an event may wait in memory before it is written, when nobody flushes.
const WRITE_BEHIND: Duration = Duration::from_millis(20);

/// A log file that is written to.
pub(super) struct FileSink(Arc<Shared>);

struct Shared {
    path: PathBuf,
    /// Serialized events that are not written yet. Never locked for longer than a copy.
    pending: Mutex<Pending>,
    /// Locked while the file is worked on, from threads that may block only.
    file: Mutex<FileState>,
}

#[derive(Default)]
struct Pending {
    bytes: Vec<u8>,
    events: u64,
    /// Whether a write is due within [`WRITE_BEHIND`].
    scheduled: bool,
}

struct FileState {
    file: File,
    /// Where the last whole line ends.
    length: u64,
    /// How many events the file has.
    events: u64,
    /// Whether bytes were written that are perhaps not on disk.
    unsynced: bool,
    /// Whether the folder's entry of the file is on disk.
    entry_synced: bool,
}

impl FileSink {
    pub(super) fn new(file: File, path: PathBuf, length: u64, events: u64) -> Self {
        let file = FileState { file, length, events, unsynced: true, entry_synced: false };
        Self(Arc::new(Shared { path, pending: Mutex::default(), file: Mutex::new(file) }))
    }

    /// Brings the folder's entry of a file that was just created to disk, beside whatever comes next, so that
    /// the first flush need not wait for it.
    pub(super) fn sync_entry(&self) {
        let shared = Arc::clone(&self.0);
        tokio::task::spawn_blocking(move || {
            let Ok(created) = lock(&shared.file).file.metadata() else { return };
            // The file is not locked meanwhile. What fails here is tried again, and reported, by the flush.
            if sync_folder(&shared.path).is_ok() {
                let mut state = lock(&shared.file);
                let same = |now: fs::Metadata| now.ino() == created.ino();
                state.entry_synced |= state.file.metadata().is_ok_and(same);
            }
        });
    }
}

/// Whether some process holds the lock of a log file.
pub(super) fn is_locked(file: &File) -> bool {
    match flock(file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => {
            let _ = flock(file, FlockOperation::Unlock);
            false
        }
        Err(_) => true,
    }
}

impl Sink for FileSink {
    fn append(&self, event: &Event) {
        let schedule = {
            let mut pending = lock(&self.0.pending);
            let whole = pending.bytes.len();
            if let Err(error) = serde_json::to_writer(&mut pending.bytes, event) {
                // An event is plain data; should one ever not serialize, no half line may follow.
                pending.bytes.truncate(whole);
                tracing::error!(seq = event.seq, %error, "event cannot be written");
                return;
            }
            pending.bytes.push(b'\n');
            pending.events += 1;
            !std::mem::replace(&mut pending.scheduled, true)
        };
        if schedule {
            let shared = Arc::clone(&self.0);
            tokio::spawn(async move {
                tokio::time::sleep(WRITE_BEHIND).await;
                let written = tokio::task::spawn_blocking(move || shared.write(false)).await;
                if let Ok(Err(error)) = written {
                    tracing::warn!(%error, "will be tried again with the next flush");
                }
            });
        }
    }

    fn flush(&self) -> BoxFuture<'static, Result<(), StorageError>> {
        let shared = Arc::clone(&self.0);
        Box::pin(async move {
            tokio::task::spawn_blocking(move || shared.write(true)).await.unwrap_or_else(|error| {
                Err(StorageError(format!("the flush did not finish: {error}")))
            })
        })
    }

    fn refresh(&self) -> BoxFuture<'static, Result<Vec<Event>, LeaseError>> {
        let shared = Arc::clone(&self.0);
        Box::pin(async move {
            tokio::task::spawn_blocking(move || shared.refresh()).await.unwrap_or_else(|error| {
                Err(StorageError(format!("the log was not read: {error}")).into())
            })
        })
    }

    fn acquire(&self) -> BoxFuture<'static, Result<Vec<Event>, LeaseError>> {
        let shared = Arc::clone(&self.0);
        Box::pin(async move {
            tokio::task::spawn_blocking(move || shared.acquire()).await.unwrap_or_else(|error| {
                Err(StorageError(format!("the lock was not taken: {error}")).into())
            })
        })
    }

    fn release(&self) -> BoxFuture<'static, ()> {
        let shared = Arc::clone(&self.0);
        Box::pin(async move {
            let released = tokio::task::spawn_blocking(move || {
                let written = shared.write(true);
                let _ = flock(&lock(&shared.file).file, FlockOperation::Unlock);
                written
            });
            if let Ok(Err(error)) = released.await {
                tracing::warn!(%error, "will be tried again with the next flush");
            }
        })
    }
}

impl Shared {
    /// Writes what waits, whole lines only; with `sync`, also waits for the disk.
    fn write(&self, sync: bool) -> Result<(), StorageError> {
        let mut state = lock(&self.file);
        let batch = {
            let mut pending = lock(&self.pending);
            pending.scheduled = false;
            std::mem::take(&mut *pending)
        };
        if !batch.bytes.is_empty() {
            if let Err(error) = state.file.write_all(&batch.bytes) {
                let whole = state.length;
                let _ = state.file.set_len(whole);
                self.put_back(batch);
                return Err(self.failure("write", &error));
            }
            state.length += batch.bytes.len() as u64;
            state.events += batch.events;
            state.unsynced = true;
        }
        if sync && state.unsynced {
            state.file.sync_data().map_err(|error| self.failure("write", &error))?;
            if !state.entry_synced {
                sync_folder(&self.path).map_err(|error| self.failure("write", &error))?;
                state.entry_synced = true;
            }
            state.unsynced = false;
        }
        Ok(())
    }

    /// Keeps a batch that could not be written in front of what came later.
    fn put_back(&self, batch: Pending) {
        let mut pending = lock(&self.pending);
        let later = std::mem::replace(&mut pending.bytes, batch.bytes);
        pending.bytes.extend_from_slice(&later);
        pending.events += batch.events;
    }

    fn refresh(&self) -> Result<Vec<Event>, LeaseError> {
        let mut state = lock(&self.file);
        if fs::metadata(&self.path).is_err_and(|error| error.kind() == ErrorKind::NotFound) {
            return Err(LeaseError::Deleted);
        }
        let grown = state.file.metadata().is_ok_and(|metadata| metadata.len() > state.length);
        if !grown {
            return Ok(Vec::new());
        }
        let (events, length) = self.read_tail(&state)?;
        state.length = length;
        state.events += events.len() as u64;
        Ok(events)
    }

    fn read_tail(&self, state: &FileState) -> Result<(Vec<Event>, u64), LeaseError> {
        read::tail(&state.file, state.length, state.events).map_err(|error| match error {
            ReadError::Io(error) => self.failure("read", &error).into(),
            ReadError::Damaged { line, reason } => LeaseError::Damaged { line, reason },
            ReadError::Unsupported(what) => StorageError(what).into(),
        })
    }

    fn acquire(&self) -> Result<Vec<Event>, LeaseError> {
        let mut state = lock(&self.file);
        self.follow(&mut state).map_err(|error| self.missing(&error))?;
        match lock_exclusive(&state.file) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Err(LeaseError::Taken),
            Err(error) => return Err(self.failure("lock", &error.into()).into()),
        }
        let taken_in = self.take_in(&mut state);
        if taken_in.is_err() {
            let _ = flock(&state.file, FlockOperation::Unlock);
        }
        taken_in
    }

    /// A file that was put in the place of the log's, as a restored copy is, is the log from now on: what is
    /// appended to one without a name is lost.
    fn follow(&self, state: &mut FileState) -> std::io::Result<()> {
        let (named, held) = (fs::metadata(&self.path)?, state.file.metadata()?);
        if (named.dev(), named.ino()) != (held.dev(), held.ino()) {
            state.file = super::open_options().open(&self.path)?;
            state.entry_synced = false;
        }
        Ok(())
    }

    /// Reads what other processes have appended, and sets aside the half line that a crash left.
    fn take_in(&self, state: &mut FileState) -> Result<Vec<Event>, LeaseError> {
        let on_disk = match fs::metadata(&self.path) {
            Ok(metadata) => metadata.len(),
            Err(error) => return Err(self.missing(&error)),
        };
        if on_disk == state.length {
            return Ok(Vec::new());
        }
        if on_disk < state.length {
            // What is missing is known here only; appending behind the gap would make the log unreadable.
            let error = std::io::Error::other("it is shorter than it was");
            return Err(self.failure("go on with", &error).into());
        }
        let (events, length) = self.read_tail(state)?;
        if on_disk > length {
            cut_torn(&state.file, &self.path, length)
                .map_err(|error| self.failure("repair", &error))?;
        }
        state.length = length;
        state.events += events.len() as u64;
        Ok(events)
    }

    /// Why there is no file of the log's name.
    fn missing(&self, error: &std::io::Error) -> LeaseError {
        if error.kind() == ErrorKind::NotFound {
            return LeaseError::Deleted;
        }
        self.failure("open", error).into()
    }

    fn failure(&self, action: &str, error: &std::io::Error) -> StorageError {
        StorageError(format!("cannot {action} `{}`: {error}", self.path.display()))
    }
}

/// Takes a file's lock. A list that looks whether it is taken holds it for a moment, hence the few tries.
pub(super) fn lock_exclusive(file: &File) -> Result<(), rustix::io::Errno> {
    for _ in 0..10 {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Err(rustix::io::Errno::WOULDBLOCK) => std::thread::sleep(Duration::from_millis(1)),
            outcome => return outcome,
        }
    }
    flock(file, FlockOperation::NonBlockingLockExclusive)
}

/// Moves what stands behind the last whole line into a file beside the log, so that nothing is thrown away.
fn cut_torn(mut file: &File, path: &Path, length: u64) -> std::io::Result<()> {
    let mut torn = Vec::new();
    file.seek(SeekFrom::Start(length))?;
    file.read_to_end(&mut torn)?;
    let mut aside = fs::OpenOptions::new();
    aside.create(true).append(true).mode(0o600);
    let mut aside = aside.open(path.with_extension("torn"))?;
    aside.write_all(&torn)?;
    aside.sync_all()?;
    file.set_len(length)?;
    file.sync_all()
}

pub(super) fn sync_folder(path: &Path) -> std::io::Result<()> {
    match path.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
