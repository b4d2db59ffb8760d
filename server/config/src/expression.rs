//! The closed set of expressions: `!env`, `!home`, `!cwd`, `!platform`, `!service`. Never code.
//!
//! | written | stands for |
//! |---|---|
//! | `!env NAME` | the variable's text; nothing if it is not set or empty |
//! | `!env [NAME, default]` | the same with a value instead of nothing |
//! | `!env {name: NAME, default: …, json: true}` | the same; `json` reads the variable as JSON |
//! | `!home`, `!home a/b` | the program's home, or a path in it |
//! | `!cwd`, `!cwd a/b` | the current directory, or a path in it |
//! | `!platform {linux: …, macos: …, windows: …, default: …}` | the value for this system |
//! | `!service name.field` | a field of a service, when the row is mounted |
//!
//! What stands for nothing is left out of its mapping, as if the key were not there.

use std::path::{Component, Path};

use crate::problem::{Problem, ProblemKind, one_of};
use crate::setting::{Setting, SettingValue, join};
use crate::source::Place;
use crate::yaml::{Content, Node};

/// The tags that are known.
pub const TAGS: [&str; 5] = ["!env", "!home", "!cwd", "!platform", "!service"];

/// The keys of `!platform`.
pub const PLATFORMS: [&str; 4] = ["linux", "macos", "windows", "default"];

/// A value that the environment gives.
#[derive(Clone, Debug)]
pub enum Expression {
    /// A variable.
    Env {
        /// Its name.
        name: String,
        /// What stands in for it when it is not set or empty.
        default: Option<Box<Setting>>,
        /// Whether its text is JSON.
        json: bool,
        /// Where the argument stands.
        place: Place,
    },
    /// A path in the program's home.
    Home(PathPart),
    /// A path in the current directory.
    Cwd(PathPart),
    /// A value for each system.
    Platform {
        /// The values by system.
        choices: Vec<(String, Setting)>,
        /// Where the argument stands.
        place: Place,
    },
    /// A field of a service.
    Service {
        /// The service.
        service: String,
        /// The field.
        field: String,
        /// Where the argument stands.
        place: Place,
    },
}

/// A relative path and where it stands.
#[derive(Clone, Debug)]
pub struct PathPart {
    /// The path with `/` between its parts; empty for the folder itself.
    pub path: String,
    /// Where it stands.
    pub place: Place,
}

impl Expression {
    /// Reads a tagged node.
    pub(crate) fn read(
        tag: &str,
        node: &Node,
        key: &str,
        problems: &mut Vec<Problem>,
    ) -> Option<Self> {
        let mut read = || match tag {
            "!env" => env(node, key, problems),
            "!home" => path_part(node).map(Self::Home),
            "!cwd" => path_part(node).map(Self::Cwd),
            "!platform" => platform(node, key, problems),
            "!service" => service(node),
            _ => {
                let message = format!("`{tag}` is no expression; there are {}", one_of(&TAGS));
                Err(Problem::at(ProblemKind::UnknownTag, &node.place, message))
            }
        };
        read().map_err(|problem| problems.push(problem.key(key))).ok()
    }

    /// The tag and its argument, as the shortest form has them.
    pub fn written(&self) -> (&'static str, Setting) {
        let of = |value, place: &Place| Setting { value, place: place.clone() };
        let text = |text: &str, place: &Place| of(SettingValue::Scalar(text.into()), place);
        match self {
            Self::Env { name, default: None, json: false, place } => ("!env", text(name, place)),
            Self::Env { name, default, json, place } => {
                let mut entries = vec![("name".to_owned(), text(name, place))];
                let default =
                    default.as_ref().map(|default| ("default".to_owned(), Setting::clone(default)));
                entries.extend(default);
                if *json {
                    entries.push(("json".to_owned(), of(SettingValue::Scalar(true.into()), place)));
                }
                ("!env", of(SettingValue::Map(entries.into_iter().collect()), place))
            }
            Self::Home(part) => ("!home", text(&part.path, &part.place)),
            Self::Cwd(part) => ("!cwd", text(&part.path, &part.place)),
            Self::Platform { choices, place } => {
                ("!platform", of(SettingValue::Map(choices.iter().cloned().collect()), place))
            }
            Self::Service { service, field, place } => {
                ("!service", text(&format!("{service}.{field}"), place))
            }
        }
    }
}

