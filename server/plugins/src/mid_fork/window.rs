//! Which steps a window selects, and what of a session is visible.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dsh_agent::subagents::error::ProjectionCode;
use dsh_agent::subagents::request::Window;
use dsh_protocol::event::{Event, EventData, SurfaceOp};

/// A turn and a step of it.
pub(super) type StepId = (u64, u64);

/// The complete steps that a window selects, in the order in which they began.
pub(super) fn select(
    events: &[Arc<Event>],
    window: Window,
) -> Result<Vec<StepId>, (ProjectionCode, Option<u64>)> {
    let complete = complete_steps(events);
    let (selected, turn) = match window {
        Window::RecentSteps(most) => {
            let most = usize::try_from(most).unwrap_or(usize::MAX);
            (complete[complete.len().saturating_sub(most)..].to_vec(), None)
        }
        Window::CurrentTurn => {
            let open = open_turns(events);
            let [turn] = open.as_slice() else {
                return Err((ProjectionCode::NoOpenTurn, None));
            };
            (of_turn(complete, *turn), Some(*turn))
        }
        Window::Turn(turn) => {
            if !events.iter().any(|event| started_turn(event) == Some(turn)) {
                return Err((ProjectionCode::NoOpenTurn, Some(turn)));
            }
            (of_turn(complete, turn), Some(turn))
        }
    };
    if selected.is_empty() { Err((ProjectionCode::NoCompletedStep, turn)) } else { Ok(selected) }
}

fn of_turn(mut steps: Vec<StepId>, turn: u64) -> Vec<StepId> {
    steps.retain(|step| step.0 == turn);
    steps
}

/// Steps with a start and an end, however they came out.
fn complete_steps(events: &[Arc<Event>]) -> Vec<StepId> {
    let mut ended = BTreeSet::new();
    for event in events {
        if let EventData::StepEnd(step) = &event.data {
            ended.insert((step.turn, step.step));
        }
    }
    let mut complete = Vec::new();
    for event in events {
        if let EventData::StepStart(step) = &event.data
            && ended.contains(&(step.turn, step.step))
        {
            complete.push((step.turn, step.step));
        }
    }
    complete
}

/// The turn that an event begins.
pub(super) fn started_turn(event: &Event) -> Option<u64> {
    if let EventData::TurnStart(start) = &event.data { Some(start.turn) } else { None }
}

/// Turns with a start and no end.
pub(super) fn open_turns(events: &[Arc<Event>]) -> Vec<u64> {
    let mut open = Vec::new();
    for event in events {
        if let EventData::TurnStart(start) = &event.data {
            open.push(start.turn);
        } else if let EventData::TurnEnd(end) = &event.data {
            open.retain(|turn| *turn != end.turn);
        }
    }
    open
}

/// Which messages the model sees, and what took the place of those that it does not see any more.
pub(super) struct Visible {
    visible: BTreeSet<u64>,
    replaced_by: BTreeMap<u64, u64>,
}

impl Visible {
    pub(super) fn of(events: &[Arc<Event>]) -> Self {
        let mut nodes: Vec<u64> = Vec::new();
        let mut replaced_by = BTreeMap::new();
        for event in events {
            match event.surface_op {
                None => {}
                Some(SurfaceOp::Append(_)) => nodes.push(event.seq),
                Some(SurfaceOp::Replace { start, end, .. }) => {
                    let place = |seq: u64| nodes.iter().position(|node| *node == seq);
                    let (Some(first), Some(last)) = (place(start), place(end)) else { continue };
                    if first > last {
                        continue;
                    }
                    for node in nodes.splice(first..=last, [event.seq]) {
                        replaced_by.insert(node, event.seq);
                    }
                }
            }
        }
        Self { visible: nodes.into_iter().collect(), replaced_by }
    }

    /// The message that stands for one now: itself, or what took its place in the end.
    pub(super) fn stands_for(&self, seq: u64) -> Option<u64> {
        let mut seq = seq;
        while let Some(next) = self.replaced_by.get(&seq) {
            seq = *next;
        }
        self.visible.contains(&seq).then_some(seq)
    }
}
