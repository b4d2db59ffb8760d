//! Subscriptions that include the children of a session: the agents that its agent starts, and theirs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Weak};
use std::time::Duration;

use dsh_protocol::ids::SessionId;
use dsh_protocol::session::{SessionInfo, SessionStatus};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::cx::Server;
use crate::extension::BoxFuture;
use crate::outbox::Outbox;
use crate::subscription::{Children, Subscription};

/// How many children may wait to be followed.
const WAITING: usize = 1024;

/// How often it is looked for children that another process starts, while it runs their parent.
const LOOK: Duration = Duration::from_millis(250);

/// Follows the children of one session for one subscription.
pub(crate) struct Follower {
    parent: SessionId,
    /// The subscription that the client asked for.
    root: SessionId,
    chunks: bool,
    /// Set when what was is sent as well: since when, in epoch milliseconds.
    replay_since: Option<u64>,
    started: mpsc::Receiver<SessionId>,
}

/// What is known of the children that other processes start.
#[derive(Default)]
struct Elsewhere {
    /// Whether another process ran the parent when it was last looked.
    parent_runs: bool,
    /// Those that were met, wherever they run.
    known: BTreeSet<SessionId>,
    /// Those that another process runs, with what fires when they are not followed any more.
    running: BTreeMap<SessionId, CancellationToken>,
}

impl Elsewhere {
    fn runs(&mut self, child: &SessionId, stopped: Option<CancellationToken>) {
        if let Some(stopped) = stopped {
            self.running.insert(child.clone(), stopped);
        }
    }
}

/// How much of a child is sent.
#[derive(Clone, Copy)]
enum From {
    /// What follows.
    Now,
    /// All that it did itself; what it inherited is its parent's.
    ItsOwnStart,
}

impl Follower {
    /// Lets a subscription include children. Those that have ended are sent as well where `replay_since` says since
    /// when.
    pub(crate) fn of(
        subscription: &mut Subscription,
        root: SessionId,
        replay_since: Option<u64>,
    ) -> Self {
        let (sender, started) = mpsc::channel(WAITING);
        subscription.children = Some(Children { started: sender, sent: BTreeMap::new() });
        Self {
            parent: subscription.session_id().clone(),
            root,
            chunks: subscription.has_chunks(),
            replay_since,
            started,
        }
    }

    /// Runs until the subscription has ended.
    pub(crate) fn run(self, outbox: Weak<Outbox>, server: Weak<Server>) -> BoxFuture<()> {
        Box::pin(self.follow(outbox, server))
    }

    async fn follow(mut self, outbox: Weak<Outbox>, server: Weak<Server>) {
        let mut ended = Vec::new();
        let mut elsewhere = Elsewhere::default();
        for child in self.children(&server).await {
            let id = &child.session_id;
            elsewhere.known.insert(id.clone());
            if child.status == SessionStatus::Running {
                let from = self.replay_since.map_or(From::Now, |_| From::ItsOwnStart);
                let stopped = self.add(id, from, false, &outbox, &server).await;
                if child.writer.is_some() {
                    elsewhere.runs(id, stopped);
                }
            } else if self.replay_since.is_some_and(|since| child.created_at >= since) {
                ended.push(child.session_id);
            }
        }
        let mut ended = ended.into_iter();
        // Those that have ended come one after the other, so that not all of them are loaded at once.
        let mut sending = None;
        loop {
            if sending.is_none()
                && let Some(child) = ended.next()
            {
                sending = self.add(&child, From::ItsOwnStart, true, &outbox, &server).await;
                if sending.is_none() {
                    continue;
                }
            }
            let sent = async {
                match &sending {
                    Some(stopped) => stopped.cancelled().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                started = self.started.recv() => {
                    let Some(child) = started else { return };
                    self.add(&child, From::ItsOwnStart, false, &outbox, &server).await;
                    elsewhere.known.insert(child);
                }
                () = sent => sending = None,
                () = tokio::time::sleep(LOOK) => {
                    if outbox.strong_count() == 0 {
                        return;
                    }
                    self.look(&mut elsewhere, &outbox, &server).await;
                }
            }
        }
    }

    /// Looks for the children that another process has started while it runs the parent, and once more behind that.
    async fn look(&self, elsewhere: &mut Elsewhere, outbox: &Weak<Outbox>, server: &Weak<Server>) {
        let runs = self.is_written_elsewhere(server).await;
        let ran = std::mem::replace(&mut elsewhere.parent_runs, runs);
        if !runs && !ran && elsewhere.running.is_empty() {
            return;
        }
        for child in self.children(server).await {
            let id = &child.session_id;
            let is_running = child.status == SessionStatus::Running && child.writer.is_some();
            if elsewhere.running.contains_key(id) {
                // What it has said was taken in when it was looked at.
                if !is_running && let Some(outbox) = outbox.upgrade() {
                    outbox.end_child(id);
                    elsewhere.running.remove(id);
                }
            } else if is_running {
                let stopped = self.add(id, From::ItsOwnStart, false, outbox, server).await;
                elsewhere.runs(id, stopped);
            } else if !elsewhere.known.contains(id) {
                self.add(id, From::ItsOwnStart, true, outbox, server).await;
            }
            elsewhere.known.insert(id.clone());
        }
        elsewhere.running.retain(|_, stopped| !stopped.is_cancelled());
    }

    async fn is_written_elsewhere(&self, server: &Weak<Server>) -> bool {
        let Some(server) = server.upgrade() else { return false };
        let Ok((_, parent)) = server.runtime.session(&self.parent).await else { return false };
        // Its subscription takes in what the other process appends.
        parent.status() != SessionStatus::Running
            && parent.log().read(|fold| fold.open_turn.is_some())
    }

    /// The children that there are, oldest first.
    async fn children(&self, server: &Weak<Server>) -> Vec<SessionInfo> {
        let Some(server) = server.upgrade() else { return Vec::new() };
        let Ok((workspace, _)) = server.runtime.session(&self.parent).await else {
            return Vec::new();
        };
        let Ok(agents) = workspace.agents().await else { return Vec::new() };
        let mut sessions = agents.list().await.unwrap_or_default();
        sessions.retain(|session| session.parent_session_id.as_ref() == Some(&self.parent));
        sessions.sort_by_key(|session| session.created_at);
        sessions
    }

    async fn add(
        &self,
        child: &SessionId,
        from: From,
        has_ended: bool,
        outbox: &Weak<Outbox>,
        server: &Weak<Server>,
    ) -> Option<CancellationToken> {
        let (server, outbox) = (server.upgrade()?, outbox.upgrade()?);
        let withheld = outbox.withhold(child);
        // One that is gone again has nothing to send.
        let (_, agent) = server.runtime.session(child).await.ok()?;
        let last_seq = agent.log().last_seq();
        let after = match from {
            From::Now => last_seq,
            From::ItsOwnStart => {
                let inherited = agent.log().header().seed_length.unwrap_or(0);
                i64::try_from(inherited).unwrap_or(i64::MAX) - 1
            }
        };
        let after = after.min(last_seq);
        let mut subscription = Subscription::new(agent, after, last_seq, self.chunks, withheld);
        subscription.end_with_agent();
        if has_ended {
            subscription.end(None);
        }
        let follower = Self::of(&mut subscription, self.root.clone(), self.replay_since);
        let stopped = outbox.subscribe_child(&self.root, subscription, &server)?;
        tokio::spawn(follower.run(Arc::downgrade(&outbox), Arc::downgrade(&server)));
        Some(stopped)
    }
}
