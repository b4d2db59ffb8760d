//! What `dsh-ls run` prints: answers to standard output, everything else to standard error.

use std::fmt::Write as _;
use std::io::{IsTerminal, Write};

use dsh_protocol::content::{ContentBlock, visible_text};
use dsh_protocol::event::{Event, EventData};
use dsh_protocol::evidence::EvidenceFailure;
use dsh_protocol::message::Source;
use dsh_runtime::agent::agent::Agent;

use super::FAILED;
use crate::cli::{RunArgs, complain};

/// Prints what happens as it happens.
pub(super) struct Printer {
    json: bool,
    pub(super) quiet: bool,
    cursor: i64,
    /// What the model has answered so far: what it said without calling tools.
    pub(super) answers: Vec<String>,
    /// Why a line could not be written.
    lost: Option<std::io::Error>,
}

impl Printer {
    /// Prints what comes behind an event.
    pub(super) fn new(args: &RunArgs, after: i64) -> Self {
        let RunArgs { json, quiet, .. } = args;
        Self { json: *json, quiet: *quiet, cursor: after, answers: Vec::new(), lost: None }
    }

    pub(super) fn print(&mut self, agent: &Agent) {
        loop {
            let page = agent.log().page(self.cursor, 1000, |_| true);
            let Some(last) = page.events.last() else { return };
            agent.write_through();
            self.cursor = i64::try_from(last.seq).unwrap_or(i64::MAX);
            for event in &page.events {
                if self.json {
                    let line = serde_json::to_string(event.as_ref()).unwrap_or_default();
                    self.lost = self.lost.take().or(print_line(&line).err());
                }
                if !self.quiet {
                    show(event);
                }
                match said(event) {
                    Some((text, false)) => self.answers.push(text),
                    Some((text, true)) if !self.quiet => progress(&text),
                    Some((_, true)) | None => {}
                }
            }
        }
    }

    /// Prints what was answered; the exit code says that it could not be.
    pub(super) fn finish(self) -> Result<(), u8> {
        let mut lost = self.lost;
        if !self.json && !self.answers.is_empty() {
            let text = self.answers.join("\n\n");
            let terminal = std::io::stdout().is_terminal();
            lost = print_line(&if terminal { printable(&text) } else { text }).err();
        }
        let Some(error) = lost else { return Ok(()) };
        complain(&format!("the answer cannot be written: {error}"));
        Err(FAILED)
    }
}

/// What a model says in an event, and whether it calls tools beside that.
fn said(event: &Event) -> Option<(String, bool)> {
    let EventData::AssistantMessage(answer) = &event.data else { return None };
    let content = &answer.message.content;
    let calls = content.iter().any(|block| matches!(block, ContentBlock::ToolCall { .. }));
    Some((visible_text(content), calls)).filter(|(text, _)| !text.trim().is_empty())
}

/// A line of progress for a tool that was called, for what a plugin has to say, and for what does not hold in an answer.
fn show(event: &Event) {
    if let EventData::ToolCall(call) = &event.data {
        progress(&format!("{} {}", call.name, shortened(&call.arguments)));
    }
    if let EventData::UserMessage(told) = &event.data
        && let Source::Plugin { summary: Some(summary), .. } = &told.source
    {
        progress(summary);
    }
    if let EventData::EvidenceChecked(checked) = &event.data {
        for failure in &checked.failures {
            progress(&doubted(failure));
        }
    }
}

/// What does not hold in the answer, in one line.
fn doubted(failure: &EvidenceFailure) -> String {
    let mut text = format!("{}: {}", failure.reason.as_str(), failure.path);
    if let Some(line) = failure.line {
        let _ = write!(text, ":{line}");
    }
    if let Some(quote) = &failure.quote {
        let one_line = quote.split_whitespace().collect::<Vec<_>>().join(" ");
        let _ = write!(text, " `{}`", shortened(&one_line));
    }
    if let Some(now) = failure.now {
        let _ = write!(text, ", now line {now}");
    }
    text
}

/// The beginning of a text that may be long.
fn shortened(text: &str) -> String {
    const CHARS: usize = 100;
    match text.char_indices().nth(CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// A reader that has gone away, as `head` does, is no error.
fn print_line(text: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

pub(super) fn progress(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "· {}", printable(text));
}

/// Text that cannot command a terminal: file names and file contents are in it.
fn printable(text: &str) -> String {
    text.chars()
        .map(|char| if char.is_control() && !"\n\t".contains(char) { '\u{fffd}' } else { char })
        .collect()
}
