//! The events of a log in memory, with runs of streamed deltas packed.

use std::sync::Arc;

use dsh_protocol::event::Event;

use crate::run::Run;

/// Events by seq, from 0 without gaps.
#[derive(Debug, Default)]
pub(crate) struct Events {
    segments: Vec<Segment>,
}

#[derive(Debug)]
enum Segment {
    One(Arc<Event>),
    Run(Box<Run>),
}

impl Events {
    /// Adds the next event.
    pub(crate) fn push(&mut self, event: Arc<Event>) {
        if let Some(Segment::Run(run)) = self.segments.last_mut()
            && run.take(&event)
        {
            return;
        }
        match Run::of(&event) {
            Some(run) => self.push_run(run),
            None => self.push_segment(Segment::One(event)),
        }
    }

    /// Adds the next events.
    pub(crate) fn push_run(&mut self, run: Run) {
        self.push_segment(Segment::Run(Box::new(run)));
    }

    fn push_segment(&mut self, segment: Segment) {
        // Nothing joins a run that something stands behind.
        if let Some(Segment::Run(run)) = self.segments.last_mut() {
            run.shrink();
        }
        self.segments.push(segment);
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
            Self::Run(run) => run.first_seq(),
        }
    }

    fn from(&self, seq: u64) -> Box<dyn Iterator<Item = Arc<Event>> + '_> {
        match self {
            Self::One(event) => Box::new((event.seq >= seq).then(|| Arc::clone(event)).into_iter()),
            Self::Run(run) => {
                let skipped =
                    usize::try_from(seq.saturating_sub(run.first_seq())).unwrap_or(usize::MAX);
                Box::new((skipped..run.len()).map(|at| Arc::new(run.event(at))))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use dsh_protocol::content::Chunk;
    use dsh_protocol::event::{AssistantChunk, EventData, TurnStart};
    use proptest::prelude::*;

    use super::*;
    use crate::run::RUN_BYTES;

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
            for segment in &events.segments {
                let Segment::Run(run) = segment else { continue };
                let row = serde_json::to_string(run).unwrap();
                let again: Run = serde_json::from_str(&row).unwrap();
                prop_assert_eq!(&again, run.as_ref(), "{}", row);
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
