//! A line of a text, around what was looked for.

/// How many characters stand before what was found, and from it on.
const BEFORE: usize = 50;
const BEHIND: usize = 130;

/// The text around the first place where one of the words stands, on one line; its beginning where none does.
pub(super) fn snippet<'a>(text: &str, words: impl Iterator<Item = &'a str>) -> String {
    let chars: Vec<char> = text.chars().collect();
    let folded: Vec<char> = chars.iter().map(|char| lower(*char)).collect();
    let place = |word: &str| {
        let word: Vec<char> = word.chars().map(lower).collect();
        let starts = |at: &usize| *at == 0 || !folded[at - 1].is_alphanumeric();
        let found = || folded.windows(word.len().max(1)).enumerate();
        let mut whole = found().filter(|(_, window)| *window == word).map(|(at, _)| at);
        // One that stands in the middle of a word is not what was found, where scripts have blanks.
        whole.find(starts).or_else(|| found().find(|(_, window)| *window == word).map(|(at, _)| at))
    };
    let at = words.filter_map(place).min().unwrap_or(0);
    let mut start = at.saturating_sub(BEFORE);
    // The line begins with a whole word.
    while start > 0 && start < at && !chars[start - 1].is_whitespace() {
        start += 1;
    }
    let end = chars.len().min(at + BEHIND);
    let line: String = chars[start..end].iter().collect();
    let line = line.split(|char: char| char.is_whitespace() || char.is_control());
    let mut line = line.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    if start > 0 {
        line.insert(0, '…');
    }
    if end < chars.len() {
        line.push('…');
    }
    line
}

/// The character in lower case, where that is one character.
fn lower(char: char) -> char {
    let mut lower = char.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(lower), None) => lower,
        _ => char,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_stands_around_the_first_word_that_was_found() {
        let text =
            format!("{}The Overlay\nof open buffers. {}", "word ".repeat(40), "more ".repeat(40));
        let line = snippet(&text, ["overlay", "buffers"].into_iter());
        assert!(line.starts_with("…word "), "{line}");
        assert!(line.contains("The Overlay of open buffers. more"), "{line}");
        assert!(line.ends_with('…') && !line.contains('\n'), "{line}");
    }

    #[test]
    fn a_short_text_is_shown_whole() {
        assert_eq!(snippet("Über\t日志", ["志"].into_iter()), "Über 日志");
        assert_eq!(snippet("a", ["longer than the text"].into_iter()), "a");
        assert_eq!(snippet("", ["x"].into_iter()), "");
    }

    #[test]
    fn a_whole_word_goes_before_the_middle_of_one() {
        let text = format!("relock {} lock it", "x ".repeat(100));
        assert!(snippet(&text, ["lock"].into_iter()).contains("lock it"));
    }
}
