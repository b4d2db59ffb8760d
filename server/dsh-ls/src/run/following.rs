//! Waits for a session while what happens in it is printed and a person may have enough of it.

use std::collections::BTreeSet;

use anyhow::Context;
use dsh_protocol::ids::ActivationId;
use dsh_protocol::turn::{AbortReason, Outcome, TurnEnd};
use dsh_runtime::agent::agent::{Agent, Cancel};
use dsh_runtime::agent::wait::Waited;

use super::INTERRUPTED;
use super::printer::{Printer, progress};
use crate::signals::Signals;

/// What subagents of a session are at work on in the background, but for some.
pub(super) fn in_background(agent: &Agent, but: &BTreeSet<ActivationId>) -> BTreeSet<ActivationId> {
    agent.log().read(|fold| {
        let open = fold.activations.open().iter().map(|open| &open.id);
        open.filter(|id| !but.contains(id)).cloned().collect()
    })
}

/// Waits until there is less in the background.
pub(super) async fn one_came_out(
    agent: &Agent,
    but: &BTreeSet<ActivationId>,
) -> anyhow::Result<()> {
    let mut events = agent.log().watch();
    let before = in_background(agent, but).len();
    while in_background(agent, but).len() >= before {
        events.changed().await.context("the session ended")?;
    }
    Ok(())
}

/// A session that is printed while something of it is waited for.
pub(super) struct Following {
    pub(super) agent: Agent,
    pub(super) signals: Signals,
    pub(super) printer: Printer,
    /// Whether a person has had enough once.
    pub(super) interrupted: bool,
}

impl Following {
    /// Waits for something. `None`: a person has had enough.
    pub(super) async fn follow<T, E>(
        &mut self,
        what: impl AsyncFnOnce(&Agent) -> Result<T, E>,
    ) -> anyhow::Result<Option<T>>
    where
        anyhow::Error: From<E>,
    {
        let Self { agent, signals, printer, interrupted } = self;
        let mut events = agent.log().watch();
        let waiting = what(agent);
        tokio::pin!(waiting);
        loop {
            printer.print(agent);
            tokio::select! {
                biased;
                came = &mut waiting => return Ok(Some(came?)),
                changed = events.changed() => changed.context("the session ended")?,
                () = signals.next() => {
                    if std::mem::replace(interrupted, true) {
                        return Ok(None);
                    }
                    let cancel = Cancel { turn: None, keep_queue: false, reason: AbortReason::User };
                    // Where no turn runs, its subagents end with the process.
                    if !agent.cancel(cancel).await?.cancelled {
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// What was answered before a person had enough is theirs all the same.
    pub(super) fn give_up(mut self) -> u8 {
        self.printer.print(&self.agent);
        self.printer.finish().err().unwrap_or(INTERRUPTED)
    }

    pub(super) fn say_what_is_waited_for(&self, earlier: &BTreeSet<ActivationId>) {
        if !self.printer.quiet {
            let agents = match in_background(&self.agent, earlier).len() {
                1 => "a subagent that works".to_owned(),
                count => format!("{count} subagents that work"),
            };
            progress(&format!("waiting for {agents} in the background"));
        }
    }

    /// Whether the session can still be woken.
    pub(super) fn goes_on(&self, waited: &Waited) -> bool {
        let ended =
            matches!(waited.outcome, Outcome::Turn(TurnEnd::Completed | TurnEnd::MaxTokens));
        ended && !self.interrupted
    }
}
