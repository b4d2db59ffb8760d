//! The session's own task: the only one that appends to its log. It takes commands while a turn runs beside
//! them, so that a cancel or a steering message is never kept waiting.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use dsh_protocol::event::{EventData, InboxSpliced, InboxTarget, SpliceOutcome};
use dsh_protocol::ids::MessageId;
use dsh_protocol::message::{Message, Role, Source};
use dsh_protocol::notifications::Notification;
use dsh_protocol::params::session::Delivery;
use dsh_protocol::session::{SessionInfo, SessionStatus};
use dsh_protocol::turn::AbortReason;
use dsh_session::fold::{Fold, Violation};
use dsh_session::repair::repair;
use dsh_session::store::Summary;
use dsh_session::writer::Writer;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

use crate::agent::{Agent, Cancel, Cancelled, Command, CommandError, Notice, Prompt, Receipt};
use crate::agent_loop::Shared;
use crate::agents::session_info;
use crate::turn::{Turn, TurnCancel};

use self::look::Look;

mod lease;
mod left;
mod look;
mod tell;

/// How many commands may wait for the task.
const COMMANDS: usize = 64;

/// The session's task.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
struct Actor {
    shared: Arc<Shared>,
    writer: Arc<Writer>,
    status: watch::Sender<SessionStatus>,
    /// The turn that runs.
    turn: Option<RunningTurn>,
    /// Whether this process holds the right to append.
    leased: bool,
    /// Whether something could not be written when this process gave the right back.
    owes: bool,
    /// How many turns in a row nobody but a plugin has asked for.
    woken: u32,
    /// Whether this agent has sent a request yet, so that the first one logs its header.
    resumed: bool,
    /// Whether the log is gone, so that the task has nothing left to do.
    deleted: bool,
    /// When to look again for what became of what is left open.
    look: Look,
}

struct RunningTurn {
    number: u64,
    cancel: TurnCancel,
    /// Whether it was told to stop: a waking message then waits for a turn of its own.
    cancelled: bool,
    /// Whether a waking message came after that, so that the next turn begins when this one has ended.
    woken: bool,
    done: BoxFuture<'static, ()>,
}

/// Starts an agent on an open log.
pub(crate) fn start(shared: Arc<Shared>, writer: Writer, first: Vec<EventData>) -> Agent {
    let (commands, inbox) = mpsc::channel(COMMANDS);
    let log = Arc::clone(writer.log());
    let setup = Arc::clone(&shared.setup);
    let (status, watch_status) = watch::channel(log.read(rest_status));
    let (observer, id) = (Arc::clone(&shared.host.observer), log.header().id.clone());
    let sink = writer.sink();
    let appended_to = Arc::clone(&sink);
    let writer = writer.telling(move |event| {
        if Notification::derived(&id, event).is_some() {
            // What clients are told of must not be lost with this process.
            appended_to.write_through();
        }
        observer.appended(&id, event);
    });
    let actor = Actor {
        shared,
        writer: Arc::new(writer),
        status,
        turn: None,
        leased: false,
        owes: false,
        woken: 0,
        resumed: true,
        deleted: false,
        look: Look::default(),
    };
    tokio::spawn(actor.run(inbox, first));
    Agent { log, sink, setup, commands, status: watch_status }
}

/// What a plugin has to say, as the inbox takes it.
fn injected(notice: Notice) -> Prompt {
    let Notice { content, once, .. } = notice;
    Prompt { content, delivery: Delivery::Inject, client_message_id: once }
}

/// What a session without a running turn is doing.
fn rest_status(fold: &Fold) -> SessionStatus {
    if fold.is_parked() { SessionStatus::Parked } else { SessionStatus::Idle }
}

