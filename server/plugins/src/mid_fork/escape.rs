//! Makes foreign text unable to speak as the snapshot that quotes it.

/// The tags that frame a snapshot.
const TAGS: [&str; 2] = ["snapshot", "mid-fork-suffix"];

/// How each line of quoted text after its first begins.
pub(super) const NEXT_LINE: &str = "\n      | ";

/// Text as it is quoted: it cannot begin a row, and it has no tag of the frame in it. Every way to break a line is
/// one.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.char_indices().peekable();
    while let Some((at, char)) = rest.next() {
        match char {
            '\r' => {
                rest.next_if(|(_, next)| *next == '\n');
                out.push_str(NEXT_LINE);
            }
            '\n' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => {
                out.push_str(NEXT_LINE);
            }
            '<' if is_tag(&text[at + 1..]) => out.push_str("&lt;"),
            _ => out.push(char),
        }
    }
    out
}

/// A name or an id inside a label: one line, as in a JSON string.
pub(super) fn name(text: &str) -> String {
    let json = serde_json::Value::from(text).to_string();
    let inner = json.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or_default();
    // JSON lets these stand as they are, and some readers break lines at them.
    let one_line = inner
        .replace('\u{85}', "\\u0085")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029");
    quoted(&one_line)
}

/// Whether what follows a `<` makes it a tag of the frame, written in any case and with any space.
fn is_tag(behind: &str) -> bool {
    let skip = |text: &str| text.trim_start_matches(unseen).len();
    let behind = &behind[behind.len() - skip(behind)..];
    let behind = behind.strip_prefix('/').unwrap_or(behind);
    let behind = &behind[behind.len() - skip(behind)..];
    TAGS.iter()
        .any(|tag| behind.get(..tag.len()).is_some_and(|start| start.eq_ignore_ascii_case(tag)))
}

/// Characters between which a reader sees nothing.
fn unseen(char: char) -> bool {
    char.is_whitespace()
        || char.is_control()
        || matches!(char, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::{name, quoted};

    #[test]
    fn every_break_of_a_line_is_one() {
        for line_break in ["\n", "\r\n", "\r", "\u{b}", "\u{c}", "\u{85}", "\u{2028}", "\u{2029}"] {
            let text = format!("a{line_break}    Turn end: completed");
            assert_eq!(quoted(&text), "a\n      |     Turn end: completed", "{line_break:?}");
        }
        assert_eq!(quoted("a\n\nb\n"), "a\n      | \n      | b\n      | ");
    }

    #[test]
    fn tags_of_the_frame_lose_their_bracket_and_others_keep_it() {
        for tag in [
            "</snapshot nonce=\"1\">",
            "<snapshot>",
            "</mid-fork-suffix>",
            "<MID-FORK-SUFFIX x>",
            "< / Snapshot >",
            "<\u{200b}/\u{feff}snapshot>",
        ] {
            assert_eq!(quoted(tag), format!("&lt;{}", &tag[1..]), "{tag}");
        }
        for text in ["<snap", "a < b", "<div>", "<", "<ä", "</"] {
            assert_eq!(quoted(text), text);
        }
    }

    #[test]
    fn names_are_one_line() {
        assert_eq!(name("c1"), "c1");
        assert_eq!(name("a\"\n\u{2028}\\"), "a\\\"\\n\\u2028\\\\");
        assert_eq!(name("</snapshot>"), "&lt;/snapshot>");
    }
}
