//! Where logs are kept: the `sessionStore` service.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use dsh_kernel::service::Key;
use dsh_protocol::content::Usage;
use dsh_protocol::event::Event;
use dsh_protocol::ids::{ModelId, SessionId};
use dsh_protocol::session::{FileHeader, Queue, Totals};
use serde::{Deserialize, Serialize};

use crate::fold::Fold;
use crate::log::{Log, Page};

/// A boxed future, as methods of services return.
pub type BoxFuture<'a, T> = std::pin::Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The service's name.
pub const SESSION_STORE: Key<dyn Store> = Key::new("sessionStore");

/// Keeps the logs of one workspace folder.
pub trait Store: Send + Sync {
    /// Makes room for a new log. It is there for other processes when this returns.
    fn create(&self, header: FileHeader) -> BoxFuture<'_, Result<Arc<dyn Sink>, StoreError>>;

    /// Reads a log. Changes nothing on disk.
    fn open(&self, id: SessionId) -> BoxFuture<'_, Result<Stored, StoreError>>;

    /// Reads the events of some types of a log and passes over the rest. Changes nothing on disk.
    fn pick(
        &self,
        id: SessionId,
        types: &'static [&'static str],
    ) -> BoxFuture<'_, Result<Vec<Event>, StoreError>>;

    /// Every log; those that are loaded need no summary.
    fn list(&self, loaded: BTreeSet<SessionId>) -> BoxFuture<'_, Result<Vec<Listed>, StoreError>>;

    /// Sums up a log.
    fn summary(&self, id: SessionId) -> BoxFuture<'_, Result<Summary, StoreError>>;

    /// Reads some events without loading the log; `None` where loading it is the better way.
    fn page(
        &self,
        _id: SessionId,
        _wanted: PageWanted,
    ) -> BoxFuture<'_, Result<Option<Page>, StoreError>> {
        Box::pin(async { Ok(None) })
    }

    /// Deletes logs and what else is kept of them, in this order; returns those that were there. Nothing is
    /// deleted while another process writes one of them.
    fn delete(&self, ids: Vec<SessionId>) -> BoxFuture<'_, Result<Vec<SessionId>, StoreError>>;

    /// Takes back a log that was created and that nobody has been told of, whoever has the right to append.
    fn discard(&self, id: SessionId) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move { self.delete(vec![id]).await.map(|_| ()) })
    }

    /// The folder where each log is a file, `<session id>.jsonl`; `None` when they are kept otherwise.
    fn folder(&self) -> Option<PathBuf> {
        None
    }
}

/// A log of a list.
#[derive(Clone, Debug, PartialEq)]
pub enum Listed {
    /// It is one of those that are loaded.
    Loaded(SessionId),
    /// It is not.
    Stored(Box<Summary>),
    /// It cannot be read.
    Unreadable(Box<Unreadable>),
}

/// A log that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// Whose log it is, by its place.
    pub id: SessionId,
    /// Its file, if it has one.
    pub path: Option<PathBuf>,
    /// Why.
    pub error: StoreError,
}

impl Listed {
    /// What was fixed when the session was created, of those that are not loaded.
    pub fn header(&self) -> Option<&FileHeader> {
        match self {
            Self::Loaded(_) | Self::Unreadable(_) => None,
            Self::Stored(summary) => Some(&summary.header),
        }
    }
}

/// Which events of a log are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageWanted {
    /// Those with a greater seq; −1: all.
    pub after: i64,
    /// How many at most.
    pub limit: usize,
    /// Of which types; `None`: of all.
    pub types: Option<Vec<String>>,
}

impl PageWanted {
    /// Whether events of a type are wanted.
    pub fn takes(&self, name: &str) -> bool {
        self.types.as_ref().is_none_or(|types| types.iter().any(|wanted| wanted == name))
    }
}

/// What a list shows of a log, and what is told of a session that is not loaded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct Summary {
    /// What was fixed when the session was created.
    pub header: FileHeader,
    /// Its title.
    pub title: Option<String>,
    /// The model that a person chose, else that of its last request.
    pub model: Option<ModelId>,
    /// When its last event was appended.
    pub updated_at: u64,
    /// Seq of its last event; −1 when there is none.
    pub last_seq: i64,
    /// Whether messages wait behind a turn that did not complete.
    pub parked: bool,
    /// Whether a turn is open: another process runs it, or a crash left it.
    pub open_turn: bool,
    /// Whether a review, a person's round or an agent in the background has not come out, likewise.
    pub has_open_work: bool,
    /// Tokens of the last request.
    pub usage: Option<Usage>,
    /// Tokens of all requests.
    pub totals: Totals,
    /// The messages that wait.
    pub queue: Queue,
    /// Whether another process writes it now.
    #[serde(skip)]
    pub written_elsewhere: bool,
}

