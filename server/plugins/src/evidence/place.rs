//! Reads `path:line` in its many spellings, and tells it from times, versions, hosts and names of code.

use super::words;

/// Lines of a file, counted from 1; both ends belong to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lines {
    pub(super) first: u64,
    pub(super) last: u64,
}

impl Lines {
    pub(super) fn one(line: u64) -> Self {
        Self { first: line, last: line }
    }
}

/// A file that a token names, and lines of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place<'t> {
    /// With `/` between components, without `./` in front.
    pub(super) path: String,
    /// In the order of the token; none when it only names the file.
    pub(super) lines: Vec<Lines>,
    /// Whether it means a file beyond doubt. Otherwise it counts only when there is such a file.
    pub(super) is_sure: bool,
    /// What stands behind it in the token, such as the line of a search's result.
    pub(super) rest: &'t str,
}

/// What a host listens on: `name.rs:443` may be one.
const PORTS: &[u64] =
    &[21, 22, 25, 53, 80, 443, 3000, 5000, 5432, 6379, 8000, 8080, 8443, 9000, 9090, 27017];

/// Longer paths are none.
const MOST: usize = 400;

/// Reads a token that has no blanks in its path.
pub(super) fn place(token: &str) -> Option<Place<'_>> {
    if token.contains("://") || token.starts_with("www.") {
        return None;
    }
    let (path, lines, rest) = split(token)?;
    let path = path.replace('\\', "/");
    let path = path.strip_prefix("./").unwrap_or(&path);
    let (path, is_elided) = behind_ellipsis(path);
    // As people mention a file to an agent; packages begin with it, too.
    let mentioned = path.strip_prefix('@').filter(|rest| rest.contains('/'));
    let path = mentioned.unwrap_or(path);
    let sureness = judge(path, &lines)?;
    let is_sure = sureness && !is_elided && mentioned.is_none();
    Some(Place { path: path.to_owned(), lines, is_sure, rest })
}

/// Reads a text between marks whose path has blanks. A command reads the same, so that it means a file where there is
/// one only.
pub(super) fn place_with_blanks(text: &str) -> Option<Place<'_>> {
    /// Stands for a blank: no path that is read has one.
    const BLANK: &str = "\u{b7}";
    if !text.contains(' ') || text.contains(BLANK) {
        return None;
    }
    let joined = text.replace(' ', BLANK);
    let Place { path, lines, rest, .. } = place(&joined)?;
    let path = path.replace(BLANK, " ");
    let is_whole = rest.is_empty() && path.rsplit('/').next()?.contains('.');
    is_whole.then_some(Place { path, lines, is_sure: false, rest: "" })
}

/// A token as path, lines and what is behind them.
fn split(token: &str) -> Option<(&str, Vec<Lines>, &str)> {
    // `README.md:1:# Title` has its mark behind the place.
    if let Some((path, anchor)) = token.split_once('#').filter(|(path, _)| !path.contains(':')) {
        let mut cursor = Cursor(anchor);
        let lines = if cursor.skip('L') { cursor.lines() } else { None };
        return Some((path, lines.unwrap_or_default(), ""));
    }
    for (at, _) in token.match_indices([':', '(']).take(8) {
        let (path, behind) = (&token[..at], &token[at + 1..]);
        let mut cursor = Cursor(behind);
        if token[at..].starts_with('(') {
            // As compilers write it: `file(line,column)`.
            let Some(line) = cursor.number() else { continue };
            if cursor.skip(',') && cursor.number().is_none() || !cursor.skip(')') {
                continue;
            }
            return Some((path, vec![Lines::one(line)], cursor.0));
        }
        if cursor.0.starts_with(':') || path.ends_with(':') {
            return None;
        }
        cursor.skip('L');
        if let Some(lines) = cursor.lines() {
            let is_over = cursor.0.is_empty()
                || cursor.0.starts_with([':', ' ', '\t', ',', ')', ';', '|', '-']);
            return is_over.then_some((path, lines, cursor.0));
        }
        // A drive's letter is followed by more of the path.
        if at != 1 {
            return None;
        }
    }
    Some((token, Vec::new(), ""))
}

/// Reads numbers and marks from the start of a text.
struct Cursor<'t>(&'t str);

