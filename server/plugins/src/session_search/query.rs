//! What a person looks for, as the index is asked for it.

/// How many words of a query count.
const TERMS: usize = 64;

/// What is looked for: all of some words, or phrases.
#[derive(Debug, PartialEq)]
pub(super) struct Query {
    terms: Vec<Term>,
}

#[derive(Debug, PartialEq)]
struct Term {
    text: String,
    /// Whether its last word may go on.
    is_prefix: bool,
}

impl Query {
    /// Reads a query; `None` when there is no word in it. Quotes make a phrase, one that is not closed up to the end.
    /// The last word may be the beginning of one while nothing stands behind it.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut terms = Vec::new();
        for (at, part) in text.split('"').enumerate() {
            let is_phrase = at % 2 == 1;
            let words: Vec<&str> =
                if is_phrase { vec![part] } else { part.split_whitespace().collect() };
            terms.extend(
                words.into_iter().filter(|word| has_word(word)).map(|word| Term {
                    text: word.replace(char::is_control, " "),
                    is_prefix: false,
                }),
            );
        }
        terms.truncate(TERMS);
        if text.ends_with(char::is_alphanumeric)
            && let Some(last) = terms.last_mut()
        {
            last.is_prefix = true;
        }
        (!terms.is_empty()).then_some(Self { terms })
    }

    /// The query in the index's language. All that people wrote stands in quotes there, so that none of it means
    /// anything else.
    pub(super) fn expression(&self) -> String {
        let term = |term: &Term| {
            let prefix = if term.is_prefix { " *" } else { "" };
            // Quotes end terms, so that there is none in one.
            format!("\"{}\"{prefix}", segmented(&term.text))
        };
        self.terms.iter().map(term).collect::<Vec<_>>().join(" ")
    }

    /// What to look for in a text that was found, as it is spelled there but for case.
    pub(super) fn words(&self) -> impl Iterator<Item = &str> {
        self.terms
            .iter()
            .flat_map(|term| term.text.split(|char: char| !char.is_alphanumeric()))
            .filter(|word| !word.is_empty())
    }
}

fn has_word(text: &str) -> bool {
    text.chars().any(char::is_alphanumeric)
}

/// The text with blanks around each character of scripts that put none between words, so that each is a word.
pub(super) fn segmented(text: &str) -> String {
    let mut segmented = String::with_capacity(text.len());
    for char in text.chars() {
        if is_a_word(char) {
            segmented.extend([' ', char, ' ']);
        } else {
            segmented.push(char);
        }
    }
    segmented
}

fn is_a_word(char: char) -> bool {
    matches!(
        u32::from(char),
        0x3040..=0x30ff | 0x3400..=0x4dbf | 0x4e00..=0x9fff | 0xf900..=0xfaff | 0x2_0000..=0x3_ffff
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expression(text: &str) -> Option<String> {
        Query::parse(text).map(|query| query.expression())
    }

    #[test]
    fn words_are_all_wanted_and_the_last_may_go_on() {
        assert_eq!(expression("overlay lock").as_deref(), Some("\"overlay\" \"lock\" *"));
        assert_eq!(expression("overlay lock ").as_deref(), Some("\"overlay\" \"lock\""));
    }

    #[test]
    fn quotes_make_phrases_and_what_is_not_closed_is_one() {
        assert_eq!(expression("\"open buffers\" x ").as_deref(), Some("\"open buffers\" \"x\""));
        assert_eq!(expression("\"open buffers").as_deref(), Some("\"open buffers\" *"));
    }

    #[test]
    fn nothing_means_anything_else() {
        for text in ["", "  ", "\"", "\"\"", "*", "- + ^ : ( ) { }", "\"--\""] {
            assert_eq!(expression(text), None, "{text}");
        }
        assert_eq!(
            expression("NOT text:x AND (y* OR ").as_deref(),
            Some("\"NOT\" \"text:x\" \"AND\" \"(y*\" \"OR\"")
        );
        assert_eq!(expression("a\0b ").as_deref(), Some("\"a b\""));
    }

    #[test]
    fn each_character_of_a_script_without_blanks_is_a_word() {
        assert_eq!(expression("日志x ").as_deref(), Some("\" 日  志 x\""));
    }
}
