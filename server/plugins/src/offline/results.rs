//! Reads lines back out of the texts in which `grep`, `read` and `glob` answer. An answer may quote nothing
//! that did not come through here.

use dsh_protocol::workspace::GrepValue;

/// Ends the marker of a line that a tool has shortened.
const CUT_END: &str = " characters]";
const CUT_START: &str = " [cut: the line has ";

/// One line of a file, as a tool has shown it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sighting {
    pub path: String,
    /// Counted from 1.
    pub line: u64,
    /// The line, or the piece of it that was shown: always text that stands in the line.
    pub text: String,
    /// Whether `text` is only a piece.
    pub cut: bool,
}

/// The matches that a grep has shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Matches {
    pub shown: Vec<Sighting>,
    /// Whether there are others.
    pub partial: bool,
    /// How many there are in all, as far as they were counted.
    pub total: usize,
}

/// Consecutive lines of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Window {
    pub path: String,
    pub lines: Vec<Sighting>,
}

impl Window {
    /// The position in `lines` of the line with this number.
    pub(super) fn position(&self, line: u64) -> Option<usize> {
        self.lines.iter().position(|sighting| sighting.line == line)
    }
}

/// The text of the `grep` tool.
pub(super) fn grep(text: &str) -> Matches {
    let mut matches = Matches::default();
    let mut lines = text.lines();
    let header = lines.next().unwrap_or_default();
    let mut path = "";
    for line in lines {
        if let Some((number, rest)) = numbered(line.trim_start().strip_prefix("Line ")) {
            matches.shown.push(sighting(path, number, rest));
        } else if is_gap(line) {
            // Whose lines come behind it was left out, too.
            path = "";
        } else if !line.is_empty() && !line.starts_with("Note: ") && !line.starts_with(' ') {
            path = line.trim_end_matches(':');
        }
    }
    matches.shown.retain(|sighting| !sighting.path.is_empty());
    // The header counts all, and the rest of a long text may have been stored elsewhere.
    let total = header.split(' ').find_map(|word| word.parse::<usize>().ok()).unwrap_or_default();
    matches.partial = total > matches.shown.len() || header.contains("at least");
    matches.total = total;
    matches
}

/// The typed value of a grep.
pub(super) fn grep_value(value: GrepValue) -> Matches {
    let partial = value.truncated;
    let shown = value.matches.unwrap_or_default();
    let shown = shown.into_iter().map(|found| sighting(&found.path, found.line, &found.text));
    let total = usize::try_from(value.total).unwrap_or(usize::MAX);
    Matches { shown: shown.collect(), partial, total }
}

/// Whether a line stands for the middle of a long result, which is kept elsewhere.
fn is_gap(line: &str) -> bool {
    line.starts_with('[') && line.contains(" bytes of this result are left out here; ")
}

/// The text of the `read` tool.
pub(super) fn read(text: &str) -> Option<Window> {
    let path =
        text.lines().find_map(|line| line.strip_prefix("<path>")?.strip_suffix("</path>"))?;
    let content = text.lines().skip_while(|line| *line != "<content>").skip(1);
    let lines = content.map_while(|line| {
        let (number, rest) = numbered(Some(line))?;
        Some(sighting(path, number, rest))
    });
    Some(Window { path: path.to_owned(), lines: lines.collect() })
}

/// The text of the `glob` tool.
pub(super) fn glob(text: &str) -> Vec<String> {
    let is_remark = |line: &&str| {
        line.is_empty()
            || *line == "No files found"
            || line.starts_with("Note: ")
            || is_gap(line)
            || line.starts_with('(') && line.ends_with(')')
    };
    text.lines().filter(|line| !is_remark(line)).map(str::to_owned).collect()
}

/// `12: text` apart.
fn numbered(line: Option<&str>) -> Option<(u64, &str)> {
    let (number, rest) = line?.split_once(':')?;
    Some((number.parse().ok()?, rest.strip_prefix(' ').unwrap_or(rest)))
}

fn sighting(path: &str, line: u64, text: &str) -> Sighting {
    let (text, cut) = uncut(text);
    Sighting { path: path.to_owned(), line, text: text.to_owned(), cut }
}

/// The part of a shortened line that is the line's own text.
fn uncut(text: &str) -> (&str, bool) {
    let kept = text.ends_with(CUT_END).then(|| text.rfind(CUT_START)).flatten();
    let Some(kept) = kept.and_then(|at| text.get(..at)) else {
        return (text, false);
    };
    let kept = kept.strip_suffix('…').unwrap_or(kept);
    (kept.strip_prefix('…').unwrap_or(kept), true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_are_read_with_their_paths() {
        let text = "Found 3 matches\na b/x.rs\n  Line 3: fn a() {\n  Line 12:     a();\n\nc.md\nLine 1: # a: b\nNote: x.";
        let matches = grep(text);
        let seen: Vec<_> =
            matches.shown.iter().map(|s| (s.path.as_str(), s.line, s.text.as_str())).collect();
        let expected =
            [("a b/x.rs", 3, "fn a() {"), ("a b/x.rs", 12, "    a();"), ("c.md", 1, "# a: b")];
        assert_eq!(seen, expected);
        assert!(!matches.partial);
        assert!(grep("Found 9 matches\nx\n  Line 1: x\nNote: 1 of 9 matches shown.").partial);
        let gap =
            "[9 of 20 bytes of this result are left out here; read spill:grep-1 for all of it]";
        let long = format!("Found 3 matches\nx\n  Line 1: x\n{gap}\n  Line 7: z\ny\n  Line 2: y");
        let shown: Vec<String> =
            grep(&long).shown.iter().map(|it| format!("{}:{}", it.path, it.line)).collect();
        assert_eq!(shown, ["x:1", "y:2"], "whose line 7 is was left out");
        assert_eq!(glob(&format!("a\n{gap}\nb")), ["a", "b"]);
        assert!(grep("Found at least 1 match\nx\n  Line 1: x").partial);
        assert_eq!(grep("No matches found"), Matches::default());
    }

    #[test]
    fn a_shortened_line_keeps_only_its_own_text() {
        let text = "Found 1 match\nx.js\n  Line 1: …abc… [cut: the line has 90000 characters]";
        let found = &grep(text).shown[0];
        assert_eq!((found.text.as_str(), found.cut), ("abc", true));
    }

    #[test]
    fn a_window_is_read_up_to_its_footer() {
        let text = "<path>a.rs</path>\n<type>file</type>\n<content>\n4: x\n5: \n6: y: z\n\n(Lines 4 to 6 of 9. Read on with offset 7.)\n</content>";
        let window = read(text).unwrap();
        assert_eq!(window.path, "a.rs");
        let lines: Vec<_> = window.lines.iter().map(|l| (l.line, l.text.as_str())).collect();
        assert_eq!(lines, [(4, "x"), (5, ""), (6, "y: z")]);
        assert_eq!(window.position(6), Some(2));
    }

    #[test]
    fn paths_are_read_without_the_remarks() {
        let text = "a.rs\nb c.rs\n(Showing 2 of 9 files; narrow the pattern to see others.)";
        assert_eq!(glob(text), ["a.rs", "b c.rs"]);
        assert!(glob("No files found").is_empty());
    }
}
