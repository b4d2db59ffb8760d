//! Settings as YAML.

use std::fmt::Write as _;

use serde_json::Value;

use crate::patch::meant;
use crate::setting::{Setting, SettingValue};
use crate::yaml::{self, Content};

/// The longest list of scalars that stands in one line.
const LINE: usize = 90;

/// Appends what stands behind `key:` or `-`, line end included.
pub(crate) fn value(out: &mut String, setting: &Setting, indent: usize) {
    match &setting.value {
        SettingValue::Expression(expression) => {
            let (tag, argument) = expression.written();
            out.push(' ');
            out.push_str(tag);
            if matches!(&argument.value, SettingValue::Scalar(Value::String(text)) if text.is_empty())
            {
                out.push('\n');
            } else {
                value(out, &argument, indent);
            }
        }
        SettingValue::Map(entries) if !entries.is_empty() => {
            out.push('\n');
            for (key, value) in entries {
                entry(out, key, value, indent);
            }
        }
        SettingValue::List(items) if !is_short(items) => {
            out.push('\n');
            for item in items {
                self::item(out, item, indent);
            }
        }
        _ => {
            out.push(' ');
            out.push_str(&inline(setting));
            out.push('\n');
        }
    }
}

/// Appends `key: value` at an indentation.
pub(crate) fn entry(out: &mut String, key: &str, setting: &Setting, indent: usize) {
    out.push_str(&" ".repeat(indent));
    out.push_str(&text(key));
    out.push(':');
    value(out, setting, indent + 2);
}

fn item(out: &mut String, setting: &Setting, indent: usize) {
    out.push_str(&" ".repeat(indent));
    out.push('-');
    match &setting.value {
        SettingValue::Map(entries) if !entries.is_empty() => {
            let mut block = String::new();
            for (key, value) in entries {
                entry(&mut block, key, value, indent + 2);
            }
            // The first key stands in the dash's line.
            out.push_str(&block[indent + 1..]);
        }
        _ => value(out, setting, indent + 2),
    }
}

fn is_short(items: &[Setting]) -> bool {
    let is_scalar = |item: &Setting| matches!(item.value, SettingValue::Scalar(_));
    items.iter().all(is_scalar) && list(items).len() <= LINE
}

fn list(items: &[Setting]) -> String {
    let items: Vec<String> = items.iter().map(inline).collect();
    format!("[{}]", items.join(", "))
}

/// A setting in one line.
pub(crate) fn inline(setting: &Setting) -> String {
    match &setting.value {
        SettingValue::Scalar(Value::String(value)) => text(value),
        SettingValue::Scalar(value) => value.to_string(),
        SettingValue::List(items) => list(items),
        SettingValue::Map(entries) => {
            let entry =
                |(key, value): (&String, &Setting)| format!("{}: {}", text(key), inline(value));
            let entries: Vec<String> = entries.iter().map(entry).collect();
            format!("{{{}}}", entries.join(", "))
        }
        SettingValue::Expression(expression) => {
            let (tag, argument) = expression.written();
            format!("{tag} {}", inline(&argument))
        }
    }
}

/// A text, in quotes where a bare word would be read as something else, here or by older readers.
pub(crate) fn text(text: &str) -> String {
    let is_bare = |(at, char): (usize, char)| match char {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '/' => true,
        '.' | '-' | '@' | '+' => at > 0,
        ' ' => at > 0 && !text[..at].ends_with(' ') && at + 1 < text.len(),
        _ => false,
    };
    let is_word = text.char_indices().all(is_bare)
        && matches!(yaml::plain(text), Some(Content::String(_)))
        && meant(text).is_none()
        && !yaml::is_number_like(text);
    if is_word { text.to_owned() } else { quoted(text) }
}

fn quoted(text: &str) -> String {
    let mut quoted = String::new();
    for char in Value::from(text).to_string().chars() {
        // JSON lets these stand; YAML does not, or takes them for line ends.
        match char {
            '\u{7f}'..='\u{9f}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{feff}'
            | '\u{fffe}'
            | '\u{ffff}' => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(char));
            }
            _ => quoted.push(char),
        }
    }
    quoted
}
