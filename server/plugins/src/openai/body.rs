//! The body of a request: the same bytes for the same request, whatever was asked before.

mod content;

use dsh_llm::adapter::Request;
use dsh_protocol::content::ContentBlock;
use dsh_protocol::message::{Message, Role, Source};
use dsh_protocol::session::Header;
use serde_json::{Map, Value, json};

use super::dialect::Dialect;
use content::Pictures;

/// Stands before the pictures of tool results, which this API takes from users only.
const PICTURES_OF_TOOLS: &str = "Attached image(s) from tool result:";

/// What a tool is said to have answered when it said nothing.
const NO_OUTPUT: &str = "(no output)";

/// The name under which arguments that are no JSON object go back. Servers parse the arguments of the history,
/// and what a model wrote must neither be refused there nor be passed off as an empty object.
const MALFORMED: &str = "malformed_arguments";

/// The body. `images`: whether the model takes pictures.
pub(super) fn bytes(request: &Request, dialect: &Dialect, images: bool) -> Option<Vec<u8>> {
    let header = &request.header;
    let mut body = Map::new();
    body.insert("model".to_owned(), header.model.clone().into());
    body.insert("messages".to_owned(), messages(request, dialect, images).into());
    body.insert("stream".to_owned(), true.into());
    if dialect.stream_options {
        body.insert("stream_options".to_owned(), json!({ "include_usage": true }));
    }
    body.extend(effort_members(header, dialect).unwrap_or_default());
    if let Some(tools) = header.tools.as_deref().filter(|tools| !tools.is_empty()) {
        let tool = |tool: &dsh_protocol::tool::ToolDefinition| {
            json!({ "type": "function", "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.input_schema,
            } })
        };
        body.insert("tools".to_owned(), tools.iter().map(tool).collect());
    }
    if let Some(max_tokens) = header.max_tokens {
        body.insert(dialect.max_tokens.to_owned(), max_tokens.into());
    }
    serde_json::to_vec(&body).ok()
}

/// The members that ask for the header's effort; `None` when the dialect does not know that effort.
pub(super) fn effort_members(header: &Header, dialect: &Dialect) -> Option<Map<String, Value>> {
    let Some(effort) = header.reasoning_effort.as_deref().or(dialect.default_effort) else {
        return Some(Map::new());
    };
    let (_, members) = dialect.efforts.iter().find(|(name, _)| *name == effort)?;
    serde_json::from_str(members).ok()
}

fn messages(request: &Request, dialect: &Dialect, images: bool) -> Vec<Value> {
    let header = &request.header;
    let mut sent = Vec::new();
    if let Some(system) = header.system.as_deref().filter(|system| !system.is_empty()) {
        sent.push(json!({ "role": "system", "content": system }));
    }
    // Nothing may stand between the results of one answer, so their pictures wait until all have come.
    let mut pictures = Pictures::new(images);
    for message in &request.messages {
        if message.role != Role::Tool {
            sent.extend(pictures.take(PICTURES_OF_TOOLS));
        }
        match message.role {
            Role::User => sent.push(content::user(&message.content, images)),
            Role::Assistant => sent.push(assistant(message, &header.provider, dialect)),
            Role::Tool => sent.extend(results(message, &mut pictures)),
        }
    }
    sent.extend(pictures.take(PICTURES_OF_TOOLS));
    sent
}

/// An answer of a model. Its content is a string even when there is none; reasoning goes back to the provider
/// that it came from and to no other.
fn assistant(message: &Message, provider: &str, dialect: &Dialect) -> Value {
    let (mut text, mut reasoning, mut calls) = (String::new(), String::new(), Vec::new());
    for block in &message.content {
        match block {
            ContentBlock::Text { text: more } => text.push_str(more),
            ContentBlock::Reasoning { text: more } => reasoning.push_str(more),
            ContentBlock::ToolCall { id, name, arguments } => calls.push(json!({
                "id": id,
                "type": "function",
                "function": { "name": name, "arguments": acceptable(arguments) },
            })),
            ContentBlock::Image { .. }
            | ContentBlock::Resource { .. }
            | ContentBlock::ToolResult { .. } => {}
        }
    }
    let mut sent = Map::new();
    sent.insert("role".to_owned(), "assistant".into());
    sent.insert("content".to_owned(), text.into());
    if let Some(echo) = dialect.echo {
        let own = matches!(&message.source, Source::Model { provider: of, .. } if of == provider);
        let reasoning = if own { reasoning } else { String::new() };
        if !reasoning.is_empty() || echo.required_with_calls && !calls.is_empty() {
            sent.insert(echo.field.to_owned(), reasoning.into());
        }
    }
    if !calls.is_empty() {
        sent.insert("tool_calls".to_owned(), calls.into());
    }
    sent.into()
}

/// Arguments that every server takes: as the model wrote them when they are a JSON object, `{}` when it wrote
/// none, else its text under a name that says what is wrong with it.
fn acceptable(arguments: &str) -> String {
    if arguments.trim().is_empty() {
        return "{}".to_owned();
    }
    match serde_json::from_str(arguments) {
        Ok(Value::Object(_)) => arguments.to_owned(),
        Ok(_) | Err(_) => json!({ MALFORMED: arguments }).to_string(),
    }
}

fn results(message: &Message, pictures: &mut Pictures) -> Vec<Value> {
    let result = |block: &ContentBlock| {
        let ContentBlock::ToolResult { tool_call_id, content, .. } = block else { return None };
        let text = content::text(content, |picture| pictures.add(picture));
        let text = if text.is_empty() { NO_OUTPUT.to_owned() } else { text };
        Some(json!({ "role": "tool", "tool_call_id": tool_call_id, "content": text }))
    };
    message.content.iter().filter_map(result).collect()
}

#[cfg(test)]
mod tests;
