//! Places that are written in words, as a checker of places reads them.

use std::sync::LazyLock;

use regex::Regex;

use crate::offline::pattern;

/// The text with `a.rs, line 3` as `a.rs:3`, so that what is quoted behind it belongs to it. Code blocks stay as
/// they are: what stands there is quoted.
pub(super) fn joined(text: &str) -> String {
    let mut joined = String::with_capacity(text.len());
    let mut fence = "";
    for line in text.split_inclusive('\n') {
        let start = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| start.starts_with(mark));
        if let Some(mark) = mark.filter(|mark| fence.is_empty() || fence == *mark) {
            fence = if fence.is_empty() { mark } else { "" };
            joined.push_str(line);
        } else if fence.is_empty() {
            joined.push_str(&PLACE.replace_all(line, "$path:$line$mark"));
        } else {
            joined.push_str(line);
        }
    }
    joined
}

static PLACE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?P<path>[\w@./-]*\w\.[A-Za-z]\w{0,9})(?P<mark>`?), (?:at |on )?lines? (?P<line>\d+(?:[-\u{2013}]\d+)?)\b",
    )
});

#[cfg(test)]
mod tests {
    use super::joined;

    #[test]
    fn places_in_words_are_joined_outside_of_code_blocks() {
        for (text, expected) in [
            ("In `src/a.rs`, line 3: `x`", "In `src/a.rs:3`: `x`"),
            ("src/a.rs, lines 3-5, and", "src/a.rs:3-5, and"),
            ("See `a.rs` (line 3).", "See `a.rs` (line 3)."),
            ("In 1.5, line 3", "In 1.5, line 3"),
            ("```\na.rs, line 3\n```\na.rs, line 3", "```\na.rs, line 3\n```\na.rs:3"),
        ] {
            assert_eq!(joined(text), expected);
        }
    }
}
