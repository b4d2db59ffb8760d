//! What a child hands back: the shape that it is given, the rules that no shape can say, and what is taken for a
//! packet when a child wrote one as text.

use dsh_protocol::content::ContentBlock;
use dsh_protocol::deliberation::{BranchRole, Packet};
use serde_json::{Map, Value, json};

use super::text::{is_blank, trim, utf16_length};

/// The most UTF-16 units of a packet's compact JSON.
pub(super) const MOST_UNITS: usize = 10_000;

/// The most references of an item.
const MOST_REFS: usize = 8;

const KINDS: [&str; 6] =
    ["observation", "conclusion", "assumption", "unknown", "possible_error", "suggestion"];

const CERTAINTIES: [&str; 3] = ["certain", "likely", "uncertain"];

/// The JSON Schema that a child of this role answers in.
pub(super) fn schema(role: BranchRole) -> Value {
    let reference = json!({
        "type": "object",
        "properties": {
            "path": { "type": "string", "description": "The file, relative to the workspace folder." },
            "line": { "type": "integer", "description": "The line, counted from 1." },
            "quote": { "type": "string", "description": "What stands there, word for word." },
        },
        "required": ["path"],
        "additionalProperties": false,
    });
    let item = json!({
        "type": "object",
        "properties": {
            "kind": {
                "type": "string",
                "enum": KINDS,
                "description": "What the item contributes. One item where there is one thing to say; no \
                    category has to be filled.",
            },
            "certainty": {
                "type": "string",
                "enum": CERTAINTIES,
                "description": "How sure you are yourself. It is no verified probability.",
            },
            "content": {
                "type": "string",
                "description": "One short statement that matters for the decision. No hidden reasoning and \
                    no transcript.",
            },
            "refs": {
                "type": "array",
                "items": reference,
                "description": "Where it stands in the workspace, at most 8 places. Each is checked, and \
                    one that does not hold is dropped.",
            },
        },
        "required": ["kind", "certainty", "content"],
        "additionalProperties": false,
    });
    json!({
        "type": "object",
        "properties": {
            "role": { "const": role.as_str() },
            "status": {
                "type": "string",
                "enum": ["update", "no_update"],
                "description": "`no_update` only when nothing that matters for the decision was found.",
            },
            "items": {
                "type": "array",
                "items": item,
                "description": "Few items. Left out with `no_update`.",
            },
        },
        "required": ["role", "status"],
        "additionalProperties": false,
    })
}

/// Reads a packet and checks everything that holds of one; the message says what to change.
pub(super) fn read(value: &Value, role: BranchRole) -> Result<Packet, String> {
    check(value)?;
    let packet: Packet =
        serde_json::from_value(value.clone()).map_err(|error| error.to_string())?;
    if packet.role != role {
        return Err(format!("`role` must be `{}`", role.as_str()));
    }
    Ok(packet)
}

/// The rules of packets of any role.
fn check(value: &Value) -> Result<(), String> {
    let packet = closed(value, "the packet", &["role", "status", "items"])?;
    let role = packet.get("role").and_then(Value::as_str).unwrap_or_default();
    if !BranchRole::ALL.iter().any(|known| known.as_str() == role) {
        return Err("`role` is not a role".to_owned());
    }
    let units = utf16_length(&value.to_string());
    if units > MOST_UNITS {
        return Err(format!(
            "the packet has {units} characters as JSON; at most {MOST_UNITS} are taken"
        ));
    }
    match (packet.get("status").and_then(Value::as_str), packet.get("items")) {
        (Some("no_update"), None) => Ok(()),
        (Some("no_update"), Some(_)) => Err("leave `items` out with `no_update`".to_owned()),
        (Some("update"), Some(Value::Array(items))) if !items.is_empty() => check_items(items),
        (Some("update"), _) => Err("`update` needs at least one item in `items`".to_owned()),
        (_, _) => Err("`status` must be `update` or `no_update`".to_owned()),
    }
}

fn check_items(items: &[Value]) -> Result<(), String> {
    let mut seen = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let at = format!("`items[{index}]`");
        let item = closed(item, &at, &["kind", "certainty", "content", "refs"])?;
        let word = |key: &str| item.get(key).and_then(Value::as_str).unwrap_or_default();
        if !KINDS.contains(&word("kind")) {
            return Err(format!("{at}: `kind` must be one of {}", KINDS.join(", ")));
        }
        if !CERTAINTIES.contains(&word("certainty")) {
            return Err(format!("{at}: `certainty` must be one of {}", CERTAINTIES.join(", ")));
        }
        if is_blank(word("content")) {
            return Err(format!("{at}: `content` must not be blank"));
        }
        let content = trim(word("content")).to_lowercase();
        if seen.contains(&content) {
            return Err(format!("{at}: says the same as an earlier item; say it once"));
        }
        seen.push(content);
        if let Some(refs) = item.get("refs") {
            check_refs(refs, &at)?;
        }
    }
    Ok(())
}

fn check_refs(refs: &Value, at: &str) -> Result<(), String> {
    let Some(refs) = refs.as_array().filter(|refs| refs.len() <= MOST_REFS) else {
        return Err(format!("{at}: `refs` must be a list of at most {MOST_REFS}"));
    };
    for (index, reference) in refs.iter().enumerate() {
        let at = format!("{at}: `refs[{index}]`");
        let reference = closed(reference, &at, &["path", "line", "quote"])?;
        let is_text = |value: &Value| value.as_str().is_some_and(|text| !is_blank(text));
        if !reference.get("path").is_some_and(is_text) {
            return Err(format!("{at}: `path` must name a file"));
        }
        let is_number = |line: &Value| line.as_u64().is_some_and(|line| line > 0);
        if !reference.get("line").is_none_or(is_number) {
            return Err(format!("{at}: `line` must be a line's number, counted from 1"));
        }
        if !reference.get("quote").is_none_or(is_text) {
            return Err(format!("{at}: `quote` must not be blank"));
        }
    }
    Ok(())
}

/// An object with no other keys than these.
fn closed<'a>(value: &'a Value, at: &str, keys: &[&str]) -> Result<&'a Map<String, Value>, String> {
    let object = value.as_object().ok_or_else(|| format!("{at} must be an object"))?;
    match object.keys().find(|key| !keys.contains(&key.as_str())) {
        Some(key) => {
            Err(format!("{at} has the unknown key `{key}`; known are {}", keys.join(", ")))
        }
        None => Ok(object),
    }
}

/// The packet that a child wrote as its last answer instead of handing it in: the answer must be that and
/// nothing else. Its role may be another one.
pub(super) fn from_answer(content: &[ContentBlock]) -> Option<Value> {
    let mut text = String::new();
    for block in content {
        match block {
            ContentBlock::Text { text: part } => text.push_str(part),
            ContentBlock::Reasoning { .. } => {}
            ContentBlock::Image { .. }
            | ContentBlock::Resource { .. }
            | ContentBlock::ToolCall { .. }
            | ContentBlock::ToolResult { .. } => return None,
        }
    }
    let text = trim(&text);
    if text.is_empty() || utf16_length(text) > MOST_UNITS {
        return None;
    }
    let value: Value = serde_json::from_str(text).ok()?;
    check(&value).is_ok().then_some(value)
}

#[cfg(test)]
mod tests;
