//! Where an editor's position lies in a text. Columns count bytes, UTF-16 units or characters, as was agreed.

use tower_lsp::ls_types::{Position, PositionEncodingKind, Range};

/// What columns count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Encoding {
    Utf8,
    #[default]
    Utf16,
    Utf32,
}

impl Encoding {
    /// The first of ours that the client offers: bytes cost nothing to count.
    pub(crate) fn negotiate(offered: Option<&[PositionEncodingKind]>) -> Self {
        let has =
            |kind: &PositionEncodingKind| offered.is_some_and(|offered| offered.contains(kind));
        if has(&PositionEncodingKind::UTF8) {
            Self::Utf8
        } else if has(&PositionEncodingKind::UTF32) && !has(&PositionEncodingKind::UTF16) {
            Self::Utf32
        } else {
            Self::Utf16
        }
    }

    pub(crate) fn kind(self) -> PositionEncodingKind {
        match self {
            Self::Utf8 => PositionEncodingKind::UTF8,
            Self::Utf16 => PositionEncodingKind::UTF16,
            Self::Utf32 => PositionEncodingKind::UTF32,
        }
    }

    fn width(self, char: char) -> usize {
        match self {
            Self::Utf8 => char.len_utf8(),
            Self::Utf16 => char.len_utf16(),
            Self::Utf32 => 1,
        }
    }
}

/// A text after one change. Positions past the end of a line or of the text mean that end, as LSP says.
pub(crate) fn replaced(text: &str, range: Range, with: &str, encoding: Encoding) -> String {
    let start = offset(text, range.start, encoding);
    let end = offset(text, range.end, encoding).max(start);
    let mut replaced = String::with_capacity(start + with.len() + text.len() - end);
    replaced.push_str(&text[..start]);
    replaced.push_str(with);
    replaced.push_str(&text[end..]);
    replaced
}

/// The byte that a position stands for; always at a character's boundary.
fn offset(text: &str, position: Position, encoding: Encoding) -> usize {
    let mut start = 0;
    for _ in 0..position.line {
        match line_end(&text[start..]) {
            Some((_, next)) => start += next,
            None => return text.len(),
        }
    }
    let line = &text[start..];
    let line = &line[..line_end(line).map_or(line.len(), |(end, _)| end)];
    let mut column = 0;
    for (at, char) in line.char_indices() {
        if column >= position.character as usize {
            return start + at;
        }
        column += encoding.width(char);
    }
    start + line.len()
}

/// Where the first line ends and where the next begins. LSP's line ends are `\n`, `\r\n` and `\r`.
fn line_end(text: &str) -> Option<(usize, usize)> {
    let at = text.find(['\n', '\r'])?;
    let wide = text[at..].starts_with("\r\n");
    Some((at, at + if wide { 2 } else { 1 }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(
        text: &str,
        from: (u32, u32),
        to: (u32, u32),
        with: &str,
        encoding: Encoding,
    ) -> String {
        let range = Range::new(Position::new(from.0, from.1), Position::new(to.0, to.1));
        replaced(text, range, with, encoding)
    }

    #[test]
    fn columns_count_what_was_agreed() {
        let text = "a\n🙂é!\nz";
        for (encoding, column) in [(Encoding::Utf8, 6), (Encoding::Utf16, 3), (Encoding::Utf32, 2)]
        {
            assert_eq!(edit(text, (1, column), (1, column + 1), "?", encoding), "a\n🙂é?\nz");
        }
    }

    #[test]
    fn positions_past_an_end_mean_that_end() {
        for (text, from, to, expected) in [
            ("ab\ncd", (0, 99), (0, 99), "abX\ncd"),
            ("ab\r\ncd", (0, 2), (1, 0), "abXcd"),
            ("ab\rcd", (1, 0), (1, 1), "ab\rXd"),
            ("ab", (7, 0), (9, 0), "abX"),
            ("ab\n", (1, 0), (1, 0), "ab\nX"),
            ("ab", (0, 1), (0, 0), "aXb"),
            ("", (0, 0), (0, 0), "X"),
        ] {
            assert_eq!(edit(text, from, to, "X", Encoding::Utf16), expected, "{text:?}");
        }
    }

    #[test]
    fn a_column_inside_a_character_never_splits_it() {
        assert_eq!(edit("🙂", (0, 1), (0, 1), "X", Encoding::Utf16), "🙂X");
        assert_eq!(edit("é", (0, 1), (0, 1), "X", Encoding::Utf8), "éX");
    }

    #[test]
    fn bytes_are_preferred_and_utf_16_is_what_old_clients_mean() {
        let offered = [PositionEncodingKind::UTF16, PositionEncodingKind::UTF8];
        assert_eq!(Encoding::negotiate(Some(&offered)), Encoding::Utf8);
        assert_eq!(Encoding::negotiate(Some(&offered[..1])), Encoding::Utf16);
        assert_eq!(Encoding::negotiate(Some(&[PositionEncodingKind::UTF32])), Encoding::Utf32);
        assert_eq!(Encoding::negotiate(None), Encoding::Utf16);
    }
}
