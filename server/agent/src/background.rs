//! Children that work in the background: the `backgroundAgents` service.
//!
//! A child is given work with a message; that is an *activation*. It stands in its parent's log from before the
//! child hears of it until it has come out, and what came out is read from the child's log: so a restart loses
//! nothing and tells nothing twice. The parent is told with one message of a plugin for each activation.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use dsh_kernel::service::Key;
use dsh_protocol::content::ContentBlock;
use dsh_protocol::event::SubagentMode;
use dsh_protocol::ids::{ActivationId, CallId, MessageId, SessionId};
use dsh_protocol::notifications::Notification;
use dsh_protocol::params::session::Delivery;
use dsh_protocol::session::SessionStatus;
use dsh_protocol::subagent::{StopReason, SubagentFinished, SubagentStarted};
use dsh_protocol::turn::AbortReason;
use dsh_session::store::BoxFuture;

use crate::agent::{Agent, Cancel, CommandError, Prompt};
use crate::agents::Agents;
use crate::host::Host;
use crate::sessions::Sessions;
use crate::subagents::Subagents;
use crate::subagents::request::StartRequest;
use crate::subagents::run::Run;

mod close;
pub mod error;
mod left;
pub mod list;
mod open;
mod outcome;
mod work;

use error::Refused;
use outcome::{CameOut, Stop};
use work::{Work, activated, is_open, label_of, notice, provider_of, settled};

/// The service's name.
pub const BACKGROUND: Key<Background> = Key::new("backgroundAgents");

/// How long a child may take to end once nobody waits for it any more.
const CLEANUP: Duration = Duration::from_secs(5);

/// How often a child or a parent that is closing is asked for again, and after which pause each.
const LOOKS: u32 = 100;
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// Gives children work in the background and tells their parents what came of it.
pub struct Background {
    host: Arc<Host>,
    agents: Arc<Agents>,
    sessions: Arc<Sessions>,
    subagents: Arc<Subagents>,
    /// How many children of one session may work at once.
    most: usize,
    held: Mutex<Held>,
    own: Weak<Self>,
}

/// What this process attends to.
#[derive(Default)]
struct Held {
    activations: BTreeSet<ActivationId>,
    children: BTreeMap<SessionId, HeldChild>,
    /// Children that are about to be given work, each with its parent; once for each piece of work.
    starting: Vec<(SessionId, SessionId)>,
}

#[derive(Default)]
struct HeldChild {
    /// How many of its activations have not come out.
    activations: usize,
    /// What it was started with, until nothing of it is wanted any more.
    run: Option<Run>,
    /// Who has stopped what it has.
    stopped: Option<Stop>,
}

/// A child that was given work.
#[derive(Clone, Debug, PartialEq)]
pub struct Given {
    /// Its session.
    pub child: SessionId,
    /// Whether it has other work before this.
    pub waits: bool,
    /// What it was meant to have and has not, a sentence each.
    pub degraded: Vec<String>,
}

/// What an interrupt did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupted {
    /// Whether the child was at work.
    pub was_running: bool,
    /// How many messages wait in it.
    pub waiting: usize,
}

impl Background {
    /// With the services that a plugin injects; `most` children of one session work at once.
    pub fn new(
        host: Arc<Host>,
        agents: Arc<Agents>,
        sessions: Arc<Sessions>,
        subagents: Arc<Subagents>,
        most: usize,
    ) -> Arc<Self> {
        Arc::new_cyclic(|own| Self {
            host,
            agents,
            sessions,
            subagents,
            most,
            held: Mutex::default(),
            own: Weak::clone(own),
        })
    }

    /// Starts a child of `request.parent` and leaves it to its work. `mode` says whether it can be given more.
    pub async fn start(
        &self,
        provider: &str,
        request: StartRequest,
        mode: SubagentMode,
    ) -> Result<Given, Refused> {
        let parent = self.parent(&request.parent)?;
        let child = SessionId::from((self.host.new_id)());
        let place = self.place(&parent, &child)?;
        let work = Work {
            id: ActivationId::from((self.host.new_id)()),
            parent: parent.id().clone(),
            child,
            label: request.label.clone(),
            call_id: request.call_id.clone(),
        };
        let request = StartRequest {
            session_id: Some(work.child.clone()),
            mode,
            activation: Some(work.id.clone()),
            ..request
        };
        let (own, provider) = (self.strong()?, provider.to_owned());
        // A call that nobody waits for any more leaves nothing half done.
        let starting =
            tokio::spawn(async move { own.started(parent, &provider, request, work, place).await });
        starting.await.map_err(|_| Refused::broken())?
    }

