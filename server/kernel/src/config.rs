//! What a plugin's rows may say, and what is wrong with what they do say.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::panics;

mod check;

/// What a plugin's rows may say. Made from the type that the plugin reads its configuration into:
///
/// ```
/// # use dsh_kernel::config::ConfigSpec;
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// #[serde(deny_unknown_fields)]
/// struct Config { rounds: u32 }
/// const CONFIG: ConfigSpec = ConfigSpec::of::<Config>();
/// ```
#[derive(Clone, Copy)]
pub struct ConfigSpec {
    /// Its JSON Schema.
    pub schema: fn() -> Value,
    /// Everything that is wrong with a configuration, as far as its shape says. Unknown keys are wrong at every
    /// depth.
    pub check: fn(&Value) -> Vec<ConfigProblem>,
    /// What else is wrong with a configuration whose shape is right: limits, combinations, names.
    pub also: fn(&Value) -> Vec<ConfigProblem>,
}

impl ConfigSpec {
    /// No configuration: every key is unknown.
    pub const NONE: Self = Self::of::<Nothing>();

    /// The configuration that a type describes.
    pub const fn of<T: DeserializeOwned + JsonSchema>() -> Self {
        Self { schema: check::schema_of::<T>, check: check::check_as::<T>, also: nothing_else }
    }

    /// Adds a check of what a shape cannot say. It may find several problems and words them itself.
    pub const fn and(self, also: fn(&Value) -> Vec<ConfigProblem>) -> Self {
        Self { also, ..self }
    }

    /// Every problem of a configuration. A check that panics is one.
    pub fn problems(&self, config: &Value) -> Vec<ConfigProblem> {
        let checking = AssertUnwindSafe(|| {
            let problems = (self.check)(config);
            if problems.is_empty() { (self.also)(config) } else { problems }
        });
        catch_unwind(checking).unwrap_or_else(|panic| {
            let message = format!("the check panicked: {}", panics::message(&*panic));
            vec![ConfigProblem { path: KeyPath::default(), message }]
        })
    }
}

/// The configuration of a plugin that has none.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Nothing {}

fn nothing_else(_: &Value) -> Vec<ConfigProblem> {
    Vec::new()
}

/// One thing that is wrong with a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigProblem {
    /// Where: the key that is wrong, or the mapping that misses one.
    pub path: KeyPath,
    /// What.
    pub message: String,
}

impl ConfigProblem {
    /// A problem at a place that is written as `a.b[2].c`.
    pub fn new(path: &str, message: impl Into<String>) -> Self {
        Self { path: KeyPath::from(path), message: message.into() }
    }
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.steps.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "`{}`: {}", self.path, self.message)
        }
    }
}

/// A place in a configuration; printed as `a.b[2].c`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyPath {
    /// The way down from the whole.
    pub steps: Vec<PathStep>,
}

/// One step down into a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PathStep {
    /// Into a mapping.
    Key(String),
    /// Into a list.
    Index(usize),
}

impl KeyPath {
    /// The place under a key of this place.
    pub fn key(&self, key: &str) -> Self {
        self.down(PathStep::Key(key.to_owned()))
    }

    /// The place of an element of this place.
    pub fn index(&self, index: usize) -> Self {
        self.down(PathStep::Index(index))
    }

    fn down(&self, step: PathStep) -> Self {
        let mut steps = self.steps.clone();
        steps.push(step);
        Self { steps }
    }

    /// Whether this place is `other` or lies in it.
    pub fn is_within(&self, other: &Self) -> bool {
        self.steps.starts_with(&other.steps)
    }

    /// What stands at this place.
    pub fn get<'a>(&self, value: &'a Value) -> Option<&'a Value> {
        self.steps.iter().try_fold(value, |value, step| match step {
            PathStep::Key(key) => value.get(key),
            PathStep::Index(index) => value.get(index),
        })
    }

    /// Puts something at this place, whose last step may be new to its mapping. Whether there is such a place.
    pub fn set(&self, value: &mut Value, new: Value) -> bool {
        let Some((last, above)) = self.steps.split_last() else {
            *value = new;
            return true;
        };
        let parent = above.iter().try_fold(value, |value, step| match step {
            PathStep::Key(key) => value.get_mut(key),
            PathStep::Index(index) => value.get_mut(index),
        });
        let place = match (parent, last) {
            (Some(Value::Object(map)), PathStep::Key(key)) => {
                map.insert(key.clone(), new);
                return true;
            }
            (Some(Value::Array(elements)), PathStep::Index(index)) => elements.get_mut(*index),
            (_, _) => None,
        };
        place.map(|place| *place = new).is_some()
    }
}

impl From<&str> for KeyPath {
    /// Reads `a.b[2].c`. Keys with dots or brackets are reached by [`KeyPath::key`].
    fn from(text: &str) -> Self {
        let mut path = Self::default();
        for part in text.split(['.', '[']).filter(|part| !part.is_empty()) {
            let index = part.strip_suffix(']').and_then(|index| index.parse().ok());
            path.steps.push(match index {
                Some(index) => PathStep::Index(index),
                None => PathStep::Key(part.to_owned()),
            });
        }
        path
    }
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (depth, step) in self.steps.iter().enumerate() {
            match step {
                PathStep::Index(index) => write!(f, "[{index}]")?,
                PathStep::Key(key) if key.contains(['.', '[', ']', '"']) => write!(f, "[{key:?}]")?,
                PathStep::Key(key) if depth == 0 => f.write_str(key)?,
                PathStep::Key(key) => write!(f, ".{key}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
