//! One step: sends a request, takes in the answer, runs the tools that it asks for.

use std::sync::Arc;
use std::time::Duration;

use dsh_llm::adapter::{Adapter, Request, failure};
use dsh_llm::assemble::Assembler;
use dsh_llm::stream;
use dsh_protocol::content::{ContentBlock, FinishReason, ModelFailure, Usage};
use dsh_protocol::event::{
    AssistantChunk, AssistantMessage, EventData, HeaderReason, ModelRequest, ModelRetry,
    ModelRetryStarted, RequestContext, RequestHeader, Step as StepMark,
};
use dsh_protocol::ids::{CallId, MessageId};
use dsh_protocol::message::{Message, Role, Source};
use dsh_protocol::session::Header;
use dsh_session::writer::{Draft, Writer};
use futures_util::StreamExt;
use tokio_util::sync::CancellationToken;

use crate::agent_loop::Shared;
use crate::request::digest;
use crate::retry::Retries;
use crate::schedule::{Call, Schedule};
use crate::turn::Halt;

/// A step that is about to run.
pub(crate) struct Step<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) writer: &'a Writer,
    pub(crate) cancel: &'a CancellationToken,
    pub(crate) turn: u64,
    pub(crate) number: u64,
    pub(crate) header: Arc<Header>,
    /// Whether this is the first request since the session was loaded.
    pub(crate) resumed: bool,
}

/// How a step came out.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StepOutcome {
    /// Whether the model waits for the results of tools.
    pub(crate) must_continue: bool,
    /// Whether the answer was cut at the model's limit.
    pub(crate) cut: bool,
    /// Input and output tokens of the request.
    pub(crate) tokens: u64,
}

/// An answer as it arrived.
struct Answer {
    assembler: Assembler,
    /// The seqs of its chunks.
    chunks: Vec<u64>,
}

