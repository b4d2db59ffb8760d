//! A running agent, seen from outside: a cheap handle to the session's own task.

use std::sync::Arc;

use dsh_protocol::content::ContentBlock;
use dsh_protocol::event::{EventData, SessionTitle};
use dsh_protocol::ids::{MessageId, ModelId, SessionId};
use dsh_protocol::message::Source;
use dsh_protocol::params::session::Delivery;
use dsh_protocol::session::{SessionInfo, SessionStatus};
use dsh_protocol::turn::AbortReason;
use dsh_session::fold::Violation;
use dsh_session::log::Log;
use dsh_session::store::{LeaseError, Sink, StorageError};
use dsh_session::writer::AcquireError;
use tokio::sync::{mpsc, oneshot, watch};

use crate::setup::Setup;

/// Handle to an agent. Clones are cheap; the agent lives until it is told to close.
#[derive(Clone)]
pub struct Agent {
    pub(crate) log: Arc<Log>,
    pub(crate) sink: Arc<dyn Sink>,
    pub(crate) setup: Arc<Setup>,
    pub(crate) commands: mpsc::Sender<Command>,
    pub(crate) status: watch::Receiver<SessionStatus>,
}

/// What the session's task can be told.
pub(crate) enum Command {
    Prompt { prompt: Prompt, reply: oneshot::Sender<Result<Receipt, CommandError>> },
    Cancel { cancel: Cancel, reply: oneshot::Sender<Result<Cancelled, CommandError>> },
    Note { data: EventData, reply: oneshot::Sender<Result<(), CommandError>> },
    Notice { notice: Notice, reply: oneshot::Sender<Result<Receipt, CommandError>> },
    Tell { notice: Notice, wakes: bool, reply: oneshot::Sender<Result<Receipt, CommandError>> },
    Record { data: Vec<EventData>, reply: oneshot::Sender<Result<(), CommandError>> },
    RecordOnDisk { data: Vec<EventData>, reply: oneshot::Sender<Result<(), CommandError>> },
    Refresh { reply: oneshot::Sender<Result<(), CommandError>> },
    Repair { reply: oneshot::Sender<Result<(), CommandError>> },
    Info { reply: oneshot::Sender<Result<SessionInfo, CommandError>> },
    Flush { reply: oneshot::Sender<Result<(), CommandError>> },
    Close { reason: AbortReason, reply: oneshot::Sender<()> },
}

/// What a person typed.
#[derive(Clone, Debug, PartialEq)]
pub struct Prompt {
    /// The blocks: text, images, resources.
    pub content: Vec<ContentBlock>,
    /// How it joins the session.
    pub delivery: Delivery,
    /// The client's own name of it: the same one again adds nothing.
    pub client_message_id: Option<String>,
}

/// What a plugin has to say to the model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Notice {
    /// The plugin.
    pub plugin: String,
    /// What sort of text it is.
    pub form: Option<String>,
    /// A line about it for people, at most 120 characters.
    pub summary: Option<String>,
    /// The message.
    pub content: Vec<ContentBlock>,
    /// A name under which the session takes it once: the same one again adds nothing, after a crash as well.
    pub once: Option<String>,
}

impl Notice {
    /// Where the message came from, as the log says it.
    pub(crate) fn source(&self) -> Source {
        Source::Plugin {
            plugin: self.plugin.clone(),
            form: self.form.clone(),
            summary: self.summary.clone(),
        }
    }
}

/// A prompt that is on disk.
#[derive(Clone, Debug, PartialEq)]
pub struct Receipt {
    /// Names the message.
    pub message_id: MessageId,
    /// How it joined the session.
    pub delivery: Delivery,
}

/// Which turn to cancel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancel {
    /// Only this turn, if it is the one that runs.
    pub turn: Option<u64>,
    /// Whether queued messages stay.
    pub keep_queue: bool,
    /// By whom.
    pub reason: AbortReason,
}

/// What a cancel did at once. The turn's end is in the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cancelled {
    /// Whether a running turn was told to stop.
    pub cancelled: bool,
    /// The queued messages that were dropped.
    pub discarded: Vec<MessageId>,
}

/// Why an agent did not do what it was told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// The agent has closed.
    #[error("the session is closed")]
    Closed,
    /// The session was deleted.
    #[error("the session was deleted")]
    Deleted,
    /// Another process runs a turn in the session.
    #[error("another process runs a turn in this session; try again when it is done")]
    WriterConflict,
    /// The log cannot be written.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The log holds something that breaks its rules.
    #[error(transparent)]
    Damaged(#[from] Violation),
}

impl From<AcquireError> for CommandError {
    fn from(error: AcquireError) -> Self {
        match error {
            AcquireError::Lease(LeaseError::Taken) => Self::WriterConflict,
            AcquireError::Lease(LeaseError::Deleted) => Self::Deleted,
            AcquireError::Lease(LeaseError::Storage(error)) => Self::Storage(error),
            AcquireError::Lease(error @ LeaseError::Damaged { .. }) => {
                Self::Storage(StorageError(error.to_string()))
            }
            AcquireError::Violation(violation) => Self::Damaged(violation),
        }
    }
}

