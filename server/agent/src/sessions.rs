//! Opens logs: the `sessions` service.

use std::sync::Arc;

use dsh_kernel::service::Key;
use dsh_protocol::event::Event;
use dsh_protocol::ids::SessionId;
use dsh_protocol::session::FileHeader;
use dsh_session::clock::Clock;
use dsh_session::log::Log;
use dsh_session::store::{Store, StoreError, Summary};
use dsh_session::writer::Writer;

/// The service's name.
pub const SESSIONS: Key<Sessions> = Key::new("sessions");

/// Opens and creates the logs of one workspace folder.
pub struct Sessions {
    store: Arc<dyn Store>,
    clock: Clock,
}

impl Sessions {
    /// Sessions that are kept in `store`.
    pub fn new(store: Arc<dyn Store>, clock: Clock) -> Self {
        Self { store, clock }
    }

    /// Tells the time.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Creates an empty log.
    pub async fn create(&self, header: FileHeader) -> Result<Writer, StoreError> {
        let sink = self.store.create(header.clone()).await?;
        let log = Log::new(header, Vec::new()).map_err(damaged)?;
        Ok(Writer::new(Arc::new(log), sink, Arc::clone(&self.clock)))
    }

    /// Reads a log.
    pub async fn open(&self, id: SessionId) -> Result<Writer, StoreError> {
        let stored = self.store.open(id).await?;
        let log = Log::new(stored.header, stored.events).map_err(damaged)?;
        Ok(Writer::new(Arc::new(log), stored.sink, Arc::clone(&self.clock)))
    }

    /// Reads the events of some types of a log and passes over the rest.
    pub async fn pick(
        &self,
        id: SessionId,
        types: &'static [&'static str],
    ) -> Result<Vec<Event>, StoreError> {
        self.store.pick(id, types).await
    }

    /// Sums up every log.
    pub async fn list(&self) -> Result<Vec<Summary>, StoreError> {
        self.store.list().await
    }
}

fn damaged(violation: dsh_session::fold::Violation) -> StoreError {
    // Line 1 is the header, and seq counts from 0.
    StoreError::Damaged { line: violation.seq + 2, reason: violation.rule }
}
