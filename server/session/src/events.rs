//! The events of a log in memory, with runs of streamed deltas packed: an event of its own costs some 300
//! bytes, a delta in a run its text and 12 more. What comes out is what went in.

use std::sync::Arc;

use dsh_protocol::content::Chunk;
use dsh_protocol::event::{AssistantChunk, Event, EventData};

/// The most text of one run, in bytes, so that no allocation grows with the answer.
const RUN_BYTES: usize = 64 * 1024;

/// Events by seq, from 0 without gaps.
#[derive(Debug, Default)]
pub(crate) struct Events {
    segments: Vec<Segment>,
}

#[derive(Debug)]
enum Segment {
    One(Arc<Event>),
    Run(Run),
}

/// Deltas of one block that follow one another.
#[derive(Debug)]
struct Run {
    first_seq: u64,
    of: Block,
    times: Vec<u64>,
    /// Where each delta's text ends.
    ends: Vec<u32>,
    text: String,
}

/// What deltas must share to stand in one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Block {
    turn: u64,
    step: u64,
    index: u32,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Reasoning,
    ToolCall,
}

impl Events {
    /// Adds the next event.
    pub(crate) fn push(&mut self, event: Arc<Event>) {
        let Some((of, text)) = delta(&event) else {
            self.segments.push(Segment::One(event));
            return;
        };
        if let Some(Segment::Run(run)) = self.segments.last_mut()
            && run.of == of
            && run.text.len() + text.len() <= RUN_BYTES
        {
            run.push(event.time, text);
            return;
        }
        let mut run = Run {
            first_seq: event.seq,
            of,
            times: Vec::new(),
            ends: Vec::new(),
            text: String::new(),
        };
        run.push(event.time, text);
        self.segments.push(Segment::Run(run));
    }

    /// The events from a seq on.
    pub(crate) fn from(&self, seq: u64) -> impl Iterator<Item = Arc<Event>> {
        let at =
            self.segments.partition_point(|segment| segment.first_seq() <= seq).saturating_sub(1);
        self.segments
            .get(at..)
            .unwrap_or_default()
            .iter()
            .flat_map(move |segment| segment.from(seq))
    }
}

impl Segment {
    fn first_seq(&self) -> u64 {
        match self {
            Self::One(event) => event.seq,
            Self::Run(run) => run.first_seq,
        }
    }

    fn from(&self, seq: u64) -> Box<dyn Iterator<Item = Arc<Event>> + '_> {
        match self {
            Self::One(event) => Box::new((event.seq >= seq).then(|| Arc::clone(event)).into_iter()),
            Self::Run(run) => {
                let skipped =
                    usize::try_from(seq.saturating_sub(run.first_seq)).unwrap_or(usize::MAX);
                Box::new((skipped..run.ends.len()).map(|at| Arc::new(run.event(at))))
            }
        }
    }
}

impl Run {
    fn push(&mut self, time: u64, text: &str) {
        self.times.push(time);
        self.text.push_str(text);
        // A run's text is far shorter than 4 GiB, but for a single delta that is longer.
        self.ends.push(u32::try_from(self.text.len()).unwrap_or(u32::MAX));
    }

    fn event(&self, at: usize) -> Event {
        let start = if at == 0 { 0 } else { self.ends[at - 1] as usize };
        let text = self.text[start..self.ends[at] as usize].to_owned();
        let index = self.of.index;
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
    let plain = event.source_event_seqs.is_none() && !event.ignorable && text.len() <= RUN_BYTES;
    plain.then_some((Block { turn: *turn, step: *step, index, kind }, text))
}

#[cfg(test)]
mod tests {
    use dsh_protocol::event::TurnStart;
    use proptest::prelude::*;

    use super::*;

    fn event(seq: u64, time: u64, data: EventData) -> Arc<Event> {
        let (surface_op, source_event_seqs) = (None, None);
        Arc::new(Event { seq, time, data, surface_op, source_event_seqs, ignorable: false })
    }

    fn data() -> impl Strategy<Value = EventData> {
        let chunk =
            (0..2_u32, 0..4_u8, "[a-c🙂]{0,3}").prop_map(|(index, kind, text)| match kind {
                0 => Chunk::TextDelta { index, text },
                1 => Chunk::ReasoningDelta { index, text },
                2 => Chunk::ToolCallDelta { index, arguments_delta: text },
                _ => Chunk::BlockEnd { index },
            });
        prop_oneof![
            5 => (1..3_u64, chunk).prop_map(|(step, chunk)| {
                EventData::AssistantChunk(AssistantChunk { turn: 1, step, chunk })
            }),
            1 => Just(EventData::TurnStart(TurnStart { turn: 1 })),
        ]
    }

    proptest! {
        #[test]
        fn what_comes_out_is_what_went_in(all in prop::collection::vec((data(), 0..9_u64), 0..60)) {
            let all: Vec<_> =
                (0..).zip(all).map(|(seq, (data, time))| event(seq, time, data)).collect();
            let mut events = Events::default();
            for event in &all {
                events.push(Arc::clone(event));
            }
            for from in 0..=all.len() {
                let out: Vec<_> = events.from(from as u64).collect();
                prop_assert_eq!(out.as_slice(), &all[from..]);
            }
        }
    }

    #[test]
    fn long_runs_are_split_and_long_deltas_stand_alone() {
        let delta = |seq, text: String| {
            let chunk = Chunk::TextDelta { index: 0, text };
            event(seq, 0, EventData::AssistantChunk(AssistantChunk { turn: 1, step: 1, chunk }))
        };
        let mut events = Events::default();
        for seq in 0..10 {
            events.push(delta(seq, "x".repeat(RUN_BYTES / 4)));
        }
        events.push(delta(10, "y".repeat(RUN_BYTES + 1)));
        assert_eq!(events.segments.len(), 4);
        assert_eq!(events.from(9).count(), 2);
    }
}