impl Actor {
    async fn run(mut self, mut inbox: mpsc::Receiver<Command>, first: Vec<EventData>) {
        if !first.is_empty() {
            self.append_first(first).await;
        }
        loop {
            let command = if let Some(turn) = &mut self.turn {
                tokio::select! {
                    biased;
                    command = inbox.recv() => command,
                    outcome = AssertUnwindSafe(&mut turn.done).catch_unwind() => {
                        self.turn_ended(outcome.is_err()).await;
                        continue;
                    }
                }
            } else {
                tokio::select! {
                    biased;
                    command = inbox.recv() => command,
                    () = self.look.due() => {
                        self.look_again().await;
                        continue;
                    }
                }
            };
            match command {
                Some(Command::Close { reason, reply }) => {
                    self.close(reason).await;
                    let _ = reply.send(());
                    return;
                }
                Some(command) => {
                    self.handle(command).await;
                    if self.deleted {
                        return;
                    }
                }
                None => {
                    self.close(AbortReason::Disposed).await;
                    return;
                }
            }
        }
    }

    async fn append_first(&mut self, first: Vec<EventData>) {
        let appended = async {
            self.lease().await?;
            first.into_iter().try_for_each(|data| self.writer.append(data).map(|_| ()))?;
            Ok::<_, CommandError>(())
        };
        if let Err(error) = appended.await {
            tracing::error!(session = %self.writer.log().header().id, %error, "a new session's first events");
        }
        self.rest().await;
    }

    async fn handle(&mut self, command: Command) {
        match command {
            Command::Prompt { prompt, reply } => {
                self.woken = 0;
                let received = self.prompt(prompt, Source::User).await;
                self.answer_on_disk(received, reply);
            }
            Command::Notice { notice, reply } => {
                let source = notice.source();
                let received = self.prompt(injected(notice), source).await;
                self.answer_on_disk(received, reply);
            }
            Command::Tell { notice, wakes, reply } => {
                let received = self.tell(notice, wakes).await;
                self.answer_on_disk(received, reply);
            }
            Command::Cancel { cancel, reply } => {
                let cancelled = self.cancel(cancel).await;
                let _ = reply.send(cancelled);
            }
            Command::Note { data, reply } => {
                let noted = self.note(data).await;
                let _ = reply.send(noted);
            }
            Command::Record { data, reply } => {
                let recorded = self.record(data).await;
                let _ = reply.send(recorded);
            }
            Command::RecordOnDisk { data, reply } => {
                let recorded = self.record(data).await;
                self.answer_on_disk(recorded, reply);
            }
            Command::Refresh { reply } => {
                let refreshed = self.refresh().await;
                let _ = reply.send(refreshed);
                self.expect_an_end();
            }
            Command::Repair { reply } => {
                let refreshed = self.refresh().await;
                if refreshed.is_ok()
                    && self.turn.is_none()
                    && self.writer.log().read(left::is_left_open)
                {
                    // Another process that runs a turn here repairs nothing and needs no repair.
                    if self.lease().await.is_ok() {
                        self.rest().await;
                    }
                }
                let _ = reply.send(refreshed);
            }
            Command::Info { reply } => {
                let refreshed = self.refresh().await;
                let _ = reply.send(refreshed.map(|()| self.info()));
            }
            Command::Flush { reply } => self.answer_on_disk(Ok(()), reply),
            Command::Close { .. } => {}
        }
    }

