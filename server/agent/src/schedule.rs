//! Runs the tool calls of one answer: side by side where they allow it, logged in the model's order.

use std::sync::Arc;
use std::time::Duration;

use dsh_kernel::hooks::Hooks;
use dsh_protocol::content::ContentBlock;
use dsh_protocol::event::{EventData, ToolCall, ToolResult};
use dsh_protocol::ids::{CallId, MessageId};
use dsh_protocol::message::{Message, Role, Source};
use dsh_session::fold::Violation;
use dsh_session::writer::{Draft, Writer};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::hooks::{At, EXECUTE, PRE_EXECUTE, RESULT, ToolAnswered, ToolCalled};
use crate::host::NewId;
use crate::tool::Caller;
use crate::tools::{ToolOutcome, Tools, parse_arguments};

/// Past this size the typed value is left out of the log: it is there for display, and the model's text is
/// logged anyway. In bytes of JSON.
const META_BYTES: usize = 64 * 1024;

/// How long listeners around a cancelled call may take to return; the call itself has less.
const CANCEL_GRACE: Duration = Duration::from_millis(800);

/// What a model reads of a call behind one that ended the turn.
const TURN_IS_OVER: &str = "the turn is over: a call before this one ended it";

/// A call that a model asked for.
pub(crate) struct Call {
    pub(crate) id: CallId,
    pub(crate) name: String,
    pub(crate) arguments: String,
}

/// The calls of one answer and what they run with.
pub(crate) struct Schedule<'a> {
    pub(crate) tools: &'a Tools,
    pub(crate) hooks: &'a Hooks,
    pub(crate) writer: &'a Writer,
    pub(crate) cancel: &'a CancellationToken,
    pub(crate) new_id: &'a NewId,
    /// How many calls run at once.
    pub(crate) most: usize,
    pub(crate) turn: u64,
    pub(crate) step: u64,
}

