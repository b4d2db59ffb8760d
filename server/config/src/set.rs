//! One value of the home's patch file changed, and nothing else: comments, order and spelling stay.
//!
//! An edit is proposed, made in the text, and read again: what comes out must be what was meant. Where the value
//! stands already it is replaced; else a key is added to the last entry that merges into the row or configures
//! it; else an entry is added to the end, which always wins.

mod edit;

use std::path::PathBuf;
use std::sync::Arc;

use dsh_kernel::config::{KeyPath, PathStep};
use serde_json::{Map, Value};

use crate::patch;
use crate::problem::Problem;
use crate::setting::Setting;
use crate::source::{Place, Source};
use crate::yaml::{self, Content, Entry, Node, Style};

use edit::Edit;

/// Why a value was not set. The text is as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetError {
    /// The file has a problem already.
    #[error("mend the file first: {0}")]
    Broken(Box<Problem>),
    /// No key is named.
    #[error("name a key of the row's configuration, like `ROW.KEY`")]
    NoKey,
    /// The way leads into a list that is set elsewhere.
    #[error("`{0}` leads into a list that this file does not set; set the whole list")]
    InsideList(String),
    /// The file is written in a way that an edit would change more.
    #[error("the value cannot be set without changing something else; edit the file by hand")]
    NotExact,
}

/// An edit and what the file holds after it.
struct Proposal {
    edit: Edit,
    expected: Content,
}

/// Sets a value of a row's configuration in the text of a patch file, which may be empty. A mapping is merged
/// with what lower layers have; nothing takes the key away.
pub fn set(text: &str, row: &str, path: &KeyPath, value: &Value) -> Result<String, SetError> {
    let source = Source::file(PathBuf::from(crate::profile::PATCH_FILE), text);
    let mark = if text.starts_with('\u{feff}') { "\u{feff}" } else { "" };
    let root = parse(&source).map_err(|problem| SetError::Broken(Box::new(problem)))?;
    if path.steps.is_empty() || row.trim().is_empty() {
        return Err(SetError::NoKey);
    }
    if path.steps.len() > yaml::MAX_DEPTH {
        return Err(SetError::NotExact);
    }
    let items = match root.as_ref().map(|root| &root.value) {
        Some(Content::List(items)) => &items[..],
        _ => &[],
    };
    let file = File { source: &source, root: root.as_ref(), items };
    for proposal in [file.in_place(row, path, value), file.append(row, path, value)] {
        let Some(proposal) = proposal else { continue };
        let edited = proposal.edit.apply(&source.text);
        if is_exact(&edited, &proposal.expected) {
            return Ok(format!("{mark}{edited}"));
        }
    }
    let is_index = |step: &PathStep| matches!(step, PathStep::Index(_));
    if path.steps.iter().any(is_index) {
        return Err(SetError::InsideList(path.to_string()));
    }
    Err(SetError::NotExact)
}

/// A file's patches; an empty file has none.
fn parse(source: &Arc<Source>) -> Result<Option<Node>, Problem> {
    let Some(root) = yaml::parse(source)? else { return Ok(None) };
    let mut problems = Vec::new();
    patch::parse(source, &mut problems);
    match problems.into_iter().find(Problem::is_error) {
        Some(problem) => Err(problem),
        None => Ok(Some(root)),
    }
}

fn is_exact(edited: &str, expected: &Content) -> bool {
    let source = Source::file(PathBuf::from(crate::profile::PATCH_FILE), edited);
    parse(&source).is_ok_and(|root| root.is_some_and(|root| root.value.is_same(expected)))
}

struct File<'a> {
    source: &'a Arc<Source>,
    root: Option<&'a Node>,
    items: &'a [Node],
}

/// The way to a node: positions in lists and in mappings.
type Way = Vec<usize>;

