//! Opens logs: the `sessions` service.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use dsh_kernel::service::Key;
use dsh_protocol::event::Event;
use dsh_protocol::ids::SessionId;
use dsh_protocol::session::FileHeader;
use dsh_session::clock::Clock;
use dsh_session::log::{Log, Page};
use dsh_session::store::{Listed, PageWanted, Store, StoreError, Stored, Summary};
use dsh_session::writer::Writer;

/// The service's name.
pub const SESSIONS: Key<Sessions> = Key::new("sessions");

/// Opens and creates the logs of one workspace folder.
pub struct Sessions {
    store: Arc<dyn Store>,
    clock: Clock,
    idle: IdleLimits,
}

/// How long sessions stay loaded that nobody uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleLimits {
    /// How long after its last use one stays loaded.
    pub after: Duration,
    /// How many stay loaded; those that were used last.
    pub most: usize,
}

impl Default for IdleLimits {
    fn default() -> Self {
        Self { after: Duration::from_mins(15), most: 32 }
    }
}

impl Sessions {
    /// Sessions that are kept in `store`.
    pub fn new(store: Arc<dyn Store>, clock: Clock) -> Self {
        Self { store, clock, idle: IdleLimits::default() }
    }

    /// The same with other limits for sessions that nobody uses.
    pub fn with_idle_limits(self, idle: IdleLimits) -> Self {
        Self { idle, ..self }
    }

    /// How long sessions stay loaded that nobody uses.
    pub fn idle_limits(&self) -> IdleLimits {
        self.idle
    }

    /// Tells the time.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Creates an empty log.
    pub async fn create(&self, header: FileHeader) -> Result<Writer, StoreError> {
        let sink = self.store.create(header.clone()).await?;
        let log = Log::empty(header);
        Ok(Writer::new(Arc::new(log), sink, Arc::clone(&self.clock)))
    }

    /// Reads a log.
    pub async fn open(&self, id: SessionId) -> Result<Writer, StoreError> {
        let Stored { log, sink } = self.store.open(id).await?;
        Ok(Writer::new(Arc::new(log), sink, Arc::clone(&self.clock)))
    }

    /// Takes back a log that was created and that nobody has been told of.
    pub async fn discard(&self, id: SessionId) -> Result<(), StoreError> {
        self.store.discard(id).await
    }

    /// Reads the events of some types of a log and passes over the rest.
    pub async fn pick(
        &self,
        id: SessionId,
        types: &'static [&'static str],
    ) -> Result<Vec<Event>, StoreError> {
        self.store.pick(id, types).await
    }

    /// Every log; those that are loaded need no summary.
    pub async fn list(&self, loaded: BTreeSet<SessionId>) -> Result<Vec<Listed>, StoreError> {
        self.store.list(loaded).await
    }

    /// Sums up a log.
    pub async fn summary(&self, id: SessionId) -> Result<Summary, StoreError> {
        self.store.summary(id).await
    }

    /// Reads some events without loading the log; `None` where loading it is the better way.
    pub async fn page(
        &self,
        id: SessionId,
        wanted: PageWanted,
    ) -> Result<Option<Page>, StoreError> {
        self.store.page(id, wanted).await
    }

    /// Deletes logs; see [`Store::delete`].
    pub async fn delete(&self, ids: Vec<SessionId>) -> Result<Vec<SessionId>, StoreError> {
        self.store.delete(ids).await
    }
}
