//! Texts of configuration and places in them.

use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::problem::{Problem, ProblemKind};

/// The longest line that a snippet shows, in characters.
const WIDEST: usize = 160;

/// How far from its place a snippet looks for the ends of the line, in bytes: problems are many where a long line
/// is wrong.
const REACH: usize = 480;

/// The most bytes that a file may have.
pub const MAX_BYTES: u64 = 1024 * 1024;

/// A text of configuration and where it comes from.
#[derive(Debug, PartialEq, Eq)]
pub struct Source {
    /// How problems and dumps name it.
    pub name: String,
    /// The file; none for what is built in.
    pub path: Option<PathBuf>,
    /// The text without a byte order mark.
    pub text: String,
}

impl Source {
    /// A text with a name and no file.
    pub fn built_in(name: &str, text: &str) -> Arc<Self> {
        Arc::new(Self { name: name.to_owned(), path: None, text: text.to_owned() })
    }

    /// The text of a file.
    pub fn file(path: PathBuf, text: &str) -> Arc<Self> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text).to_owned();
        Arc::new(Self { name: path.display().to_string(), path: Some(path), text })
    }

    /// The place of some bytes. Bytes outside the text or inside a character give the nearest ones before.
    pub fn place(self: &Arc<Self>, bytes: Range<usize>) -> Place {
        let start = self.text.floor_char_boundary(bytes.start);
        let end = self.text.floor_char_boundary(bytes.end).max(start);
        let before = &self.text[..start];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = before.split('\n').count();
        let column = before[line_start..].chars().count() + 1;
        Place { source: Arc::clone(self), line: narrow(line), column: narrow(column), start, end }
    }
}

/// Some bytes of a source.
#[derive(Clone, PartialEq, Eq)]
pub struct Place {
    /// Where they are.
    pub source: Arc<Source>,
    /// The line of the first byte, from 1.
    pub line: u32,
    /// Its column, from 1, in characters.
    pub column: u32,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl Place {
    /// The line with the place marked below it; of a long line the part around it.
    pub fn snippet(&self) -> String {
        let text = &self.source.text;
        let near = &text[text.floor_char_boundary(self.start.saturating_sub(REACH))..self.start];
        let before = near.rsplit('\n').next().unwrap_or_default();
        let rest = &text[self.start..text.floor_char_boundary(self.start + REACH)];
        let after = rest.split('\n').next().unwrap_or_default().trim_end_matches('\r');
        let indent = before.chars().count();
        let skip = if indent + after.chars().count() > WIDEST {
            indent.saturating_sub(WIDEST / 2)
        } else {
            0
        };
        let marked = rest
            .get(..self.end - self.start)
            .unwrap_or(rest)
            .split('\n')
            .next()
            .unwrap_or_default();
        let marked = marked.trim_end().chars().count().clamp(1, WIDEST - (indent - skip));
        let show = |char: char| if char.is_control() { ' ' } else { char };
        let shown: String =
            before.chars().chain(after.chars()).skip(skip).take(WIDEST).map(show).collect();
        let gutter = " ".repeat(self.line.to_string().len());
        let (indent, marks) = (" ".repeat(indent - skip), "^".repeat(marked));
        format!("{gutter} |\n{} | {shown}\n{gutter} | {indent}{marks}", self.line)
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{self}")
    }
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}:{}", self.source.name, self.line, self.column)
    }
}

/// Reads a file. `None`: there is no such file.
pub fn read(path: &Path) -> Result<Option<Arc<Source>>, Problem> {
    let name = path.display().to_string();
    let unreadable = |why: String| Problem::of(ProblemKind::Unreadable, &name, why);
    let metadata = match fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(format!("cannot be read: {error}"))),
        Ok(metadata) => metadata,
    };
    if !metadata.is_file() {
        return Err(unreadable("is no file".to_owned()));
    }
    if metadata.len() > MAX_BYTES {
        return Err(too_long(&name, metadata.len()));
    }
    let bytes = fs::read(path).map_err(|error| unreadable(format!("cannot be read: {error}")))?;
    let text = String::from_utf8(bytes).map_err(|error| not_utf8(&name, &error))?;
    Ok(Some(Source::file(path.to_owned(), &text)))
}

pub(crate) fn too_long(name: &str, bytes: u64) -> Problem {
    let message = format!("has {bytes} bytes; a file of configuration may have {MAX_BYTES}");
    Problem::of(ProblemKind::Unparsable, name, message)
}

fn not_utf8(name: &str, error: &std::string::FromUtf8Error) -> Problem {
    let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
    let line = before.split(|byte| *byte == b'\n').count();
    let message = format!("is not UTF-8 (line {line}); save it as UTF-8");
    Problem::of(ProblemKind::Unparsable, name, message)
}

fn narrow(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
