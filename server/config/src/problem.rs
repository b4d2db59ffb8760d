//! What is wrong with a configuration, and where.

use std::fmt;

use serde::Serialize;

use crate::source::Place;

/// How bad a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Severity {
    /// The tree cannot be used.
    Error,
    /// Something was left out; the rest is used.
    Warning,
    /// Nothing is wrong, but a person may want to know.
    Information,
}

/// What kind of problem it is, for callers that branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProblemKind {
    /// The name of a profile cannot be one.
    ProfileName,
    /// There is no profile of that name.
    ProfileAbsent,
    /// A profile lists a bundle that is not in this program.
    UnknownBundle,
    /// A file cannot be read.
    Unreadable,
    /// A file is no YAML, or too much of it.
    Unparsable,
    /// A patch file is not a list.
    NotAList,
    /// An entry of a list is not a mapping.
    EntryNotAMapping,
    /// A mapping has a key that nobody reads.
    UnknownField,
    /// A key is missing.
    MissingField,
    /// A value has another type than is needed.
    WrongType,
    /// A file inserts one id twice.
    DuplicateId,
    /// A tag that is no expression.
    UnknownTag,
    /// An expression that cannot be understood.
    BadExpression,
    /// An expression that has no value here.
    NoValue,
    /// A patch names a row that no earlier layer has.
    NoSuchRow,
    /// A patch guards a row by another plugin's name.
    NameMismatch,
    /// Rows are inserted into a row that is no group.
    NotAGroup,
    /// A row of an earlier layer was replaced.
    Replaced,
    /// A row names a plugin that is not in this program.
    UnknownPlugin,
    /// A plugin does not accept its row's configuration.
    Config,
    /// An environment file sets what it must not, or is malformed.
    EnvironmentFile,
}

/// A problem. Serialized it has the wire's shape: `{file, line?, column?, key?, severity, message}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// What kind it is.
    #[serde(skip)]
    pub kind: ProblemKind,
    /// The file, or the name of what is built in.
    pub file: String,
    /// The line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The column, from 1, in characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// The keys that lead there: `ROW.KEY.KEY` where a row is meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong and what to do.
    pub message: String,
    /// The line with the place marked.
    #[serde(skip)]
    pub snippet: Option<String>,
}

impl Problem {
    /// An error at a place.
    pub fn at(kind: ProblemKind, place: &Place, message: impl Into<String>) -> Self {
        Self {
            kind,
            file: place.source.name.clone(),
            line: Some(place.line),
            column: Some(place.column),
            key: None,
            severity: Severity::Error,
            message: message.into(),
            snippet: Some(place.snippet()),
        }
    }

    /// An error of a file as a whole.
    pub fn of(kind: ProblemKind, file: impl Into<String>, message: impl Into<String>) -> Self {
        let (line, column, key, snippet) = (None, None, None, None);
        let (file, message) = (file.into(), message.into());
        Self { kind, file, line, column, key, severity: Severity::Error, message, snippet }
    }

    /// The same with the keys that lead there.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into()).filter(|key| !key.is_empty());
        self
    }

    /// The same as a warning.
    pub fn warning(mut self) -> Self {
        self.severity = Severity::Warning;
        self
    }

    /// The same as something worth knowing.
    pub fn information(mut self) -> Self {
        self.severity = Severity::Information;
        self
    }

    /// Whether the tree cannot be used.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.file)?;
        if let (Some(line), Some(column)) = (self.line, self.column) {
            write!(formatter, ":{line}:{column}")?;
        }
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Information => "note",
        };
        write!(formatter, ": {severity}: ")?;
        if let Some(key) = &self.key {
            write!(formatter, "{key}: ")?;
        }
        write!(formatter, "{}", self.message)?;
        if let Some(snippet) = &self.snippet {
            write!(formatter, "\n{snippet}")?;
        }
        Ok(())
    }
}

/// Sorts by file, line and column; equal ones are kept once.
pub fn sort(problems: &mut Vec<Problem>) {
    problems.sort_by(|a, b| {
        let of = |problem: &Problem| (problem.file.clone(), problem.line, problem.column);
        of(a).cmp(&of(b)).then(a.severity.cmp(&b.severity)).then_with(|| a.message.cmp(&b.message))
    });
    problems.dedup();
}

/// A list of names as a sentence has it: `a`, `b` or `c`.
pub(crate) fn one_of<S: AsRef<str>>(names: &[S]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{}`", name.as_ref())).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => "nothing".to_owned(),
    }
}

/// How many names are compared with one that is unknown: many may be.
const COMPARED: usize = 300;

/// The name that was probably meant.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let most = 1 + name.chars().count() / 4;
    let is_near = |known: &&str| known.len().abs_diff(name.len()) <= 4 * most;
    let distance = |known: &'a str| (strsim::damerau_levenshtein(name, known), known);
    let near = known.into_iter().take(COMPARED).filter(is_near).map(distance).min()?;
    (near.0 <= most).then_some(near.1)
}

/// `; did you mean …?`, or nothing.
pub(crate) fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(name, known).map_or_else(String::new, |near| format!("; did you mean `{near}`?"))
}