impl Agent {
    /// The session's id.
    pub fn id(&self) -> &SessionId {
        &self.log.header().id
    }

    /// The session's log, for reading.
    pub fn log(&self) -> &Arc<Log> {
        &self.log
    }

    /// Brings the log where the end of this process cannot lose it; returns the seq before which clients may be told
    /// of events. May take a write to a file, and never waits for the disk.
    pub fn write_through(&self) -> u64 {
        self.sink.write_through()
    }

    /// What sets it apart.
    pub fn setup(&self) -> &Arc<Setup> {
        &self.setup
    }

    /// What the session is doing.
    pub fn status(&self) -> SessionStatus {
        *self.status.borrow()
    }

    /// Tells when the status changes.
    pub fn watch_status(&self) -> watch::Receiver<SessionStatus> {
        self.status.clone()
    }

    /// Adds a message. It is on disk when this returns. When the future is dropped the message may have been
    /// added all the same.
    pub async fn prompt(&self, prompt: Prompt) -> Result<Receipt, CommandError> {
        self.ask(|reply| Command::Prompt { prompt, reply }).await?
    }

    /// Adds a plugin's message to the next step, which it wakes nobody for. It is on disk when this returns.
    pub async fn inject(&self, notice: Notice) -> Result<Receipt, CommandError> {
        self.ask(|reply| Command::Notice { notice, reply }).await?
    }

    /// Tells the model of something that has happened: in the turn that runs, else in a turn of its own if it
    /// `wakes` the agent, which rests after a turn that went well. Otherwise the message waits for the next turn. It
    /// is on disk when this returns.
    pub async fn tell(&self, notice: Notice, wakes: bool) -> Result<Receipt, CommandError> {
        self.ask(|reply| Command::Tell { notice, wakes, reply }).await?
    }

    /// Stops the running turn and drops what is queued.
    pub async fn cancel(&self, cancel: Cancel) -> Result<Cancelled, CommandError> {
        self.ask(|reply| Command::Cancel { cancel, reply }).await?
    }

    /// Chooses the model that the next turns ask. The choice is on disk when this returns.
    pub async fn set_model(&self, model: ModelId) -> Result<(), CommandError> {
        let data = EventData::SessionModel(model);
        self.ask(|reply| Command::Note { data, reply }).await?
    }

    /// Gives the session a title. It is on disk when this returns.
    pub async fn rename(&self, title: String) -> Result<(), CommandError> {
        let data = EventData::SessionTitle(SessionTitle { title });
        self.ask(|reply| Command::Note { data, reply }).await?
    }

    /// Appends what a plugin did in the session, in the middle of a turn too. Refused unless a reader may pass
    /// over it, so that the model never sees it. Everybody hears of it at once; it is on disk with what comes
    /// next.
    pub async fn record(&self, data: Vec<EventData>) -> Result<(), CommandError> {
        self.ask(|reply| Command::Record { data, reply }).await?
    }

    /// The same, and it is on disk when this returns.
    pub async fn record_on_disk(&self, data: Vec<EventData>) -> Result<(), CommandError> {
        self.ask(|reply| Command::RecordOnDisk { data, reply }).await?
    }

    /// Takes in what other processes have appended to the log.
    pub async fn refresh(&self) -> Result<(), CommandError> {
        self.ask(|reply| Command::Refresh { reply }).await?
    }

    /// Closes a turn and takes over reviews that a crash left open, unless another process writes the session.
    pub async fn repair(&self) -> Result<(), CommandError> {
        self.ask(|reply| Command::Repair { reply }).await?
    }

    /// The session's summary.
    pub async fn info(&self) -> Result<SessionInfo, CommandError> {
        self.ask(|reply| Command::Info { reply }).await?
    }

    /// Returns when everything in the log so far is on disk.
    pub(crate) async fn flush(&self) -> Result<(), CommandError> {
        self.ask(|reply| Command::Flush { reply }).await?
    }

    /// How many handles to this agent there are.
    pub(crate) fn handles(&self) -> usize {
        self.commands.strong_count()
    }

    /// Whether the agent has closed.
    pub fn is_closed(&self) -> bool {
        self.commands.is_closed()
    }

    /// Returns when the agent has closed.
    pub async fn closed(&self) {
        self.commands.closed().await;
    }

    /// Ends the agent: a running turn is aborted first and everything is on disk when this returns.
    pub async fn close(&self, reason: AbortReason) {
        // An agent that has closed already needs no telling.
        let _ = self.ask(|reply| Command::Close { reason, reply }).await;
    }

    async fn ask<T>(
        &self,
        command: impl FnOnce(oneshot::Sender<T>) -> Command,
    ) -> Result<T, CommandError> {
        let (reply, answer) = oneshot::channel();
        self.commands.send(command(reply)).await.map_err(|_| CommandError::Closed)?;
        answer.await.map_err(|_| CommandError::Closed)
    }
}
