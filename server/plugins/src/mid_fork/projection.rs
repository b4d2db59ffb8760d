//! A window of a session, as what a subagent inherits and what it is shown. A pure function of the log.

use std::collections::BTreeSet;
use std::sync::Arc;

use dsh_agent::subagents::error::{Measured, ProjectionCode, ProjectionError};
use dsh_agent::subagents::request::Window;
use dsh_protocol::content::ContentBlock;
use dsh_protocol::event::{Event, EventData, SurfaceOp};

use super::render::{Counts, Rendering};
use super::window::{StepId, Visible, select, started_turn};

/// What a snapshot leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mask {
    /// The model's reasoning.
    ReasoningOnly,
    /// All of the model's words: what it did is left.
    ActionOnly,
}

impl Mask {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::ReasoningOnly => "reasoning-only",
            Self::ActionOnly => "action-only",
        }
    }
}

/// What is to be shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Options {
    /// Which part of the session.
    pub(super) window: Window,
    /// What is left out of it.
    pub(super) mask: Mask,
    /// The most UTF-16 units; `None`: any number.
    pub(super) max_chars: Option<u64>,
    /// The most images; `None`: any number.
    pub(super) max_images: Option<u64>,
}

/// A window as it is shown. Nothing of it is cut short: what does not fit is refused.
#[derive(Debug)]
pub(super) struct Projection {
    /// What the subagent's session begins with: everything before the window's first turn, as it is.
    pub(super) seed: Vec<Arc<Event>>,
    /// The window: texts and images.
    pub(super) content: Vec<ContentBlock>,
    pub(super) projected_turns: u64,
    pub(super) projected_steps: u32,
    pub(super) omitted_reasoning_blocks: u64,
    pub(super) projected_assistant_messages: u64,
    pub(super) omitted_assistant_visible_messages: u64,
    /// The length in UTF-16 units, each image counted as a line of figures; the fence does not count.
    pub(super) snapshot_chars: u64,
    pub(super) projected_images: u64,
    pub(super) projected_image_bytes: u64,
}

/// Shows a window of a log.
pub(super) fn project(
    events: &[Arc<Event>],
    options: &Options,
) -> Result<Projection, ProjectionError> {
    let refusal = |code, turn| refusal(options, code, turn);
    let steps = select(events, options.window).map_err(|(code, turn)| refusal(code, turn))?;
    let turns: BTreeSet<u64> = steps.iter().map(|step| step.0).collect();
    let cut = steps.first().and_then(|first| start_of(events, first.0)).unwrap_or(0);
    let visible = Visible::of(events);
    let rendering =
        Rendering { events, options, steps: &steps, turns: &turns, cut, visible: &visible };
    let (content, counts) = rendering.run();
    let shown = content.shown();
    let snapshot_chars = shown.encode_utf16().count() as u64;
    let (images, image_bytes) = (content.images, content.image_bytes);
    let projected_steps = u32::try_from(steps.len()).unwrap_or(u32::MAX);
    let over = |code| ProjectionError {
        projected_steps,
        chars: Some(Measured { actual: snapshot_chars, most: options.max_chars }),
        images: Some(Measured { actual: images, most: options.max_images }),
        image_bytes,
        ..refusal(code, turn_of(options.window, &steps))
    };
    if options.max_images.is_some_and(|most| images > most) {
        return Err(over(ProjectionCode::ImageLimit));
    }
    if options.max_chars.is_some_and(|most| snapshot_chars > most) {
        return Err(over(ProjectionCode::OverBudget));
    }
    let Counts { reasoning_blocks, shown_answers, hidden_answers } = counts;
    Ok(Projection {
        seed: seed(events, cut, &visible),
        content: content.blocks(),
        projected_turns: turns.len() as u64,
        projected_steps,
        omitted_reasoning_blocks: reasoning_blocks,
        projected_assistant_messages: shown_answers,
        omitted_assistant_visible_messages: hidden_answers,
        snapshot_chars,
        projected_images: images,
        projected_image_bytes: image_bytes,
    })
}

/// Where a turn begins.
fn start_of(events: &[Arc<Event>], turn: u64) -> Option<usize> {
    events.iter().position(|event| started_turn(event) == Some(turn))
}

/// The turn of a window that is one turn.
fn turn_of(window: Window, steps: &[StepId]) -> Option<u64> {
    match window {
        Window::RecentSteps(_) => None,
        Window::CurrentTurn | Window::Turn(_) => steps.first().map(|step| step.0),
    }
}

fn refusal(options: &Options, code: ProjectionCode, turn: Option<u64>) -> ProjectionError {
    let requested_steps = match options.window {
        Window::RecentSteps(steps) => Some(steps),
        Window::CurrentTurn | Window::Turn(_) => None,
    };
    ProjectionError {
        code,
        window: options.window,
        turn,
        requested_steps,
        projected_steps: 0,
        chars: None,
        images: None,
        image_bytes: 0,
    }
}

/// Everything before the cut, as it is. A summary that was written after the cut and stands for a part before it
/// comes along, so that the part does not grow back to its full length.
fn seed(events: &[Arc<Event>], cut: usize, visible: &Visible) -> Vec<Arc<Event>> {
    let mut seed = events[..cut].to_vec();
    let inherited = cut as u64;
    for event in &events[cut..] {
        let (EventData::UserMessage(_), Some(SurfaceOp::Replace { start, end, .. })) =
            (&event.data, event.surface_op)
        else {
            continue;
        };
        let mut cited = event.source_event_seqs.clone().unwrap_or_default();
        let is_before =
            start < inherited && end < inherited && cited.iter().all(|seq| *seq < inherited);
        if is_before && visible.stands_for(event.seq) == Some(event.seq) {
            cited.dedup();
            let moved = Event {
                seq: seed.len() as u64,
                source_event_seqs: Some(cited),
                ..event.as_ref().clone()
            };
            seed.push(Arc::new(moved));
        }
    }
    seed
}
