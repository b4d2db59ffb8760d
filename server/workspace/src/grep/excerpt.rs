//! What is shown of a line: all of it, or the part around the match with the cuts marked.

use std::ops::Range;

/// A longer text is cut.
const MAX_BYTES: usize = 2000;
/// How much is kept before the match.
const LEAD_BYTES: usize = 400;

/// `bytes` as text; cut around `focus` if it is long.
pub(super) fn excerpt(bytes: &[u8], focus: &Range<usize>) -> String {
    if bytes.len() <= MAX_BYTES {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    let latest = bytes.len() - MAX_BYTES;
    let start = boundary(bytes, focus.start.saturating_sub(LEAD_BYTES).min(latest));
    let end = boundary(bytes, start + MAX_BYTES);
    let mut text = String::new();
    if start > 0 {
        text.push('…');
    }
    text.push_str(&String::from_utf8_lossy(&bytes[start..end]));
    if end < bytes.len() {
        text.push('…');
    }
    text + &format!(" [cut: the line has {} characters]", units(bytes))
}

/// Length in UTF-16 code units.
pub(super) fn units(bytes: &[u8]) -> u64 {
    if bytes.is_ascii() {
        return bytes.len() as u64;
    }
    String::from_utf8_lossy(bytes).encode_utf16().count() as u64
}

/// `bytes` without its last line end.
pub(super) fn without_line_end(bytes: &[u8]) -> &[u8] {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    bytes.strip_suffix(b"\r").unwrap_or(bytes)
}

/// The last start of a UTF-8 sequence at or before `index`.
fn boundary(bytes: &[u8], index: usize) -> usize {
    let is_start = |&at: &usize| at >= bytes.len() || bytes[at] & 0xc0 != 0x80;
    (index.saturating_sub(3)..=index).rev().find(is_start).unwrap_or(index).min(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_never_parts_a_character_and_marks_only_the_sides_that_were_cut() {
        for shift in 0..4 {
            let text = format!("{}{}", "x".repeat(shift), "𝒙".repeat(2000));
            let bytes = text.as_bytes();
            let start = excerpt(bytes, &(0..1));
            assert!(!start.starts_with('…') && start.contains("… [cut"), "{start}");
            let end = excerpt(bytes, &(bytes.len() - 4..bytes.len()));
            assert!(end.starts_with('…') && !end.contains("… [cut"), "{end}");
            let middle = excerpt(bytes, &(4000 + shift..4004 + shift));
            assert!(![start, end, middle].concat().contains('\u{fffd}'));
        }
        assert_eq!(excerpt(&[0xff; 3], &(0..1)), "\u{fffd}\u{fffd}\u{fffd}");
    }

    #[test]
    fn a_match_that_begins_in_the_last_bytes_is_shown_whole() {
        let text = format!("{}NEEDLE", "x".repeat(9000));
        assert!(excerpt(text.as_bytes(), &(9000..9006)).contains("NEEDLE"));
    }
}
