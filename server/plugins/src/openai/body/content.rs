//! Text, files and pictures of messages as this API takes them.

use dsh_protocol::content::{ContentBlock, LineRange};
use serde_json::{Value, json};
use url::Url;

/// Stands for a picture that the model cannot see.
const TEXT_ONLY: &str = "[image left out: this model reads text only]";

/// Stands for a picture whose bytes the message does not hold.
const NOT_INLINE: &str = "[image left out: its data is not part of the message]";

/// A user's message: a string, or a list of parts when there are pictures to show.
pub(super) fn user(blocks: &[ContentBlock], images: bool) -> Value {
    let mut pictures = Pictures::new(images);
    let text = text(blocks, |block| pictures.add(block));
    match pictures.parts {
        parts if parts.is_empty() => json!({ "role": "user", "content": text }),
        mut parts => {
            if !text.is_empty() {
                parts.insert(0, part(&text));
            }
            json!({ "role": "user", "content": parts })
        }
    }
}

/// The text of some blocks, a blank line between them. `picture` says what stands for a picture.
pub(super) fn text(
    blocks: &[ContentBlock],
    mut picture: impl FnMut(&ContentBlock) -> Option<String>,
) -> String {
    let shown = |block: &ContentBlock| match block {
        ContentBlock::Text { text } => Some(text.clone()),
        ContentBlock::Resource { uri, range, text } => Some(resource(uri, *range, text.as_deref())),
        ContentBlock::Image { .. } => picture(block),
        ContentBlock::Reasoning { .. }
        | ContentBlock::ToolCall { .. }
        | ContentBlock::ToolResult { .. } => None,
    };
    blocks.iter().filter_map(shown).collect::<Vec<_>>().join("\n\n")
}

/// A file: its path, and its text in a fence that the text cannot close.
fn resource(uri: &str, range: Option<LineRange>, text: Option<&str>) -> String {
    let path = Url::parse(uri).ok().and_then(|uri| uri.to_file_path().ok());
    let path = path.map_or_else(|| uri.to_owned(), |path| path.display().to_string());
    let place = match range {
        Some(LineRange { start_line, end_line }) => format!("{path}:{start_line}-{end_line}"),
        None => path,
    };
    let Some(text) = text else { return format!("[file: {place}]") };
    let longest = text.split(|character| character != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(3.max(longest + 1));
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}{place}\n{text}{end}{fence}")
}

/// Pictures that are collected for a message.
pub(super) struct Pictures {
    images: bool,
    parts: Vec<Value>,
}

impl Pictures {
    /// No picture yet. `images`: whether the model takes any.
    pub(super) fn new(images: bool) -> Self {
        Self { images, parts: Vec::new() }
    }

    /// Takes a picture, or says what stands for it in the text.
    pub(super) fn add(&mut self, block: &ContentBlock) -> Option<String> {
        let ContentBlock::Image { data, media_type, .. } = block else { return None };
        match data {
            _ if !self.images => Some(TEXT_ONLY.to_owned()),
            None => Some(NOT_INLINE.to_owned()),
            Some(data) => {
                let url = format!("data:{media_type};base64,{data}");
                self.parts.push(json!({ "type": "image_url", "image_url": { "url": url } }));
                None
            }
        }
    }

    /// The pictures so far as a user's message, if there are any.
    pub(super) fn take(&mut self, introduction: &str) -> Option<Value> {
        let mut parts = std::mem::take(&mut self.parts);
        if parts.is_empty() {
            return None;
        }
        parts.insert(0, part(introduction));
        Some(json!({ "role": "user", "content": parts }))
    }
}

fn part(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}
