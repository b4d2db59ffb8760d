//! What a crash left open is closed by appending: nothing is rewritten.

use std::sync::Arc;

use dsh_protocol::content::ContentBlock;
use dsh_protocol::event::{
    DeliberationSettled, EventData, InboxTarget, MessageOutcome, MessageOutcomeKind, Step,
    ToolResult, TurnEnded,
};
use dsh_protocol::ids::MessageId;
use dsh_protocol::message::{Message, Role, Source};
use dsh_protocol::tool::ToolError;
use dsh_protocol::turn::TurnEnd;
use dsh_protocol::workspace::ToolErrorCode;

use crate::fold::{Fold, OpenCall, OpenTurn, Violation};
use crate::rounds::OpenRound;
use crate::writer::{Draft, Writer};

/// Closes the turn that a crash left open: its rounds come out as interrupted, each call without a
/// result gets one that says whether it had begun, then the step ends; each message that the turn took and the
/// model never saw gets an outcome, what a plugin has to say once is put back, then the turn ends. All at the last event's time; a clean log is left alone.
///
/// Must not run while a turn does.
pub fn repair(writer: &Writer) -> Result<(), Violation> {
    for draft in drafts(writer) {
        writer.append(draft)?;
    }
    Ok(())
}

fn drafts(writer: &Writer) -> Vec<Draft> {
    writer.log().read(|fold: &Fold| {
        let Some(turn) = &fold.open_turn else { return Vec::new() };
        let time = fold.updated_at.unwrap_or(0);
        let mut drafts = Vec::new();
        let mut step = turn.step;
        if step.is_none() && !turn.calls.is_empty() {
            // A step never ends before its calls are answered, so that the results need one to stand in.
            step = Some(turn.last_step + 1);
            drafts.push(
                EventData::StepStart(Step { turn: turn.turn, step: turn.last_step + 1 }).into(),
            );
        }
        drafts.extend(turn.rounds.open().iter().map(interrupted));
        if let Some(step) = step {
            drafts.extend(turn.calls.iter().map(|call| outcome(turn, step, call)));
            drafts.push(EventData::StepEnd(Step { turn: turn.turn, step }).into());
        }
        drafts.extend(again(fold, turn));
        drafts.extend(turn.claimed.iter().map(|message| lost(&message.id)));
        drafts.push(
            EventData::TurnEnd(TurnEnded { turn: turn.turn, reason: TurnEnd::Interrupted }).into(),
        );
        drafts.into_iter().map(|draft: Draft| draft.at(time)).collect()
    })
}

/// The end of a round whose branches a crash took along.
fn interrupted(round: &OpenRound) -> Draft {
    let outcomes = round.started.branches.iter().map(|branch| round.interrupted(branch));
    let settled = DeliberationSettled {
        round_id: round.started.round_id.clone(),
        call_id: round.started.call_id.clone(),
        outcomes: outcomes.collect(),
    };
    EventData::DeliberationSettled(settled).into()
}

/// What puts a plugin's messages back that a crash left between the queue and the conversation: nobody else would
/// send them again. Those that an earlier repair, which a crash cut off, has put back are there already.
fn again(fold: &Fold, turn: &OpenTurn) -> Option<Draft> {
    let is_lost = |message: &&Arc<Message>| {
        let name = message.client_message_id.as_ref();
        let latest = name.and_then(|name| fold.client_messages.get(name));
        matches!(message.source, Source::Plugin { .. }) && latest == Some(&message.id)
    };
    let copy = |message: &Arc<Message>| {
        let id = MessageId::from(format!("{}-again", message.id));
        Arc::new(Message { id, ..message.as_ref().clone() })
    };
    let inserted: Vec<Arc<Message>> = turn.claimed.iter().filter(is_lost).map(copy).collect();
    (!inserted.is_empty()).then(|| fold.queued(InboxTarget::NextStep, inserted).into())
}

/// The outcome of a message that a crash left between the queue and the conversation.
fn lost(id: &MessageId) -> Draft {
    let outcome = MessageOutcome {
        message_id: id.clone(),
        kind: MessageOutcomeKind::Failed,
        reason: "the server stopped before the model was asked; send it again".to_owned(),
    };
    EventData::MessageOutcome(outcome).into()
}

/// The result of a call that a crash left without one.
fn outcome(turn: &OpenTurn, step: u64, call: &OpenCall) -> Draft {
    let (name, code, text) = match call.started {
        None => (
            "ToolNotStartedError",
            ToolErrorCode::ToolNotStarted,
            "Error: the server stopped before this call began; it is safe to call again",
        ),
        Some(_) => (
            "ToolOutcomeUnknownError",
            ToolErrorCode::ToolOutcomeUnknown,
            "Error: the server stopped while this call ran; its outcome is not known",
        ),
    };
    let message = Message {
        id: format!("{}-result", call.id).into(),
        role: Role::Tool,
        content: vec![ContentBlock::ToolResult {
            tool_call_id: call.id.clone(),
            content: vec![ContentBlock::text(text)],
            is_error: Some(true),
        }],
        source: Source::Tool { call_id: call.id.clone() },
        client_message_id: None,
    };
    let result = ToolResult {
        turn: turn.turn,
        step,
        message: Arc::new(message),
        error: Some(ToolError { name: name.to_owned(), code }),
        meta: None,
    };
    let draft = Draft::from(EventData::ToolResult(result));
    match call.started {
        Some(seq) => draft.citing(vec![seq]),
        None => draft,
    }
}
