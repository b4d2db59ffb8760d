//! What came of work that a child was given, read from the child's log.

use std::time::Duration;

use dsh_protocol::ids::{MessageId, SessionId};
use dsh_protocol::session::SessionStatus;
use dsh_protocol::subagent::StopReason;
use dsh_protocol::turn::{AbortReason, TurnEnd};
use dsh_session::fold::{Fold, MessageState, TurnRecord};

use crate::agent::Agent;
use crate::subagents::outcome::{said_of, stop_reason};

/// How often a child that is quiet here is looked at for what other processes append.
const LOOK: Duration = Duration::from_millis(250);

/// The most characters of an answer that a parent is told; its session has the whole.
const MOST_CHARS: usize = 32_000;

/// Work that has come out.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CameOut {
    pub(super) stop_reason: StopReason,
    /// The last answer.
    pub(super) text: String,
    /// What is said of an end that is no success.
    pub(super) diagnostic: Option<String>,
    /// Whether the parent knows: it stopped the child itself.
    pub(super) is_quiet: bool,
}

impl CameOut {
    fn without_turn(stop_reason: StopReason, diagnostic: &str) -> Self {
        let diagnostic = Some(diagnostic.to_owned());
        Self { stop_reason, text: String::new(), diagnostic, is_quiet: false }
    }

    /// Of a child that is not there.
    pub(super) fn lost() -> Self {
        Self::without_turn(StopReason::Error, "the server stopped before it came to work")
    }

    /// Of the last turn of a child that the server's end kept from hearing what its own children found.
    pub(super) fn cut(fold: &Fold) -> Self {
        Self {
            text: fold.turns.last().map(TurnRecord::text).unwrap_or_default(),
            ..Self::without_turn(
                StopReason::Error,
                "the server stopped while it waited for subagents of its own",
            )
        }
    }

    /// The same of a child that was stopped meanwhile.
    pub(super) fn stopped(self, stop: Stop) -> Self {
        let is_quiet = stop == Stop::ByParent;
        Self { stop_reason: StopReason::Aborted, diagnostic: None, is_quiet, ..self }
    }

    /// Of a child that was closed while it had not come out.
    pub(super) fn closed(fold: &Fold, stop: Stop) -> Self {
        Self::cut(fold).stopped(stop)
    }

    fn of_turn(fold: &Fold, at: usize, end: &TurnEnd) -> Self {
        Self {
            stop_reason: stop_reason(Some(end)),
            text: fold.turns[at].text(),
            diagnostic: said_of(Some(end)),
            is_quiet: *end == TurnEnd::Aborted { reason: AbortReason::Parent },
        }
    }
}

/// Who stopped a child that had no turn which could say so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// Its parent, which need not be told.
    ByParent,
    /// Whoever closed its session.
    Closed,
}

/// How far the work is.
pub(super) enum Progress {
    /// Nobody has begun.
    Waits,
    /// It is at work, or its own children are.
    Runs,
    Out(CameOut),
}

/// How far the work of a message is. Where the child's own children had work when its turn ended, what it says of
/// them counts.
pub(super) fn progress(fold: &Fold, message: &MessageId) -> Progress {
    let turn = match fold.messages.get(message) {
        None | Some(MessageState::Queued) => return Progress::Waits,
        Some(MessageState::Discarded) => {
            return Progress::Out(CameOut::without_turn(
                StopReason::Aborted,
                "its message was taken back before it began",
            ));
        }
        Some(MessageState::Rejected { .. }) => {
            return Progress::Out(CameOut::without_turn(
                StopReason::Refusal,
                "its prompt was refused",
            ));
        }
        Some(MessageState::Failed { .. }) => {
            return Progress::Out(CameOut::without_turn(StopReason::Error, "it could not begin"));
        }
        Some(MessageState::Claimed { turn }) => *turn,
    };
    let at = usize::try_from(turn).unwrap_or(usize::MAX).saturating_sub(1);
    let Some(record) = fold.turns.get(at) else { return Progress::Runs };
    let Some(end) = &record.end else { return Progress::Runs };
    let is_done = matches!(end, TurnEnd::Completed | TurnEnd::MaxTokens);
    if !is_done || !record.left_children {
        return Progress::Out(CameOut::of_turn(fold, at, end));
    }
    if !fold.activations.open().is_empty() {
        return Progress::Runs;
    }
    // It was told of them, and says the last word in the turn that took this in.
    let last = fold.turns.len() - 1;
    match &fold.turns[last].end {
        Some(TurnEnd::Completed | TurnEnd::MaxTokens) if !fold.inbox.next_turn.is_empty() => {
            Progress::Runs
        }
        // Messages behind a turn that stopped short stay where they are.
        Some(end) => Progress::Out(CameOut::of_turn(fold, last, end)),
        None => Progress::Runs,
    }
}

/// Waits until the work of a message has come out. `None`: the child has closed before.
pub(super) async fn came_out(child: &Agent, message: &MessageId) -> Option<CameOut> {
    let mut events = child.log().watch();
    let mut is_closed = false;
    loop {
        events.borrow_and_update();
        let progress = child.log().read(|fold| progress(fold, message));
        match progress {
            Progress::Out(out) => return Some(out),
            Progress::Waits | Progress::Runs if is_closed => return None,
            Progress::Waits | Progress::Runs => {}
        }
        tokio::select! {
            changed = events.changed() => is_closed = changed.is_err(),
            () = child.closed() => is_closed = true,
            () = tokio::time::sleep(LOOK), if child.status() != SessionStatus::Running => {
                // A turn may run in another process. One that has closed is noticed above.
                let _ = child.refresh().await;
            }
        }
    }
}

/// One line for people, at most 120 characters.
pub(super) fn summary(about: &str, out: &CameOut) -> String {
    let line = format!("subagent \u{b7} {} \u{b7} {about}", out.stop_reason.as_str());
    line.chars().map(|char| if char.is_control() { ' ' } else { char }).take(120).collect()
}

/// What the parent's model reads.
pub(super) fn told(child: &SessionId, about: &str, out: &CameOut) -> String {
    let is_done = out.stop_reason == StopReason::Completed;
    let mut text = match &out.diagnostic {
        _ if is_done => format!("Subagent `{child}` ({about}) is done."),
        Some(why) => format!("Subagent `{child}` ({about}) stopped before it was done: {why}."),
        None => format!("Subagent `{child}` ({about}) was cancelled before it was done."),
    };
    let said = out.text.trim();
    if said.is_empty() {
        return text;
    }
    text.push_str(if is_done { " It says:\n" } else { " What it had said:\n" });
    let end = said.char_indices().nth(MOST_CHARS).map_or(said.len(), |(end, _)| end);
    text.push_str(&said[..end]);
    if end < said.len() {
        text.push_str("\n[cut: its session has the whole answer]");
    }
    text
}
