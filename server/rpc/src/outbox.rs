//! What waits to be sent to one client, bounded without ever losing an answer or an event.
//!
//! Answers are kept until they are delivered; past a limit the connection stops reading. Notices about a
//! session replace each other. Events are not kept at all: a subscription is a place in the log.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use dsh_protocol::ids::SessionId;
use dsh_protocol::notifications::Notification;
use dsh_runtime::agent::agent::Agent;
use dsh_runtime::agent::agents::OpenError;
use dsh_runtime::runtime::SessionError;
use dsh_runtime::session::store::StoreError;
use indexmap::IndexMap;
use serde_json::Value;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::cx::Server;
use crate::frame;
use crate::subscription::Subscription;

mod listener;
mod withheld;

use withheld::Kept;
pub(crate) use withheld::Withheld;

/// About how many bytes of frames are handed out at once.
const BATCH_BYTES: usize = 256 * 1024;

/// How long a client may leave what is sent to it unread before it is given up.
const UNREAD: Duration = Duration::from_mins(1);

/// How often a session that is quiet here is looked at for what other processes append: seldom, and often while they
/// do.
const LOOK: Duration = Duration::from_millis(500);
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// How many notices of events wait for a client that reads slowly; the oldest go first. The log has them.
const DERIVED_MOST: usize = 1000;

/// What waits to be sent to one client.
#[derive(Default)]
pub struct Outbox {
    state: Mutex<State>,
    /// Something waits.
    filled: Notify,
    /// Something was handed out.
    drained: Notify,
}

#[derive(Default)]
struct State {
    responses: VecDeque<Vec<u8>>,
    response_bytes: usize,
    /// The last notice of each kind about each session or folder.
    notices: IndexMap<(&'static str, String), Notification>,
    /// Notices of events of sessions that the client does not subscribe to, and what was said between them.
    derived: VecDeque<Notification>,
    /// What is kept back of sessions that are being subscribed to.
    withheld: IndexMap<SessionId, Kept>,
    subscriptions: IndexMap<SessionId, Subscription>,
    /// The subscription whose turn is next.
    next: usize,
    /// No more will be added; the writer ends when nothing waits.
    closed: bool,
    /// Nobody takes frames any more; what is added is dropped.
    abandoned: bool,
}

impl State {
    /// Adds a notice of an event, or one that has its place between those.
    fn derive(&mut self, notice: Notification) {
        if self.derived.len() == DERIVED_MOST {
            self.derived.pop_front();
        }
        self.derived.push_back(notice);
    }

    /// Ends a session's subscription, and those of the children that it includes.
    fn remove(&mut self, session: &SessionId) {
        self.subscriptions.shift_remove(session);
        self.subscriptions.retain(|_, child| child.root.as_ref() != Some(session));
    }

    /// Takes out the subscriptions that are over; what was sent of children is remembered.
    fn remove_those_over(&mut self) {
        let over: Vec<SessionId> = self
            .subscriptions
            .iter()
            .filter(|(_, subscription)| subscription.is_over())
            .map(|(session, _)| session.clone())
            .collect();
        for session in over {
            let Some(ended) = self.subscriptions.shift_remove(&session) else { continue };
            let root = ended.root.as_ref().and_then(|root| self.subscriptions.get_mut(root));
            if let Some(children) = root.and_then(|root| root.children.as_mut()) {
                children.sent.insert(session, ended.cursor());
            }
        }
    }
}

impl Outbox {
    /// Adds an answer. Never refused: see [`Outbox::room`].
    pub(crate) fn respond(&self, frame: Vec<u8>) {
        {
            let mut state = self.lock();
            if state.abandoned {
                return;
            }
            state.response_bytes += frame.len();
            state.responses.push_back(frame);
        }
        self.filled.notify_one();
    }

    /// Sends a notification of a door's own protocol, behind the answers that wait.
    pub fn send_notification(&self, method: &str, params: &Value) {
        self.respond(frame::foreign(None, method, params));
    }

    /// Sends a request of a door's own protocol, behind the answers that wait. Nothing may depend on its answer.
    pub fn send_request(&self, id: &str, method: &str, params: &Value) {
        self.respond(frame::foreign(Some(id), method, params));
    }

    /// Adds an answer and the subscription that it promises, in place of the one that the session had: no event
    /// comes between them.
    pub(crate) fn subscribe(
        self: &Arc<Self>,
        answer: Vec<u8>,
        mut subscription: Subscription,
        server: &Arc<Server>,
    ) {
        let _let_out = subscription.take_withheld();
        {
            let mut state = self.lock();
            if state.abandoned {
                return;
            }
            state.response_bytes += answer.len();
            state.responses.push_back(answer);
            state.hand_over(&mut subscription);
            self.insert(&mut state, subscription, server);
        }
        self.filled.notify_one();
    }

