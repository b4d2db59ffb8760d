//! One turn: claims input, runs steps until the model owes nothing, closes. Everything durable goes through
//! the log; this module keeps no history of its own.

use std::sync::{Arc, OnceLock};

use dsh_llm::adapter::failure;
use dsh_protocol::content::ModelFailure;
use dsh_protocol::event::{
    EventData, InboxSpliced, InboxTarget, MessageOutcome, MessageOutcomeKind, TurnEnded, TurnStart,
};
use dsh_protocol::ids::{MessageId, ModelId};
use dsh_protocol::message::{Message, Role};
use dsh_protocol::session::Header;
use dsh_protocol::turn::{AbortReason, Budget, TurnEnd};
use dsh_session::fold::{Fold, Violation};
use dsh_session::store::StorageError;
use dsh_session::writer::Writer;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::agent::Notice;
use crate::agent_loop::Shared;
use crate::hooks::{
    Answered, At, GoOn, Notes, PRE_STEP, PreStep, Rejection, TURN_STOPPING, TurnStopping,
};
use crate::step::{Step, StepOutcome};

/// A turn that is about to run.
pub(crate) struct Turn {
    pub(crate) shared: Arc<Shared>,
    pub(crate) writer: Arc<Writer>,
    pub(crate) number: u64,
    pub(crate) cancel: TurnCancel,
    /// Whether this is the first turn since the session was loaded.
    pub(crate) resumed: bool,
}

/// Cancels a turn; the first reason stands.
#[derive(Clone)]
pub(crate) struct TurnCancel {
    token: CancellationToken,
    reason: Arc<OnceLock<AbortReason>>,
}

impl TurnCancel {
    pub(crate) fn new(token: CancellationToken) -> Self {
        Self { token, reason: Arc::default() }
    }

    pub(crate) fn fire(&self, reason: AbortReason) {
        let _ = self.reason.set(reason);
        self.token.cancel();
    }

    pub(crate) fn token(&self) -> &CancellationToken {
        &self.token
    }

    fn reason(&self) -> AbortReason {
        self.reason.get().copied().unwrap_or(AbortReason::User)
    }
}

/// What became of a step.
enum Attempt {
    Ran(StepOutcome),
    /// It did not begin.
    Refused(TurnEnd),
}

/// Why a turn cannot go on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Halt {
    /// It was cancelled.
    #[error("the turn was cancelled")]
    Aborted,
    /// The model failed.
    #[error("{}", .0.message)]
    Model(ModelFailure),
    /// The log cannot be written.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The loop broke a rule of the log: a bug of ours.
    #[error(transparent)]
    Bug(#[from] Violation),
}

impl Turn {
    /// Opens the turn in the log.
    pub(crate) fn open(&self) -> Result<(), Violation> {
        self.writer.append(EventData::TurnStart(TurnStart { turn: self.number })).map(|_| ())
    }

    /// Runs the opened turn and closes it in the log, whatever happens.
    pub(crate) async fn run(self) {
        let reason = match self.steps().await {
            Ok(end) => end,
            Err(Halt::Aborted) => TurnEnd::Aborted { reason: self.cancel.reason() },
            Err(Halt::Model(error)) => TurnEnd::Error { error },
            Err(Halt::Storage(error)) => {
                TurnEnd::Error { error: failure("STORAGE", error.to_string()) }
            }
            Err(Halt::Bug(violation)) => {
                tracing::error!(turn = self.number, %violation, "the loop broke a rule of the log");
                TurnEnd::Error { error: failure("UNKNOWN", violation.to_string()) }
            }
        };
        let end = EventData::TurnEnd(TurnEnded { turn: self.number, reason });
        if let Err(violation) = self.writer.append(end) {
            tracing::error!(turn = self.number, %violation, "the turn cannot be closed");
        }
    }

