//! Changes of a text at the places of its nodes.

use std::ops::Range;

use crate::emit;
use crate::setting::Setting;
use crate::yaml::{Content, Entry, Node, Style};

/// Some bytes and what takes their place.
pub(super) struct Edit {
    range: Range<usize>,
    text: String,
}

impl Edit {
    /// The text after the edit.
    pub(super) fn apply(&self, text: &str) -> String {
        let before = text.get(..self.range.start).unwrap_or_default();
        let after = text.get(self.range.end..).unwrap_or_default();
        format!("{before}{}{after}", self.text)
    }

    /// Puts a value into a node's place; `entry` is the node's key, if it has one.
    pub(super) fn replace(
        text: &str,
        entry: Option<&Entry>,
        node: &Node,
        setting: &Setting,
    ) -> Option<Self> {
        let value = emit::inline(setting);
        // A comment in it would go with it; an entry at the end of the file keeps both.
        let is_collection = matches!(node.style, Style::Block | Style::Flow);
        if is_collection && text.get(node.place.start..node.place.end)?.contains('#') {
            return None;
        }
        if stands_behind(text, node) {
            return Some(Self { range: node.place.start..node.place.end, text: value });
        }
        // The value begins in a later line, with `|`, or not at all.
        let start = behind_colon(text, entry?)?;
        let end = end_of(text, node).max(start);
        let between = text.get(start..node.place.start.max(start))?;
        let has_comment = between.contains('#') && node.place.start > start;
        (!has_comment).then(|| Self { range: start..end, text: format!(" {value}") })
    }

    /// Adds a key to the end of a mapping.
    pub(super) fn add(text: &str, map: &Node, key: &str, setting: &Setting) -> Option<Self> {
        let Content::Map(entries) = &map.value else { return None };
        let pair = || format!("{}: {}", emit::text(key), emit::inline(setting));
        match (map.style, entries.last()) {
            (Style::Flow, None) => {
                let at = text[map.place.start..].find('{')? + map.place.start + 1;
                Some(Self { range: at..at, text: pair() })
            }
            (Style::Flow, Some(last)) => {
                let at = end_of_entry(text, last)?;
                Some(Self { range: at..at, text: format!(", {}", pair()) })
            }
            (Style::Block, Some(last)) => {
                let indent = entries.first()?.place.column as usize - 1;
                let at = end_of_line(text, end_of_entry(text, last)?);
                let mut lines = String::new();
                emit::entry(&mut lines, key, setting, indent);
                Some(Self {
                    range: at..at,
                    text: with_line_ends(text, &format!("\n{}", lines.trim_end_matches('\n'))),
                })
            }
            _ => None,
        }
    }

    /// Adds an entry to the end of the file's list.
    pub(super) fn append(text: &str, root: Option<&Node>, entry: &Setting) -> Option<Self> {
        let block = |indent: usize| {
            let mut block = String::new();
            let one = Setting {
                value: crate::setting::SettingValue::List(vec![entry.clone()]),
                place: entry.place.clone(),
            };
            emit::value(&mut block, &one, indent);
            block.trim_start_matches('\n').to_owned()
        };
        let at_end = |indent: usize| {
            let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
            let lines = with_line_ends(text, &format!("{gap}{}", block(indent)));
            Self { range: text.len()..text.len(), text: lines }
        };
        let Some(root) = root else { return Some(at_end(0)) };
        let Content::List(items) = &root.value else { return None };
        match (root.style, items.last()) {
            (Style::Block, _) => Some(at_end(root.place.column as usize - 1)),
            (_, Some(last)) => {
                let at = last.place.end;
                Some(Self { range: at..at, text: format!(", {}", emit::inline(entry)) })
            }
            (_, None) if root.place.column == 1 => {
                let lines = with_line_ends(text, block(0).trim_end_matches('\n'));
                Some(Self { range: root.place.start..root.place.end, text: lines })
            }
            (_, None) => {
                let lines = format!("[{}]", emit::inline(entry));
                Some(Self { range: root.place.start..root.place.end, text: lines })
            }
        }
    }
}

/// Whether a node's bytes are its whole text.
fn stands_behind(text: &str, node: &Node) -> bool {
    let bytes = text.get(node.place.start..node.place.end).unwrap_or_default();
    match node.style {
        Style::Plain | Style::Flow | Style::Alias => !bytes.is_empty(),
        Style::Quoted => bytes.starts_with(['"', '\'']),
        Style::Block => false,
    }
}

fn behind_colon(text: &str, entry: &Entry) -> Option<usize> {
    let rest = text.get(entry.place.end..)?;
    let gap = rest.find(':')?;
    rest[..gap].trim().is_empty().then_some(entry.place.end + gap + 1)
}

/// Where a node's last line ends, without what the parser counts to it of the next one.
fn end_of(text: &str, node: &Node) -> usize {
    let last = match (node.style, &node.value) {
        (Style::Block, Content::List(items)) => items.last().map(|item| end_of(text, item)),
        (Style::Block, Content::Map(entries)) => {
            entries.last().and_then(|entry| end_of_entry(text, entry))
        }
        (_, _) => None,
    };
    let bytes = text.get(node.place.start..node.place.end).unwrap_or_default();
    last.unwrap_or(node.place.start + bytes.trim_end().len())
}

fn end_of_entry(text: &str, entry: &Entry) -> Option<usize> {
    let place = &entry.value.place;
    if place.start == place.end {
        behind_colon(text, entry)
    } else {
        Some(end_of(text, &entry.value))
    }
}

fn end_of_line(text: &str, from: usize) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    let line = rest.find('\n').map_or(rest, |at| &rest[..at]);
    from + line.trim_end_matches('\r').len()
}

/// Lines as the file ends its own.
fn with_line_ends(text: &str, lines: &str) -> String {
    let windows = text.matches("\r\n").count() * 2 > text.matches('\n').count();
    if windows { lines.replace('\n', "\r\n") } else { lines.to_owned() }
}