impl File<'_> {
    /// Changes the last entry that says something of the row's configuration.
    fn in_place(&self, row: &str, path: &KeyPath, value: &Value) -> Option<Proposal> {
        let (way, config) = self.items.iter().enumerate().rev().find_map(|(at, item)| {
            let (mut way, config) = configured(item, row)?;
            way.insert(0, at);
            Some((way, config))
        })?;
        let (mut way, mut node, mut steps) = (way, config, &path.steps[..]);
        let mut key: Option<&Entry> = None;
        while let Some((step, rest)) = steps.split_first() {
            if node.style == Style::Alias || node.tag.is_some() {
                return None;
            }
            match (&node.value, step) {
                (Content::Map(entries), PathStep::Key(name)) => {
                    let Some(at) = entries.iter().position(|entry| entry.key == *name) else {
                        return self.add(&way, node, steps, value);
                    };
                    way.push(at);
                    key = Some(&entries[at]);
                    node = &entries[at].value;
                }
                (Content::List(items), PathStep::Index(at)) => {
                    key = None;
                    node = items.get(*at)?;
                    way.push(*at);
                }
                (_, _) => return None,
            }
            steps = rest;
        }
        let edit = Edit::replace(&self.source.text, key, node, &self.setting(value))?;
        Some(Proposal {
            edit,
            expected: self.changed(&way, |node| *node = as_node(value, &node.place)),
        })
    }

    /// Adds a key to a mapping.
    fn add(&self, way: &Way, map: &Node, steps: &[PathStep], value: &Value) -> Option<Proposal> {
        let (PathStep::Key(name), rest) = steps.split_first()? else { return None };
        let value = nested(rest, value)?;
        let edit = Edit::add(&self.source.text, map, name, &self.setting(&value))?;
        let expected = self.changed(way, |node| {
            if let Content::Map(entries) = &mut node.value {
                let place = node.place.clone();
                let value = as_node(&value, &place);
                entries.push(Entry { key: name.clone(), place, value });
            }
        });
        Some(Proposal { edit, expected })
    }

    /// Adds an entry to the end.
    fn append(&self, row: &str, path: &KeyPath, value: &Value) -> Option<Proposal> {
        let merge = nested(&path.steps, value)?;
        let entry: Map<String, Value> =
            [("id".to_owned(), row.into()), ("merge".to_owned(), merge)].into_iter().collect();
        let entry = Value::Object(entry);
        let edit = Edit::append(&self.source.text, self.root, &self.setting(&entry))?;
        let mut items = self.items.to_vec();
        items.push(as_node(&entry, &self.source.place(0..0)));
        Some(Proposal { edit, expected: Content::List(items) })
    }

    fn setting(&self, value: &Value) -> Setting {
        Setting::from_json(value, &self.source.place(0..0))
    }

    /// The file's patches with one node changed.
    fn changed(&self, way: &Way, change: impl FnOnce(&mut Node)) -> Content {
        let mut items = self.items.to_vec();
        let mut node = way.split_first().and_then(|(at, rest)| {
            rest.iter().try_fold(items.get_mut(*at)?, |node, at| match &mut node.value {
                Content::List(items) => items.get_mut(*at),
                Content::Map(entries) => entries.get_mut(*at).map(|entry| &mut entry.value),
                _ => None,
            })
        });
        if let Some(node) = &mut node {
            change(node);
        }
        Content::List(items)
    }
}

/// What an entry says of a row's configuration, and the way there.
fn configured<'a>(item: &'a Node, row: &str) -> Option<(Way, &'a Node)> {
    let Content::Map(entries) = &item.value else { return None };
    let id = match item.get("id").map(|id| &id.value) {
        Some(Content::String(id)) => id.as_str(),
        _ => "",
    };
    let is_row = id == row || (!id.contains(':') && row.rsplit(':').next() == Some(id));
    // With a name the entry may not apply; what is added to the end does.
    if is_row && item.get("name").is_none() {
        let says = |entry: &Entry| entry.key == "merge" || entry.key == "config";
        let at = entries.iter().position(says)?;
        let node = &entries[at].value;
        return matches!(node.value, Content::Map(_)).then(|| (vec![at], node));
    }
    let at = entries.iter().position(|entry| entry.key == "insert")?;
    let (mut way, config) = inserted(&entries[at].value, row, id)?;
    way.insert(0, at);
    Some((way, config))
}

/// The configuration of a row among inserted ones.
fn inserted<'a>(rows: &'a Node, row: &str, above: &str) -> Option<(Way, &'a Node)> {
    let Content::List(items) = &rows.value else { return None };
    items.iter().enumerate().find_map(|(at, item)| {
        let Content::Map(entries) = &item.value else { return None };
        let Some(Content::String(id)) = item.get("id").map(|id| &id.value) else { return None };
        let full = crate::apply::full_id(above, id);
        let position = entries.iter().position(|entry| entry.key == "config")?;
        let config = &entries[position].value;
        if full == row {
            return matches!(config.value, Content::Map(_)).then(|| (vec![at, position], config));
        }
        let (mut way, config) = inserted(config, row, &full)?;
        way.splice(0..0, [at, position]);
        Some((way, config))
    })
}

/// A value below some keys. `None`: the way leads into a list.
fn nested(steps: &[PathStep], value: &Value) -> Option<Value> {
    steps.iter().rev().try_fold(value.clone(), |value, step| match step {
        PathStep::Key(key) => Some(Value::Object([(key.clone(), value)].into_iter().collect())),
        PathStep::Index(_) => None,
    })
}

fn as_node(value: &Value, place: &Place) -> Node {
    let nested = |value: &Value| as_node(value, place);
    let value = match value {
        Value::Null => Content::Null,
        Value::Bool(value) => Content::Bool(*value),
        Value::Number(value) => Content::Number(value.clone()),
        Value::String(value) => Content::String(value.clone()),
        Value::Array(items) => Content::List(items.iter().map(nested).collect()),
        Value::Object(map) => {
            let entry = |(key, value): (&String, &Value)| Entry {
                key: key.clone(),
                place: place.clone(),
                value: nested(value),
            };
            Content::Map(map.iter().map(entry).collect())
        }
    };
    Node { value, tag: None, place: place.clone(), style: Style::Plain }
}

#[cfg(test)]
mod tests;