fn bad(place: &Place, message: impl Into<String>) -> Problem {
    Problem::at(ProblemKind::BadExpression, place, message)
}

fn text<'a>(node: &'a Node, what: &str) -> Result<&'a str, Problem> {
    match &node.value {
        Content::String(text) if !text.trim().is_empty() => Ok(text),
        _ => Err(bad(&node.place, format!("expected {what} and found {}", node.value.kind()))),
    }
}

fn env(node: &Node, key: &str, problems: &mut Vec<Problem>) -> Result<Expression, Problem> {
    const FORMS: &str =
        "`!env NAME`, `!env [NAME, default]` or `!env {name: NAME, default: …, json: true}`";
    let wrong = |place: &Place| bad(place, format!("expected {FORMS}"));
    let place = node.place.clone();
    let (name, default, json) = match &node.value {
        Content::List(items) => match &items[..] {
            [name, default] => (name, Some(default), false),
            _ => return Err(wrong(&place)),
        },
        Content::Map(entries) => {
            let known = ["name", "default", "json"];
            if let Some(entry) = entries.iter().find(|entry| !known.contains(&entry.key.as_str())) {
                return Err(wrong(&entry.place));
            }
            let json = match node.get("json") {
                None => false,
                Some(Node { value: Content::Bool(json), .. }) => *json,
                Some(other) => {
                    return Err(bad(&other.place, "`json` must be `true` or `false`"));
                }
            };
            (node.get("name").ok_or_else(|| wrong(&place))?, node.get("default"), json)
        }
        _ => (node, None, false),
    };
    let text = text(name, "the name of a variable")?;
    if text.contains(['=', '\0']) || text.contains(char::is_whitespace) {
        return Err(bad(&name.place, "expected the name of a variable, without `=` and spaces"));
    }
    let default = default.map(|default| Box::new(Setting::read(default, key, problems)));
    Ok(Expression::Env { name: text.to_owned(), default, json, place })
}

fn path_part(node: &Node) -> Result<PathPart, Problem> {
    let path = match &node.value {
        Content::Null => "",
        Content::String(path) => path,
        _ => return Err(bad(&node.place, "expected a relative path, or nothing")),
    };
    let is_inside = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    if !Path::new(path).components().all(is_inside) || path.contains(['\\', '\0']) {
        let message = "expected a path inside the folder: relative, with `/`, without `..`";
        return Err(bad(&node.place, message));
    }
    Ok(PathPart { path: path.to_owned(), place: node.place.clone() })
}

fn platform(node: &Node, key: &str, problems: &mut Vec<Problem>) -> Result<Expression, Problem> {
    let Content::Map(entries) = &node.value else {
        return Err(bad(&node.place, format!("expected a mapping from {}", one_of(&PLATFORMS))));
    };
    let mut choices = Vec::new();
    for entry in entries {
        if !PLATFORMS.contains(&entry.key.as_str()) {
            let message =
                format!("`{}` is no platform; there are {}", entry.key, one_of(&PLATFORMS));
            return Err(bad(&entry.place, message));
        }
        let value = Setting::read(&entry.value, &join(key, &entry.key), problems);
        choices.push((entry.key.clone(), value));
    }
    Ok(Expression::Platform { choices, place: node.place.clone() })
}

fn service(node: &Node) -> Result<Expression, Problem> {
    let text = text(node, "`!service name.field`")?;
    let is_name = |text: &str| !text.is_empty() && !text.contains(char::is_whitespace);
    match text.split_once('.') {
        Some((service, field)) if is_name(service) && is_name(field) => Ok(Expression::Service {
            service: service.to_owned(),
            field: field.to_owned(),
            place: node.place.clone(),
        }),
        _ => Err(bad(&node.place, "expected `!service name.field`")),
    }
}