impl Cursor<'_> {
    fn skip(&mut self, char: char) -> bool {
        let rest = self.0.strip_prefix(char);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn number(&mut self) -> Option<u64> {
        let rest = self.0.trim_start_matches(|char: char| char.is_ascii_digit());
        let digits = &self.0[..self.0.len() - rest.len()];
        if digits.is_empty() || digits.len() > 8 {
            return None;
        }
        self.0 = rest;
        digits.parse().ok()
    }

    /// A column that is passed over: `:8`, or `C8` of an anchor.
    fn column(&mut self) {
        let before = self.0;
        if (self.skip(':') || self.skip('C')) && self.number().is_none() {
            self.0 = before;
        }
    }

    /// `10`, `10:4`, `10-20`, `10:4-20:2`, `L10-L20`, `10,15-17`.
    fn lines(&mut self) -> Option<Vec<Lines>> {
        let mut all = vec![self.range()?];
        loop {
            let before = self.0;
            if !self.skip(',') {
                return Some(all);
            }
            self.skip(' ');
            self.skip('L');
            let Some(range) = self.range() else {
                self.0 = before;
                return Some(all);
            };
            all.push(range);
        }
    }

    fn range(&mut self) -> Option<Lines> {
        let first = self.number()?;
        self.column();
        let before = self.0;
        let is_range = self.skip('-')
            || self.skip('\u{2013}')
            || self.skip('\u{2014}')
            || self.0.strip_prefix("..").is_some_and(|rest| {
                self.0 = rest.strip_prefix('=').unwrap_or(rest);
                true
            });
        self.skip('L');
        let last = if is_range { self.number() } else { None };
        let Some(last) = last else {
            self.0 = before;
            return Some(Lines::one(first));
        };
        self.column();
        Some(Lines { first, last })
    }
}

/// The lines of `line 10`, `lines 10 to 20`, `L10` at the start of a text, and how many of its bytes say so; what is
/// around a line is no claim.
pub(super) fn lines_in_words(text: &str) -> Option<(Lines, usize)> {
    let words = text.trim_start_matches([' ', ',', '(', ')', '`', '*', ']', '\n']);
    let words =
        ["at ", "on ", "in "].iter().find_map(|word| words.strip_prefix(word)).unwrap_or(words);
    let prefixes = ["lines ", "line ", "Lines ", "Line ", "L"];
    let behind = prefixes.iter().find_map(|prefix| words.strip_prefix(prefix))?;
    let mut cursor = Cursor(behind);
    let mut lines = cursor.range()?;
    if lines.first == lines.last {
        let joined = [" to ", " through ", " - ", " \u{2013} "]
            .iter()
            .find_map(|word| cursor.0.strip_prefix(word));
        let mut to = Cursor(joined.unwrap_or_default());
        if let Some(last) = to.number().filter(|last| *last >= lines.first) {
            (lines.last, cursor) = (last, to);
        }
    }
    Some((lines, text.len() - cursor.0.len()))
}

/// The lines of `line 10 of ` at the end of a text.
pub(super) fn lines_before(text: &str) -> Option<Lines> {
    let text = text.trim_end_matches([' ', '`', '*', '[', '\n']);
    let text = [" of", " in"].iter().find_map(|word| text.strip_suffix(word))?;
    let number = |char: char| char.is_ascii_digit() || ['-', '\u{2013}'].contains(&char);
    let words = text.trim_end_matches(number);
    let words = words.trim_end();
    let is_line = ["line", "lines", "Line", "Lines"].iter().any(|word| words.ends_with(word));
    let mut cursor = Cursor(text[words.len()..].trim_start());
    is_line.then(|| cursor.range()).flatten()
}

/// The part of a path behind the components that were left out.
fn behind_ellipsis(path: &str) -> (&str, bool) {
    let marks = [".../", "\u{2026}/"];
    let behind = marks.iter().filter_map(|mark| Some(path.rfind(mark)? + mark.len())).max();
    behind.map_or((path, false), |at| (&path[at..], true))
}

/// Whether a token is surely a path; nothing when it is surely none.
fn judge(path: &str, lines: &[Lines]) -> Option<bool> {
    let is_odd = |char: char| {
        char.is_whitespace() || char.is_control() || "<>{}|*?\"'`;:,&=\u{2026}".contains(char)
    };
    if path.is_empty() || path.len() > MOST || path.contains(is_odd) || path.contains("...") {
        return None;
    }
    if path.starts_with(['~', '$', '%', '#', '!', '-', '@']) && !path.contains('/')
        || path.starts_with(['~', '$', '%'])
    {
        return None;
    }
    let (folder, name) = path.rsplit_once('/').map_or(("", path), |(folder, name)| (folder, name));
    let is_nested = path.contains('/');
    if name.is_empty() || name == "." || name == ".." || folder.contains("//") {
        return None;
    }
    let is_cited = !lines.is_empty();
    if is_placeholder(path) {
        return Some(false);
    }
    if words::is_file_name(name) {
        return Some(is_cited || is_nested);
    }
    let Some((stem, extension)) = name.rsplit_once('.') else {
        return (is_nested && is_cited && folder.chars().any(char::is_alphabetic)).then_some(false);
    };
    let is_word = extension.starts_with(|char: char| char.is_ascii_alphabetic())
        && extension.len() <= 10
        && extension.chars().all(|char| char.is_ascii_alphanumeric());
    if stem.is_empty() {
        // A hidden file, such as `.gitignore`.
        return (is_cited || is_nested).then_some(is_nested);
    }
    if !is_word || name.contains('@') || !stem.chars().any(char::is_alphanumeric) {
        return is_cited.then_some(false).filter(|_| is_nested);
    }
    if !words::is_extension(extension) {
        let is_host = path.split('/').next().is_some_and(|first| first.contains('.'));
        let is_short =
            extension.len() <= 5 && extension.chars().all(|char| char.is_ascii_lowercase());
        return (is_nested && is_cited).then_some(is_short && !is_host);
    }
    if is_nested {
        return Some(true);
    }
    if is_cited {
        let is_port =
            lines.iter().all(|lines| lines.first == lines.last && PORTS.contains(&lines.first));
        let is_domain = ["rs", "sh", "md", "pl", "cc", "py", "ml", "so", "in", "ps", "mm", "pm"]
            .contains(&extension);
        // `Node.js:20` has a version.
        let is_product = extension == "js" && words::is_object(stem);
        return Some(!(is_port && is_domain || is_product));
    }
    Some(!words::is_ambiguous(extension) && !words::is_object(stem))
}

