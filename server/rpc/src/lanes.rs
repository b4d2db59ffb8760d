//! Keeps requests of one session in the order in which the client sent them.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use dsh_protocol::ids::SessionId;
use tokio::sync::oneshot;

/// How many lanes may be remembered before those that are free are forgotten.
const LANES: usize = 256;

/// The end of each session's queue of requests.
#[derive(Default)]
pub(crate) struct Lanes {
    last: Mutex<HashMap<SessionId, oneshot::Receiver<()>>>,
}

/// A request's place in its session's queue. The next request begins when it is dropped.
pub(crate) struct Place {
    before: Option<oneshot::Receiver<()>>,
    _left: Option<oneshot::Sender<()>>,
}

impl Lanes {
    /// Takes the next place. Must be called in the order of the requests.
    pub(crate) fn enter(&self, session: Option<&SessionId>) -> Place {
        let Some(session) = session else { return Place { before: None, _left: None } };
        let (left, is_left) = oneshot::channel();
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.len() >= LANES {
            last.retain(|_, before| before.try_recv() == Err(oneshot::error::TryRecvError::Empty));
        }
        Place { before: last.insert(session.clone(), is_left), _left: Some(left) }
    }
}

impl Place {
    /// Waits until every earlier request of the session has left its place.
    pub(crate) async fn reached(&mut self) {
        if let Some(before) = self.before.take() {
            // An error says that the place was left, which is all that is asked.
            let _ = before.await;
        }
    }
}