    async fn steps(&self) -> Result<TurnEnd, Halt> {
        let started = Instant::now();
        let log = self.writer.log();
        let model = self.shared.model(log.header(), log.read(Fold::own_model).as_ref());
        let mut tokens = 0;
        // `max-tokens` is the turn's outcome once it was seen; it does not say whether the turn must go on.
        let mut cut = false;
        let mut rounds = 0;
        // What to log should the next step fail: the turn was about to end before it.
        let mut if_failed = None;
        for step in 1.. {
            let claimed = self.claim(step == 1)?;
            if step == 1 && claimed.is_empty() {
                return Ok(TurnEnd::Completed);
            }
            let is_alone = claimed.len() == 1;
            let attempt = self.attempt(step, &model, claimed).await;
            let failed = matches!(&attempt, Ok(Attempt::Refused(_)) | Err(Halt::Model(_)));
            if let Some(event) = if_failed.take().filter(|_| failed) {
                self.writer.append(event)?;
                if is_alone {
                    break;
                }
            }
            let outcome = match attempt? {
                Attempt::Ran(outcome) => outcome,
                Attempt::Refused(end) => return Ok(end),
            };
            tokens += outcome.tokens;
            cut |= outcome.cut;
            let exhausted = self.exhausted(step, started, tokens);
            if outcome.must_continue && exhausted.is_none() {
                // The flush before the next request brings this step to disk too.
                continue;
            }
            self.writer.flush().await?;
            if !outcome.must_continue && !self.is_steered() {
                if let Some(go_on) =
                    self.kept_from_stopping(step, cut, rounds, exhausted.is_some()).await?
                {
                    if rounds == self.shared.budgets.stopping_rounds {
                        return Ok(TurnEnd::Limit { what: Budget::StoppingRounds });
                    }
                    rounds += 1;
                    if_failed.clone_from(&go_on.if_failed);
                    self.inject(go_on)?;
                }
                // Nothing waits between here and the turn's end, so that no message slips in unseen.
                if !self.is_steered() {
                    break;
                }
            }
            if let Some(what) = exhausted {
                return Ok(TurnEnd::Limit { what });
            }
        }
        Ok(if cut { TurnEnd::MaxTokens } else { TurnEnd::Completed })
    }

    /// Runs a step, unless it cannot begin.
    async fn attempt(
        &self,
        step: u64,
        model: &ModelId,
        claimed: Vec<Arc<Message>>,
    ) -> Result<Attempt, Halt> {
        if let Some(end) = self.rejected(step, model, &claimed).await? {
            return Ok(Attempt::Refused(end));
        }
        match self.header(model) {
            Ok(header) => self.step(step, claimed, header).await.map(Attempt::Ran),
            Err(reason) => self.failed(&claimed, "ASSEMBLY", reason).map(Attempt::Refused),
        }
    }

    async fn step(
        &self,
        number: u64,
        claimed: Vec<Arc<Message>>,
        header: Arc<Header>,
    ) -> Result<StepOutcome, Halt> {
        let step = Step {
            shared: &self.shared,
            writer: &self.writer,
            cancel: self.cancel.token(),
            turn: self.number,
            number,
            header,
            resumed: self.resumed && number == 1,
        };
        step.run(claimed).await
    }

    /// Takes what waits for this step and, when the turn begins, one message that waits for a turn.
    fn claim(&self, begins: bool) -> Result<Vec<Arc<Message>>, Violation> {
        let mut claimed = self.take(InboxTarget::NextStep, usize::MAX)?;
        if begins {
            claimed.extend(self.take(InboxTarget::NextTurn, 1)?);
        }
        Ok(claimed)
    }

    fn take(&self, target: InboxTarget, most: usize) -> Result<Vec<Arc<Message>>, Violation> {
        let taken: Vec<Arc<Message>> = self
            .writer
            .log()
            .read(|fold| fold.inbox.list(target).iter().take(most).cloned().collect());
        if !taken.is_empty() {
            self.writer.append(EventData::InboxSpliced(InboxSpliced {
                target,
                start: 0,
                removed_count: Some(taken.len() as u64),
                inserted: Vec::new(),
                outcome: None,
            }))?;
        }
        Ok(taken)
    }

    /// What is sent beside the messages.
    fn header(&self, model: &ModelId) -> Result<Arc<Header>, String> {
        let cwd = self.shared.host.workspace.to_string_lossy();
        let variables =
            [("provider", model.provider.as_str()), ("model", model.model.as_str()), ("cwd", &cwd)];
        let tools = &self.shared.tools;
        let system = self.shared.prompt.assemble_with(&variables, |tool| tools.has(tool));
        let system = system.map_err(|error| error.to_string())?;
        let tools = tools.definitions();
        Ok(Arc::new(Header {
            provider: model.provider.clone(),
            model: model.model.clone(),
            reasoning_effort: None,
            max_tokens: self.shared.setup.max_tokens,
            system,
            tools: (!tools.is_empty()).then_some(tools),
        }))
    }

    /// Ends a turn whose step cannot begin.
    fn failed(
        &self,
        claimed: &[Arc<Message>],
        code: &str,
        reason: String,
    ) -> Result<TurnEnd, Halt> {
        self.not_taken(claimed, MessageOutcomeKind::Failed, &reason)?;
        Ok(TurnEnd::Error { error: failure(code, reason) })
    }

    /// Records what became of messages that no step took in, so that none is lost silently.
    fn not_taken(
        &self,
        claimed: &[Arc<Message>],
        kind: MessageOutcomeKind,
        reason: &str,
    ) -> Result<(), Violation> {
        for message in claimed {
            self.writer.append(EventData::MessageOutcome(MessageOutcome {
                message_id: message.id.clone(),
                kind,
                reason: reason.to_owned(),
            }))?;
        }
        Ok(())
    }

