//! Events that wait to be written, as the bytes of their lines.

use std::time::Duration;

use dsh_protocol::event::Event;
use serde::Serialize;
use tokio::time::Instant;

use super::lines::Mark;
use crate::run::{ROW_LEAST, Run};

/// How long an event may wait in memory before it is written, when nobody flushes.
const WAIT: Duration = Duration::from_millis(2);

/// The same for deltas: they come one by one, the message that they make follows them, and a run of them takes a
/// fifth of the room.
const DELTA_WAIT: Duration = Duration::from_millis(200);

/// What waits when it is written at once, in bytes.
const MOST: usize = 1024 * 1024;

/// Events that wait to be written.
#[derive(Default)]
pub(super) struct Pending {
    bytes: Vec<u8>,
    lines: u64,
    events: u64,
    /// The deltas that came last: more may follow.
    run: Option<Run>,
    /// When they are written, at the latest.
    due: Option<Instant>,
}

/// Whole lines.
pub(super) struct Batch {
    bytes: Vec<u8>,
    lines: u64,
    events: u64,
}

impl Pending {
    /// Adds an event; returns in how much time somebody must write, unless somebody is about to.
    pub(super) fn add(&mut self, event: &Event) -> Option<Duration> {
        self.events += 1;
        let joined = self.run.as_mut().is_some_and(|run| run.take(event));
        if !joined {
            self.close_run();
            self.run = Run::of(event);
            if self.run.is_none() {
                self.line(event);
            }
        }
        let wait = match self.run {
            _ if self.bytes.len() > MOST => Duration::ZERO,
            Some(_) if self.due.is_some() => return None,
            Some(_) => DELTA_WAIT,
            None => WAIT,
        };
        let due = Instant::now() + wait;
        if self.due.is_some_and(|earlier| earlier <= due) {
            return None;
        }
        self.due = Some(due);
        Some(wait)
    }

    /// Takes everything out.
    pub(super) fn take(&mut self) -> Batch {
        self.close_run();
        self.due = None;
        let Self { bytes, lines, events, .. } = std::mem::take(self);
        Batch { bytes, lines, events }
    }

    /// Takes out what has its line already, and leaves the deltas that more may follow.
    pub(super) fn take_lines(&mut self) -> Batch {
        let (bytes, lines) = (std::mem::take(&mut self.bytes), std::mem::take(&mut self.lines));
        let left = self.run.as_ref().map_or(0, |run| run.len() as u64);
        let events = std::mem::replace(&mut self.events, left) - left;
        Batch { bytes, lines, events }
    }

    /// The deltas that came last.
    pub(super) fn run(&self) -> Option<&Run> {
        self.run.as_ref()
    }

    /// Puts what could not be written in front of what came later.
    pub(super) fn put_back(&mut self, mut batch: Batch) {
        batch.bytes.append(&mut self.bytes);
        self.bytes = batch.bytes;
        self.lines += batch.lines;
        self.events += batch.events;
    }

    /// A run is packed within what is written at once.
    fn close_run(&mut self) {
        match self.run.take() {
            Some(run) if run.len() >= ROW_LEAST => self.line(&run),
            Some(run) => run.events().for_each(|event| self.line(&event)),
            None => {}
        }
    }

    fn line(&mut self, content: &impl Serialize) {
        let whole = self.bytes.len();
        if let Err(error) = serde_json::to_writer(&mut self.bytes, content) {
            // An event is plain data; should one ever not serialize, no half line may follow.
            self.bytes.truncate(whole);
            tracing::error!(%error, "an event cannot be written");
            return;
        }
        self.bytes.push(b'\n');
        self.lines += 1;
    }
}

impl Batch {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// How far the file goes once the batch stands in it.
    pub(super) fn behind(&self, mark: Mark) -> Mark {
        Mark {
            offset: mark.offset + self.bytes.len() as u64,
            lines: mark.lines + self.lines,
            next_seq: mark.next_seq + self.events,
        }
    }
}
