//! YAML as a tree whose every node knows its place. The one way by which this program reads YAML.
//!
//! YAML 1.2's core schema: `yes`, `no`, `on` and `off` are texts. One document, no merge keys, keys are texts
//! and stand once in a mapping. Size, depth and what aliases may unfold to are limited.

mod build;
mod scalar;

use std::sync::Arc;

use serde_json::Number;

use crate::problem::Problem;
use crate::source::{MAX_BYTES, Place, Source, too_long};

pub(crate) use scalar::{is_number_like, plain};

/// The most nodes, aliases unfolded.
pub const MAX_NODES: usize = 20_000;
/// The deepest nesting.
pub const MAX_DEPTH: usize = 64;

/// A value and where it stands.
#[derive(Clone, Debug)]
pub struct Node {
    /// The value.
    pub value: Content,
    /// The tag as it is written, without YAML's own ones: `!env`.
    pub tag: Option<String>,
    /// The value's bytes, tag and anchor included. Of an alias: the alias.
    pub place: Place,
    /// Whether the value stands in brackets or quotes, and not in lines or as a bare word.
    pub style: Style,
}

/// How a node is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// A scalar without quotes.
    Plain,
    /// A scalar in quotes, or of several lines.
    Quoted,
    /// A collection in lines.
    Block,
    /// A collection in brackets.
    Flow,
    /// Written elsewhere: an alias.
    Alias,
}

/// What a node holds.
#[derive(Clone, Debug)]
pub enum Content {
    /// Nothing, `~` or `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A text.
    String(String),
    /// A list.
    List(Vec<Node>),
    /// A mapping in the order it is written.
    Map(Vec<Entry>),
}

/// A key and its value.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Where the key stands.
    pub place: Place,
    /// The value.
    pub value: Node,
}

impl Node {
    /// The value of a mapping's key.
    pub fn get(&self, key: &str) -> Option<&Node> {
        let Content::Map(entries) = &self.value else { return None };
        entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value)
    }

    /// What it is, as a sentence has it.
    pub fn kind(&self) -> &'static str {
        if self.tag.is_some() { "an expression" } else { self.value.kind() }
    }

    /// Whether both hold the same, wherever and however it is written.
    pub fn is_same(&self, other: &Node) -> bool {
        self.tag == other.tag && self.value.is_same(&other.value)
    }
}

impl Content {
    /// What it is, as a sentence has it.
    pub fn kind(&self) -> &'static str {
        match self {
            Content::Null => "nothing",
            Content::Bool(_) => "a boolean",
            Content::Number(_) => "a number",
            Content::String(_) => "a text",
            Content::List(_) => "a list",
            Content::Map(_) => "a mapping",
        }
    }

    /// Whether both hold the same, wherever and however it is written.
    pub fn is_same(&self, other: &Content) -> bool {
        match (self, other) {
            (Content::Null, Content::Null) => true,
            (Content::Bool(one), Content::Bool(other)) => one == other,
            (Content::Number(one), Content::Number(other)) => one == other,
            (Content::String(one), Content::String(other)) => one == other,
            (Content::List(one), Content::List(other)) => {
                one.len() == other.len()
                    && one.iter().zip(other).all(|(one, other)| one.is_same(other))
            }
            (Content::Map(one), Content::Map(other)) => {
                let is_same = |(one, other): (&Entry, &Entry)| {
                    one.key == other.key && one.value.is_same(&other.value)
                };
                one.len() == other.len() && one.iter().zip(other).all(is_same)
            }
            _ => false,
        }
    }
}

/// Reads a source's only document. `None`: it has none, that is, nothing but comments.
pub fn parse(source: &Arc<Source>) -> Result<Option<Node>, Problem> {
    if source.text.len() as u64 > MAX_BYTES {
        return Err(too_long(&source.name, source.text.len() as u64));
    }
    build::document(source)
}

#[cfg(test)]
mod tests;