    /// How the turn ends if a plugin does not let the step begin.
    async fn rejected(
        &self,
        step: u64,
        model: &ModelId,
        claimed: &[Arc<Message>],
    ) -> Result<Option<TurnEnd>, Halt> {
        let hooks = &self.shared.hooks;
        if !PRE_STEP.is_heard(hooks) {
            return Ok(None);
        }
        let event = PreStep { at: self.at(step), model: model.clone(), claimed: claimed.to_vec() };
        match self.unless_cancelled(PRE_STEP.dispatch(hooks, event)).await? {
            Ok(None) => Ok(None),
            Ok(Some(Rejection { reason })) => {
                self.not_taken(claimed, MessageOutcomeKind::Rejected, &reason)?;
                Ok(Some(TurnEnd::Blocked))
            }
            Err(error) => self.failed(claimed, "HOOK", error.to_string()).map(Some),
        }
    }

    /// The message with which a plugin wants the turn to go on.
    async fn kept_from_stopping(
        &self,
        step: u64,
        cut: bool,
        rounds: u64,
        is_exhausted: bool,
    ) -> Result<Option<GoOn>, Halt> {
        let hooks = &self.shared.hooks;
        if !TURN_STOPPING.is_heard(hooks) {
            return Ok(None);
        }
        let cancel = self.cancel.token().clone();
        let log = self.writer.log();
        let is_root = log.header().origin.is_none();
        let (at, answer, notes) = (self.at(step), log.read(last_answer), Notes::default());
        let from_listeners = notes.clone();
        let may_go_on = !is_exhausted && rounds < self.shared.budgets.stopping_rounds;
        let event = TurnStopping { at, cut, rounds, may_go_on, answer, is_root, notes, cancel };
        let decision = self.unless_cancelled(TURN_STOPPING.dispatch(hooks, event)).await;
        // Also after a cancel: what a listener that was dropped had begun has come out with it.
        self.note(from_listeners.take());
        Ok(decision?.unwrap_or_else(|error| {
            tracing::error!(%error, "the turn ends without what a plugin had to say");
            None
        }))
    }

    /// Logs what plugins have to say. One that logs nonsense does not end the turn.
    fn note(&self, events: Vec<EventData>) {
        for data in events {
            if let Err(violation) = self.writer.append(data) {
                tracing::error!(%violation, "what a plugin had to log");
            }
        }
    }

    /// Puts a plugin's message into the inbox, for the next step, unless it was there before.
    fn inject(&self, GoOn { notice, then, .. }: GoOn) -> Result<(), Violation> {
        let is_known =
            |name: &String| self.writer.log().read(|fold| fold.client_messages.contains_key(name));
        if !notice.once.as_ref().is_some_and(is_known) {
            self.queue(notice)?;
        }
        self.note(then);
        Ok(())
    }

    fn queue(&self, notice: Notice) -> Result<(), Violation> {
        let source = notice.source();
        let message = Message {
            id: MessageId::from((self.shared.host.new_id)()),
            role: Role::User,
            content: notice.content,
            source,
            client_message_id: notice.once,
        };
        let queued = self
            .writer
            .log()
            .read(|fold| fold.queued(InboxTarget::NextStep, vec![Arc::new(message)]));
        self.writer.append(queued).map(|_| ())
    }

    async fn unless_cancelled<T>(&self, waiting: impl Future<Output = T>) -> Result<T, Halt> {
        tokio::select! {
            biased;
            () = self.cancel.token().cancelled() => Err(Halt::Aborted),
            done = waiting => Ok(done),
        }
    }

    /// Whether messages wait for a next step.
    fn is_steered(&self) -> bool {
        self.writer.log().read(|fold| !fold.inbox.next_step.is_empty())
    }

    fn at(&self, step: u64) -> At {
        At { session_id: self.writer.log().header().id.clone(), turn: self.number, step }
    }

    /// The budget that is used up, if one is.
    fn exhausted(&self, steps: u64, started: Instant, tokens: u64) -> Option<Budget> {
        let budgets = &self.shared.budgets;
        if steps >= budgets.steps {
            return Some(Budget::Steps);
        }
        if started.elapsed() >= budgets.time {
            return Some(Budget::Time);
        }
        budgets.tokens.is_some_and(|most| tokens >= most).then_some(Budget::Tokens)
    }
}

/// What the model said last in the turn that is open.
fn last_answer(fold: &Fold) -> Option<Answered> {
    let record = fold.turns.last()?;
    Some(Answered { seq: record.text_seq?, text: record.text() })
}
