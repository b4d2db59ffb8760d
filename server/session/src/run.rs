//! Runs of streamed deltas of one block: how they are packed in memory, and as one row of a log file. An event
//! of its own costs some 300 bytes in memory and 150 on disk, a delta in a run little more than its text. What
//! comes out is what went in.

use dsh_protocol::content::Chunk;
use dsh_protocol::event::{AssistantChunk, Event, EventData};

mod row;

/// The most text of one run, in bytes, so that no allocation and no line grows with the answer.
pub(crate) const RUN_BYTES: usize = 64 * 1024;

/// The fewest deltas that are worth a row of their own.
pub(crate) const ROW_LEAST: usize = 3;

/// One or more events that follow one another.
#[derive(Debug)]
pub(crate) enum Entry {
    One(Event),
    Run(Run),
}

impl Entry {
    /// Seq of its first event, and the one behind its last.
    pub(crate) fn seqs(&self) -> (u64, u64) {
        match self {
            Self::One(event) => (event.seq, event.seq + 1),
            Self::Run(run) => (run.first_seq(), run.next_seq()),
        }
    }

    /// The type of its events.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::One(event) => event.data.name(),
            Self::Run(_) => CHUNK,
        }
    }
}

/// The type of the events in runs.
const CHUNK: &str = "assistant/chunk";

/// Deltas of one block that follow one another; at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    first_seq: u64,
    of: Block,
    times: Vec<u64>,
    /// Where each delta's text ends.
    ends: Vec<u32>,
    text: String,
}

/// What deltas must share to stand in one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) turn: u64,
    pub(crate) step: u64,
    index: u32,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Reasoning,
    ToolCall,
}

impl Run {
    /// A run of one event; `None` for every event but a plain delta that is not too long.
    pub(crate) fn of(event: &Event) -> Option<Self> {
        let (of, text) = delta(event)?;
        let (times, ends) = (Vec::new(), Vec::new());
        let mut run = Self { first_seq: event.seq, of, times, ends, text: String::new() };
        run.push(event.time, text);
        Some(run)
    }

    /// Adds the event that follows, if it belongs here and there is room.
    pub(crate) fn take(&mut self, event: &Event) -> bool {
        let Some((of, text)) = delta(event) else { return false };
        let fits = of == self.of
            && event.seq == self.next_seq()
            && self.text.len() + text.len() <= RUN_BYTES;
        if fits {
            self.push(event.time, text);
        }
        fits
    }

    fn push(&mut self, time: u64, text: &str) {
        self.times.push(time);
        self.text.push_str(text);
        // A run's text is far shorter than 4 GiB.
        self.ends.push(u32::try_from(self.text.len()).unwrap_or(u32::MAX));
    }

    /// Gives back the room that was kept for more.
    pub(crate) fn shrink(&mut self) {
        self.times.shrink_to_fit();
        self.ends.shrink_to_fit();
        self.text.shrink_to_fit();
    }

    /// Where the deltas belong.
    pub(crate) fn block(&self) -> Block {
        self.of
    }

    /// Seq of the first event.
    pub(crate) fn first_seq(&self) -> u64 {
        self.first_seq
    }

    /// Seq behind the last event.
    pub(crate) fn next_seq(&self) -> u64 {
        self.first_seq + self.times.len() as u64
    }

    /// When the last event was appended.
    pub(crate) fn last_time(&self) -> u64 {
        self.times.last().copied().unwrap_or(0)
    }

    /// How many events it has.
    pub(crate) fn len(&self) -> usize {
        self.times.len()
    }

    /// The event at a place, counted from 0.
    pub(crate) fn event(&self, at: usize) -> Event {
        let index = self.of.index;
        let text = self.text_at(at).to_owned();
        let chunk = match self.of.kind {
            Kind::Text => Chunk::TextDelta { index, text },
            Kind::Reasoning => Chunk::ReasoningDelta { index, text },
            Kind::ToolCall => Chunk::ToolCallDelta { index, arguments_delta: text },
        };
        let data = AssistantChunk { turn: self.of.turn, step: self.of.step, chunk };
        Event {
            seq: self.first_seq + at as u64,
            time: self.times[at],
            data: EventData::AssistantChunk(data),
            surface_op: None,
            source_event_seqs: None,
            ignorable: false,
        }
    }

    /// All its events.
    pub(crate) fn events(&self) -> impl Iterator<Item = Event> {
        (0..self.len()).map(|at| self.event(at))
    }

    fn text_at(&self, at: usize) -> &str {
        let start = if at == 0 { 0 } else { self.ends[at - 1] as usize };
        &self.text[start..self.ends[at] as usize]
    }
}

/// What a delta belongs to and its text; `None` for every other event, and for a delta with an envelope of
/// its own.
fn delta(event: &Event) -> Option<(Block, &str)> {
    let EventData::AssistantChunk(AssistantChunk { turn, step, chunk }) = &event.data else {
        return None;
    };
    let (index, kind, text) = match chunk {
        Chunk::TextDelta { index, text } => (*index, Kind::Text, text),
        Chunk::ReasoningDelta { index, text } => (*index, Kind::Reasoning, text),
        Chunk::ToolCallDelta { index, arguments_delta } => {
            (*index, Kind::ToolCall, arguments_delta)
        }
        Chunk::BlockStart { .. }
        | Chunk::BlockEnd { .. }
        | Chunk::Usage { .. }
        | Chunk::Finish { .. } => {
            return None;
        }
    };
    let plain = event.source_event_seqs.is_none()
        && event.surface_op.is_none()
        && !event.ignorable
        && text.len() <= RUN_BYTES;
    plain.then_some((Block { turn: *turn, step: *step, index, kind }, text))
}
