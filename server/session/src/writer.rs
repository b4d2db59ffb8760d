//! The one writer of a session's log.

use std::sync::Arc;

use dsh_protocol::event::{AppendTag, Empty, Event, EventData, SurfaceOp};

use crate::clock::Clock;
use crate::fold::Violation;
use crate::log::Log;
use crate::store::{LeaseError, Sink, StorageError, Summary};

/// Appends events: first to the log in memory, which readers see at once, and to the sink, which brings them
/// to disk behind the writer's back or when it is told to flush.
///
/// There is one for each log and it cannot be cloned; the session's own task holds it.
pub struct Writer {
    log: Arc<Log>,
    sink: Arc<dyn Sink>,
    clock: Clock,
    appended: Option<Appended>,
}

/// Is told of each event that was appended. Must not block.
type Appended = Box<dyn Fn(&Event) + Send + Sync>;

/// An event that is about to be appended.
#[derive(Clone, Debug)]
pub struct Draft {
    data: EventData,
    source_event_seqs: Option<Vec<u64>>,
    time: Option<u64>,
}

impl From<EventData> for Draft {
    fn from(data: EventData) -> Self {
        Self { data, source_event_seqs: None, time: None }
    }
}

impl Draft {
    /// Names the events that this one was made from.
    pub fn citing(mut self, seqs: Vec<u64>) -> Self {
        self.source_event_seqs = Some(seqs);
        self
    }

    /// Gives the event a time of its own.
    pub fn at(mut self, time: u64) -> Self {
        self.time = Some(time);
        self
    }
}

impl Writer {
    /// A writer of a log that is kept in `sink`.
    pub fn new(log: Arc<Log>, sink: Arc<dyn Sink>, clock: Clock) -> Self {
        Self { log, sink, clock, appended: None }
    }

    /// The same, which tells of each event once it is in the log. What other processes append is not told.
    pub fn telling(self, appended: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        Self { appended: Some(Box::new(appended)), ..self }
    }

    /// The log.
    pub fn log(&self) -> &Arc<Log> {
        &self.log
    }

    /// Appends an event. One that breaks a rule of the log is refused and nothing changes.
    pub fn append(&self, draft: impl Into<Draft>) -> Result<Arc<Event>, Violation> {
        let draft = draft.into();
        let event = Event {
            seq: u64::try_from(self.log.last_seq() + 1).unwrap_or(0),
            time: draft.time.unwrap_or_else(|| (self.clock)()),
            surface_op: draft.data.is_surface().then_some(SurfaceOp::Append(AppendTag::Append)),
            ignorable: draft.data.is_ignorable(),
            data: draft.data,
            source_event_seqs: draft.source_event_seqs,
        };
        let event = self.log.push(event)?;
        self.sink.append(&event);
        if let Some(appended) = &self.appended {
            appended(&event);
        }
        Ok(event)
    }

    /// Takes over the first events of another log as they are, and closes them, unless the last one does. The log
    /// must be empty.
    pub fn inherit(&self, seed: Vec<Arc<Event>>) -> Result<(), Violation> {
        let closed = seed.last().is_some_and(|last| matches!(last.data, EventData::EndSeed(_)));
        for event in seed {
            let event = self.log.push(event)?;
            self.sink.append(&event);
        }
        if closed {
            return Ok(());
        }
        self.append(EventData::EndSeed(Empty {})).map(|_| ())
    }

    /// Waits until everything appended so far is on disk.
    pub async fn flush(&self) -> Result<(), StorageError> {
        self.sink.flush().await
    }

    /// The sink, for a flush that must not hold up the session's task.
    pub fn sink(&self) -> Arc<dyn Sink> {
        Arc::clone(&self.sink)
    }

    /// Takes the right to append from other processes, and takes in what they have appended meanwhile.
    pub async fn acquire(&self) -> Result<(), AcquireError> {
        for event in self.sink.acquire().await? {
            self.log.push(event)?;
        }
        Ok(())
    }

    /// Takes in what other processes have appended, while they have the right to.
    pub async fn refresh(&self) -> Result<(), AcquireError> {
        for event in self.sink.refresh().await? {
            self.log.push(event)?;
        }
        Ok(())
    }

    /// Lets other processes append, as soon as everything is written; says why it is not yet.
    pub async fn release(&self) -> Result<(), StorageError> {
        let summary = self.log.read(|fold| Summary::of(self.log.header(), fold));
        self.sink.release(summary).await
    }
}

/// Why the right to append could not be taken.
#[derive(Debug, thiserror::Error)]
pub enum AcquireError {
    /// Another process has it, or the file cannot be read.
    #[error(transparent)]
    Lease(#[from] LeaseError),
    /// Another process appended events that break a rule.
    #[error(transparent)]
    Violation(#[from] Violation),
}
