//! A session's log in memory, for readers.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dsh_protocol::event::Event;
use dsh_protocol::session::FileHeader;
use tokio::sync::watch;

use crate::events::Events;
use crate::fold::{Fold, Violation};
use crate::run::Entry;

/// The events of one session and the state folded from them. Readers share it; only the session's
/// [`crate::writer::Writer`] adds to it.
pub struct Log {
    header: FileHeader,
    state: Mutex<State>,
    last_seq: watch::Sender<i64>,
}

#[derive(Default)]
struct State {
    events: Events,
    fold: Fold,
}

/// A log that is being read.
#[derive(Default)]
pub(crate) struct Loading(State);

impl Loading {
    /// Adds what the next line holds.
    pub(crate) fn push(&mut self, entry: Entry) -> Result<(), Violation> {
        self.0.fold.push_entry(&entry)?;
        match entry {
            Entry::One(event) => self.0.events.push(Arc::new(event)),
            Entry::Run(run) => self.0.events.push_run(run),
        }
        Ok(())
    }

    /// The log of what was added.
    pub(crate) fn done(self, header: FileHeader) -> Log {
        let last_seq = watch::Sender::new(last_seq(&self.0.fold));
        Log { header, state: Mutex::new(self.0), last_seq }
    }
}

/// Some events of a log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// The events by seq.
    pub events: Vec<Arc<Event>>,
    /// Seq of the log's last event; −1 when there is none.
    pub last_seq: i64,
    /// Whether there are more that fit behind the last one returned.
    pub more: bool,
}

impl Log {
    /// A log of the given events; the first that breaks a rule refuses it.
    pub fn new(header: FileHeader, events: Vec<Event>) -> Result<Self, Violation> {
        let mut loading = Loading::default();
        for event in events {
            loading.push(Entry::One(event))?;
        }
        Ok(loading.done(header))
    }

    /// A log without events.
    pub fn empty(header: FileHeader) -> Self {
        Loading::default().done(header)
    }

    /// What was fixed when the session was created.
    pub fn header(&self) -> &FileHeader {
        &self.header
    }

    /// Seq of the last event; −1 when there is none.
    pub fn last_seq(&self) -> i64 {
        *self.last_seq.borrow()
    }

    /// Tells when events are added.
    pub fn watch(&self) -> watch::Receiver<i64> {
        self.last_seq.subscribe()
    }

    /// Reads the folded state. The log stands still meanwhile: keep it short.
    pub fn read<T>(&self, read: impl FnOnce(&Fold) -> T) -> T {
        read(&self.lock().fold)
    }

    /// Up to `limit` events with a seq over `after`, only those that `wanted` takes. Costs what it looks at.
    pub fn page(&self, after: i64, limit: usize, wanted: impl Fn(&Event) -> bool) -> Page {
        let state = self.lock();
        let start = u64::try_from(after.saturating_add(1)).unwrap_or(0);
        let mut page = Page { last_seq: last_seq(&state.fold), ..Page::default() };
        for event in state.events.from(start).filter(|event| wanted(event)) {
            if page.events.len() == limit {
                page.more = true;
                break;
            }
            page.events.push(event);
        }
        page
    }

    /// Adds a checked event.
    pub(crate) fn push(&self, event: impl Into<Arc<Event>>) -> Result<Arc<Event>, Violation> {
        let event = event.into();
        {
            let mut state = self.lock();
            state.fold.push(&event)?;
            state.events.push(Arc::clone(&event));
        }
        self.last_seq.send_replace(seq(event.seq));
        Ok(event)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn last_seq(fold: &Fold) -> i64 {
    seq(fold.next_seq) - 1
}

fn seq(seq: u64) -> i64 {
    i64::try_from(seq).unwrap_or(i64::MAX)
}
