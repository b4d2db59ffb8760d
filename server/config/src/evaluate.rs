//! From expressions to values.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use dsh_kernel::config::{KeyPath, PathStep};
use dsh_kernel::plugin::Reference;
use serde_json::Value;

use crate::expression::Expression;
use crate::problem::{Problem, ProblemKind};
use crate::setting::{Setting, SettingValue};
use crate::source::Place;

/// What expressions are evaluated against.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// The variables.
    pub variables: BTreeMap<String, String>,
    /// The program's home.
    pub home: PathBuf,
    /// The current directory: the folder that the rows are mounted for.
    pub cwd: PathBuf,
    /// The system: `linux`, `macos`, `windows` or another name that Rust has for it.
    pub platform: String,
}

impl Environment {
    /// The value of a variable that is set and not empty.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }
}

/// Evaluates settings; what it meets on the way is collected.
pub(crate) struct Evaluator<'a> {
    pub(crate) environment: &'a Environment,
    pub(crate) references: Vec<Reference>,
    pub(crate) problems: Vec<Problem>,
    path: KeyPath,
}

impl<'a> Evaluator<'a> {
    /// Problems name keys from what is evaluated first.
    pub(crate) fn new(environment: &'a Environment) -> Self {
        Self { environment, references: Vec::new(), problems: Vec::new(), path: KeyPath::default() }
    }

    /// The value; `None` stands for nothing.
    pub(crate) fn evaluate(&mut self, setting: &Setting) -> Option<Value> {
        match &setting.value {
            SettingValue::Scalar(value) => Some(value.clone()),
            SettingValue::List(items) => {
                let mut list = Vec::new();
                for (at, item) in items.iter().enumerate() {
                    self.path.steps.push(PathStep::Index(at));
                    list.push(self.evaluate(item).unwrap_or_default());
                    self.path.steps.pop();
                }
                Some(Value::Array(list))
            }
            SettingValue::Map(entries) => {
                let mut map = serde_json::Map::new();
                for (key, item) in entries {
                    self.path.steps.push(PathStep::Key(key.clone()));
                    if let Some(value) = self.evaluate(item) {
                        map.insert(key.clone(), value);
                    }
                    self.path.steps.pop();
                }
                Some(Value::Object(map))
            }
            SettingValue::Expression(expression) => self.expression(expression),
        }
    }

    fn expression(&mut self, expression: &Expression) -> Option<Value> {
        match expression {
            Expression::Env { name, default, json, place } => {
                match self.environment.variable(name) {
                    Some(text) if *json => self.json(name, text, place),
                    Some(text) => Some(text.into()),
                    None => default.as_ref().and_then(|default| self.evaluate(default)),
                }
            }
            Expression::Home(part) => Some(inside(&self.environment.home, &part.path)),
            Expression::Cwd(part) => Some(inside(&self.environment.cwd, &part.path)),
            Expression::Platform { choices, .. } => {
                let of = |name: &str| choices.iter().find(|(key, _)| key == name);
                let choice = of(&self.environment.platform).or_else(|| of("default"))?;
                self.evaluate(&choice.1)
            }
            Expression::Service { service, field, .. } => {
                let (path, service, field) = (self.path.clone(), service.clone(), field.clone());
                self.references.push(Reference { path, service, field });
                // The kernel fills it in, and needs a place to do so.
                Some(Value::Null)
            }
        }
    }

    fn json(&mut self, name: &str, text: &str, place: &Place) -> Option<Value> {
        // The value may be a secret: the problem has its name only.
        let message = |error: &serde_json::Error| {
            format!("the variable `{name}` is no JSON (column {})", error.column())
        };
        let wrong = |error: serde_json::Error| {
            let problem = Problem::at(ProblemKind::NoValue, place, message(&error));
            self.problems.push(problem.key(self.path.to_string()));
        };
        serde_json::from_str(text).map_err(wrong).ok()
    }
}

fn inside(folder: &Path, path: &str) -> Value {
    let joined = path.split('/').filter(|part| !part.is_empty() && *part != ".");
    let joined = joined.fold(folder.to_owned(), |folder, part| folder.join(part));
    Value::String(joined.to_string_lossy().into_owned())
}
