//! The fields that rows have and patches replace.

use std::collections::BTreeMap;

use dsh_kernel::plugin::Isolation;
use serde_json::Value;

use super::Fields;
use crate::problem::{Problem, ProblemKind};
use crate::setting::{Setting, SettingValue, join};
use crate::yaml::{Content, Node, Style};

/// Reads the fields of a row or a patch; problems begin with `key`.
pub(super) fn read(node: &Node, key: &str, problems: &mut Vec<Problem>) -> Fields {
    let field = |name: &str| node.get(name).map(|node| (node, join(key, name)));
    Fields {
        config: field("config").map(|(node, _)| Some(config(node, key, problems)).filter(is_given)),
        disabled: field("disabled")
            .map(|(node, key)| disabled(node, &key, problems).filter(is_given)),
        inject: field("inject").map(|(node, key)| names(node, &key, problems)),
        intercept: field("intercept").map(|(node, key)| mapping(node, &key, problems)),
        isolate: field("isolate").map(|(node, key)| isolate(node, &key, problems)),
    }
}

fn is_given(setting: &Setting) -> bool {
    !setting.is_null()
}

fn config(node: &Node, key: &str, problems: &mut Vec<Problem>) -> Setting {
    // The rows of a group are read by themselves, with their own problems.
    let mut own = Vec::new();
    let setting = Setting::read(node, key, &mut own);
    if !matches!(setting.value, SettingValue::List(_)) {
        problems.append(&mut own);
    }
    setting
}

fn disabled(node: &Node, key: &str, problems: &mut Vec<Problem>) -> Option<Setting> {
    match (&node.tag, &node.value) {
        (None, Content::Bool(_) | Content::Null) => {}
        (Some(tag), _) if tag != "!service" => {}
        _ => {
            let _ = boolean(node, key, problems);
            return None;
        }
    }
    Some(Setting::read(node, key, problems))
}

/// A field that is `true` or `false`.
pub(super) fn boolean(node: &Node, key: &str, problems: &mut Vec<Problem>) -> bool {
    if let (None, Content::Bool(value)) = (&node.tag, &node.value) {
        return *value;
    }
    let hint = yes_or_no(node).map_or_else(String::new, |value| format!("; write `{value}`"));
    let message = format!("expected `true` or `false` and found {}{hint}", node.kind());
    problems.push(Problem::at(ProblemKind::WrongType, &node.place, message).key(key));
    false
}

/// What a bare word meant in YAML 1.1.
pub(crate) fn yes_or_no(node: &Node) -> Option<bool> {
    let Content::String(text) = &node.value else { return None };
    meant(text).filter(|_| node.style == Style::Plain)
}

/// What a word meant in YAML 1.1.
pub(crate) fn meant(word: &str) -> Option<bool> {
    match word.to_ascii_lowercase().as_str() {
        "yes" | "on" | "y" => Some(true),
        "no" | "off" | "n" => Some(false),
        _ => None,
    }
}

fn names(node: &Node, key: &str, problems: &mut Vec<Problem>) -> Vec<String> {
    let value = Setting::read_literal(node, key, problems);
    let names = match value {
        Value::Null => Some(Vec::new()),
        Value::Array(items) => {
            items.iter().map(|item| item.as_str().map(str::to_owned)).collect::<Option<_>>()
        }
        _ => None,
    };
    names.unwrap_or_else(|| {
        let message = "expected a list of names of services";
        problems.push(Problem::at(ProblemKind::WrongType, &node.place, message).key(key));
        Vec::new()
    })
}

fn mapping(node: &Node, key: &str, problems: &mut Vec<Problem>) -> BTreeMap<String, Value> {
    match Setting::read_literal(node, key, problems) {
        Value::Object(map) => map.into_iter().filter(|(_, value)| !value.is_null()).collect(),
        Value::Null => BTreeMap::new(),
        _ => {
            let message = "expected a mapping from names of services";
            problems.push(Problem::at(ProblemKind::WrongType, &node.place, message).key(key));
            BTreeMap::new()
        }
    }
}

fn isolate(node: &Node, key: &str, problems: &mut Vec<Problem>) -> BTreeMap<String, Isolation> {
    let mut realms = BTreeMap::new();
    for (service, value) in mapping(node, key, problems) {
        match value {
            Value::Bool(true) => drop(realms.insert(service, Isolation::Private)),
            Value::Bool(false) => {}
            Value::String(label) => drop(realms.insert(service, Isolation::Label(label))),
            _ => {
                let message = "expected `true` or the label of a realm";
                let place = node.get(&service).map_or(&node.place, |node| &node.place);
                let problem = Problem::at(ProblemKind::WrongType, place, message);
                problems.push(problem.key(join(key, &service)));
            }
        }
    }
    realms
}
