//! Messages, blocks and calls as text.

use serde::Serialize;
use serde_json::Value;

use crate::content::{ContentBlock, LineRange};
use crate::message::{Message, Source};

/// The arguments that tell most about a call, the first of them that is there.
const TELLING_ARGUMENTS: [&str; 2] = ["file_path", "pattern"];

/// A message's text; a plugin's says whose it is.
pub(super) fn of_message(message: &Message) -> String {
    let text = of_blocks(&message.content);
    match &message.source {
        Source::Plugin { plugin, .. } => format!("{plugin}: {text}"),
        Source::User | Source::Model { .. } | Source::Tool { .. } => text,
    }
}

/// Each block on lines of its own.
pub(super) fn of_blocks(blocks: &[ContentBlock]) -> String {
    blocks.iter().map(of_block).collect::<Vec<_>>().join("\n")
}

/// Text as it is, anything else as a word in brackets.
pub(super) fn of_block(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text { text } => text.clone(),
        ContentBlock::Reasoning { .. } => "[reasoning]".to_owned(),
        ContentBlock::Image { media_type, .. } => format!("[image {media_type}]"),
        ContentBlock::Resource { uri, range: None, .. } => format!("[resource {uri}]"),
        ContentBlock::Resource { uri, range: Some(LineRange { start_line, end_line }), .. } => {
            format!("[resource {uri}:{start_line}-{end_line}]")
        }
        ContentBlock::ToolCall { .. } => "[tool-call]".to_owned(),
        ContentBlock::ToolResult { .. } => "[tool-result]".to_owned(),
    }
}

/// A call as its tool's name and its most telling argument, or all arguments exactly as the model wrote them:
/// writing them anew would give other bytes in other languages.
pub(super) fn of_call(name: &str, arguments: &str) -> String {
    let parsed: Value = serde_json::from_str(arguments).unwrap_or_default();
    let telling = TELLING_ARGUMENTS
        .iter()
        .find_map(|argument| parsed.get(argument).and_then(Value::as_str))
        .unwrap_or(arguments);
    format!("{name} {telling}")
}

/// A value of a closed list as the word that it is on the wire.
pub(super) fn word(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => word,
        _ => String::new(),
    }
}

/// What a text may end with and no reader sees.
const BLANKS: [char; 4] = [' ', '\t', '\r', '\n'];

/// Whether a text has nothing to show.
pub(super) fn is_blank(text: &str) -> bool {
    text.trim_end_matches(BLANKS).is_empty()
}

/// The lines of a text: no blanks at its end, no carriage return before a line end, and no control character
/// that a terminal would obey.
pub(super) fn lines(text: &str) -> Vec<String> {
    let text = text.trim_end_matches(BLANKS).replace("\r\n", "\n");
    text.split('\n').map(|line| line.chars().map(printable).collect()).collect()
}

fn printable(letter: char) -> char {
    let is_obeyed = letter.is_ascii_control() && letter != '\t';
    if is_obeyed { char::REPLACEMENT_CHARACTER } else { letter }
}