    async fn started(
        self: Arc<Self>,
        parent: Agent,
        provider: &str,
        request: StartRequest,
        work: Work,
        _place: Place,
    ) -> Result<Given, Refused> {
        self.hold(&work);
        let begun = async {
            parent.record_on_disk(vec![activated(&work)]).await.map_err(Refused::from)?;
            let started = self.subagents.start(provider, request).await;
            let run = match started {
                Ok(run) => run,
                Err(refused) => {
                    self.settle(&work, StopReason::Error, None).await?;
                    return Err(Refused::from(refused));
                }
            };
            let degraded = run.degraded().to_vec();
            let child = self.agents.live(&work.child).ok_or_else(Refused::broken)?;
            let name = work.id.as_str();
            let message = child.log().read(|fold| fold.client_messages.get(name).cloned());
            let message = message.ok_or_else(Refused::broken)?;
            Ok((run, child, message, degraded))
        };
        let (run, child, message, degraded) = match begun.await {
            Ok(begun) => begun,
            Err(refused) => {
                self.let_go(&work).await;
                return Err(refused);
            }
        };
        if let Some(held) = self.lock().children.get_mut(&work.child) {
            held.run = Some(run);
        }
        let id = work.child.clone();
        tokio::spawn(Arc::clone(&self).attend(work, parent, child, message));
        Ok(Given { child: id, waits: false, degraded })
    }

    /// Gives a child more work: at once if it rests, else behind what it has.
    pub async fn send(
        &self,
        parent: &SessionId,
        child: &SessionId,
        text: String,
        call_id: CallId,
    ) -> Result<Given, Refused> {
        let parent = self.parent(parent)?;
        let label = label_of(&parent, child)?;
        let place = self.place(&parent, child)?;
        let work = Work {
            id: ActivationId::from((self.host.new_id)()),
            parent: parent.id().clone(),
            child: child.clone(),
            label,
            call_id: Some(call_id),
        };
        let own = self.strong()?;
        let sending = tokio::spawn(async move { own.sent(parent, work, text, place).await });
        sending.await.map_err(|_| Refused::broken())?
    }

    async fn sent(
        self: Arc<Self>,
        parent: Agent,
        work: Work,
        text: String,
        _place: Place,
    ) -> Result<Given, Refused> {
        self.hold(&work);
        let begun = async {
            let child = self.continuable(&work.child).await?;
            parent.record_on_disk(vec![activated(&work)]).await.map_err(Refused::from)?;
            let waits = child.status() != SessionStatus::Idle;
            match self.prompted(&work, text).await {
                Ok((child, message)) => Ok((child, message, waits)),
                Err(refused) => {
                    self.settle(&work, StopReason::Error, None).await?;
                    Err(refused)
                }
            }
        };
        let (child, message, waits) = match begun.await {
            Ok(begun) => begun,
            Err(refused) => {
                self.let_go(&work).await;
                return Err(refused);
            }
        };
        self.host.observer.notice(&Notification::SubagentStarted(SubagentStarted {
            parent_session_id: work.parent.clone(),
            child_session_id: work.child.clone(),
            provider: provider_of(&child),
            label: work.label.clone(),
            call_id: work.call_id.clone(),
        }));
        let id = work.child.clone();
        tokio::spawn(Arc::clone(&self).attend(work, parent, child, message));
        Ok(Given { child: id, waits, degraded: Vec::new() })
    }

    /// Puts the message into the child's inbox. A child that is being unloaded is loaded again.
    async fn prompted(&self, work: &Work, text: String) -> Result<(Agent, MessageId), Refused> {
        for _ in 0..LOOKS {
            let child = self.continuable(&work.child).await?;
            let prompt = Prompt {
                content: vec![ContentBlock::text(text.clone())],
                delivery: Delivery::Followup,
                client_message_id: Some(work.id.to_string()),
            };
            match child.prompt(prompt).await {
                Ok(receipt) => return Ok((child, receipt.message_id)),
                Err(CommandError::Closed) => tokio::time::sleep(BETWEEN_LOOKS).await,
                Err(error) => return Err(error.into()),
            }
        }
        Err(Refused::from(CommandError::Closed))
    }

