//! A client's place in a session's log.

use std::collections::BTreeMap;
use std::sync::Arc;

use dsh_protocol::event::{Event, EventData};
use dsh_protocol::ids::SessionId;
use dsh_protocol::notifications::{
    DeliberateBranch, Notification, SessionCaughtUp, SessionEvent, SessionLagged,
};
use dsh_runtime::agent::agent::Agent;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::frame;
use crate::outbox::Withheld;

/// How many events are looked at in one go.
const PAGE: usize = 256;

/// How far, in events, a client may fall behind what is live before chunks are left out.
const LAG: i64 = 50_000;

/// A client's place in a session's log. It costs the same however far behind the client is.
pub(crate) struct Subscription {
    agent: Agent,
    /// The last event that was sent or passed over.
    cursor: i64,
    /// The seq before which events may be sent: a later one could still be lost with this process.
    written: u64,
    /// Where the replay ends, until the client was told that it has.
    replay_end: Option<i64>,
    /// Whether chunk events are sent.
    chunks: bool,
    /// Chunk events that were left out and not announced yet.
    left_out: Option<(u64, u64)>,
    /// What has no event of its own and is said behind the event of that seq; the places only grow. A later one
    /// of the same kind takes an earlier one's place, so that there are a few for each branch at most.
    said: Vec<(i64, Notification)>,
    /// Until it begins.
    withheld: Option<Withheld>,
    /// Whether it goes on with the session's next agent when this one closes.
    follows: bool,
    /// Set when nothing comes any more: it ends once everything in the log was sent, and the notice behind it.
    ending: Option<Ending>,
    /// Everything was sent.
    is_over: bool,
    /// Set when the events of children are sent as well.
    pub(crate) children: Option<Children>,
    /// The subscription that a client asked for, when this one is of a child.
    pub(crate) root: Option<SessionId>,
    stopped: CancellationToken,
}

/// How a subscription ends.
struct Ending {
    /// What the client is told behind the last event.
    notice: Option<Notification>,
}

/// What a subscription that includes children knows of them.
pub(crate) struct Children {
    /// Takes those that start.
    pub(crate) started: mpsc::Sender<SessionId>,
    /// The last event that was sent of each whose subscription is over: it may run again.
    pub(crate) sent: BTreeMap<SessionId, i64>,
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.stopped.cancel();
    }
}

impl Subscription {
    /// A subscription that sends events with a greater seq than `after`. The replay ends at `last_seq`.
    pub(crate) fn new(
        agent: Agent,
        after: i64,
        last_seq: i64,
        chunks: bool,
        withheld: Withheld,
    ) -> Self {
        Self {
            agent,
            cursor: after,
            written: 0,
            replay_end: Some(last_seq),
            chunks,
            left_out: None,
            said: Vec::new(),
            withheld: Some(withheld),
            follows: true,
            ending: None,
            is_over: false,
            children: None,
            root: None,
            stopped: CancellationToken::new(),
        }
    }

    /// What keeps back what is said of the session until the subscription begins.
    pub(crate) fn take_withheld(&mut self) -> Option<Withheld> {
        self.withheld.take()
    }

    /// Whether an event is one of those that it has still to send.
    pub(crate) fn begins_before(&self, seq: u64) -> bool {
        i64::try_from(seq).unwrap_or(i64::MAX) > self.cursor
    }

    pub(crate) fn session_id(&self) -> &SessionId {
        self.agent.id()
    }

    pub(crate) fn agent(&self) -> &Agent {
        &self.agent
    }

    /// Goes on with another agent of the same session.
    pub(crate) fn go_on_with(&mut self, agent: Agent) {
        self.agent = agent;
    }

    /// Whether chunk events are sent.
    pub(crate) fn has_chunks(&self) -> bool {
        self.chunks
    }

    /// Seq of the last event that was sent or passed over.
    pub(crate) fn cursor(&self) -> i64 {
        self.cursor
    }

    /// Ends with the agent, and does not go on with the session's next one.
    pub(crate) fn end_with_agent(&mut self) {
        self.follows = false;
    }

    /// Whether it goes on with the session's next agent.
    pub(crate) fn follows(&self) -> bool {
        self.follows
    }

    /// Nothing comes any more: ends once everything in the log was sent, and then `notice`.
    pub(crate) fn end(&mut self, notice: Option<Notification>) {
        self.follows = false;
        self.ending = Some(Ending { notice });
    }

    /// Whether nothing comes any more.
    pub(crate) fn is_ending(&self) -> bool {
        self.ending.is_some() || self.is_over
    }

    /// Sends nothing up to an event, which was sent before.
    pub(crate) fn pass_over(&mut self, seq: i64) {
        self.cursor = self.cursor.max(seq);
    }

