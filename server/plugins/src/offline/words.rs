//! Words: their stems, the words that carry no meaning in a question, and words that mean the same.

/// Longer words are not looked at.
pub(super) const MAX_WORD: usize = 32;

/// A word's stem, in a buffer so that a scan allocates nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stem {
    bytes: [u8; MAX_WORD],
    len: usize,
}

impl Stem {
    /// The stem of an ASCII word in any case; `None` for one that is too long to be a word.
    pub(super) fn of(word: &[u8]) -> Option<Stem> {
        if word.len() > MAX_WORD {
            return None;
        }
        let mut bytes = [0; MAX_WORD];
        for (to, from) in bytes.iter_mut().zip(word) {
            *to = from.to_ascii_lowercase();
        }
        let mut stem = Stem { bytes, len: word.len() };
        stem.shorten();
        // What was taken off must not tell equal stems apart.
        stem.bytes[stem.len..].fill(0);
        Some(stem)
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Takes the endings off that inflect a word or turn a verb into a noun. Both sides of a comparison go
    /// through here, so a stem need not be a word, only the same for all forms.
    fn shorten(&mut self) {
        if self.ends(b"ies") || self.ends(b"ied") {
            if self.len > 4 {
                self.len -= 2;
                self.bytes[self.len - 1] = b'y';
            }
            return;
        }
        if self.len > 3
            && self.ends(b"s")
            && ![&b"ss"[..], b"us", b"is"].iter().any(|end| self.ends(end))
        {
            self.len -= 1;
        }
        let whole = self.len;
        let strong: [&[u8]; 7] = [b"ation", b"ators", b"ator", b"ating", b"ated", b"ate", b"ment"];
        let weak: [&[u8]; 7] = [b"ing", b"ors", b"able", b"ed", b"er", b"or", b"ance"];
        if let Some(end) = strong.iter().find(|end| self.len >= end.len() + 4 && self.ends(end)) {
            self.len -= end.len();
        } else if self.len >= 6 && (self.ends(b"tion") || self.ends(b"sion")) {
            self.len -= 3;
        } else if let Some(end) = weak
            .iter()
            .find(|end| self.len >= end.len() + 3 + usize::from(end.len() == 2) && self.ends(end))
        {
            self.len -= end.len();
        }
        let was_inflected = self.len < whole;
        if self.len > 3 && self.ends(b"e") {
            self.len -= 1;
        }
        if !was_inflected {
            return;
        }
        let (last, before) = (self.bytes[self.len.max(1) - 1], self.bytes[self.len.max(2) - 2]);
        if self.len > 3 && last == before && !b"aeious".contains(&last) {
            self.len -= 1;
        }
    }

    fn ends(&self, end: &[u8]) -> bool {
        self.as_bytes().ends_with(end)
    }
}

/// Whether a word says nothing about what is asked for. Lower case.
pub(super) fn is_empty_word(word: &str) -> bool {
    word.len() < 2 || EMPTY_WORDS.split(' ').any(|empty| empty == word)
}

/// Words that mean the same as `word` to a programmer, or nearly.
pub(super) fn synonyms(word: &str) -> impl Iterator<Item = &'static str> {
    let stem = Stem::of(word.as_bytes());
    let same = move |other: &str| Stem::of(other.as_bytes()) == stem;
    SYNONYMS
        .iter()
        .filter(move |group| group.split(' ').any(same))
        .flat_map(|group| group.split(' '))
        .filter(move |other| !same(other))
}

/// The words of an identifier: `retryDelay`, `retry_delay` and `RETRY-DELAY` have the same two.
pub(super) fn subwords(identifier: &str) -> Vec<&str> {
    let bytes = identifier.as_bytes();
    let mut words = Vec::new();
    let mut start = None;
    for at in 0..=bytes.len() {
        let is_letter = bytes.get(at).is_some_and(u8::is_ascii_alphabetic);
        let begins = is_letter && begins_word(bytes, at);
        if let Some(from) = start
            && (begins || !is_letter)
        {
            words.push(&identifier[from..at]);
            start = None;
        }
        if begins {
            start = Some(at);
        }
    }
    words
}

/// Whether the letter at `at` is the first of a word or of a part of a compound.
pub(super) fn begins_word(text: &[u8], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).map(|before| text[before]) else {
        return true;
    };
    if !before.is_ascii_alphabetic() {
        return true;
    }
    let next_is_lower = text.get(at + 1).is_some_and(u8::is_ascii_lowercase);
    text[at].is_ascii_uppercase() && (before.is_ascii_lowercase() || next_is_lower)
}

