//! What was asked last and what has been found out since, read from the conversation alone.

use std::sync::Arc;

use dsh_protocol::content::{ContentBlock, visible_text};
use dsh_protocol::message::{Message, Role, Source};
use serde_json::Value;

/// A call of this turn with its result.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Done {
    pub tool: String,
    pub arguments: Value,
    /// What the tool answered, or how it failed.
    pub result: Result<String, String>,
}

/// Where the last prompt stands in a conversation.
pub(super) fn begins(messages: &[Arc<Message>]) -> Option<usize> {
    messages
        .iter()
        .rposition(is_prompt)
        .or_else(|| messages.iter().rposition(|message| message.role == Role::User))
}

fn is_prompt(message: &Arc<Message>) -> bool {
    message.role == Role::User && message.source == Source::User
}

/// The last prompt and the steps behind it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Turn {
    pub prompt: String,
    /// Earlier prompts, the latest first.
    pub earlier: Vec<String>,
    /// How many times tools were asked for.
    pub rounds: usize,
    /// In the order in which they were asked for.
    pub done: Vec<Done>,
}

impl Turn {
    /// Reads a conversation.
    pub(super) fn of(messages: &[Arc<Message>]) -> Turn {
        let Some(at) = begins(messages) else { return Turn::default() };
        let (before, after) = messages.split_at(at);
        let Some((prompt, steps)) = after.split_first() else {
            return Turn::default();
        };
        let earlier = before.iter().rev().filter(|message| is_prompt(message));
        let asks = |message: &&Arc<Message>| {
            message.content.iter().any(|block| matches!(block, ContentBlock::ToolCall { .. }))
        };
        Turn {
            prompt: visible_text(&prompt.content),
            earlier: earlier.map(|message| visible_text(&message.content)).collect(),
            rounds: steps.iter().filter(asks).count(),
            done: done(steps),
        }
    }

    /// The results of one tool, in order.
    pub(super) fn results<'t>(&'t self, tool: &'t str) -> impl Iterator<Item = &'t Done> {
        self.done.iter().filter(move |done| done.tool == tool)
    }

    /// The first failure of a call, for the answer to own up to.
    pub(super) fn failure(&self) -> Option<(&str, &str)> {
        self.done
            .iter()
            .find_map(|done| Some((done.tool.as_str(), done.result.as_ref().err()?.as_str())))
    }
}

/// The calls of some messages with their results.
pub(super) fn done(steps: &[Arc<Message>]) -> Vec<Done> {
    let blocks = || steps.iter().flat_map(|message| &message.content);
    let mut done = Vec::new();
    for block in blocks() {
        let ContentBlock::ToolCall { id, name, arguments } = block else {
            continue;
        };
        let result = blocks().find_map(|block| match block {
            ContentBlock::ToolResult { tool_call_id, content, is_error } if tool_call_id == id => {
                let text = visible_text(content);
                Some(if *is_error == Some(true) { Err(text) } else { Ok(text) })
            }
            ContentBlock::Text { .. }
            | ContentBlock::Reasoning { .. }
            | ContentBlock::Image { .. }
            | ContentBlock::Resource { .. }
            | ContentBlock::ToolCall { .. }
            | ContentBlock::ToolResult { .. } => None,
        });
        done.push(Done {
            tool: name.clone(),
            arguments: serde_json::from_str(arguments).unwrap_or(Value::Null),
            result: result.unwrap_or_else(|| Err("the call has no result".to_owned())),
        });
    }
    done
}
