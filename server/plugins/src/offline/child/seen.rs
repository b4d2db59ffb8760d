//! What a reviewing child sees of a session: what the agent said and what its tools answered.

use std::sync::Arc;

use dsh_protocol::content::{ContentBlock, visible_text};
use dsh_protocol::message::{Message, Role};

use crate::offline::turn;

/// A text that makes claims.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Statement {
    /// Who says it, as the subject of a sentence.
    pub who: String,
    pub text: String,
    /// The text in its other reading, where it cannot be told which one was said.
    pub or: Option<String>,
    /// Whether it is an answer, and not said on the way to one: who is about to look may name files that are not
    /// there.
    pub is_final: bool,
}

/// What a tool answered when it was called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    /// Who called it, as the subject of a sentence.
    pub who: String,
    pub tool: String,
    pub text: String,
}

/// The visible part of a session, in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    pub statements: Vec<Statement>,
    pub outcomes: Vec<Outcome>,
}

/// The turns that a fork inherits.
pub(super) fn inherited(messages: &[Arc<Message>]) -> Seen {
    let end = turn::begins(messages).unwrap_or(0);
    let before = &messages[..end];
    let mut seen = Seen::default();
    for message in before.iter().filter(|message| message.role == Role::Assistant) {
        let text = visible_text(&message.content);
        let asks =
            message.content.iter().any(|block| matches!(block, ContentBlock::ToolCall { .. }));
        if !text.trim().is_empty() {
            let who = "An earlier answer".to_owned();
            seen.statements.push(Statement { who, text, or: None, is_final: !asks });
        }
    }
    if let Some(last) = seen.statements.iter_mut().rfind(|statement| statement.is_final) {
        "The last answer".clone_into(&mut last.who);
    }
    for done in turn::done(before) {
        if let Ok(text) = done.result {
            let who = "An earlier step".to_owned();
            seen.outcomes.push(Outcome { who, tool: done.tool, text });
        }
    }
    seen
}
