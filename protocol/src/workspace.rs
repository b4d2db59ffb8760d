//! What `read`, `grep` and `glob` are asked and what they answer: the arguments that a model or a person
//! sends and the typed `value` that stands beside the model's text.
//!
//! Paths in values are relative to the session's workspace folder with `/` between components; paths in
//! further folders of a session are absolute.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Arguments of the `read` tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadArguments {
    /// The file to read: relative to the workspace folder, or absolute inside it. `spill:ID` reads a
    /// stored long result.
    pub file_path: String,
    /// First line to return, counted from 1. Default 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub offset: Option<u64>,
    /// How many lines to return at most. Default and maximum 2000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub limit: Option<u64>,
}

/// One line of a file, without its line ending.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Line {
    /// Line number, counted from 1.
    pub number: u64,
    /// The line's text; a line that was cut says so and names its full length.
    pub text: String,
}

/// Value of the `read` tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReadValue {
    /// The file, relative to the workspace folder.
    pub path: String,
    /// The first line asked for, counted from 1.
    pub offset: u64,
    /// The lines of the window.
    pub lines: Vec<Line>,
    /// How many lines the whole file has.
    pub total_lines: u64,
    /// WHATWG label of the encoding, when it is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
}

/// What `grep` returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum GrepMode {
    /// Every matching line with its text.
    #[default]
    Matches,
    /// Only the files that have a match.
    Files,
    /// The files with their number of matching lines.
    Count,
}

/// Arguments of the `grep` tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GrepArguments {
    /// Regular expression in Rust syntax: linear time, no look-around, no backreferences.
    pub pattern: String,
    /// File or folder to search. Default: the workspace folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// One glob that files must match, such as `*.rs` or `src/**/*.{ts,tsx}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include: Option<String>,
    /// Takes `pattern` as plain text. Default false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixed_strings: Option<bool>,
    /// Ignores case. Default false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case_insensitive: Option<bool>,
    /// Lets a match span lines, and lets `.` match a line end. Default false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub multiline: Option<bool>,
    /// Lines of context before and after each match. Default 0, at most 20.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 20))]
    pub context: Option<u64>,
    /// What to return. Default `matches`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<GrepMode>,
    /// How many matches or files to return at most. Default 250, at most 5000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub limit: Option<u64>,
}

/// One matching line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GrepMatch {
    /// The file.
    pub path: String,
    /// Line number of the match, counted from 1.
    pub line: u64,
    /// Column of the first match in the line, counted from 1 in UTF-16 code units.
    pub column: u64,
    /// The matching line or lines; a long line is cut around the match and says its full length.
    pub text: String,
    /// Context lines before the match.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<Line>,
    /// Context lines after the match.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<Line>,
}

/// How many matching lines one file has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GrepCount {
    /// The file.
    pub path: String,
    /// Number of matching lines.
    pub count: u64,
}

/// Value of the `grep` tool: exactly one of `matches`, `files` and `counts`, by the mode that was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GrepValue {
    /// The matching lines by path, then line (mode `matches`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matches: Option<Vec<GrepMatch>>,
    /// The files with a match by path (mode `files`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<Vec<String>>,
    /// The files with their counts by path (mode `count`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts: Option<Vec<GrepCount>>,
    /// How many there are in all, also beyond `limit`. A lower bound when `truncated` came from a deadline.
    pub total: u64,
    /// Whether something was left out: the limit, a deadline or a cancel.
    pub truncated: bool,
}

/// The order of `glob` results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum GlobOrder {
    /// By path.
    #[default]
    Path,
    /// Last modified first, then by path.
    Newest,
}

/// Arguments of the `glob` tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GlobArguments {
    /// Glob such as `**/*.rs`. Without a `/` it matches file names at any depth.
    pub pattern: String,
    /// Folder to list. Default: the workspace folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Order of the result. Default `path`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<GlobOrder>,
    /// How many paths to return at most. Default 100, at most 5000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub limit: Option<u64>,
}

/// Value of the `glob` tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GlobValue {
    /// The files that match.
    pub paths: Vec<String>,
    /// How many match in all, also beyond `limit`. A lower bound when `truncated` came from a deadline.
    pub total: u64,
    /// Whether something was left out: the limit, a deadline or a cancel.
    pub truncated: bool,
}

/// A closed list of codes that a tool's error result carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ToolErrorCode {
    /// There is no such file, or the window begins past its end.
    FsNotFound,
    /// A folder was needed and something else is there.
    FsNotDirectory,
    /// The file is binary.
    FsNotText,
    /// A folder, device, socket or pipe was given where a file is needed.
    FsNotRegularFile,
    /// The file is over a size limit.
    FsTooLarge,
    /// The operating system refused.
    FsPermissionDenied,
    /// The path leads outside the workspace. Says nothing about whether the target exists.
    FsSandboxDenied,
    /// The name looks like a secret.
    FsSecretDenied,
    /// Another input or output error.
    FsIoError,
    /// The regular expression or glob is not valid.
    SearchInvalidPattern,
    /// The search could not run.
    SearchFailed,
    /// A subagent could not be started, or stopped before it was done.
    SubagentFailed,
    /// Subagents cannot be left to work in the background now, or another process runs this one.
    ContinuationUnavailable,
    /// A subagent's log cannot be read or written now.
    PersistenceUnavailable,
    /// The caller has no such subagent.
    Unauthorized,
    /// The subagent takes no more work: it was started for one task, or its log is gone or damaged.
    NotResumable,
    /// As many subagents work in the background as may.
    SubagentLimit,
    /// The tool's deadline passed before it had a result.
    ToolTimeout,
    /// The call was cancelled while it ran.
    Aborted,
    /// The call was cancelled before it started.
    AbortedBeforeDispatch,
    /// The arguments do not fit the tool's schema.
    InvalidArgs,
    /// The tool's own result did not fit its declaration: a bug of the tool.
    InvalidToolOutput,
    /// There is no such tool.
    UnknownTool,
    /// After a crash: the call had not begun. It is safe to call again.
    ToolNotStarted,
    /// After a crash: the call had begun and its outcome is not known. Do not repeat it blindly.
    ToolOutcomeUnknown,
}