    /// Stops what a child does now, and what its own children do. What waits in them stays.
    pub async fn interrupt(
        &self,
        parent: &SessionId,
        child: &SessionId,
    ) -> Result<Interrupted, Refused> {
        let parent = self.parent(parent)?;
        label_of(&parent, child)?;
        let Some(agent) = self.agents.live(child) else {
            return match self.looked_at(child).await {
                Ok(list::State::Running) => Err(Refused::elsewhere()),
                Ok(_) => Ok(Interrupted { was_running: false, waiting: 0 }),
                Err(problem) => Err(problem.into()),
            };
        };
        let was_running = self.stop(&agent).await?;
        let waiting =
            agent.log().read(|fold| fold.inbox.next_turn.len() + fold.inbox.next_step.len());
        Ok(Interrupted { was_running, waiting })
    }

    /// Stops an agent and those below it; tells whether anything was at work.
    fn stop<'a>(&'a self, agent: &'a Agent) -> BoxFuture<'a, Result<bool, Refused>> {
        Box::pin(async move {
            let below: Vec<SessionId> = agent.log().read(|fold| {
                fold.activations.open().iter().map(|open| open.child.clone()).collect()
            });
            // One that only waits for its own children has no turn that could say so.
            if !below.is_empty() {
                self.stopped(agent.id(), Stop::ByParent);
            }
            let cancel = Cancel { turn: None, keep_queue: true, reason: AbortReason::Parent };
            let mut was_running = agent.cancel(cancel).await?.cancelled || !below.is_empty();
            for child in below {
                if let Some(child) = self.agents.live(&child) {
                    was_running |= self.stop(&child).await?;
                }
            }
            Ok(was_running)
        })
    }

    /// Waits until the work has come out, tells the parent, and lets the child go.
    async fn attend(self: Arc<Self>, work: Work, parent: Agent, child: Agent, message: MessageId) {
        // The children of a child do not outlive it; those of a person's session do, as its turns do.
        let orphaned = async {
            if parent.setup().depth == 0 {
                std::future::pending::<()>().await;
            }
            parent.closed().await;
        };
        let out = tokio::select! {
            out = outcome::came_out(&child, &message) => out,
            () = orphaned => {
                let cancel = Cancel { turn: None, keep_queue: false, reason: AbortReason::Parent };
                let _ = child.cancel(cancel).await;
                outcome::came_out(&child, &message).await
            }
        };
        // A child that was closed before it came to the message: whoever takes the parent over next looks again.
        let stop = self.lock().children.get(&work.child).and_then(|held| held.stopped);
        let out = match (out, stop) {
            (Some(out), Some(stop)) => Some(out.stopped(stop)),
            (None, Some(stop)) => Some(child.log().read(|fold| CameOut::closed(fold, stop))),
            (out, None) => out,
        };
        if let Some(out) = out {
            let stop_reason = out.stop_reason;
            let text = out.text.clone();
            self.in_order(&work, &parent).await;
            if let Err(refused) = self.settle(&work, stop_reason, Some(out)).await {
                tracing::warn!(session = %work.parent, error = %refused, "what a subagent did in the background is told later");
            }
            self.finished(&work, &child, stop_reason, text);
        } else {
            self.finished(&work, &child, StopReason::Aborted, String::new());
        }
        self.let_go(&work).await;
    }

    /// Tells clients that the work is over.
    fn finished(&self, work: &Work, child: &Agent, stop_reason: StopReason, text: String) {
        self.host.observer.notice(&Notification::SubagentFinished(SubagentFinished {
            parent_session_id: work.parent.clone(),
            child_session_id: work.child.clone(),
            provider: provider_of(child),
            label: work.label.clone(),
            call_id: work.call_id.clone(),
            stop_reason,
            text: Some(text).filter(|text| !text.is_empty()),
        }));
    }

