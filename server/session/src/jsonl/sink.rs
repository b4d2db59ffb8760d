//! Writes one log file: behind the session's back, or at once when it flushes.

use std::fs::{self, File};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use dsh_protocol::event::Event;
use rustix::fs::{FlockOperation, flock};

use super::ahead::{self, Ahead};
use super::index::{Index, Stamp};
use super::lines::Mark;
use super::pending::{Batch, Pending};
use super::read::{self, ReadError};
use crate::store::{BoxFuture, LeaseError, Sink, StorageError, Summary};

/// How long until what could not be written when the right to append was given back is tried again.
const RETRY: Duration = Duration::from_millis(500);

/// How many deltas are worth a row as soon as clients are told of them.
const ROW_AT_ONCE: u64 = 32;

/// A log file that is written to.
pub(super) struct FileSink(Arc<Shared>);

struct Shared {
    path: PathBuf,
    index: Arc<Index>,
    /// Events that are not written yet. Never locked for longer than a copy.
    pending: Mutex<Pending>,
    /// How many of the log's events are where the end of this process cannot lose them, at least.
    written: AtomicU64,
    /// How many were taken.
    taken: AtomicU64,
    /// Locked while the file is worked on, from threads that may block only.
    file: Mutex<FileState>,
}

#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
struct FileState {
    file: Arc<File>,
    ahead: Ahead,
    /// Whether it is open for more than reading.
    writable: bool,
    /// How far the file goes that is known here.
    mark: Mark,
    /// Whether something half written stands behind the mark that could not be taken away.
    torn: bool,
    /// Whether bytes were written that are perhaps not on disk.
    unsynced: bool,
    /// Whether the folder's entry of the file is on disk.
    entry_synced: bool,
    /// The right to append goes back once everything is written; the summary is for the index.
    release_due: Option<Summary>,
}

impl FileSink {
    /// A file that goes as far as `mark`; one that is open for reading only is opened again when somebody wants to
    /// append.
    pub(super) fn new(
        file: File,
        writable: bool,
        path: PathBuf,
        mark: Mark,
        index: Arc<Index>,
    ) -> Self {
        let file = FileState {
            file: Arc::new(file),
            ahead: Ahead::default(),
            writable,
            mark,
            torn: false,
            unsynced: true,
            entry_synced: false,
            release_due: None,
        };
        let (written, taken) = (AtomicU64::new(mark.next_seq), AtomicU64::new(mark.next_seq));
        let pending = Mutex::default();
        Self(Arc::new(Shared { path, index, pending, written, taken, file: Mutex::new(file) }))
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

    /// Works on the file where it may block.
    fn work<T: Send + 'static, E: From<StorageError> + Send + 'static>(
        &self,
        work: impl FnOnce(&Arc<Shared>) -> Result<T, E> + Send + 'static,
    ) -> BoxFuture<'static, Result<T, E>> {
        let shared = Arc::clone(&self.0);
        Box::pin(async move {
            tokio::task::spawn_blocking(move || work(&shared)).await.unwrap_or_else(|error| {
                Err(StorageError(format!("the work on the log did not finish: {error}")).into())
            })
        })
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
        let wait = lock(&self.0.pending).add(event);
        self.0.taken.store(event.seq + 1, Ordering::Release);
        if let Some(wait) = wait {
            let shared = Arc::clone(&self.0);
            tokio::spawn(async move {
                tokio::time::sleep(wait).await;
                let written = tokio::task::spawn_blocking(move || shared.write(false)).await;
                if let Ok(Err(error)) = written {
                    tracing::warn!(%error, "will be tried again with the next flush");
                }
            });
        }
    }

    fn write_through(&self) -> u64 {
        self.0.write_through()
    }

    fn flush(&self) -> BoxFuture<'static, Result<(), StorageError>> {
        self.work(|shared| shared.write(true))
    }

    fn refresh(&self) -> BoxFuture<'static, Result<Vec<Event>, LeaseError>> {
        self.work(|shared| shared.refresh())
    }

    fn acquire(&self) -> BoxFuture<'static, Result<Vec<Event>, LeaseError>> {
        self.work(|shared| shared.acquire())
    }

    fn release(&self, summary: Summary) -> BoxFuture<'static, Result<(), StorageError>> {
        let released = self.work(|shared| {
            let mut state = lock(&shared.file);
            state.release_due = Some(summary);
            shared.release(&mut state)
        });
        let shared = Arc::downgrade(&self.0);
        Box::pin(async move {
            let released = released.await;
            if let Err(error) = &released {
                tracing::warn!(%error, "will be tried again until it works");
                tokio::spawn(release_later(shared));
            }
            released
        })
    }
}