impl Summary {
    /// Sums up a log.
    pub fn of(header: &FileHeader, fold: &Fold) -> Self {
        Self {
            header: header.clone(),
            title: fold.title.clone(),
            model: fold.own_model(),
            updated_at: fold.updated_at.unwrap_or(header.created_at),
            last_seq: i64::try_from(fold.next_seq).unwrap_or(i64::MAX) - 1,
            parked: fold.is_parked(),
            open_turn: fold.open_turn.is_some(),
            has_open_work: fold.has_open_work(),
            usage: fold.usage,
            totals: fold.totals,
            queue: fold.inbox.queue(),
            written_elsewhere: false,
        }
    }
}

/// A log as it was read.
pub struct Stored {
    /// The log.
    pub log: Log,
    /// Where further events go.
    pub sink: Arc<dyn Sink>,
}

/// Brings the events of one log to disk.
pub trait Sink: Send + Sync {
    /// Takes an event; it is written soon.
    fn append(&self, event: &Event);

    /// Brings everything taken so far where the end of this process, however sudden, cannot lose it, which may take
    /// a write and never waits for the disk. Returns the seq before which clients may be told of events. What cannot
    /// be written is told all the same: the turn that it belongs to ends with the reason.
    fn write_through(&self) -> u64 {
        u64::MAX
    }

    /// Waits until everything taken so far is on disk. After a failure nothing is lost: a later flush tries
    /// again.
    fn flush(&self) -> BoxFuture<'static, Result<(), StorageError>>;

    /// Reads what other processes have appended, without the right to append. A line that is only half there
    /// is left for later. Must not be called while this process has the right.
    fn refresh(&self) -> BoxFuture<'static, Result<Vec<Event>, LeaseError>>;

    /// Takes the right to append; returns what other processes have appended meanwhile.
    fn acquire(&self) -> BoxFuture<'static, Result<Vec<Event>, LeaseError>>;

    /// Writes what is left and gives the right back; `summary` is that of the whole log. What cannot be written
    /// is tried again until it can, for as long as somebody holds the sink, and the right is kept until then: what
    /// others append would stand in its place. Says why it cannot be written now.
    fn release(&self, summary: Summary) -> BoxFuture<'static, Result<(), StorageError>>;
}

/// A log that could not be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the session's log cannot be used: {0}")]
pub struct StorageError(pub String);

/// Why the right to append could not be taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LeaseError {
    /// Another process has it.
    #[error("another process runs a turn in this session; try again when it is done")]
    Taken,
    /// The log was deleted.
    #[error("the session was deleted")]
    Deleted,
    /// The log cannot be read or locked.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// What another process appended cannot be read.
    #[error("line {line} of the log is damaged: {reason}")]
    Damaged {
        /// The line, counted from 1.
        line: u64,
        /// What is wrong.
        reason: String,
    },
}

/// Why a log could not be created or opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The id is in use.
    #[error("the id `{0}` is taken")]
    Taken(SessionId),
    /// There is no such log.
    #[error("there is no session `{0}`")]
    NotFound(SessionId),
    /// Another process writes the log.
    #[error("another process runs a turn in the session `{0}`; try again when it is done")]
    Written(SessionId),
    /// The log is damaged before its end.
    #[error("line {line} of the log is damaged: {reason}")]
    Damaged {
        /// The line, counted from 1.
        line: u64,
        /// What is wrong.
        reason: String,
    },
    /// The log is of a version, or has events, that this server does not know.
    #[error("the log is not supported: {0}")]
    Unsupported(String),
    /// The disk refused.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Keeps nothing: for sessions that live in memory only.
pub struct Memory;

impl Sink for Memory {
    fn append(&self, _event: &Event) {}

    fn flush(&self) -> BoxFuture<'static, Result<(), StorageError>> {
        Box::pin(async { Ok(()) })
    }

    fn refresh(&self) -> BoxFuture<'static, Result<Vec<Event>, LeaseError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn acquire(&self) -> BoxFuture<'static, Result<Vec<Event>, LeaseError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn release(&self, _summary: Summary) -> BoxFuture<'static, Result<(), StorageError>> {
        Box::pin(async { Ok(()) })
    }
}