const EMPTY_WORDS: &str = "\
    a about actual actually after again all already also always am an and any anything anywhere are \
    around as ask at base based be because been before being between both but by can could code \
    codebase come comes concerning declaration declare declared declares define defined defines \
    definition did different do does doing done during each either else ever every exactly explain \
    few find for from get gets give given go goes going had handle handled handles handling happen \
    happening happens has have having here hi how however if implement implementation implemented \
    implements in inside instead into is it its itself just kind know let like live lives locate \
    located logic look looks made make makes making many may me mean means might more most much must \
    my need needed needs no not now of off often on one ones only onto or other our out over part \
    place please possible project really repo responsible same see shall should show so some \
    somewhere still such take takes tell than that the their them then there these they thing things \
    this those through to together too under up us use used uses using usually very via want was way \
    ways we well were what whats when where wheres whether which while who whole whose why will with \
    within without work working works would yes you your";

/// Groups of words that stand for each other, in any form of theirs.
const SYNONYMS: &[&str] = &[
    "abort cancel interrupt",
    "access permission privilege",
    "allocate alloc memory",
    "argument arg parameter param",
    "attempt retry backoff",
    "authentication auth login credential",
    "authorization auth permission",
    "buffer buf",
    "build compile make",
    "cache memoize",
    "character char",
    "color colour ansi",
    "command cmd subcommand",
    "compare cmp ordering equal",
    "concurrent parallel thread",
    "configuration config settings options preferences",
    "connection connect conn socket",
    "convert transform into cast",
    "count number num",
    "crash panic",
    "database db sql",
    "decode deserialize parse",
    "delay sleep wait backoff pause",
    "delete remove erase unlink",
    "dependency deps",
    "directory folder dir",
    "documentation docs readme",
    "encode serialize",
    "entry item element",
    "environment env",
    "error failure exception err",
    "execute exec run",
    "expire timeout deadline",
    "fetch download request",
    "flag option switch",
    "format fmt print display",
    "generate gen",
    "hash digest checksum",
    "hidden dotfile",
    "ignore skip exclude gitignore",
    "index idx offset position",
    "initialize init setup start",
    "integer int",
    "language lang",
    "length len size",
    "library lib crate package",
    "license licence copyright",
    "limit max maximum cap",
    "lock mutex sync",
    "log logging trace tracing",
    "message msg",
    "minimum min",
    "parse lex token",
    "pattern regex glob",
    "pointer ptr",
    "random rng rand",
    "read load open",
    "receive recv",
    "render draw paint display",
    "request req",
    "response resp reply",
    "save write store persist",
    "schedule queue",
    "search lookup query match",
    "send transmit",
    "shutdown stop terminate exit close",
    "signal sigint sigterm",
    "sort order",
    "start begin launch spawn boot",
    "string str text",
    "suggest similar",
    "symlink symbolic link",
    "task job future",
    "temporary temp tmp",
    "terminal tty console",
    "test spec",
    "thread worker pool",
    "timeout deadline timer",
    "traverse walk visit iterate",
    "update upgrade refresh",
    "validate check verify",
    "variable var",
    "version semver",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn stem(word: &str) -> String {
        String::from_utf8(Stem::of(word.as_bytes()).unwrap().as_bytes().to_vec()).unwrap()
    }

    #[test]
    fn forms_of_a_word_share_a_stem() {
        for forms in [
            "retry retries retried retrying",
            "parse parser parsers parsing parsed parses",
            "cancel cancelled cancelling cancellation canceled",
            "connect connection connections connecting connected",
            "delete deletes deleted deletion deleting",
            "configure configuration configured",
            "match matches matching matched matcher",
            "allocate allocation allocator allocated",
            "stop stopped stopping stops",
            "read reads reading reader",
            "create created creates creation",
            "directory directories",
        ] {
            let mut stems: Vec<_> = forms.split(' ').map(stem).collect();
            stems.dedup();
            assert_eq!(stems.len(), 1, "{forms}: {stems:?}");
        }
    }

    #[test]
    fn different_words_have_different_stems() {
        for (one, other) in
            [("ready", "read"), ("process", "proceed"), ("status", "state"), ("fill", "file")]
        {
            assert_ne!(stem(one), stem(other));
        }
    }

    #[test]
    fn compounds_fall_into_their_words() {
        assert_eq!(subwords("retry_delay"), ["retry", "delay"]);
        assert_eq!(subwords("parseHTTPRequest2x"), ["parse", "HTTP", "Request", "x"]);
        assert_eq!(subwords("--max-depth"), ["max", "depth"]);
    }

    #[test]
    fn words_of_one_meaning_are_found_in_any_form() {
        assert!(synonyms("settings").any(|word| word == "config"));
        assert_eq!(stem("deleted"), stem("delete"));
        assert!(synonyms("deleted").any(|word| word == "remove"));
        assert!(synonyms("zebra").next().is_none());
    }
}