    /// Whether everything was sent.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Fires when the subscription has ended.
    pub(crate) fn stopped(&self) -> CancellationToken {
        self.stopped.clone()
    }

    /// Keeps a notice until the client was sent everything that is in the log now, and no later event before it.
    pub(crate) fn say_here(&mut self, notice: &Notification) {
        self.said.retain(|(_, earlier)| !takes_place(notice, earlier));
        self.said.push((self.agent.log().last_seq(), notice.clone()));
    }

    /// Adds the notices whose place is before the event `seq`.
    fn say_before(&mut self, seq: i64, frames: &mut Vec<Vec<u8>>) -> usize {
        let due = self.said.iter().take_while(|(place, _)| *place < seq).count();
        self.said.drain(..due).map(|(_, notice)| push(frames, &notice)).sum()
    }

    /// Whether there is something that was not sent.
    pub(crate) fn is_behind(&self) -> bool {
        self.replay_end.is_some() || self.agent.log().last_seq() > self.cursor
    }

    /// Events before a seq are where they cannot be lost.
    pub(crate) fn is_written_before(&mut self, seq: u64) {
        self.written = seq;
    }

    /// Adds frames for up to about `budget` bytes; returns how many bytes they have.
    pub(crate) fn take(&mut self, budget: usize, frames: &mut Vec<Vec<u8>>) -> usize {
        let mut bytes = 0;
        while bytes < budget {
            if self.replay_end.is_some_and(|end| self.cursor >= end)
                && self.begins_before(self.written)
            {
                self.replay_end = None;
                let caught_up =
                    SessionCaughtUp { session_id: self.session_id().clone(), seq: self.cursor };
                bytes += push(frames, &Notification::SessionCaughtUp(caught_up));
            }
            // A replay stops where it ends, so that the client is told at the right place.
            let most = match self.replay_end {
                Some(end) => PAGE.min(usize::try_from(end - self.cursor).unwrap_or(PAGE)),
                None => PAGE,
            };
            let mut page = self.agent.log().page(self.cursor, most, |_| true);
            let lags = self.replay_end.is_none() && page.last_seq - self.cursor > LAG;
            let written = page.events.partition_point(|event| event.seq < self.written);
            if written == 0 && !page.events.is_empty() {
                break;
            }
            page.events.truncate(written);
            let Some(last) = page.events.last() else {
                bytes += self.say_before(self.cursor.saturating_add(1), frames);
                if let Some(ending) = self.ending.take() {
                    bytes += ending.notice.map_or(0, |notice| push(frames, &notice));
                    self.is_over = true;
                }
                break;
            };
            self.cursor = i64::try_from(last.seq).unwrap_or(i64::MAX);
            for event in &page.events {
                bytes += self.say_before(i64::try_from(event.seq).unwrap_or(i64::MAX), frames);
                bytes += self.push_event(event, lags, frames);
            }
        }
        bytes
    }

    fn push_event(&mut self, event: &Arc<Event>, lags: bool, frames: &mut Vec<Vec<u8>>) -> usize {
        if matches!(event.data, EventData::AssistantChunk(_)) {
            if !self.chunks {
                return 0;
            }
            if lags {
                let from = self.left_out.map_or(event.seq, |(from, _)| from);
                self.left_out = Some((from, event.seq));
                return 0;
            }
        }
        let session_id = self.session_id().clone();
        let mut bytes = 0;
        if let Some((from, to)) = self.left_out.take() {
            let lagged = SessionLagged { session_id: session_id.clone(), from, to };
            bytes += push(frames, &Notification::SessionLagged(lagged));
        }
        // What was inherited is the other session's: its rounds and checks are not this one's news.
        let inherited = self.agent.log().header().seed_length.unwrap_or(0);
        let derived = Some(event).filter(|event| event.seq >= inherited);
        let derived = derived.and_then(|event| Notification::derived(&session_id, event));
        let event = SessionEvent { session_id, event: Event::clone(event) };
        bytes += push(frames, &Notification::SessionEvent(event));
        bytes + derived.map_or(0, |derived| push(frames, &derived))
    }
}

fn push(frames: &mut Vec<Vec<u8>>, notification: &Notification) -> usize {
    let frame = frame::notification(notification);
    let bytes = frame.len();
    frames.push(frame);
    bytes
}

/// Whether a notice says all that an earlier one says which was not sent yet: each state of a branch is told, of
/// what its child does only the last.
pub(crate) fn takes_place(notice: &Notification, earlier: &Notification) -> bool {
    let (Notification::DeliberateBranch(notice), Notification::DeliberateBranch(earlier)) =
        (notice, earlier)
    else {
        return false;
    };
    let key = |it: &DeliberateBranch| (it.round_id.clone(), it.state, it.activity.is_some());
    notice.label == earlier.label && key(notice) == key(earlier)
}
