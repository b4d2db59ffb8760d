//! A store of sessions that no disk holds.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use dsh_protocol::event::Event;
use dsh_protocol::ids::SessionId;
use dsh_protocol::session::FileHeader;
use dsh_session::fold::Fold;
use dsh_session::log::Log;
use dsh_session::store::{
    BoxFuture, LeaseError, Listed, Sink, StorageError, Store, StoreError, Stored, Summary,
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
            Ok(Stored { log: Log::new(header, events).unwrap(), sink })
        })
    }

    fn pick(
        &self,
        id: SessionId,
        types: &'static [&'static str],
    ) -> BoxFuture<'_, Result<Vec<Event>, StoreError>> {
        let kept = self.0.lock().unwrap().get(&id).cloned();
        Box::pin(async move {
            let (_, events) = kept.ok_or(StoreError::NotFound(id))?;
            Ok(events.into_iter().filter(|event| types.contains(&event.data.name())).collect())
        })
    }

    fn list(&self, _: BTreeSet<SessionId>) -> BoxFuture<'_, Result<Vec<Listed>, StoreError>> {
        let kept = self.0.lock().unwrap();
        let listed = kept.values().map(|kept| Listed::Stored(Box::new(sum_up(kept)))).collect();
        Box::pin(async { Ok(listed) })
    }

    fn summary(&self, id: SessionId) -> BoxFuture<'_, Result<Summary, StoreError>> {
        let summary = self.0.lock().unwrap().get(&id).map(sum_up);
        Box::pin(async { summary.ok_or(StoreError::NotFound(id)) })
    }

    fn delete(&self, ids: Vec<SessionId>) -> BoxFuture<'_, Result<Vec<SessionId>, StoreError>> {
        let mut kept = self.0.lock().unwrap();
        let deleted = ids.into_iter().filter(|id| kept.remove(id).is_some()).collect();
        Box::pin(async { Ok(deleted) })
    }
}

fn sum_up((header, events): &(FileHeader, Vec<Event>)) -> Summary {
    Summary::of(header, &Fold::of(events).unwrap())
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

    fn release(&self, _: Summary) -> BoxFuture<'static, Result<(), StorageError>> {
        Box::pin(async { Ok(()) })
    }
}