    /// Answers once everything so far is on disk. The task goes on while the disk works.
    fn answer_on_disk<T: Send + 'static>(
        &self,
        received: Result<T, CommandError>,
        reply: oneshot::Sender<Result<T, CommandError>>,
    ) {
        let sink = self.writer.sink();
        tokio::spawn(async move {
            let answer = match received {
                Ok(receipt) => sink.flush().await.map(|()| receipt).map_err(CommandError::from),
                Err(error) => Err(error),
            };
            let _ = reply.send(answer);
        });
    }

    /// Queues a message and wakes the session unless it is an injected one.
    async fn prompt(&mut self, prompt: Prompt, source: Source) -> Result<Receipt, CommandError> {
        self.lease().await?;
        let queued = self.queue(&prompt, source);
        // A message that was sent before and has left the queue since wakes nobody again.
        let waits = |id| self.writer.log().read(|fold| fold.inbox.contains(id));
        if prompt.delivery != Delivery::Inject && queued.as_ref().is_ok_and(waits) {
            match &mut self.turn {
                Some(turn) => turn.woken |= turn.cancelled,
                None => self.start_turn()?,
            }
        }
        if self.turn.is_none() {
            self.rest().await;
        }
        let message_id = queued?;
        Ok(Receipt { message_id, delivery: prompt.delivery })
    }

    /// Puts a message into the inbox; the one that has this client's name for it already, if there is one.
    fn queue(&self, prompt: &Prompt, source: Source) -> Result<MessageId, CommandError> {
        if let Some(name) = &prompt.client_message_id
            && let Some(id) = self.writer.log().read(|fold| fold.client_messages.get(name).cloned())
        {
            return Ok(id);
        }
        let stopping = self.turn.as_ref().is_some_and(|turn| turn.cancelled);
        let target = match prompt.delivery {
            Delivery::Followup => InboxTarget::NextTurn,
            Delivery::Steer if stopping => InboxTarget::NextTurn,
            Delivery::Steer | Delivery::Inject => InboxTarget::NextStep,
        };
        let message = Message {
            id: MessageId::from((self.shared.host.new_id)()),
            role: Role::User,
            content: prompt.content.clone(),
            source,
            client_message_id: prompt.client_message_id.clone(),
        };
        let id = message.id.clone();
        let queued = self.writer.log().read(|fold| fold.queued(target, vec![Arc::new(message)]));
        self.writer.append(queued)?;
        Ok(id)
    }

    /// Appends what a person says of the session and the model never sees.
    async fn note(&mut self, data: EventData) -> Result<(), CommandError> {
        self.lease().await?;
        let appended = self.writer.append(data);
        let flushed = self.writer.flush().await;
        if self.turn.is_none() {
            self.rest().await;
        }
        self.shared.host.observer.changed(self.info());
        appended?;
        Ok(flushed?)
    }

    /// Appends what a plugin did. Clients are told of what has a notification of its own.
    async fn record(&mut self, data: Vec<EventData>) -> Result<(), CommandError> {
        self.lease().await?;
        let appended = data.into_iter().try_for_each(|data| self.record_one(data));
        if self.turn.is_none() {
            self.rest().await;
            self.shared.host.observer.changed(self.info());
        }
        Ok(appended?)
    }

    fn record_one(&self, data: EventData) -> Result<(), Violation> {
        let log = self.writer.log();
        if !data.is_ignorable() {
            let seq = log.read(|fold| fold.next_seq);
            let rule = "plugins record only what a reader may pass over".to_owned();
            return Err(Violation { seq, name: data.name().to_owned(), rule });
        }
        self.writer.append(data)?;
        Ok(())
    }

    async fn cancel(&mut self, cancel: Cancel) -> Result<Cancelled, CommandError> {
        let running = self.turn.as_ref().map(|turn| turn.number);
        if cancel.turn.is_some() && cancel.turn != running {
            return Ok(Cancelled::default());
        }
        // A turn that another process runs cannot be told to stop from here: its lease says so.
        self.lease().await?;
        let mut cancelled = Cancelled { cancelled: running.is_some(), discarded: Vec::new() };
        if !cancel.keep_queue {
            cancelled.discarded = self.discard_queue()?;
        }
        match &mut self.turn {
            Some(turn) => {
                turn.cancelled = true;
                turn.cancel.fire(cancel.reason);
            }
            None => self.rest().await,
        }
        Ok(cancelled)
    }

    /// Empties the inbox: the messages for the next step first, then those for turns of their own.
    fn discard_queue(&self) -> Result<Vec<MessageId>, Violation> {
        let mut discarded = Vec::new();
        for target in [InboxTarget::NextStep, InboxTarget::NextTurn] {
            let ids: Vec<MessageId> = self.writer.log().read(|fold| {
                fold.inbox.list(target).iter().map(|message| message.id.clone()).collect()
            });
            if ids.is_empty() {
                continue;
            }
            self.writer.append(EventData::InboxSpliced(InboxSpliced {
                target,
                start: 0,
                removed_count: Some(ids.len() as u64),
                inserted: Vec::new(),
                outcome: Some(SpliceOutcome::Canceled),
            }))?;
            discarded.extend(ids);
        }
        Ok(discarded)
    }

    /// Comes to rest: everything goes to disk, the right to append goes back.
    async fn rest(&mut self) {
        if std::mem::take(&mut self.leased) {
            // It is tried again while the session is loaded.
            self.owes |= self.writer.release().await.is_err();
        }
        let status = self.writer.log().read(rest_status);
        self.set_status(status);
    }

    fn set_status(&self, status: SessionStatus) {
        if self.status.send_replace(status) != status {
            self.shared.host.observer.status(&self.writer.log().header().id, status);
        }
    }

    fn start_turn(&mut self) -> Result<(), Violation> {
        let number = self.writer.log().read(|fold| fold.turns.len() as u64 + 1);
        let cancel = TurnCancel::new(CancellationToken::new());
        let turn = Turn {
            shared: Arc::new(self.shared.as_it_is()),
            writer: Arc::clone(&self.writer),
            number,
            cancel: cancel.clone(),
            resumed: std::mem::take(&mut self.resumed),
        };
        turn.open()?;
        self.turn = Some(RunningTurn {
            number,
            cancel,
            cancelled: false,
            woken: false,
            done: Box::pin(turn.run()),
        });
        self.set_status(SessionStatus::Running);
        Ok(())
    }

    /// After a turn: the next one if it went well and something waits, or if a message came after its cancel
    /// that wakes the session; else rest.
    async fn turn_ended(&mut self, panicked: bool) {
        let woken = self.turn.take().is_some_and(|turn| turn.woken);
        if panicked {
            tracing::error!(session = %self.writer.log().header().id, "a turn broke; it is closed as interrupted");
            if let Err(error) = repair(&self.writer) {
                tracing::error!(%error, "the broken turn cannot be closed");
            }
        }
        let goes_on = self.writer.log().read(|fold| {
            (woken || rest_status(fold) == SessionStatus::Idle) && !fold.inbox.next_turn.is_empty()
        });
        if goes_on && self.start_turn().is_ok() {
            return;
        }
        self.rest().await;
        self.shared.host.observer.changed(self.info());
    }

    async fn close(&mut self, reason: AbortReason) {
        if let Some(turn) = &mut self.turn {
            turn.cancel.fire(reason);
            let ended = AssertUnwindSafe(&mut turn.done).catch_unwind().await;
            self.turn = None;
            if ended.is_err() {
                let _ = repair(&self.writer);
            }
        }
        self.rest().await;
        if self.owes && self.writer.flush().await.is_err() {
            let id = &self.writer.log().header().id;
            self.shared.host.observer.left_unwritten(id, self.writer.sink());
        }
    }

    fn info(&self) -> SessionInfo {
        let log = self.writer.log();
        // Clients take the last seq for a place in the log.
        self.writer.sink().write_through();
        let mut summary = log.read(|fold| Summary::of(log.header(), fold));
        // A turn that is open while nobody runs it here is another process's: a crashed one is closed as soon
        // as the log can be written.
        summary.written_elsewhere = !self.leased && summary.open_turn;
        let status =
            if summary.written_elsewhere { SessionStatus::Running } else { *self.status.borrow() };
        session_info(&self.shared.host, &self.shared.default_model, summary, status, true)
    }
}
