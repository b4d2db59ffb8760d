//! The rules that every event must keep: envelope, places, and balanced turns, steps and calls.

use dsh_protocol::content::ContentBlock;
use dsh_protocol::event::{Event, EventData, Step, SurfaceOp, ToolResult};
use dsh_protocol::message::Source;
use dsh_protocol::workspace::ToolErrorCode;

use super::{Fold, OpenTurn};
use crate::run::{Block, Run};

/// An event that breaks a rule of the log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("event {seq} (`{name}`): {rule}")]
pub struct Violation {
    /// Its seq.
    pub seq: u64,
    /// Its type.
    pub name: String,
    /// What is wrong.
    pub rule: String,
}

/// Checks an event against the state before it.
pub(super) fn event(fold: &Fold, event: &Event) -> Result<(), Violation> {
    envelope(fold, event)
        .and_then(|()| fold.surface.check(event))
        .and_then(|()| balance(fold, event))
        .map_err(|rule| Violation { seq: event.seq, name: event.data.name().to_owned(), rule })
}

/// The same for a run of deltas.
pub(super) fn run(fold: &Fold, run: &Run) -> Result<(), Violation> {
    let Block { turn, step, .. } = run.block();
    follows(fold, run.first_seq())
        .and_then(|()| in_step(fold, Step { turn, step }).map(|_| ()))
        .map_err(|rule| Violation {
            seq: run.first_seq(),
            name: "assistant/chunk".to_owned(),
            rule,
        })
}

fn follows(fold: &Fold, seq: u64) -> Result<(), String> {
    if seq == fold.next_seq { Ok(()) } else { Err(format!("expected seq {}", fold.next_seq)) }
}

fn envelope(fold: &Fold, event: &Event) -> Result<(), String> {
    follows(fold, event.seq)?;
    let Some(seqs) = &event.source_event_seqs else { return Ok(()) };
    if seqs.is_empty() && !matches!(event.data, EventData::AssistantMessage(_)) {
        return Err("`sourceEventSeqs` is empty".to_owned());
    }
    let mut sorted = seqs.clone();
    sorted.sort_unstable();
    sorted.dedup();
    if sorted.len() != seqs.len() {
        return Err("`sourceEventSeqs` names an event twice".to_owned());
    }
    if sorted.last().is_some_and(|last| *last >= event.seq) {
        return Err("`sourceEventSeqs` names a later event".to_owned());
    }
    Ok(())
}

