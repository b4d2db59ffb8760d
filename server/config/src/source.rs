//! Texts of configuration and places in them.

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

/// The longest line that a snippet shows, in characters.
const WIDEST: usize = 160;

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
    /// The line with the place marked below it.
    pub fn snippet(&self) -> String {
        let text = &self.source.text;
        let start = text[..self.start].rfind('\n').map_or(0, |at| at + 1);
        let end = text[self.start..].find('\n').map_or(text.len(), |at| self.start + at);
        let line = text[start..end].trim_end_matches('\r');
        let indent = text[start..self.start].chars().count();
        let marked = text[self.start..self.end.min(end)].trim_end().chars().count().max(1);
        let skip =
            if line.chars().count() > WIDEST { indent.saturating_sub(WIDEST / 2) } else { 0 };
        let show = |char: char| if char.is_control() { ' ' } else { char };
        let shown: String = line.chars().skip(skip).take(WIDEST).map(show).collect();
        let marked = marked.min(WIDEST - (indent - skip).min(WIDEST - 1));
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

fn narrow(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
