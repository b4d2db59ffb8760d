//! Prints a stream of events as a transcript that people read.
//!
//! The text is a contract: editors fold the same events to the same text, and `protocol/README.md` has its
//! grammar. It is made of committed events only, so a replay prints what a live reader saw.

mod queue;
mod text;

use std::collections::BTreeMap;

use crate::content::ContentBlock;
use crate::event::{
    AssistantMessage, Event, EventData, InboxSpliced, MessageOutcome, SpliceOutcome, SurfaceOp,
    ToolCall, ToolResult,
};
use crate::ids::CallId;
use crate::message::{Message, Source};
use crate::turn::TurnEnd;

use queue::Queue;

/// Where the text of an entry begins, counted from the entry's label.
const TEXT_COLUMN: usize = 8;

/// The transcript of `events`, whole results included.
pub fn print<'a>(events: impl IntoIterator<Item = &'a Event>) -> String {
    let mut transcript = Transcript::new();
    for event in events {
        transcript.push(event);
    }
    transcript.finish()
}

/// A transcript that grows with each event.
#[derive(Debug, Default)]
pub struct Transcript {
    out: String,
    result_lines: Option<usize>,
    in_turn: bool,
    in_step: bool,
    queue: Queue,
    /// Calls that the model asked for and that no `tool/call` has announced: after a crash only the answer of a
    /// message tells of them.
    asked: BTreeMap<CallId, (String, String)>,
}

impl Transcript {
    /// An empty transcript that shows results whole.
    pub fn new() -> Self {
        Self::default()
    }

    /// Shows at most `lines` lines of each result and says how many more there are.
    pub fn cut_results(mut self, lines: usize) -> Self {
        self.result_lines = Some(lines);
        self
    }

    /// Adds one event. Events must come in the order of their `seq`.
    pub fn push(&mut self, event: &Event) {
        if let Some(SurfaceOp::Replace { start, end, .. }) = event.surface_op {
            self.entry("replace", &format!("{start}-{end}"));
        }
        match &event.data {
            EventData::TurnStart(_) => self.begin_turn(),
            EventData::TurnEnd(ended) => self.end_turn(&ended.reason),
            EventData::StepStart(_) => self.begin_step(),
            EventData::StepEnd(_) => self.in_step = false,
            EventData::UserMessage(message) => self.input(message),
            EventData::AssistantMessage(answer) => self.answer(answer),
            EventData::ToolCall(call) => self.call(call),
            EventData::ToolResult(result) => self.result(result),
            EventData::ModelRetry(retry) => {
                self.entry("retry", &format!("{} {}", retry.failure.code, retry.failure.message));
            }
            EventData::SessionTitle(title) => self.entry("title", &title.title),
            EventData::SessionModel(model) => self.entry("model", &model.to_string()),
            EventData::InboxSpliced(splice) => self.splice(splice),
            EventData::MessageOutcome(outcome) => self.outcome(outcome),
            // Chunks come again in the message that they make up, rounds in the result of their call; the others
            // are about requests, logs and checks.
            EventData::AssistantChunk(_)
            | EventData::RequestHeader(_)
            | EventData::RequestContext(_)
            | EventData::ModelRequest(_)
            | EventData::ModelRetryStarted(_)
            | EventData::EndSeed(_)
            | EventData::EvidenceChecked(_)
            | EventData::EvidenceItemChanged(_)
            | EventData::DeliberationStarted(_)
            | EventData::DeliberationBranch(_)
            | EventData::DeliberationSettled(_)
            | EventData::ReviewClaimed(_)
            | EventData::ReviewChild(_)
            | EventData::ReviewReleased(_)
            | EventData::ReviewSettled(_)
            | EventData::ReviewItemChanged(_)
            | EventData::SubagentDescriptor(_)
            | EventData::SubagentActivated(_)
            | EventData::SubagentSettled(_)
            | EventData::Unknown(_) => {}
        }
    }

    /// The transcript so far.
    pub fn text(&self) -> &str {
        &self.out
    }

    /// The whole transcript.
    pub fn finish(self) -> String {
        self.out
    }

    fn begin_turn(&mut self) {
        self.mark("turn");
        self.in_turn = true;
        self.asked.clear();
        self.queue.forget_claimed();
    }

    fn begin_step(&mut self) {
        self.mark("step");
        self.in_step = true;
    }

