//! Tags around reasoning that a server left in the visible text.
//!
//! They count at the start of an answer only, and again directly behind such reasoning: a text that speaks of
//! the tags is a text.

/// A piece of an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// Visible text.
    Text(String),
    /// Reasoning.
    Reasoning(String),
}

/// Takes text in any pieces and tells reasoning from the rest.
#[derive(Debug)]
pub(super) struct Tags {
    pairs: &'static [(&'static str, &'static str)],
    state: State,
    /// What cannot be told yet: white space and the beginning of a tag.
    held: String,
}

#[derive(Debug)]
enum State {
    /// Nothing visible has come, but perhaps reasoning.
    Start { reasoned: bool },
    /// Behind an opening tag; the closing one.
    Inside(&'static str),
    /// In visible text.
    Text,
}

impl Tags {
    pub(super) fn new(pairs: &'static [(&'static str, &'static str)]) -> Self {
        let state = if pairs.is_empty() { State::Text } else { State::Start { reasoned: false } };
        Self { pairs, state, held: String::new() }
    }

    /// Takes text and gives what is certain.
    pub(super) fn take(&mut self, text: &str) -> Vec<Piece> {
        let mut pieces = Vec::new();
        self.held.push_str(text);
        while !self.held.is_empty() && self.decide(&mut pieces) {}
        pieces
    }

    /// Gives what is held: nothing more will come to decide about it.
    pub(super) fn flush(&mut self) -> Option<Piece> {
        let held = std::mem::take(&mut self.held);
        let piece = match self.state {
            State::Inside(_) => Piece::Reasoning(held),
            State::Start { reasoned: true } if held.trim().is_empty() => return None,
            State::Start { .. } | State::Text => Piece::Text(held),
        };
        if let Piece::Text(text) = &piece
            && !text.trim().is_empty()
        {
            self.state = State::Text;
        }
        Some(piece)
    }

    /// One decision about what is held; false when it takes more text.
    fn decide(&mut self, pieces: &mut Vec<Piece>) -> bool {
        match self.state {
            State::Text => {
                pieces.push(Piece::Text(std::mem::take(&mut self.held)));
                true
            }
            State::Inside(closing) => self.inside(closing, pieces),
            State::Start { reasoned } => self.start(reasoned),
        }
    }

    fn start(&mut self, reasoned: bool) -> bool {
        let text = self.held.trim_start();
        let opened = self.pairs.iter().find(|(opening, _)| text.starts_with(opening));
        if let Some((opening, closing)) = opened {
            self.held = text[opening.len()..].to_owned();
            self.state = State::Inside(closing);
            return true;
        }
        if self.pairs.iter().any(|(opening, _)| opening.starts_with(text)) {
            return false;
        }
        // The line breaks behind reasoning belong to the tag.
        if reasoned {
            self.held = text.to_owned();
        }
        self.state = State::Text;
        true
    }

    fn inside(&mut self, closing: &'static str, pieces: &mut Vec<Piece>) -> bool {
        if let Some((before, after)) = self.held.split_once(closing) {
            pieces.push(Piece::Reasoning(before.to_owned()));
            self.held = after.to_owned();
            self.state = State::Start { reasoned: true };
            return true;
        }
        let held_back = (1..closing.len())
            .rev()
            .find(|length| self.held.ends_with(&closing[..*length]))
            .unwrap_or(0);
        let rest = self.held.split_off(self.held.len() - held_back);
        pieces.push(Piece::Reasoning(std::mem::replace(&mut self.held, rest)));
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAIRS: &[(&str, &str)] = &[("<think>", "</think>")];

    /// What becomes of a text, wherever it is cut: `(reasoning, visible)`.
    fn check(text: &str, reasoning: &str, visible: &str) {
        for cut in (0..=text.len()).filter(|cut| text.is_char_boundary(*cut)) {
            let mut tags = Tags::new(PAIRS);
            let mut pieces = tags.take(&text[..cut]);
            pieces.extend(tags.take(&text[cut..]));
            pieces.extend(tags.flush());
            let mut seen = (String::new(), String::new());
            for piece in pieces {
                match piece {
                    Piece::Reasoning(text) => seen.0.push_str(&text),
                    Piece::Text(text) => seen.1.push_str(&text),
                }
            }
            assert_eq!(seen, (reasoning.to_owned(), visible.to_owned()), "{text} cut at {cut}");
        }
    }

    #[test]
    fn reasoning_at_the_start_is_told_from_the_text() {
        check("<think>r</think>\n\nt", "r", "t");
        check("\n<think>r < s</thin k></think>t", "r < s</thin k>", "t");
        check("<think>a</think> <think>b</think>t", "ab", "t");
        check("<think>never ends </thi", "never ends </thi", "");
        check("<think></think>\n", "", "");
    }

    #[test]
    fn a_text_that_speaks_of_the_tags_is_a_text() {
        check(
            "the tag <think> opens, </think> closes",
            "",
            "the tag <think> opens, </think> closes",
        );
        check(" <thin ice", "", " <thin ice");
        check("<thi", "", "<thi");
        check("  \n", "", "  \n");
        check("<think>r</think>t <think>u</think>", "r", "t <think>u</think>");
    }
}