    fn insert(
        self: &Arc<Self>,
        state: &mut State,
        subscription: Subscription,
        server: &Arc<Server>,
    ) {
        let (agent, stopped) = (subscription.agent().clone(), subscription.stopped());
        state.remove(agent.id());
        state.subscriptions.insert(agent.id().clone(), subscription);
        tokio::spawn(wake(Arc::downgrade(self), agent, stopped, Arc::downgrade(server)));
    }

    /// Adds a child to the subscription that includes it, from `after` on unless some of it was sent before. `ended`
    /// says that nothing comes any more. Returns what fires when the child's subscription has ended; `None` when the
    /// client does not want it or has it already.
    pub(crate) fn subscribe_child(
        self: &Arc<Self>,
        root: &SessionId,
        mut child: Subscription,
        server: &Arc<Server>,
    ) -> Option<CancellationToken> {
        let stopped = child.stopped();
        let _let_out = child.take_withheld();
        {
            let mut state = self.lock();
            if state.subscriptions.contains_key(child.session_id()) {
                return None;
            }
            let children = state.subscriptions.get(root)?.children.as_ref()?;
            if let Some(sent) = children.sent.get(child.session_id()) {
                child.pass_over(*sent);
            }
            child.root = Some(root.clone());
            state.hand_over(&mut child);
            self.insert(&mut state, child, server);
        }
        self.filled.notify_one();
        Some(stopped)
    }

    /// Lets a session's subscription end with its agent.
    pub(crate) fn finish(&self, session: &SessionId) {
        if let Some(subscription) = self.lock().subscriptions.get_mut(session) {
            subscription.end_with_agent();
        }
    }

    /// Nothing comes of a child any more: its subscription ends when everything was sent.
    pub(crate) fn end_child(&self, session: &SessionId) {
        if let Some(child) = self.lock().subscriptions.get_mut(session)
            && child.root.is_some()
            && !child.is_ending()
        {
            child.end(None);
        }
        self.filled.notify_one();
    }

    /// A session's agent has closed: whether its subscription goes on with the next one. If not, it ends.
    fn goes_on(&self, session: &SessionId) -> bool {
        let follows = {
            let mut state = self.lock();
            let Some(subscription) = state.subscriptions.get_mut(session) else { return false };
            if !subscription.follows() && !subscription.is_ending() {
                subscription.end(None);
            }
            subscription.follows()
        };
        self.filled.notify_one();
        follows
    }

    /// Goes on with another agent of a session, at the same place in its log.
    fn go_on_with(&self, agent: &Agent) {
        if let Some(subscription) = self.lock().subscriptions.get_mut(agent.id()) {
            subscription.go_on_with(agent.clone());
        }
        self.filled.notify_one();
    }

    /// Ends a session's subscription, if it has one.
    pub(crate) fn unsubscribe(&self, session: &SessionId) {
        self.lock().remove(session);
    }

    /// Waits until less than `bytes` of answers wait.
    pub(crate) async fn room(&self, bytes: usize) {
        loop {
            let drained = self.drained.notified();
            tokio::pin!(drained);
            // Registered before the look, so that no hand-out in between is missed.
            drained.as_mut().enable();
            if self.lock().response_bytes < bytes {
                return;
            }
            drained.await;
        }
    }

    /// Ends the outbox: what waits is still handed out.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.filled.notify_one();
    }

    /// The client takes no more frames: nothing is kept for it, and nobody waits for it to read.
    pub(crate) fn abandon(&self) {
        *self.lock() = State { abandoned: true, closed: true, ..State::default() };
        self.drained.notify_waiters();
    }

    /// Waits for frames and takes a batch of them; `None` once the outbox is closed and empty.
    async fn take(&self) -> Option<Vec<Vec<u8>>> {
        loop {
            let filled = self.filled.notified();
            self.write_through();
            let (frames, closed) = self.take_now();
            if !frames.is_empty() {
                self.drained.notify_waiters();
                return Some(frames);
            }
            if closed {
                return None;
            }
            filled.await;
        }
    }

    /// Brings what is about to be sent of sessions where it cannot be lost any more: what a client was told of and the
    /// log does not have would be another event after a restart. Nobody who adds something waits meanwhile.
    fn write_through(&self) {
        let behind: Vec<Agent> = {
            let state = self.lock();
            let subscriptions = state.subscriptions.values().filter(|it| it.is_behind());
            subscriptions.map(|subscription| subscription.agent().clone()).collect()
        };
        for agent in behind {
            let written = agent.write_through();
            if let Some(subscription) = self.lock().subscriptions.get_mut(agent.id()) {
                subscription.is_written_before(written);
            }
        }
    }

