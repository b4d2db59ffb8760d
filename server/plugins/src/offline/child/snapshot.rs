//! Reads the steps of a session back out of the text in which a mid-fork shows them.
//!
//! A row begins with four blanks and its label. Lines that begin with six blanks and `|` go on with it. What is
//! quoted has lost the brackets of the frame's own tags, and gets them back here. Whoever said `&lt;` before such a
//! tag looks the same, so both readings of a text are kept.

use std::sync::LazyLock;

use regex::Regex;

use super::seen::{Outcome, Seen, Statement};
use crate::offline::pattern;

/// How a line of quoted text after its first begins.
const NEXT_LINE: &str = "      | ";
const STEP: &str = "  Step ";
const ROW: &str = "    ";
const ANSWER: &str = "Assistant visible content: ";
const CALL: &str = "Decision action [callId=";
const OUTCOME: &str = "Tool outcome [callId=";
const TURN_END: &str = "Turn end: ";

/// The snapshot in front of a prompt, without its fence, and what stands behind it.
pub(super) fn split(prompt: &str) -> Option<(&str, &str)> {
    let rest = prompt.strip_prefix("<snapshot nonce=\"")?;
    let (nonce, rest) = rest.split_once("\">\n")?;
    rest.split_once(&format!("\n</snapshot nonce=\"{nonce}\">\n"))
}

/// The steps of a snapshot.
pub(super) fn read(snapshot: &str) -> Seen {
    let mut reading = Reading::default();
    for line in snapshot.split('\n') {
        reading.line(line);
    }
    reading.row_ends();
    reading.seen
}

/// A snapshot that has been read up to some line.
#[derive(Default)]
struct Reading {
    seen: Seen,
    turn: String,
    step: String,
    /// The label and the text of the last row, if it is one that is read.
    row: Option<(String, String)>,
    /// The tools that were called, by the ids of their calls.
    calls: Vec<(String, String)>,
    /// The last answer of the turn.
    last: Option<usize>,
}

impl Reading {
    fn line(&mut self, line: &str) {
        if let Some(more) = line.strip_prefix(NEXT_LINE) {
            if let Some((_, text)) = &mut self.row {
                text.push('\n');
                text.push_str(more);
            }
            return;
        }
        if let Some(row) = line.strip_prefix(ROW).filter(|row| !row.starts_with(' ')) {
            self.row_ends();
            self.row_begins(row);
        } else if let Some(step) = line.strip_prefix(STEP) {
            self.row_ends();
            step.split(' ').next().unwrap_or_default().clone_into(&mut self.step);
        } else if let Some(turn) = line.strip_prefix("Turn ").and_then(|it| it.strip_suffix(':')) {
            self.row_ends();
            turn.clone_into(&mut self.turn);
            self.last = None;
        } else if line.starts_with("  Turn request: ") {
            self.row_ends();
        }
        // Everything else is the frame's, or says what an image is.
    }

    fn row_begins(&mut self, row: &str) {
        if let Some(text) = row.strip_prefix(ANSWER) {
            self.row = Some((ANSWER.to_owned(), text.to_owned()));
        } else if let Some((start, behind)) = [CALL, OUTCOME]
            .iter()
            .find_map(|start| Some((*start, row.strip_prefix(start)?)))
            .filter(|(_, behind)| behind.contains("]: "))
        {
            let (label, text) = behind.split_once("]: ").unwrap_or_default();
            self.row = Some((format!("{start}{label}"), text.to_owned()));
        } else if row.starts_with(TURN_END)
            && let Some(last) = self.last
        {
            self.seen.statements[last].is_final = true;
        }
    }

    fn row_ends(&mut self) {
        let Some((label, text)) = self.row.take() else { return };
        let (written, text) = (text.clone(), with_tags(&text));
        if label == ANSWER {
            self.last = Some(self.seen.statements.len());
            let who = format!("Step {} of turn {}", self.step, self.turn);
            let or = (written != text).then_some(written);
            self.seen.statements.push(Statement { who, text, or, is_final: false });
        } else if let Some(id) = label.strip_prefix(CALL) {
            let tool = text.split('(').next().unwrap_or_default();
            self.calls.push((id.to_owned(), tool.to_owned()));
        } else if let Some((id, "success")) =
            label.strip_prefix(OUTCOME).and_then(|label| label.split_once("; status="))
        {
            let tool = self.calls.iter().rev().find(|(call, _)| call == id);
            let tool = tool.map(|(_, tool)| tool.clone()).unwrap_or_default();
            let who = format!("Step {} of turn {}", self.step, self.turn);
            self.seen.outcomes.push(Outcome { who, tool, text });
        }
    }
}

/// Quoted text with the brackets that its tags had.
fn with_tags(text: &str) -> String {
    TAG.replace_all(text, "<$1").into_owned()
}

/// Whether a text has a tag of the frame, which may have been said in either reading.
pub(super) fn is_ambiguous(text: &str) -> bool {
    TAG.is_match(&text.replace('<', "&lt;"))
}

/// A tag of the frame without its bracket, in any case and with anything unseen inside.
static TAG: LazyLock<Regex> = LazyLock::new(|| {
    let unseen = r"[\s\p{Cc}\u{ad}\u{200b}-\u{200f}\u{2060}-\u{2064}\u{feff}]*";
    pattern(&format!(r"&lt;({unseen}/?{unseen}(?i:snapshot|mid-fork-suffix))"))
});
