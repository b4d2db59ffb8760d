//! A value of configuration: YAML's values and expressions, each with its place.

use std::sync::Arc;

use dsh_kernel::config::PathStep;
use indexmap::IndexMap;
use serde_json::{Map, Value};

use crate::expression::Expression;
use crate::problem::{Problem, ProblemKind};
use crate::source::{Place, Source};
use crate::yaml::{Content, Node};

/// A value and where it was set.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The value.
    pub value: SettingValue,
    /// Where it stands in the layer that set it last.
    pub place: Place,
}

/// What a setting holds.
#[derive(Clone, Debug)]
pub enum SettingValue {
    /// Neither list, mapping nor expression.
    Scalar(Value),
    /// A list.
    List(Vec<Setting>),
    /// A mapping in the order it was written.
    Map(IndexMap<String, Setting>),
    /// A value that the environment gives.
    Expression(Expression),
}

impl Setting {
    /// The first place in it that a layer set.
    pub fn set_by(&self, layer: &Arc<Source>) -> Option<&Place> {
        if Arc::ptr_eq(&self.place.source, layer) {
            return Some(&self.place);
        }
        match &self.value {
            SettingValue::List(items) => items.iter().find_map(|item| item.set_by(layer)),
            SettingValue::Map(entries) => entries.values().find_map(|value| value.set_by(layer)),
            SettingValue::Scalar(_) | SettingValue::Expression(_) => None,
        }
    }

    /// Reads a node; tags that are no expressions become problems.
    pub fn read(node: &Node, key: &str, problems: &mut Vec<Problem>) -> Self {
        let value = match (&node.tag, &node.value) {
            (Some(tag), _) => match Expression::read(tag, node, key, problems) {
                Some(expression) => SettingValue::Expression(expression),
                None => SettingValue::Scalar(Value::Null),
            },
            (None, Content::Null) => SettingValue::Scalar(Value::Null),
            (None, Content::Bool(value)) => SettingValue::Scalar((*value).into()),
            (None, Content::Number(value)) => SettingValue::Scalar(value.clone().into()),
            (None, Content::String(value)) => SettingValue::Scalar(value.as_str().into()),
            (None, Content::List(items)) => SettingValue::List(
                (0..)
                    .zip(items)
                    .map(|(at, item)| Self::read(item, &element(key, at), problems))
                    .collect(),
            ),
            (None, Content::Map(entries)) => {
                let entries = entries.iter().map(|entry| {
                    let value = Self::read(&entry.value, &join(key, &entry.key), problems);
                    (entry.key.clone(), value)
                });
                SettingValue::Map(entries.collect())
            }
        };
        Self { value, place: node.place.clone() }
    }

    /// Reads a node that may hold no expression.
    pub fn read_literal(node: &Node, key: &str, problems: &mut Vec<Problem>) -> Value {
        if let Some(tag) = &node.tag {
            let message = format!(
                "`{tag}` is not evaluated here; expressions stand in `config` and `disabled`"
            );
            problems.push(Problem::at(ProblemKind::BadExpression, &node.place, message).key(key));
            return Value::Null;
        }
        match &node.value {
            Content::List(items) => {
                let item = |(at, item): (usize, &Node)| {
                    Self::read_literal(item, &element(key, at), problems)
                };
                Value::Array((0..).zip(items).map(item).collect())
            }
            Content::Map(entries) => {
                let mut map = Map::new();
                for entry in entries {
                    let value = Self::read_literal(&entry.value, &join(key, &entry.key), problems);
                    map.insert(entry.key.clone(), value);
                }
                Value::Object(map)
            }
            Content::Null => Value::Null,
            Content::Bool(value) => (*value).into(),
            Content::Number(value) => value.clone().into(),
            Content::String(value) => value.as_str().into(),
        }
    }

    /// A value as a setting.
    pub fn from_json(value: &Value, place: &Place) -> Self {
        let nested = |value: &Value| Self::from_json(value, place);
        let value = match value {
            Value::Array(items) => SettingValue::List(items.iter().map(nested).collect()),
            Value::Object(map) => SettingValue::Map(
                map.iter().map(|(key, value)| (key.clone(), nested(value))).collect(),
            ),
            scalar => SettingValue::Scalar(scalar.clone()),
        };
        Self { value, place: place.clone() }
    }

    /// Whether it is nothing.
    pub fn is_null(&self) -> bool {
        matches!(self.value, SettingValue::Scalar(Value::Null))
    }

    /// What it is, as a sentence has it.
    pub fn kind(&self) -> &'static str {
        match &self.value {
            SettingValue::Scalar(Value::Null) => "nothing",
            SettingValue::Scalar(Value::Bool(_)) => "a boolean",
            SettingValue::Scalar(Value::Number(_)) => "a number",
            SettingValue::Scalar(_) => "a text",
            SettingValue::List(_) => "a list",
            SettingValue::Map(_) => "a mapping",
            SettingValue::Expression(_) => "an expression",
        }
    }

    /// The setting behind some keys, or the last one on the way there.
    pub fn nearest(&self, path: &[PathStep]) -> &Setting {
        let Some((first, rest)) = path.split_first() else { return self };
        let next = match (&self.value, first) {
            (SettingValue::Map(entries), PathStep::Key(first)) => entries.get(first),
            (SettingValue::List(items), PathStep::Index(at)) => items.get(*at),
            (_, _) => None,
        };
        next.map_or(self, |next| next.nearest(rest))
    }

    /// Lays `patch` over it: mappings key by key, everything else whole; nothing removes a key.
    pub fn merge(&mut self, patch: &Setting) {
        let SettingValue::Map(changes) = &patch.value else {
            self.clone_from(patch);
            return;
        };
        let mut entries =
            match std::mem::replace(&mut self.value, SettingValue::Map(IndexMap::new())) {
                SettingValue::Map(entries) => entries,
                _ => IndexMap::new(),
            };
        for (key, change) in changes {
            if change.is_null() {
                entries.shift_remove(key);
                continue;
            }
            let nothing = || {
                let value = SettingValue::Scalar(Value::Null);
                Setting { value, place: change.place.clone() }
            };
            entries.entry(key.clone()).or_insert_with(nothing).merge(change);
        }
        *self = Setting { value: SettingValue::Map(entries), place: patch.place.clone() };
    }

    /// As JSON, expressions unevaluated: `{"!env": "NAME"}`.
    pub fn to_json(&self) -> Value {
        match &self.value {
            SettingValue::Scalar(value) => value.clone(),
            SettingValue::List(items) => items.iter().map(Setting::to_json).collect(),
            SettingValue::Map(entries) => Value::Object(
                entries.iter().map(|(key, value)| (key.clone(), value.to_json())).collect(),
            ),
            SettingValue::Expression(expression) => {
                let (tag, argument) = expression.written();
                Value::Object([(tag.to_owned(), argument.to_json())].into_iter().collect())
            }
        }
    }
}

/// One element more.
pub(crate) fn element(path: &str, at: usize) -> String {
    format!("{path}[{at}]")
}

/// One key more.
pub(crate) fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}