    /// Sends what waits, framed by the door, until the outbox is closed or the client takes no more.
    pub async fn write<W: AsyncWrite + Unpin>(
        outbox: Arc<Self>,
        output: W,
        frame: fn(&[u8], &mut Vec<u8>),
    ) {
        if let Err(error) = outbox.write_all(output, frame).await {
            tracing::warn!(%error, "the client takes no more frames");
            outbox.abandon();
        }
    }

    async fn write_all<W: AsyncWrite + Unpin>(
        &self,
        mut output: W,
        frame: fn(&[u8], &mut Vec<u8>),
    ) -> std::io::Result<()> {
        let mut batch = Vec::new();
        while let Some(frames) = self.take().await {
            batch.clear();
            for body in frames {
                frame(&body, &mut batch);
            }
            let written = async {
                output.write_all(&batch).await?;
                output.flush().await
            };
            tokio::time::timeout(UNREAD, written)
                .await
                .map_err(|_| std::io::ErrorKind::TimedOut)??;
        }
        Ok(())
    }

    /// Answers first, then notices, then events of each subscription in turn.
    fn take_now(&self) -> (Vec<Vec<u8>>, bool) {
        let mut state = self.lock();
        let mut frames = Vec::new();
        let mut bytes = 0;
        while bytes < BATCH_BYTES
            && let Some(frame) = state.responses.pop_front()
        {
            state.response_bytes -= frame.len();
            bytes += frame.len();
            frames.push(frame);
        }
        let derived = std::mem::take(&mut state.derived);
        let latest = std::mem::take(&mut state.notices).into_values();
        for notice in derived.into_iter().chain(latest) {
            let frame = frame::notification(&notice);
            bytes += frame.len();
            frames.push(frame);
        }
        let count = state.subscriptions.len();
        for turn in 0..count {
            if bytes >= BATCH_BYTES {
                break;
            }
            let at = (state.next + turn) % count;
            if let Some((_, subscription)) = state.subscriptions.get_index_mut(at) {
                bytes += subscription.take(BATCH_BYTES - bytes, &mut frames);
            }
        }
        if count > 0 {
            state.next = (state.next + 1) % count;
        }
        state.remove_those_over();
        (frames, state.closed)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Wakes an outbox for each event of a subscription, and looks for those that other processes append, until
/// the subscription has ended. An agent that closes while the server goes on, because what it depends on was
/// replaced, is followed by the session's next one.
async fn wake(
    outbox: Weak<Outbox>,
    mut agent: Agent,
    stopped: CancellationToken,
    server: Weak<Server>,
) {
    let mut pause = LOOK;
    loop {
        let mut events = agent.log().watch();
        loop {
            tokio::select! {
                () = stopped.cancelled() => return,
                changed = events.changed() => {
                    let (Ok(()), Some(outbox)) = (changed, outbox.upgrade()) else { return };
                    outbox.filled.notify_one();
                }
                () = agent.closed() => break,
                () = tokio::time::sleep(pause) => {
                    let before = agent.log().last_seq();
                    // One that has closed meanwhile is noticed above.
                    let _ = agent.refresh().await;
                    let grew = agent.log().last_seq() > before;
                    pause = if grew { LOOK_AGAIN } else { LOOK.min(pause * 2) };
                }
            }
        }
        if !outbox.upgrade().is_some_and(|outbox| outbox.goes_on(agent.id())) {
            return;
        }
        let next = loop {
            let Some(server) = server.upgrade() else { return };
            match server.runtime.session(agent.id()).await {
                Ok((_, next)) => break next,
                // The rows that run agents are being replaced, or are broken until somebody mends them.
                Err(SessionError::Open(OpenError::Closed) | SessionError::Mount(_)) => {}
                Err(
                    SessionError::NotFound(removed)
                    | SessionError::Open(OpenError::Store(StoreError::NotFound(removed))),
                ) => {
                    let Some(outbox) = outbox.upgrade() else { return };
                    outbox.end_removed(&removed);
                    return;
                }
                Err(SessionError::Open(_)) => return,
            }
            drop(server);
            tokio::select! {
                () = stopped.cancelled() => return,
                () = tokio::time::sleep(LOOK) => {}
            }
        };
        let Some(outbox) = outbox.upgrade() else { return };
        agent = next;
        outbox.go_on_with(&agent);
    }
}