    fn end_turn(&mut self, reason: &TurnEnd) {
        self.in_turn = false;
        self.in_step = false;
        let text = match reason {
            TurnEnd::Completed => "completed".to_owned(),
            TurnEnd::MaxTokens => "max-tokens".to_owned(),
            TurnEnd::Blocked => "blocked".to_owned(),
            TurnEnd::Aborted { reason } => format!("aborted {}", text::word(reason)),
            TurnEnd::Error { error } => format!("error {} {}", error.code, error.message),
            TurnEnd::Interrupted => "interrupted".to_owned(),
            TurnEnd::Limit { what } => format!("limit {}", text::word(what)),
        };
        self.mark(&format!("done {text}"));
    }

    fn input(&mut self, message: &Message) {
        self.queue.arrived(&message.id);
        let label = match message.source {
            Source::Plugin { .. } => "notice",
            Source::User | Source::Model { .. } | Source::Tool { .. } => "user",
        };
        self.entry(label, &text::of_message(message));
    }

    fn answer(&mut self, answer: &AssistantMessage) {
        for block in &answer.message.content {
            match block {
                ContentBlock::Text { text } => self.entry_unless_empty("say", text),
                ContentBlock::Reasoning { text } => self.entry_unless_empty("think", text),
                ContentBlock::ToolCall { id, name, arguments } => {
                    self.asked.insert(id.clone(), (name.clone(), arguments.clone()));
                }
                ContentBlock::Image { .. }
                | ContentBlock::Resource { .. }
                | ContentBlock::ToolResult { .. } => self.entry("say", &text::of_block(block)),
            }
        }
        if answer.interrupted == Some(true) {
            self.mark("interrupted");
        }
    }

    fn call(&mut self, call: &ToolCall) {
        self.asked.remove(&call.call_id);
        self.entry("call", &text::of_call(&call.name, &call.arguments));
    }

    fn result(&mut self, result: &ToolResult) {
        for block in &result.message.content {
            let ContentBlock::ToolResult { tool_call_id, content, is_error } = block else {
                continue;
            };
            if let Some((name, arguments)) = self.asked.remove(tool_call_id) {
                self.entry("call", &text::of_call(&name, &arguments));
            }
            let text = text::of_blocks(content);
            if *is_error == Some(true) {
                let code = result.error.as_ref().map(|error| text::word(&error.code));
                let parts: Vec<String> = code.into_iter().chain([text]).collect();
                self.cut_entry("error", &parts.join(" "));
            } else {
                self.cut_entry("result", &text);
            }
        }
    }

    fn splice(&mut self, splice: &InboxSpliced) {
        let removed = self.queue.splice(splice);
        if splice.outcome == Some(SpliceOutcome::Canceled) {
            for message in &removed {
                self.entry("dropped", &text::of_message(message));
            }
        } else {
            self.queue.claim(removed);
        }
        // A prompt to an idle session is claimed at once and shown by its turn.
        if self.in_turn {
            for message in &splice.inserted {
                self.entry("queued", &text::of_message(message));
            }
        }
    }

    fn outcome(&mut self, outcome: &MessageOutcome) {
        let kind = text::word(&outcome.kind);
        let message = self.queue.arrived(&outcome.message_id);
        let text = message.map_or(outcome.message_id.to_string(), |found| text::of_message(&found));
        self.entry("dropped", &text);
        self.entry("reason", &format!("{kind}: {}", outcome.reason));
    }

    /// A line of its own without a text column.
    fn mark(&mut self, text: &str) {
        self.write("", text, None);
    }

    fn entry(&mut self, label: &str, text: &str) {
        self.write(label, text, None);
    }

    fn entry_unless_empty(&mut self, label: &str, text: &str) {
        if !text::is_blank(text) {
            self.entry(label, text);
        }
    }

    fn cut_entry(&mut self, label: &str, text: &str) {
        self.write(label, text, self.result_lines);
    }

    /// Writes the lines of one entry: the first behind the label, the others in the column of its text.
    fn write(&mut self, label: &str, text: &str, most: Option<usize>) {
        let indent = 2 * (usize::from(self.in_turn) + usize::from(self.in_step));
        let mut lines = text::lines(text);
        let more = lines.len().saturating_sub(most.unwrap_or(usize::MAX));
        if more > 0 {
            lines.truncate(lines.len() - more);
            lines.push(format!("… {more} more lines"));
        }
        for (n, line) in lines.iter().enumerate() {
            let written = match (n, label) {
                (0, "") => format!("{:indent$}{line}", ""),
                (0, _) => format!("{:indent$}{label:TEXT_COLUMN$}{line}", ""),
                _ => format!("{:width$}{line}", "", width = indent + TEXT_COLUMN),
            };
            // An empty line, or an entry without text, leaves no blanks behind.
            self.out.push_str(if line.is_empty() {
                written.trim_end_matches(' ')
            } else {
                &written
            });
            self.out.push('\n');
        }
    }
}
