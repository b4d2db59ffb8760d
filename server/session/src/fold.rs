//! The state of a session, folded from its events. Used live, on load and in tests: the same code, so that a
//! loaded session is the one that was left.

use std::collections::BTreeMap;
use std::sync::Arc;

use dsh_protocol::content::{Usage, visible_text};
use dsh_protocol::event::{
    Event, EventData, InboxSpliced, InboxTarget, MessageOutcomeKind, RequestContext,
    SubagentDescriptor,
};
use dsh_protocol::ids::{CallId, MessageId, ModelId};
use dsh_protocol::message::Message;
use dsh_protocol::session::{Header, Totals};
use dsh_protocol::turn::TurnEnd;

use crate::activations::Activations;
use crate::inbox::Inbox;
use crate::reviews::Reviews;
use crate::rounds::Rounds;
use crate::run::{Entry, Run};
use crate::surface::Surface;

mod check;

pub use check::Violation;

/// What became of a prompt.
#[derive(Clone, Debug, PartialEq)]
pub enum MessageState {
    /// It waits.
    Queued,
    /// A turn took it.
    Claimed {
        /// The turn.
        turn: u64,
    },
    /// It was dropped before a turn took it.
    Discarded,
    /// A hook refused it.
    Rejected {
        /// Why.
        reason: String,
    },
    /// Its turn could not be set up.
    Failed {
        /// Why.
        reason: String,
    },
}

/// A tool call of the open turn that has no result yet.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenCall {
    /// The call.
    pub id: CallId,
    /// The tool's name.
    pub name: String,
    /// The step whose answer asked for it.
    pub step: u64,
    /// Its `tool/call` event, once it was started.
    pub started: Option<u64>,
}

/// The turn that runs, or that a crash left open.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenTurn {
    /// Its number.
    pub turn: u64,
    /// The step that is open.
    pub step: Option<u64>,
    /// The last step that began.
    pub last_step: u64,
    /// Tool calls without a result, in the model's order.
    pub calls: Vec<OpenCall>,
    /// Messages that it took and that are not in the conversation yet.
    pub claimed: Vec<Arc<Message>>,
    /// Rounds of deliberation that its calls began and that have not come out.
    pub rounds: Rounds,
}

/// A turn's outcome.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TurnRecord {
    /// Seq of its `turn/start`.
    pub seq: u64,
    /// Why it ended; absent while it is open.
    pub end: Option<TurnEnd>,
    /// Whether children of the session were at work in the background when it ended.
    pub left_children: bool,
    /// Its last answer that says something.
    pub answer: Option<Arc<Message>>,
    /// Seq of that answer.
    pub text_seq: Option<u64>,
    /// Tokens of its last request.
    pub usage: Option<Usage>,
}

impl TurnRecord {
    /// What its last answer says.
    pub fn text(&self) -> String {
        self.answer.as_ref().map(|answer| visible_text(&answer.content)).unwrap_or_default()
    }
}

/// Everything that is known of a session from its log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fold {
    /// Seq of the next event.
    pub next_seq: u64,
    /// When the last event was appended.
    pub updated_at: Option<u64>,
    /// The turn that is open.
    pub open_turn: Option<OpenTurn>,
    /// Every turn's outcome; turn 1 is at index 0.
    pub turns: Vec<TurnRecord>,
    /// The messages that the model sees.
    pub surface: Surface,
    /// What the last request sent beside the messages.
    pub header: Option<Header>,
    /// The model of the last request.
    pub context: Option<RequestContext>,
    /// The messages that wait.
    pub inbox: Inbox,
    /// What became of each prompt.
    pub messages: BTreeMap<MessageId, MessageState>,
    /// The prompts by their clients' own names.
    pub client_messages: BTreeMap<String, MessageId>,
    /// The title.
    pub title: Option<String>,
    /// The model that a person chose.
    pub model: Option<ModelId>,
    /// The session's reviews.
    pub reviews: Reviews,
    /// How many claims failed at each of the session's own checks that any failed at, by the event's seq.
    pub failed_claims: BTreeMap<u64, u64>,
    /// The rounds of deliberation that a person asked for.
    pub rounds: Rounds,
    /// The work that children have in the background.
    pub activations: Activations,
    /// How a subagent was started.
    pub descriptor: Option<SubagentDescriptor>,
    /// Tokens of the last request.
    pub usage: Option<Usage>,
    /// Tokens of all requests; what a session inherited does not count.
    pub totals: Totals,
    /// The step whose last request is in the log.
    asked: Option<(u64, u64)>,
}