fn balance(fold: &Fold, event: &Event) -> Result<(), String> {
    match &event.data {
        EventData::TurnStart(start) => match &fold.open_turn {
            Some(open) => Err(format!("turn {} is open", open.turn)),
            None if start.turn != fold.turns.len() as u64 + 1 => {
                Err(format!("expected turn {}", fold.turns.len() + 1))
            }
            None => Ok(()),
        },
        EventData::TurnEnd(end) => match open(fold, end.turn)?.step {
            Some(step) => Err(format!("step {step} is open")),
            None => Ok(()),
        },
        EventData::StepStart(step) => {
            let turn = open(fold, step.turn)?;
            match turn.step {
                Some(open) => Err(format!("step {open} is open")),
                None if step.step != turn.last_step + 1 => {
                    Err(format!("expected step {}", turn.last_step + 1))
                }
                None => Ok(()),
            }
        }
        EventData::StepEnd(step) => in_step(fold, *step).map(|_| ()),
        EventData::AssistantChunk(chunk) => {
            in_step(fold, Step { turn: chunk.turn, step: chunk.step }).map(|_| ())
        }
        EventData::AssistantMessage(answer) => {
            in_step(fold, Step { turn: answer.turn, step: answer.step }).map(|_| ())
        }
        EventData::ModelRequest(sent) => {
            in_step(fold, Step { turn: sent.turn, step: sent.step }).map(|_| ())
        }
        EventData::ModelRetry(retry) => {
            in_step(fold, Step { turn: retry.turn, step: retry.step }).map(|_| ())
        }
        EventData::ModelRetryStarted(retry) => {
            in_step(fold, Step { turn: retry.turn, step: retry.step }).map(|_| ())
        }
        EventData::ToolCall(call) => {
            in_step(fold, Step { turn: call.turn, step: call.step }).map(|_| ())
        }
        EventData::ToolResult(result) => tool_result(fold, event, result),
        EventData::EvidenceChecked(checked) => {
            open(fold, checked.turn)?;
            if checked.message_seq < event.seq {
                Ok(())
            } else {
                Err("`messageSeq` names a later event".to_owned())
            }
        }
        EventData::EvidenceItemChanged(changed) => {
            let failures = fold.failed_claims.get(&changed.seq).copied().unwrap_or_default();
            if changed.index < failures {
                Ok(())
            } else {
                Err(format!("event {} has no failure {}", changed.seq, changed.index))
            }
        }
        EventData::RequestHeader(_) | EventData::RequestContext(_) => match fold.open_turn {
            Some(_) => Ok(()),
            None => Err("no turn is open".to_owned()),
        },
        EventData::InboxSpliced(splice) => fold.inbox.check(splice),
        EventData::ReviewClaimed(_)
        | EventData::ReviewChild(_)
        | EventData::ReviewReleased(_)
        | EventData::ReviewSettled(_)
        | EventData::ReviewItemChanged(_) => {
            let open_turn = fold.open_turn.as_ref().map(|open| open.turn);
            fold.reviews.check(&event.data, fold.turns.len() as u64, open_turn)
        }
        EventData::DeliberationStarted(_)
        | EventData::DeliberationBranch(_)
        | EventData::DeliberationSettled(_) => fold.rounds.check(&event.data),
        EventData::SubagentActivated(_) | EventData::SubagentSettled(_) => {
            fold.activations.check(&event.data)
        }
        EventData::UserMessage(_)
        | EventData::EndSeed(_)
        | EventData::SessionTitle(_)
        | EventData::SessionModel(_)
        | EventData::MessageOutcome(_)
        | EventData::SubagentDescriptor(_)
        | EventData::Unknown(_) => Ok(()),
    }
}

fn tool_result(fold: &Fold, event: &Event, result: &ToolResult) -> Result<(), String> {
    let [ContentBlock::ToolResult { tool_call_id, .. }] = result.message.content.as_slice() else {
        return Err("holds exactly one `tool-result` block".to_owned());
    };
    if result.message.source != (Source::Tool { call_id: tool_call_id.clone() }) {
        return Err("the message's source must name the call of its block".to_owned());
    }
    if matches!(event.surface_op, Some(SurfaceOp::Replace { .. })) {
        return match fold.open_turn {
            Some(_) => Ok(()),
            None => Err("no turn is open".to_owned()),
        };
    }
    let turn = in_step(fold, Step { turn: result.turn, step: result.step })?;
    let never_started =
        result.error.as_ref().is_some_and(|error| error.code == ToolErrorCode::ToolNotStarted);
    match turn.calls.iter().find(|call| call.id == *tool_call_id) {
        Some(call) if call.started.is_some() || never_started => Ok(()),
        Some(_) => Err(format!("call `{tool_call_id}` was not started")),
        None => Err(format!("no call `{tool_call_id}` waits for a result")),
    }
}

fn open(fold: &Fold, turn: u64) -> Result<&OpenTurn, String> {
    match &fold.open_turn {
        Some(open) if open.turn == turn => Ok(open),
        Some(open) => Err(format!("turn {} is open, not {turn}", open.turn)),
        None => Err("no turn is open".to_owned()),
    }
}

fn in_step(fold: &Fold, step: Step) -> Result<&OpenTurn, String> {
    let turn = open(fold, step.turn)?;
    match turn.step {
        Some(open) if open == step.step => Ok(turn),
        Some(open) => Err(format!("step {open} is open, not {}", step.step)),
        None => Err("no step is open".to_owned()),
    }
}