/// Whether a path only shows what paths look like.
fn is_placeholder(path: &str) -> bool {
    let stem = path.rsplit('/').next().unwrap_or(path).split('.').next().unwrap_or_default();
    path.contains("path/to/")
        || ["foo", "bar", "baz", "example", "your_file", "file", "filename", "some_file", "xxx"]
            .contains(&stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    type Read = (String, Vec<(u64, u64)>, bool);

    fn read(token: &str) -> Option<Read> {
        let place = place(token)?;
        let lines = place.lines.iter().map(|lines| (lines.first, lines.last)).collect();
        Some((place.path, lines, place.is_sure))
    }

    #[track_caller]
    fn is(token: &str, path: &str, lines: &[(u64, u64)]) {
        assert_eq!(read(token), Some((path.to_owned(), lines.to_vec(), true)), "{token}");
    }

    #[test]
    fn every_spelling_of_a_place_is_read() {
        is("src/a.rs:10", "src/a.rs", &[(10, 10)]);
        is("./src/a.rs:10:5", "src/a.rs", &[(10, 10)]);
        is("src/a.rs:10-20", "src/a.rs", &[(10, 20)]);
        is("src/a.rs:10\u{2013}20", "src/a.rs", &[(10, 20)]);
        is("src/a.rs:10:1-20:8", "src/a.rs", &[(10, 20)]);
        is("src/a.rs:L10-L20", "src/a.rs", &[(10, 20)]);
        is("src/a.rs#L10", "src/a.rs", &[(10, 10)]);
        is("src/a.rs#L10C2-L12C4", "src/a.rs", &[(10, 12)]);
        is("src/a.rs#L10-20", "src/a.rs", &[(10, 20)]);
        is("src/a.rs:10,15-17", "src/a.rs", &[(10, 10), (15, 17)]);
        is("src/a.ts(10,5)", "src/a.ts", &[(10, 10)]);
        is("app/[slug]/page.tsx:3", "app/[slug]/page.tsx", &[(3, 3)]);
        is("src\\a.rs:10", "src/a.rs", &[(10, 10)]);
        is("Makefile:3", "Makefile", &[(3, 3)]);
        is("src/wrong.xyz:3", "src/wrong.xyz", &[(3, 3)]);
        is("Cargo.toml", "Cargo.toml", &[]);
        assert_eq!(place("src/a.rs:10:let x = 1;").unwrap().rest, ":let x = 1;");
    }

    #[test]
    fn what_only_looks_like_a_place_is_none() {
        for token in [
            "12:30",
            "1.2.3:4",
            "v1.2:3",
            "localhost:8080",
            "127.0.0.1:80",
            "example.com:443",
            "std::fs:10",
            "https://example.org/a.rs:10",
            "a:1",
            "key:10",
            "e.g",
            "16/9",
            "and/or",
            "--flag:3",
            "10:20:30",
            "~/x.rs:1",
            "$HOME/x.rs:1",
            "src/*.rs:3",
            "<path>:12",
            "{file}:{line}",
            "foo::bar.rs",
            "event.ts",
            "response.json",
            "Node.js",
            "C:\\x",
            "a.b",
            "sha256:12",
            "user@host.md",
        ] {
            assert!(
                read(token).is_none_or(|(_, _, is_sure)| !is_sure),
                "{token}: {:?}",
                read(token)
            );
        }
    }

    #[test]
    fn lines_are_read_from_words() {
        let both = |lines: Option<Lines>| lines.map(|lines| (lines.first, lines.last));
        let read = |text: &str| {
            let (lines, length) = lines_in_words(text)?;
            Some((lines.first, lines.last, text[length..].to_owned()))
        };
        assert_eq!(read(" (line 10)"), Some((10, 10, ")".to_owned())));
        assert_eq!(read(", lines 10\u{2013}20)"), Some((10, 20, ")".to_owned())));
        assert_eq!(read(" at line 10 to 20: x"), Some((10, 20, ": x".to_owned())));
        assert_eq!(read(", line 10 to the end"), Some((10, 10, " to the end".to_owned())));
        assert_eq!(read(" around line 10"), None);
        assert_eq!(both(lines_before("on line 10 of ")), Some((10, 10)));
        assert_eq!(both(lines_before("lines 3-4 in `")), Some((3, 4)));
        assert_eq!(both(lines_before("10 of ")), None);
    }
}