impl Step<'_> {
    /// Runs the step between its two marks in the log; the second one is written whatever happens. What it
    /// appended is on disk before the next request, or when the turn says that it is over.
    pub(crate) async fn run(self, claimed: Vec<Arc<Message>>) -> Result<StepOutcome, Halt> {
        let mark = StepMark { turn: self.turn, step: self.number };
        self.writer.append(EventData::StepStart(mark))?;
        let outcome = self.body(claimed).await;
        self.writer.append(EventData::StepEnd(mark))?;
        outcome
    }

    async fn body(&self, claimed: Vec<Arc<Message>>) -> Result<StepOutcome, Halt> {
        for message in claimed {
            self.writer.append(EventData::UserMessage(message))?;
        }
        self.log_header()?;
        let provider = &self.header.provider;
        let Some(adapter) = self.shared.models.adapter(provider) else {
            let message =
                format!("no adapter serves the provider `{provider}`; choose another model");
            return Err(Halt::Model(failure("NO_ADAPTER", message)));
        };
        let mut retries = Retries::new(adapter.retry_policy());
        loop {
            let answer = self.ask(&adapter, u64::from(retries.made()) + 1).await?;
            let (FinishReason::Error, Some(failed)) = answer.assembler.finish() else {
                return self.take_in(answer).await;
            };
            match retries.next(&failed) {
                // What arrived of this answer stays in the log, and nothing cites it.
                Some(pause) => self.pause(&retries, pause, failed).await?,
                None => return self.take_in(answer).await,
            }
        }
    }

    /// Waits before a retry, visibly.
    async fn pause(
        &self,
        retries: &Retries,
        pause: Duration,
        failure: ModelFailure,
    ) -> Result<(), Halt> {
        let (turn, step, retry) = (self.turn, self.number, u64::from(retries.made()));
        self.writer.append(EventData::ModelRetry(ModelRetry {
            turn,
            step,
            provider: self.header.provider.clone(),
            retry,
            max_retries: u64::from(retries.most()),
            delay_ms: u64::try_from(pause.as_millis()).unwrap_or(u64::MAX),
            failure,
        }))?;
        tokio::select! {
            () = self.cancel.cancelled() => return Err(Halt::Aborted),
            () = tokio::time::sleep(pause) => {}
        }
        self.writer.append(EventData::ModelRetryStarted(ModelRetryStarted {
            turn,
            step,
            retry,
        }))?;
        Ok(())
    }

    /// Logs what is sent beside the messages, where it differs from the last request.
    fn log_header(&self) -> Result<(), Halt> {
        let (known, context) = self.writer.log().read(|fold| {
            (fold.header.as_ref().map(|known| *known == *self.header), fold.context.clone())
        });
        let reason = match known {
            None => Some(HeaderReason::Initial),
            Some(_) if self.resumed => Some(HeaderReason::Resume),
            Some(false) => Some(HeaderReason::Change),
            Some(true) => None,
        };
        if let Some(reason) = reason {
            let header = Header::clone(&self.header);
            self.writer.append(EventData::RequestHeader(RequestHeader { header, reason }))?;
        }
        let adapter = self.shared.models.adapter(&self.header.provider);
        let now = RequestContext {
            provider: self.header.provider.clone(),
            model: self.header.model.clone(),
            context_window: adapter
                .and_then(|adapter| adapter.offer(&self.header.model).context_window),
        };
        if context.as_ref() != Some(&now) {
            self.writer.append(EventData::RequestContext(now))?;
        }
        Ok(())
    }

    /// Asks the model and logs each chunk as it arrives. What leads to the request is on disk before it is
    /// sent.
    async fn ask(&self, adapter: &Arc<dyn Adapter>, attempt: u64) -> Result<Answer, Halt> {
        let mut request = Request {
            session_id: self.writer.log().header().id.clone(),
            turn: self.turn,
            step: self.number,
            attempt,
            header: Arc::clone(&self.header),
            messages: self.writer.log().read(|fold| fold.surface.messages()),
            body: None,
        };
        if let Some(body) = adapter.body(&request) {
            let sha256 = digest(&body);
            let (turn, step) = (self.turn, self.number);
            self.writer.append(EventData::ModelRequest(ModelRequest {
                turn,
                step,
                attempt,
                sha256,
            }))?;
            request.body = Some(Arc::new(body));
        }
        self.writer.flush().await?;
        if self.cancel.is_cancelled() {
            return Err(Halt::Aborted);
        }
        let mut chunks = stream::ask(adapter, request, self.cancel.clone());
        let mut answer = Answer { assembler: Assembler::default(), chunks: Vec::new() };
        while let Some(chunk) = chunks.next().await {
            answer.assembler.push(&chunk);
            let event = self.writer.append(EventData::AssistantChunk(AssistantChunk {
                turn: self.turn,
                step: self.number,
                chunk,
            }))?;
            answer.chunks.push(event.seq);
        }
        Ok(answer)
    }

    /// Commits an answer and runs its tools.
    async fn take_in(&self, answer: Answer) -> Result<StepOutcome, Halt> {
        let usage = answer.assembler.usage();
        let tokens = usage.map_or(0, total);
        let (finish, error) = answer.assembler.finish();
        match finish {
            FinishReason::Aborted | FinishReason::Error => {
                self.commit_interrupted(answer)?;
                let aborted = finish == FinishReason::Aborted && self.cancel.is_cancelled();
                let unknown = || failure("UNKNOWN", "the model failed without saying how");
                Err(if aborted {
                    Halt::Aborted
                } else {
                    Halt::Model(error.unwrap_or_else(unknown))
                })
            }
            FinishReason::MaxTokens => {
                // A call that was cut off must not run.
                let content = answer.assembler.content_without_calls();
                self.commit(content, usage, answer.chunks, None)?;
                Ok(StepOutcome { must_continue: false, cut: true, tokens })
            }
            FinishReason::Stop | FinishReason::ToolCalls => {
                let content =
                    answer.assembler.content(|| CallId::from((self.shared.host.new_id)()));
                let calls = calls(&content);
                self.commit(content, usage, answer.chunks, None)?;
                let must_continue = !calls.is_empty() && !self.run_tools(calls).await?;
                Ok(StepOutcome { must_continue, cut: false, tokens })
            }
        }
    }

    /// Commits what a person has seen of an answer that broke off.
    fn commit_interrupted(&self, answer: Answer) -> Result<(), Halt> {
        let content = answer.assembler.interrupted_content();
        if content.is_empty() {
            return Ok(());
        }
        self.commit(content, answer.assembler.usage(), answer.chunks, Some(true))
    }

    fn commit(
        &self,
        content: Vec<ContentBlock>,
        usage: Option<Usage>,
        chunks: Vec<u64>,
        interrupted: Option<bool>,
    ) -> Result<(), Halt> {
        let message = Message {
            id: MessageId::from((self.shared.host.new_id)()),
            role: Role::Assistant,
            content,
            source: Source::Model {
                provider: self.header.provider.clone(),
                model: self.header.model.clone(),
            },
            client_message_id: None,
        };
        let answer = AssistantMessage {
            turn: self.turn,
            step: self.number,
            message: Arc::new(message),
            usage,
            interrupted,
        };
        self.writer.append(Draft::from(EventData::AssistantMessage(answer)).citing(chunks))?;
        Ok(())
    }

    /// Runs tools; says whether one of them ended the turn.
    async fn run_tools(&self, calls: Vec<Call>) -> Result<bool, Halt> {
        let schedule = Schedule {
            tools: &self.shared.tools,
            hooks: &self.shared.hooks,
            writer: self.writer,
            cancel: self.cancel,
            new_id: &self.shared.host.new_id,
            most: self.shared.max_parallel_tool_calls,
            turn: self.turn,
            step: self.number,
        };
        let over = schedule.run(calls).await?;
        if self.cancel.is_cancelled() { Err(Halt::Aborted) } else { Ok(over) }
    }
}

fn calls(content: &[ContentBlock]) -> Vec<Call> {
    let mut calls = Vec::new();
    for block in content {
        if let ContentBlock::ToolCall { id, name, arguments } = block {
            calls.push(Call { id: id.clone(), name: name.clone(), arguments: arguments.clone() });
        }
    }
    calls
}

fn total(usage: Usage) -> u64 {
    usage.input_tokens
        + usage.output_tokens
        + usage.cache_read_tokens.unwrap_or(0)
        + usage.cache_write_tokens.unwrap_or(0)
}
