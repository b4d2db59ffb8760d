//! A store of sessions that no disk holds.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use dsh_protocol::event::Event;
use dsh_protocol::ids::SessionId;
use dsh_protocol::session::FileHeader;
use dsh_session::fold::Fold;
use dsh_session::store::{
    BoxFuture, LeaseError, Sink, StorageError, Store, StoreError, Stored, Summary,
};

type Kept = Arc<Mutex<BTreeMap<SessionId, (FileHeader, Vec<Event>)>>>;

/// Keeps logs in memory.
#[derive(Clone, Default)]
pub(super) struct Shelf(Kept);

/// One log of a shelf.
struct OnShelf(Shelf, SessionId);

impl Store for Shelf {
    fn create(&self, header: FileHeader) -> BoxFuture<'_, Result<Arc<dyn Sink>, StoreError>> {
        let id = header.id.clone();
        self.0.lock().unwrap().insert(id.clone(), (header, Vec::new()));
        let sink: Arc<dyn Sink> = Arc::new(OnShelf(self.clone(), id));
        Box::pin(async { Ok(sink) })
    }

    fn open(&self, id: SessionId) -> BoxFuture<'_, Result<Stored, StoreError>> {
        let kept = self.0.lock().unwrap().get(&id).cloned();
        let sink: Arc<dyn Sink> = Arc::new(OnShelf(self.clone(), id.clone()));
        Box::pin(async move {
            let (header, events) = kept.ok_or(StoreError::NotFound(id))?;
            Ok(Stored { header, events, sink })
        })
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<Summary>, StoreError>> {
        let kept = self.0.lock().unwrap();
        let sum_up = |(header, events): &(FileHeader, Vec<Event>)| {
            Summary::of(header, &Fold::of(events).unwrap())
        };
        let summaries = kept.values().map(sum_up).collect();
        Box::pin(async { Ok(summaries) })
    }

    fn delete(&self, ids: Vec<SessionId>) -> BoxFuture<'_, Result<Vec<SessionId>, StoreError>> {
        let mut kept = self.0.lock().unwrap();
        let deleted = ids.into_iter().filter(|id| kept.remove(id).is_some()).collect();
        Box::pin(async { Ok(deleted) })
    }
}

impl Sink for OnShelf {
    fn append(&self, event: &Event) {
        self.0.0.lock().unwrap().get_mut(&self.1).unwrap().1.push(event.clone());
    }

    fn flush(&self) -> BoxFuture<'static, Result<(), StorageError>> {
        Box::pin(async { Ok(()) })
    }

    fn refresh(&self) -> BoxFuture<'static, Result<Vec<Event>, LeaseError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn acquire(&self) -> BoxFuture<'static, Result<Vec<Event>, LeaseError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn release(&self) -> BoxFuture<'static, ()> {
        Box::pin(async {})
    }
}
