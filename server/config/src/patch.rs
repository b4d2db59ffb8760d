//! One layer's patches, as its text says them.
//!
//! | entry | does |
//! |---|---|
//! | `- insert: [rows]` | adds rows; one that exists from an earlier layer is replaced whole |
//! | `- id: G`, `insert: [rows]` | the same in the group G |
//! | `- id: X` and fields | replaces those fields of X; `null` clears one |
//! | `- id: X`, `merge: {…}` | merges into X's `config` |
//! | `name` beside `id` | applies the entry only if X has that name |
//!
//! `X` is the row's id, or the ids on the way to it joined with `:`.

use std::collections::BTreeMap;
use std::sync::Arc;

use dsh_kernel::plugin::Isolation;
use serde_json::Value;

use crate::problem::{Problem, ProblemKind, did_you_mean};
use crate::setting::{Setting, SettingValue, join};
use crate::source::{Place, Source};
use crate::yaml::{Content, Entry, Node};

mod fields;

pub(crate) use fields::meant;

/// The fields of a row, as dumps order them.
pub(crate) const ROW_FIELDS: [&str; 8] =
    ["id", "name", "disabled", "group", "inject", "intercept", "isolate", "config"];

const PATCH_FIELDS: [&str; 10] = [
    "id",
    "name",
    "disabled",
    "group",
    "inject",
    "intercept",
    "isolate",
    "config",
    "insert",
    "merge",
];

/// A row as a layer writes it.
#[derive(Clone, Debug)]
pub struct WrittenRow {
    /// Its id and where it stands.
    pub id: (String, Place),
    /// Its plugin and where the name stands; the id if it has none.
    pub name: (String, Place),
    /// Its fields.
    pub fields: Fields,
    /// The rows in it; `None`: it is no group.
    pub children: Option<Vec<WrittenRow>>,
}

/// The fields that a row may have and a patch may replace. `Some(None)`: cleared.
#[derive(Clone, Debug, Default)]
pub struct Fields {
    /// The configuration.
    pub config: Option<Option<Setting>>,
    /// Whether it stays down.
    pub disabled: Option<Option<Setting>>,
    /// More services to wait for.
    pub inject: Option<Vec<String>>,
    /// More configuration for services.
    pub intercept: Option<BTreeMap<String, Value>>,
    /// Realms of services.
    pub isolate: Option<BTreeMap<String, Isolation>>,
}

/// One entry of a patch file.
#[derive(Clone, Debug)]
pub struct Patch {
    /// The row that it is about.
    pub id: Option<(String, Place)>,
    /// The name that the row must have.
    pub guard: Option<(String, Place)>,
    /// The rows that it adds.
    pub insert: Option<Vec<WrittenRow>>,
    /// The fields that it replaces.
    pub fields: Fields,
    /// `config` as rows, for the case that the row is a group.
    pub children: Option<Node>,
    /// What it merges into the configuration.
    pub merge: Option<Setting>,
    /// Where it stands.
    pub place: Place,
}

/// Reads a layer's text. What is wrong is left out and becomes a problem.
pub fn parse(source: &Arc<Source>, problems: &mut Vec<Problem>) -> Vec<Patch> {
    let root = match crate::yaml::parse(source) {
        Ok(root) => root,
        Err(problem) => {
            problems.push(problem);
            return Vec::new();
        }
    };
    let Some(Node { value: Content::List(items), tag: None, .. }) = &root else {
        let found = root.as_ref().map_or("nothing", Node::kind);
        let message = format!("expected a list of patches and found {found}; write `[]` for none");
        problems.push(match &root {
            Some(node) => Problem::at(ProblemKind::NotAList, &node.place, message),
            None => Problem::of(ProblemKind::NotAList, &source.name, message),
        });
        return Vec::new();
    };
    items.iter().filter_map(|item| patch(item, problems)).collect()
}