impl Fold {
    /// The state after some events.
    pub fn of<'a>(events: impl IntoIterator<Item = &'a Event>) -> Result<Self, Violation> {
        let mut fold = Self::default();
        for event in events {
            fold.push(event)?;
        }
        Ok(fold)
    }

    /// Checks an event and applies it; an event that breaks a rule changes nothing.
    pub fn push(&mut self, event: &Event) -> Result<(), Violation> {
        check::event(self, event)?;
        self.apply(event);
        Ok(())
    }

    /// The same for what a line of a log file holds.
    pub(crate) fn push_entry(&mut self, entry: &Entry) -> Result<(), Violation> {
        match entry {
            Entry::One(event) => self.push(event),
            Entry::Run(run) => self.push_run(run),
        }
    }

    /// The same for a run of deltas, which change nothing but how far the log has come.
    pub(crate) fn push_run(&mut self, run: &Run) -> Result<(), Violation> {
        check::run(self, run)?;
        self.next_seq = run.next_seq();
        self.updated_at = Some(run.last_time());
        Ok(())
    }

    /// The outcome of the last turn that has ended.
    pub fn last_ended_turn(&self) -> Option<(u64, &TurnRecord)> {
        let at = self.turns.iter().rposition(|record| record.end.is_some())?;
        Some((at as u64 + 1, &self.turns[at]))
    }

    /// Whether work beside turns has not come out: it runs, or a crash left it.
    pub fn has_open_work(&self) -> bool {
        self.reviews.open().next().is_some()
            || !self.rounds.open().is_empty()
            || !self.activations.open().is_empty()
    }

    /// Whether messages wait behind a turn that did not complete.
    pub fn is_parked(&self) -> bool {
        let end = self.last_ended_turn().and_then(|(_, record)| record.end.as_ref());
        let stopped_short = match end {
            Some(
                TurnEnd::Blocked
                | TurnEnd::Aborted { .. }
                | TurnEnd::Error { .. }
                | TurnEnd::Interrupted
                | TurnEnd::Limit { .. },
            ) => true,
            Some(TurnEnd::Completed | TurnEnd::MaxTokens) | None => false,
        };
        stopped_short && !self.inbox.is_empty()
    }

    /// What puts messages behind those that wait in a list of the inbox.
    pub fn queued(&self, target: InboxTarget, inserted: Vec<Arc<Message>>) -> EventData {
        EventData::InboxSpliced(InboxSpliced {
            target,
            start: self.inbox.list(target).len() as u64,
            removed_count: None,
            inserted,
            outcome: None,
        })
    }

    /// The model that a person chose for the session, else that of its last request.
    pub fn own_model(&self) -> Option<ModelId> {
        let last_request = || {
            let context = self.context.as_ref()?;
            Some(ModelId { provider: context.provider.clone(), model: context.model.clone() })
        };
        self.model.clone().or_else(last_request)
    }

    fn end_turn(&mut self, reason: &TurnEnd) {
        self.open_turn = None;
        if let Some(record) = self.turns.last_mut() {
            record.end = Some(reason.clone());
            record.left_children = !self.activations.open().is_empty();
        }
    }

    fn apply(&mut self, event: &Event) {
        self.next_seq = event.seq + 1;
        self.updated_at = Some(event.time);
        self.surface.apply(event);
        match &event.data {
            EventData::TurnStart(start) => {
                self.turns.push(TurnRecord { seq: event.seq, ..TurnRecord::default() });
                self.open_turn = Some(OpenTurn {
                    turn: start.turn,
                    step: None,
                    last_step: 0,
                    calls: Vec::new(),
                    claimed: Vec::new(),
                    rounds: Rounds::default(),
                });
            }
            EventData::TurnEnd(end) => self.end_turn(&end.reason),
            EventData::StepStart(step) => {
                if let Some(turn) = &mut self.open_turn {
                    turn.step = Some(step.step);
                    turn.last_step = step.step;
                }
            }
            EventData::StepEnd(_) => {
                if let Some(turn) = &mut self.open_turn {
                    turn.step = None;
                }
            }
            EventData::AssistantMessage(answer) => self.answer(event.seq, answer),
            EventData::ToolCall(call) => {
                if let Some(open) = self.open_call(&call.call_id) {
                    open.started = Some(event.seq);
                }
            }
            EventData::ToolResult(result) => self.close_calls(&result.message),
            EventData::RequestHeader(request) => self.header = Some(request.header.clone()),
            EventData::RequestContext(context) => self.context = Some(context.clone()),
            EventData::SessionTitle(title) => self.title = Some(title.title.clone()),
            EventData::SessionModel(model) => self.model = Some(model.clone()),
            EventData::SubagentDescriptor(descriptor) => {
                self.descriptor = Some(descriptor.clone());
            }
            EventData::SubagentActivated(activated) => {
                self.activations.begin(activated, event.time);
            }
            EventData::SubagentSettled(settled) => {
                self.activations.settle(&settled.activation_id);
            }
            EventData::EndSeed(_) => self.begin_own_life(),
            EventData::InboxSpliced(splice) => self.splice(splice),
            EventData::MessageOutcome(outcome) => {
                let reason = outcome.reason.clone();
                let state = match outcome.kind {
                    MessageOutcomeKind::Rejected => MessageState::Rejected { reason },
                    MessageOutcomeKind::Failed => MessageState::Failed { reason },
                };
                self.messages.insert(outcome.message_id.clone(), state);
                self.forget_claimed(&outcome.message_id);
            }
            EventData::UserMessage(message) => self.forget_claimed(&message.id),
            EventData::DeliberationStarted(started) => {
                // A person's round belongs to no turn.
                if started.turn.is_none() {
                    self.rounds.begin(started, event.time);
                } else if let Some(turn) = &mut self.open_turn {
                    turn.rounds.begin(started, event.time);
                }
            }
            EventData::DeliberationBranch(branch) => {
                self.each_rounds(|rounds| rounds.branch(branch));
            }
            EventData::DeliberationSettled(settled) => {
                self.each_rounds(|rounds| rounds.settle(&settled.round_id));
            }
            EventData::ModelRequest(request) => {
                self.asked = Some((request.turn, request.step));
                self.totals.requests += 1;
            }
            EventData::ReviewClaimed(_)
            | EventData::ReviewChild(_)
            | EventData::ReviewReleased(_)
            | EventData::ReviewSettled(_)
            | EventData::ReviewItemChanged(_) => self.reviews.apply(&event.data, event.time),
            EventData::AssistantChunk(_)
            | EventData::ModelRetry(_)
            | EventData::ModelRetryStarted(_)
            | EventData::EvidenceItemChanged(_)
            | EventData::Unknown(_) => {}
            EventData::EvidenceChecked(checked) => {
                if !checked.failures.is_empty() {
                    self.failed_claims.insert(event.seq, checked.failures.len() as u64);
                }
            }
        }
    }

    /// A conversation was inherited: what waited, what was asked, what was reviewed and what it cost stays with
    /// the parent.
    fn begin_own_life(&mut self) {
        self.inbox = Inbox::default();
        self.messages.clear();
        self.client_messages.clear();
        self.title = None;
        self.reviews = Reviews::default();
        self.failed_claims.clear();
        self.rounds = Rounds::default();
        self.activations = Activations::default();
        self.usage = None;
        self.totals = Totals::default();
        self.asked = None;
    }

    fn answer(&mut self, seq: u64, answer: &dsh_protocol::event::AssistantMessage) {
        if let Some(record) = self.turns.last_mut() {
            if !visible_text(&answer.message.content).is_empty() {
                record.answer = Some(Arc::clone(&answer.message));
                record.text_seq = Some(seq);
            }
            record.usage = answer.usage.or(record.usage);
        }
        self.usage = answer.usage.or(self.usage);
        // An adapter without a body leaves no other trace of its request.
        if self.asked != Some((answer.turn, answer.step)) {
            self.totals.requests += 1;
        }
        if let Some(usage) = &answer.usage {
            add(&mut self.totals.usage, usage);
        }
        let Some(turn) = &mut self.open_turn else { return };
        for block in &answer.message.content {
            if let dsh_protocol::content::ContentBlock::ToolCall { id, name, .. } = block {
                let call = OpenCall {
                    id: id.clone(),
                    name: name.clone(),
                    step: answer.step,
                    started: None,
                };
                turn.calls.push(call);
            }
        }
    }

    /// Those of the open turn and those that a person asked for: only the beginning of a round says whose it is.
    fn each_rounds(&mut self, change: impl Fn(&mut Rounds)) {
        let of_turn = self.open_turn.as_mut().map(|turn| &mut turn.rounds);
        of_turn.into_iter().chain([&mut self.rounds]).for_each(change);
    }

    fn open_call(&mut self, id: &CallId) -> Option<&mut OpenCall> {
        self.open_turn.as_mut()?.calls.iter_mut().find(|call| call.id == *id)
    }

    fn close_calls(&mut self, message: &dsh_protocol::message::Message) {
        let Some(turn) = &mut self.open_turn else { return };
        for block in &message.content {
            if let dsh_protocol::content::ContentBlock::ToolResult { tool_call_id, .. } = block {
                turn.calls.retain(|call| call.id != *tool_call_id);
            }
        }
    }

    fn forget_claimed(&mut self, id: &MessageId) {
        if let Some(turn) = &mut self.open_turn {
            turn.claimed.retain(|claimed| claimed.id != *id);
        }
    }

    fn splice(&mut self, splice: &InboxSpliced) {
        let removed = self.inbox.apply(splice);
        if splice.outcome.is_none()
            && let Some(turn) = &mut self.open_turn
        {
            turn.claimed.extend(removed.iter().cloned());
        }
        let state = match (splice.outcome, &self.open_turn) {
            (None, Some(turn)) => MessageState::Claimed { turn: turn.turn },
            (Some(_), _) | (None, None) => MessageState::Discarded,
        };
        for message in removed {
            self.messages.insert(message.id.clone(), state.clone());
        }
        for message in &splice.inserted {
            self.messages.insert(message.id.clone(), MessageState::Queued);
            if let Some(name) = &message.client_message_id {
                self.client_messages.insert(name.clone(), message.id.clone());
            }
        }
    }
}

/// Adds one request's tokens to the sums. What no request reported stays absent.
fn add(total: &mut Usage, usage: &Usage) {
    total.input_tokens += usage.input_tokens;
    total.output_tokens += usage.output_tokens;
    let optional = |total: &mut Option<u64>, more: Option<u64>| {
        if let Some(more) = more {
            *total = Some(total.unwrap_or(0) + more);
        }
    };
    optional(&mut total.cache_read_tokens, usage.cache_read_tokens);
    optional(&mut total.cache_write_tokens, usage.cache_write_tokens);
    optional(&mut total.reasoning_tokens, usage.reasoning_tokens);
    total.context_window = usage.context_window.or(total.context_window);
}

/// The messages that the model sees after some events, folded from scratch.
pub fn messages_of<'a>(
    events: impl IntoIterator<Item = &'a Event>,
) -> Result<Vec<Arc<dsh_protocol::message::Message>>, Violation> {
    Fold::of(events).map(|fold| fold.surface.messages())
}