    /// Tells the parent, then logs that it was told: a crash in between tells it once all the same.
    async fn settle(
        &self,
        work: &Work,
        stop_reason: StopReason,
        out: Option<CameOut>,
    ) -> Result<(), Refused> {
        let wakes = self.agents.live(&work.parent).is_some();
        let notice = out.filter(|out| !out.is_quiet).map(|out| notice(work, &out));
        let mut looks = 0;
        loop {
            let told = async {
                let parent = self.agents.open(&work.parent).await?;
                parent.refresh().await?;
                // Another process may have said what came of it.
                if is_open(&parent, work)
                    && let Some(notice) = notice.clone()
                {
                    parent.tell(notice, wakes).await?;
                }
                if is_open(&parent, work) {
                    parent.record_on_disk(vec![settled(work, stop_reason)]).await?;
                }
                if !wakes && parent.status() != SessionStatus::Running {
                    // It was loaded for this only.
                    self.agents.unload(&parent, AbortReason::Disposed).await;
                }
                Ok::<_, Refused>(())
            };
            match told.await {
                Err(refused) if refused.passes() && looks < LOOKS => {
                    looks += 1;
                    tokio::time::sleep(BETWEEN_LOOKS).await;
                }
                told => return told,
            }
        }
    }

    fn hold(&self, work: &Work) {
        let mut held = self.lock();
        held.activations.insert(work.id.clone());
        let child = held.children.entry(work.child.clone()).or_default();
        child.activations += 1;
        child.stopped = None;
    }

    /// Notes who stopped a child, unless that is noted.
    fn stopped(&self, child: &SessionId, stop: Stop) {
        if let Some(held) = self.lock().children.get_mut(child) {
            held.stopped.get_or_insert(stop);
        }
    }

    /// Lets an activation go, and its child with the last one: it stays on disk.
    async fn let_go(&self, work: &Work) {
        let gone = {
            let mut held = self.lock();
            held.activations.remove(&work.id);
            let child = held.children.get_mut(&work.child);
            let is_last = child.is_some_and(|child| {
                child.activations -= 1;
                child.activations == 0
            });
            is_last.then(|| held.children.remove(&work.child)).flatten()
        };
        let Some(gone) = gone else { return };
        if let Some(run) = gone.run {
            let _ = run.dispose(CLEANUP).await;
            return;
        }
        let Some(child) = self.agents.live(&work.child) else { return };
        let waits = child.log().read(|fold| !fold.inbox.is_empty());
        if child.status() != SessionStatus::Running && !waits {
            self.agents.unload(&child, AbortReason::Parent).await;
        }
    }

    fn parent(&self, id: &SessionId) -> Result<Agent, Refused> {
        self.agents.live(id).ok_or_else(Refused::broken)
    }

    /// A child that can be given more work.
    async fn continuable(&self, id: &SessionId) -> Result<Agent, Refused> {
        let child = self.agents.open(id).await?;
        let mode = child.log().read(|fold| fold.descriptor.as_ref().map(|it| it.mode));
        if mode == Some(SubagentMode::Continuable) {
            return Ok(child);
        }
        Err(Refused::one_shot(id))
    }

    /// Room for a child at work. One that is at work already, or about to be, takes no more room.
    fn place(&self, parent: &Agent, child: &SessionId) -> Result<Place, Refused> {
        let mut held = self.lock();
        let mut busy: BTreeSet<SessionId> = parent
            .log()
            .read(|fold| fold.activations.open().iter().map(|it| it.child.clone()).collect());
        let starting = held.starting.iter().filter(|(of, _)| of == parent.id());
        busy.extend(starting.map(|(_, child)| child.clone()));
        if !busy.contains(child) && busy.len() >= self.most {
            return Err(Refused::limit(self.most));
        }
        let place = (parent.id().clone(), child.clone());
        held.starting.push(place.clone());
        Ok(Place { own: Weak::clone(&self.own), place })
    }

    fn strong(&self) -> Result<Arc<Self>, Refused> {
        self.own.upgrade().ok_or_else(Refused::broken)
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Room for a child that is about to be given work. Its work stands in the log when this goes.
struct Place {
    own: Weak<Background>,
    place: (SessionId, SessionId),
}

impl Drop for Place {
    fn drop(&mut self) {
        let Some(own) = self.own.upgrade() else { return };
        let mut held = own.lock();
        if let Some(at) = held.starting.iter().position(|place| *place == self.place) {
            held.starting.swap_remove(at);
        }
    }
}
