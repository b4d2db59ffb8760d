//! Tells whoever listens what happens to sessions.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dsh_agent::host::Observer;
use dsh_kernel::registration::Registration;
use dsh_protocol::event::{Event, EventData};
use dsh_protocol::ids::SessionId;
use dsh_protocol::notifications::{Notification, SessionChanged, SessionStatusChanged};
use dsh_protocol::session::{SessionInfo, SessionStatus};
use dsh_session::store::Sink;

/// Takes notices. Called from a session's own task: must not block.
pub trait Listener: Send + Sync {
    /// Something happened.
    fn notice(&self, notice: &Notification);

    /// An event was appended to a session's log by this process. Nobody is told of chunks.
    fn appended(&self, _session: &SessionId, _event: &Event) {}
}

type Listeners = BTreeMap<u64, Arc<dyn Listener>>;

/// Passes on what happens to sessions.
#[derive(Clone, Default)]
pub struct Notices {
    listeners: Arc<Mutex<(u64, Listeners)>>,
    /// Logs of sessions that were closed before they could be written to their end.
    unwritten: Arc<Mutex<Unwritten>>,
}

/// Logs that could not be written, by their sessions.
pub(crate) type Unwritten = BTreeMap<SessionId, Arc<dyn Sink>>;

impl Notices {
    /// Adds a listener for as long as the registration is kept.
    pub fn listen(&self, listener: Arc<dyn Listener>) -> Registration {
        let mut listeners = self.lock();
        listeners.0 += 1;
        let key = listeners.0;
        listeners.1.insert(key, listener);
        drop(listeners);
        let notices = self.clone();
        Registration::new(move || {
            notices.lock().1.remove(&key);
        })
    }

    /// How many listen.
    pub fn listeners(&self) -> usize {
        self.lock().1.len()
    }

    /// The logs of sessions that were closed before they could be written to their end.
    pub(crate) fn take_unwritten(&self) -> Unwritten {
        std::mem::take(&mut *self.unwritten.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Tells everybody.
    pub(crate) fn send(&self, notice: &Notification) {
        let listeners: Vec<_> = self.lock().1.values().cloned().collect();
        for listener in listeners {
            listener.notice(notice);
        }
    }

    fn lock(&self) -> MutexGuard<'_, (u64, Listeners)> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Notices {
    fn status(&self, session: &SessionId, status: SessionStatus) {
        let session_id = session.clone();
        self.send(&Notification::SessionStatus(SessionStatusChanged { session_id, status }));
    }

    fn changed(&self, session: SessionInfo) {
        self.send(&Notification::SessionChanged(SessionChanged::Changed { session }));
    }

    fn appended(&self, session: &SessionId, event: &Event) {
        // Most events are chunks, of which subscribers alone are told.
        if matches!(event.data, EventData::AssistantChunk(_)) {
            return;
        }
        let notice = Notification::derived(session, event);
        let listeners: Vec<_> = self.lock().1.values().cloned().collect();
        for listener in listeners {
            listener.appended(session, event);
            if let Some(notice) = &notice {
                listener.notice(notice);
            }
        }
    }

    fn left_unwritten(&self, session: &SessionId, sink: Arc<dyn Sink>) {
        let mut unwritten = self.unwritten.lock().unwrap_or_else(PoisonError::into_inner);
        unwritten.insert(session.clone(), sink);
    }

    fn notice(&self, notice: &Notification) {
        self.send(notice);
    }
}