fn patch(node: &Node, problems: &mut Vec<Problem>) -> Option<Patch> {
    let entries = mapping(node, "a patch", problems)?;
    unknown_fields(entries, &PATCH_FIELDS, "a patch", problems);
    let id = name_of(node, "id", problems);
    let key = id.as_ref().map_or("", |(id, _)| id);
    let guard = name_of(node, "name", problems);
    let insert = node.get("insert").map(|rows| self::rows(rows, problems));
    let fields = fields::read(node, key, problems);
    let merge = node.get("merge").map(|merge| Setting::read(merge, key, problems));
    if let Some(merge) = merge.as_ref().filter(|merge| !matches!(merge.value, SettingValue::Map(_)))
    {
        let message = format!("`merge` takes a mapping and found {}", merge.kind());
        problems.push(Problem::at(ProblemKind::WrongType, &merge.place, message).key(key));
        return None;
    }
    if let (Some(merge), true) = (&merge, fields.config.is_some()) {
        let message = "`merge` and `config` in one entry contradict each other; use one of them";
        problems.push(Problem::at(ProblemKind::UnknownField, &merge.place, message).key(key));
        return None;
    }
    if node.get("id").is_none() {
        let other = entries.iter().find(|entry| entry.key != "insert");
        let wrong = match (&insert, other) {
            (None, _) => Some((&node.place, "a patch needs an `id`, or `insert` with rows")),
            (Some(_), Some(other)) => {
                Some((&other.place, "without `id` an entry has `insert` only"))
            }
            (Some(_), None) => None,
        };
        if let Some((place, message)) = wrong {
            problems.push(Problem::at(ProblemKind::MissingField, place, message));
            return None;
        }
    } else if id.is_none() {
        return None;
    }
    let children = node.get("config").cloned();
    Some(Patch { id, guard, insert, fields, children, merge, place: node.place.clone() })
}

/// Reads rows.
pub(crate) fn rows(node: &Node, problems: &mut Vec<Problem>) -> Vec<WrittenRow> {
    match &node.value {
        Content::List(items) if node.tag.is_none() => {
            items.iter().filter_map(|item| row(item, problems)).collect()
        }
        _ => {
            let message = format!("expected a list of rows and found {}", node.kind());
            problems.push(Problem::at(ProblemKind::WrongType, &node.place, message));
            Vec::new()
        }
    }
}

fn row(node: &Node, problems: &mut Vec<Problem>) -> Option<WrittenRow> {
    let entries = mapping(node, "a row", problems)?;
    unknown_fields(entries, &ROW_FIELDS, "a row", problems);
    let Some(id) = name_of(node, "id", problems) else {
        if node.get("id").is_none() {
            let message = "a row needs an `id`";
            problems.push(Problem::at(ProblemKind::MissingField, &node.place, message));
        }
        return None;
    };
    if id.0.contains([':', '.']) || id.0.contains(char::is_whitespace) {
        let message = format!("`{}` is no id: ids have no `:`, no `.` and no spaces", id.0);
        problems.push(Problem::at(ProblemKind::WrongType, &id.1, message));
        return None;
    }
    let name = name_of(node, "name", problems).unwrap_or_else(|| id.clone());
    let is_group = node
        .get("group")
        .is_some_and(|group| fields::boolean(group, &join(&id.0, "group"), problems));
    let mut fields = fields::read(node, &id.0, problems);
    let children = is_group.then(|| {
        fields.config = None;
        node.get("config").map_or_else(Vec::new, |config| rows(config, problems))
    });
    Some(WrittenRow { id, name, fields, children })
}

fn mapping<'a>(node: &'a Node, what: &str, problems: &mut Vec<Problem>) -> Option<&'a [Entry]> {
    match &node.value {
        Content::Map(entries) if node.tag.is_none() => Some(entries),
        _ => {
            let message = format!("expected {what}, which is a mapping, and found {}", node.kind());
            problems.push(Problem::at(ProblemKind::EntryNotAMapping, &node.place, message));
            None
        }
    }
}

fn unknown_fields(entries: &[Entry], known: &[&str], what: &str, problems: &mut Vec<Problem>) {
    for entry in entries.iter().filter(|entry| !known.contains(&entry.key.as_str())) {
        let hint = did_you_mean(&entry.key, known.iter().copied());
        let hint = if hint.is_empty() { format!("; it has {}", known.join(", ")) } else { hint };
        let message = format!("{what} has no `{}`{hint}", entry.key);
        problems.push(Problem::at(ProblemKind::UnknownField, &entry.place, message));
    }
}

/// A field that names something.
fn name_of(node: &Node, field: &str, problems: &mut Vec<Problem>) -> Option<(String, Place)> {
    let node = node.get(field)?;
    match &node.value {
        Content::String(text) if node.tag.is_none() && !text.trim().is_empty() => {
            Some((text.clone(), node.place.clone()))
        }
        _ => {
            let is_scalar = matches!(node.value, Content::Bool(_) | Content::Number(_));
            let todo = if is_scalar { "; put it into quotes" } else { "" };
            let message = format!("`{field}` takes a text and found {}{todo}", node.kind());
            problems.push(Problem::at(ProblemKind::WrongType, &node.place, message));
            None
        }
    }
}