/// Tries again to write what was left, for as long as somebody holds the sink.
async fn release_later(shared: Weak<Shared>) {
    loop {
        tokio::time::sleep(RETRY).await;
        let Some(shared) = shared.upgrade() else { return };
        let again = tokio::task::spawn_blocking(move || {
            let mut state = lock(&shared.file);
            state.release_due.is_some() && shared.release(&mut state).is_err()
        });
        if !again.await.unwrap_or(false) {
            return;
        }
    }
}

impl Shared {
    /// Writes what waits; with `sync`, also waits for the disk, while others may write on.
    fn write(&self, sync: bool) -> Result<(), StorageError> {
        let (file, length, entry_synced) = {
            let mut state = lock(&self.file);
            self.write_lines(&mut state)?;
            if !sync || !state.unsynced {
                return Ok(());
            }
            (Arc::clone(&state.file), state.mark.offset, state.entry_synced)
        };
        self.sync(&file, entry_synced)?;
        let mut state = lock(&self.file);
        if Arc::ptr_eq(&file, &state.file) {
            state.unsynced = state.mark.offset != length;
            state.entry_synced = true;
        }
        Ok(())
    }

    /// Writes what waits, whole lines only.
    fn write_lines(&self, state: &mut FileState) -> Result<(), StorageError> {
        let batch = lock(&self.pending).take();
        if !batch.is_empty()
            && let Err(error) = state.append(&batch)
        {
            lock(&self.pending).put_back(batch);
            return Err(self.failure("write", &error));
        }
        self.written.fetch_max(state.mark.next_seq, Ordering::AcqRel);
        Ok(())
    }

    /// Writes what waits and waits for the disk.
    fn write_and_sync(&self, state: &mut FileState) -> Result<(), StorageError> {
        self.write_lines(state)?;
        if state.unsynced {
            self.sync(&state.file, state.entry_synced)?;
            (state.unsynced, state.entry_synced) = (false, true);
        }
        Ok(())
    }

    fn sync(&self, file: &File, entry_synced: bool) -> Result<(), StorageError> {
        let synced = file.sync_data();
        let synced =
            synced.and_then(|()| if entry_synced { Ok(()) } else { sync_folder(&self.path) });
        synced.map_err(|error| self.failure("write", &error))
    }

    /// Writes what clients are about to be told of: lines into the log, deltas that more may follow beside it, so that
    /// they still become one row.
    fn write_through(&self) -> u64 {
        let taken = self.taken.load(Ordering::Acquire);
        if self.written.load(Ordering::Acquire) < taken {
            let mut state = lock(&self.file);
            if let Err(error) = self.write_ahead(&mut state) {
                tracing::debug!(%error, "clients are told of what is not written");
                return u64::MAX;
            }
        }
        self.written.load(Ordering::Acquire)
    }

    fn write_ahead(&self, state: &mut FileState) -> Result<(), StorageError> {
        let lines = lock(&self.pending).take_lines();
        if !lines.is_empty()
            && let Err(error) = state.append(&lines)
        {
            lock(&self.pending).put_back(lines);
            return Err(self.failure("write", &error));
        }
        self.written.fetch_max(state.mark.next_seq, Ordering::AcqRel);
        let known = self.written.load(Ordering::Acquire);
        let added = {
            let pending = lock(&self.pending);
            let Some(run) = pending.run() else { return Ok(()) };
            let few = run.next_seq().saturating_sub(known) < ROW_AT_ONCE;
            few.then(|| state.ahead.add(&self.path, &state.file, state.mark, run))
        };
        match added {
            Some(Ok(next_seq)) => {
                self.written.fetch_max(next_seq, Ordering::AcqRel);
                Ok(())
            }
            // Many are a row of their own; so are those that nothing beside the log can be written of.
            Some(Err(_)) | None => self.write_lines(state),
        }
    }

    /// Gives the right to append back, unless something cannot be written.
    fn release(&self, state: &mut FileState) -> Result<(), StorageError> {
        self.write_and_sync(state)?;
        state.ahead.remove(&self.path);
        let stamp = state.file.metadata().map(|metadata| Stamp::of(&metadata));
        let _ = flock(&state.file, FlockOperation::Unlock);
        if let (Some(summary), Ok(stamp)) = (state.release_due.take(), stamp) {
            self.index.add(vec![(summary.header.id.to_string(), stamp, summary)]);
        }
        Ok(())
    }