impl Schedule<'_> {
    /// Runs the calls. Each is logged when it starts; results are logged in the model's order. After a cancel
    /// nothing more is started, what runs is awaited, and every call gets a result. Says whether a call ended the
    /// turn.
    pub(crate) async fn run(&self, calls: Vec<Call>) -> Result<bool, Violation> {
        let mut outcomes: Vec<Option<(u64, ToolOutcome)>> = calls.iter().map(|_| None).collect();
        let mut running = FuturesUnordered::new();
        let mut started = 0;
        let mut committed = 0;
        let mut exclusive = false;
        let mut over = false;
        while committed < calls.len() {
            while let Some(call) = calls.get(started) {
                let ends = self.tools.ends_turn(&call.name);
                // What ends the turn runs alone, so that it is known what stands behind it.
                let safe = !ends && self.tools.is_concurrency_safe(&call.name);
                let room =
                    running.len() < self.most.max(1) && !exclusive && (safe || running.is_empty());
                if !room {
                    break;
                }
                exclusive = !safe;
                let seq = self.log_call(call)?;
                let at = started;
                running.push(async move {
                    if over {
                        return (at, seq, ends, ToolOutcome::broken(TURN_IS_OVER));
                    }
                    (at, seq, ends, self.dispatch(call).await)
                });
                started += 1;
            }
            if let Some((at, seq, ends, outcome)) = running.next().await {
                let name = &calls[at].name;
                over |= ends && (!outcome.is_error || self.tools.has_failed(name));
                if running.is_empty() {
                    exclusive = false;
                }
                outcomes[at] = Some((seq, outcome));
            }
            while let Some((seq, outcome)) = outcomes.get_mut(committed).and_then(Option::take) {
                let heard = RESULT.is_heard(self.hooks).then(|| outcome.clone());
                self.log_result(&calls[committed], seq, outcome)?;
                if let Some(outcome) = heard {
                    self.tell(&calls[committed], outcome).await;
                }
                committed += 1;
            }
        }
        Ok(over)
    }

    async fn dispatch(&self, call: &Call) -> ToolOutcome {
        let arguments = match parse_arguments(&call.arguments) {
            Ok(arguments) => arguments,
            Err(failure) => return ToolOutcome::failed(&failure),
        };
        if let Some(outcome) = self.refused(call, &arguments).await {
            return outcome;
        }
        // After a crash it must be known that it may have run.
        if self.tools.has_effects(&call.name)
            && let Err(error) = self.writer.flush().await
        {
            tracing::error!(%error, tool = call.name, "a tool call is refused");
            return ToolOutcome::broken("the session's log cannot be written, so nothing was done");
        }
        self.execute(call, arguments).await
    }

    /// How a call comes out that a plugin does not let run.
    async fn refused(&self, call: &Call, arguments: &Value) -> Option<ToolOutcome> {
        if !PRE_EXECUTE.is_heard(self.hooks) {
            return None;
        }
        let event = self.called(call, arguments.clone());
        let decision = tokio::select! {
            biased;
            () = self.cancel.cancelled() => return Some(ToolOutcome::not_dispatched()),
            decision = PRE_EXECUTE.dispatch(self.hooks, event) => decision,
        };
        match decision {
            Ok(refusal) => refusal.map(|refusal| ToolOutcome::broken(&refusal.message)),
            Err(error) => {
                tracing::error!(%error, "a tool call is refused");
                Some(ToolOutcome::broken("the call could not be checked; try another way"))
            }
        }
    }

    /// Runs a call, and whatever plugins put around it.
    async fn execute(&self, call: &Call, arguments: Value) -> ToolOutcome {
        if !EXECUTE.is_heard(self.hooks) {
            let caller = Caller { at: self.at(), call_id: call.id.clone() };
            return self.tools.call_as(caller, &call.name, arguments, self.cancel).await;
        }
        let tools = self.tools.clone();
        let innermost = move |called: ToolCalled| async move {
            let caller = Caller { at: called.at, call_id: called.call_id };
            tools.call_as(caller, &called.name, called.arguments, &called.cancel).await
        };
        let left_behind = async {
            self.cancel.cancelled().await;
            tokio::time::sleep(CANCEL_GRACE).await;
        };
        let executed = tokio::select! {
            executed = EXECUTE.dispatch(self.hooks, self.called(call, arguments), innermost) => executed,
            () = left_behind => return ToolOutcome::aborted(),
        };
        executed.unwrap_or_else(|error| {
            tracing::error!(%error, "a tool call fails");
            ToolOutcome::broken("the tool failed unexpectedly; try another way")
        })
    }

    fn called(&self, call: &Call, arguments: Value) -> ToolCalled {
        ToolCalled {
            at: self.at(),
            call_id: call.id.clone(),
            name: call.name.clone(),
            arguments,
            cancel: self.cancel.clone(),
        }
    }

    async fn tell(&self, call: &Call, outcome: ToolOutcome) {
        let (at, call_id, name) = (self.at(), call.id.clone(), call.name.clone());
        RESULT.dispatch(self.hooks, ToolAnswered { at, call_id, name, outcome }).await;
    }

    fn at(&self) -> At {
        let session_id = self.writer.log().header().id.clone();
        At { session_id, turn: self.turn, step: self.step }
    }

    fn log_call(&self, call: &Call) -> Result<u64, Violation> {
        let event = self.writer.append(EventData::ToolCall(ToolCall {
            turn: self.turn,
            step: self.step,
            call_id: call.id.clone(),
            name: call.name.clone(),
            arguments: call.arguments.clone(),
        }))?;
        Ok(event.seq)
    }

    fn log_result(
        &self,
        call: &Call,
        call_seq: u64,
        outcome: ToolOutcome,
    ) -> Result<(), Violation> {
        let message = Message {
            id: MessageId::from((self.new_id)()),
            role: Role::Tool,
            content: vec![ContentBlock::ToolResult {
                tool_call_id: call.id.clone(),
                content: outcome.content,
                is_error: outcome.is_error.then_some(true),
            }],
            source: Source::Tool { call_id: call.id.clone() },
            client_message_id: None,
        };
        let value = outcome.value.filter(|value| value.to_string().len() <= META_BYTES);
        let meta = (value.is_some() || !outcome.notes.is_empty())
            .then(|| json!({ "value": value, "notes": outcome.notes }));
        let result = ToolResult {
            turn: self.turn,
            step: self.step,
            message: Arc::new(message),
            error: outcome.error,
            meta,
        };
        self.writer.append(Draft::from(EventData::ToolResult(result)).citing(vec![call_seq]))?;
        Ok(())
    }
}
