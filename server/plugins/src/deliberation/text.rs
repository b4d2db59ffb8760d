//! Text as the founding configuration and its packets count it: blanks and lengths are those of JavaScript, so
//! that the same limits hold for the same bytes.

/// What stands around a text and does not count: JavaScript's white space, which is Unicode's without U+0085 and
/// with U+FEFF.
fn is_blank_char(char: char) -> bool {
    char == '\u{feff}' || (char.is_whitespace() && char != '\u{85}')
}

/// The text without blanks around it.
pub(super) fn trim(text: &str) -> &str {
    text.trim_matches(is_blank_char)
}

/// Whether there is nothing but blanks.
pub(super) fn is_blank(text: &str) -> bool {
    trim(text).is_empty()
}

/// The length in UTF-16 code units.
pub(super) fn utf16_length(text: &str) -> usize {
    text.encode_utf16().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_and_lengths_are_those_of_javascript() {
        assert_eq!(trim("\u{feff} \u{2003}a\u{85}\n"), "a\u{85}");
        assert!(is_blank("\u{a0}\t") && !is_blank("\u{85}"));
        assert_eq!((utf16_length("aé😀"), utf16_length("")), (4, 0));
    }
}