    fn refresh(&self) -> Result<Vec<Event>, LeaseError> {
        let mut state = lock(&self.file);
        if fs::metadata(&self.path).is_err_and(|error| error.kind() == ErrorKind::NotFound) {
            return Err(LeaseError::Deleted);
        }
        let grown = state.file.metadata().is_ok_and(|metadata| metadata.len() > state.mark.offset);
        if state.release_due.is_some() {
            return Ok(Vec::new());
        }
        let mut events = Vec::new();
        if grown {
            (events, state.mark) = self.read_tail(&state)?;
            self.written.fetch_max(state.mark.next_seq, Ordering::AcqRel);
        }
        match self.take_what_was_left(&mut state) {
            Ok(left) => events.extend(left),
            Err(error) => tracing::debug!(%error, "what stands beside the log stays there"),
        }
        Ok(events)
    }

    /// Takes in what a process that was killed has told clients of and not brought into the log.
    fn take_what_was_left(&self, state: &mut FileState) -> Result<Vec<Event>, LeaseError> {
        if !ahead::path(&self.path).exists() {
            return Ok(Vec::new());
        }
        self.follow(state).map_err(|error| self.missing(&error))?;
        // A process that writes the log brings them there itself.
        if flock(&state.file, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Ok(Vec::new());
        }
        let taken_in = self.take_in(state);
        let _ = flock(&state.file, FlockOperation::Unlock);
        taken_in
    }

    fn read_tail(&self, state: &FileState) -> Result<(Vec<Event>, Mark), LeaseError> {
        read::tail(&state.file, state.mark).map_err(|error| match error {
            ReadError::Io(error) => self.failure("read", &error).into(),
            ReadError::Damaged { line, reason } => LeaseError::Damaged { line, reason },
            ReadError::Unsupported(what) => StorageError(what).into(),
        })
    }

    fn acquire(&self) -> Result<Vec<Event>, LeaseError> {
        let mut state = lock(&self.file);
        if state.release_due.is_some() {
            // The right was never given back. Nothing more is taken on while nothing can be written.
            self.write_and_sync(&mut state)?;
            state.release_due = None;
            return Ok(Vec::new());
        }
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
        if !state.writable || (named.dev(), named.ino()) != (held.dev(), held.ino()) {
            state.file = Arc::new(super::open_options().open(&self.path)?);
            (state.writable, state.entry_synced) = (true, false);
        }
        Ok(())
    }

    /// Reads what other processes have appended, and sets aside the half line that a crash left.
    fn take_in(&self, state: &mut FileState) -> Result<Vec<Event>, LeaseError> {
        let on_disk = match fs::metadata(&self.path) {
            Ok(metadata) => metadata.len(),
            Err(error) => return Err(self.missing(&error)),
        };
        if on_disk < state.mark.offset {
            // What is missing is known here only; appending behind the gap would make the log unreadable.
            let error = std::io::Error::other("it is shorter than it was");
            return Err(self.failure("go on with", &error).into());
        }
        let mut events = Vec::new();
        if on_disk > state.mark.offset {
            let mark;
            (events, mark) = self.read_tail(state)?;
            if on_disk > mark.offset {
                cut_torn(&state.file, &self.path, mark.offset)
                    .map_err(|error| self.failure("repair", &error))?;
            }
            state.mark = mark;
        }
        let left = ahead::read(&self.path, &state.file, state.mark);
        if !left.is_empty() {
            let mut rows = Pending::default();
            for event in &left {
                let _ = rows.add(event);
            }
            state.append(&rows.take()).map_err(|error| self.failure("write", &error))?;
            events.extend(left);
        }
        state.ahead.remove(&self.path);
        self.written.fetch_max(state.mark.next_seq, Ordering::AcqRel);
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

impl FileState {
    /// Appends whole lines, or nothing.
    fn append(&mut self, batch: &Batch) -> std::io::Result<()> {
        if self.file.metadata()?.nlink() == 0 {
            // What is written to a file without a name is gone with the process.
            return Err(std::io::Error::other("the file was removed"));
        }
        if self.torn {
            self.file.set_len(self.mark.offset)?;
            self.torn = false;
        }
        if let Err(error) = self.file.as_ref().write_all(batch.bytes()) {
            self.torn = self.file.set_len(self.mark.offset).is_err();
            return Err(error);
        }
        self.mark = batch.behind(self.mark);
        self.unsynced = true;
        Ok(())
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
