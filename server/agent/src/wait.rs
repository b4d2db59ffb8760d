//! Waits for what becomes of a prompt, or for a session to rest.

use std::time::Duration;

use dsh_protocol::content::Usage;
use dsh_protocol::ids::MessageId;
use dsh_protocol::session::SessionStatus;
use dsh_protocol::turn::{NoTurn, Outcome};
use dsh_session::fold::{Fold, MessageState};

use crate::agent::Agent;

/// How often a session that is quiet here is looked at for what other processes append.
const LOOK: Duration = Duration::from_millis(250);

/// What was waited for.
#[derive(Clone, Debug, PartialEq)]
pub struct Waited {
    /// The turn, when there was one.
    pub turn: Option<u64>,
    /// What became of it.
    pub outcome: Outcome,
    /// Its last answer.
    pub text: String,
    /// Tokens of its last request.
    pub usage: Option<Usage>,
}

impl Waited {
    /// An outcome without a turn.
    pub fn without_turn(why: NoTurn) -> Self {
        Self { turn: None, outcome: Outcome::NoTurn(why), text: String::new(), usage: None }
    }

    fn turn(fold: &Fold, turn: u64) -> Option<Self> {
        let at = usize::try_from(turn).ok()?.checked_sub(1)?;
        let record = fold.turns.get(at)?;
        let outcome = Outcome::Turn(record.end.clone()?);
        Some(Self { turn: Some(turn), outcome, text: record.text(), usage: record.usage })
    }
}

/// The session has no such message.
#[derive(Debug, thiserror::Error)]
#[error("the session has no message `{0}`")]
pub struct MessageNotFound(pub MessageId);

/// Waits until the turn that takes `message` has ended, or without one until the session rests. Dropping the
/// future changes nothing.
pub async fn wait(agent: &Agent, message: Option<&MessageId>) -> Result<Waited, MessageNotFound> {
    let mut events = agent.log().watch();
    let mut status = agent.watch_status();
    loop {
        // A turn may run in another process: what it appends is looked for while nothing happens here.
        if *status.borrow() != SessionStatus::Running {
            let _ = agent.refresh().await;
        }
        events.borrow_and_update();
        let now = *status.borrow_and_update();
        let waited = match message {
            Some(id) => agent.log().read(|fold| of_message(fold, id, now))?,
            None => agent.log().read(|fold| of_session(fold, now)),
        };
        if let Some(waited) = waited {
            // What is told of a turn's end still holds when this process is killed now.
            if let Err(error) = agent.flush().await {
                tracing::debug!(session = %agent.id(), %error, "what is told is not on disk");
            }
            return Ok(waited);
        }
        let changed = tokio::select! {
            changed = events.changed() => changed,
            changed = status.changed() => changed,
            () = tokio::time::sleep(LOOK) => Ok(()),
        };
        if changed.is_err() {
            // The agent has closed: what waits now will not run here. A turn that was ended by it has its outcome.
            let last = match message {
                Some(id) => agent.log().read(|fold| of_message(fold, id, SessionStatus::Idle))?,
                None => agent.log().read(|fold| of_session(fold, SessionStatus::Idle)),
            };
            return Ok(last.unwrap_or_else(|| Waited::without_turn(NoTurn::Discarded)));
        }
    }
}

fn of_message(
    fold: &Fold,
    id: &MessageId,
    status: SessionStatus,
) -> Result<Option<Waited>, MessageNotFound> {
    match fold.messages.get(id) {
        None => Err(MessageNotFound(id.clone())),
        Some(MessageState::Claimed { turn }) => Ok(Waited::turn(fold, *turn)),
        Some(MessageState::Discarded) => Ok(Some(Waited::without_turn(NoTurn::Discarded))),
        Some(MessageState::Rejected { reason }) => {
            Ok(Some(Waited::without_turn(NoTurn::Rejected { reason: reason.clone() })))
        }
        Some(MessageState::Failed { reason }) => {
            Ok(Some(Waited::without_turn(NoTurn::Failed { reason: reason.clone() })))
        }
        Some(MessageState::Queued) => {
            Ok((status == SessionStatus::Parked).then(|| Waited::without_turn(NoTurn::Parked)))
        }
    }
}

fn of_session(fold: &Fold, status: SessionStatus) -> Option<Waited> {
    // An open turn that is not run here is run by another process, or is closed before anybody may wait.
    if status == SessionStatus::Running || fold.open_turn.is_some() {
        return None;
    }
    match fold.last_ended_turn() {
        Some((turn, _)) => Waited::turn(fold, turn),
        None => Some(Waited::without_turn(NoTurn::Idle)),
    }
}
