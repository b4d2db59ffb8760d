//! Reads a prompt: which identifiers, files or phrases it names, what it wants of them, and which words of
//! it can be searched for. How a plain word becomes a name by the form of the question is in `forms`.

mod forms;
#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use regex::Regex;

use super::{pattern, words};

/// More names or terms of one prompt are left out.
const MAX_NAMES: usize = 3;
const MAX_TERMS: usize = 12;

/// What a prompt wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Want {
    /// Where something is defined, or what it is.
    Definition,
    /// Who uses it.
    Uses,
    /// An explanation; prose.
    Explanation,
    /// What the whole project is.
    Overview,
    /// Nothing that could be searched for.
    Nothing,
}

/// An identifier.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_field_names, reason = "the name in it is what a line is searched for")]
pub(super) struct Name {
    pub name: String,
    /// What stands before the last `::` or `.`, outermost first.
    pub qualifiers: Vec<String>,
    /// The kind of thing that the question calls it, such as `struct`.
    pub kind: Option<String>,
    /// Whether it is written as only an identifier is. A plain word may turn out to be one of prose.
    pub is_code: bool,
}

/// A word to search for, in a prompt without identifiers or beside one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Term {
    pub word: String,
}

/// A prompt, understood as far as it goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Question {
    pub want: Want,
    pub names: Vec<Name>,
    /// File names or paths.
    pub files: Vec<String>,
    /// The line of the first file that is meant: `src/main.rs:12`.
    pub line: Option<u64>,
    /// A quoted text that is no identifier: a message, say.
    pub phrase: Option<String>,
    pub terms: Vec<Term>,
    /// Whether it reads like a question that documentation answers.
    pub about_use: bool,
    /// Whether the name is a plain word that may as well be meant as prose.
    pub is_soft: bool,
}

/// How much of a prompt is read as a question, in characters: what was pasted behind it is not asked about.
const READ_CHARS: usize = 4000;

fn beginning(prompt: &str) -> &str {
    prompt.char_indices().nth(READ_CHARS).map_or(prompt, |(end, _)| &prompt[..end])
}

impl Question {
    /// Reads a prompt. `earlier` are the prompts before it, the latest first, for `it` to refer to.
    pub(super) fn read(prompt: &str, earlier: &[String]) -> Question {
        let question = Question::read_alone(prompt);
        let is_dangling = question.names.is_empty()
            && question.files.is_empty()
            && question.phrase.is_none()
            && question.terms.is_empty()
            && matches!(
                question.want,
                Want::Definition | Want::Uses | Want::Explanation | Want::Nothing
            )
            && PRONOUN.is_match(prompt);
        let before = earlier.iter().map(|prompt| Question::read_alone(prompt));
        let Some(before) = before.filter(|_| is_dangling).find(|before| !before.names.is_empty())
        else {
            return question;
        };
        let want = if forms::want(prompt) == Want::Uses { Want::Uses } else { Want::Definition };
        Question { want, ..before }
    }

    fn read_alone(prompt: &str) -> Question {
        let prompt = beginning(prompt);
        let text = without_code_blocks(prompt);
        let text = text.trim();
        let mut question = Question {
            want: forms::want(text),
            names: Vec::new(),
            files: Vec::new(),
            line: None,
            phrase: None,
            terms: Vec::new(),
            about_use: forms::is_about_use(text),
            is_soft: false,
        };
        let rest = question.take_quoted(text);
        question.take_code_shaped(&rest);
        if question.names.is_empty() && question.files.is_empty() && question.phrase.is_none() {
            if let Some(subject) = forms::plain_subject(&rest) {
                question.is_soft = subject.is_soft;
                question.names.push(subject.name);
            }
        } else if let [name] = question.names.as_mut_slice() {
            name.kind = name.kind.take().or_else(|| forms::kind_word(text));
        }
        question.take_terms(&rest);
        question.settle(text);
        question
    }

    /// Whether passages are to be looked for beside or instead of definitions.
    pub(super) fn wants_passages(&self) -> bool {
        if self.want != Want::Explanation || self.phrase.is_some() {
            return false;
        }
        self.names.is_empty() || self.terms.len() >= 2
    }

    fn settle(&mut self, text: &str) {
        let is_named = !self.names.is_empty() || !self.files.is_empty() || self.phrase.is_some();
        let is_overview =
            matches!(self.want, Want::Explanation | Want::Definition | Want::Overview)
                && forms::is_overview(text);
        self.want = match self.want {
            _ if !is_named && is_overview => Want::Overview,
            Want::Overview | Want::Nothing if is_named => Want::Definition,
            Want::Definition | Want::Uses if !is_named => Want::Explanation,
            Want::Definition | Want::Uses | Want::Explanation | Want::Overview | Want::Nothing => {
                self.want
            }
        };
        if self.want == Want::Explanation && !is_named && self.terms.is_empty() {
            self.want = Want::Nothing;
        }
    }

    /// Takes what stands in quotes or backticks, and returns the text with a blank in its place.
    fn take_quoted(&mut self, text: &str) -> String {
        for captures in QUOTED.captures_iter(text) {
            let Some(quoted) =
                captures.iter().skip(1).flatten().next().map(|found| found.as_str().trim())
            else {
                continue;
            };
            match reference(quoted) {
                Some(Reference::File(file, line)) => self.add_file(file, line),
                Some(Reference::Name(name)) => self.add_name(Name { is_code: true, ..name }),
                None if !quoted.is_empty() && self.phrase.is_none() => {
                    self.phrase = Some(quoted.to_owned());
                }
                None => {}
            }
        }
        QUOTED.replace_all(text, " ").into_owned()
    }

    fn take_code_shaped(&mut self, text: &str) {
        for token in text.split(|c: char| c.is_whitespace() || "，。？！、；：（）".contains(c))
        {
            let token = token.trim_matches(|c: char| ",;?\"'[]{}…".contains(c));
            let token = token.strip_suffix('.').unwrap_or(token).trim_start_matches('(');
            let token = if token.contains('(') { token } else { token.trim_end_matches(')') };
            let token =
                token.strip_suffix("'s").or_else(|| token.strip_suffix("’s")).unwrap_or(token);
            match reference(token.trim_end_matches(':')) {
                Some(Reference::File(file, line)) => self.add_file(file, line),
                Some(Reference::Name(name)) if name.is_code => self.add_name(name),
                Some(Reference::Name(_)) | None => {}
            }
        }
    }

    fn take_terms(&mut self, text: &str) {
        for word in WORD.find_iter(text) {
            let word = word.as_str().trim_end_matches(['\'', '’']);
            let is_name = self.names.iter().any(|name| {
                name.is_code
                    && (name.name == word
                        || name.qualifiers.iter().any(|qualifier| qualifier == word))
            });
            for part in words::subwords(word) {
                let part = part.to_lowercase();
                let is_known = self.terms.iter().any(|term| same_stem(&term.word, &part));
                if !words::is_empty_word(&part)
                    && !is_known
                    && !is_name
                    && self.terms.len() < MAX_TERMS
                {
                    self.terms.push(Term { word: part });
                }
            }
        }
    }

    fn add_name(&mut self, name: Name) {
        if self.names.len() < MAX_NAMES && self.names.iter().all(|known| known.name != name.name) {
            self.names.push(name);
        }
    }

    fn add_file(&mut self, file: String, line: Option<u64>) {
        if self.files.is_empty() {
            self.line = line;
        }
        if self.files.len() < MAX_NAMES && !self.files.contains(&file) {
            self.files.push(file);
        }
    }
}

fn same_stem(one: &str, other: &str) -> bool {
    words::Stem::of(one.as_bytes()) == words::Stem::of(other.as_bytes())
}

enum Reference {
    /// Its path, and a line of it.
    File(String, Option<u64>),
    Name(Name),
}

/// What a token without blanks refers to.
fn reference(token: &str) -> Option<Reference> {
    if NO_REFERENCES.contains(&token.to_ascii_lowercase().as_str()) {
        return None;
    }
    // `path:line` and `path:line:column`, as compilers write them.
    let place = FILE_LINE.captures(token).map(|found| found.extract().1);
    let (path, line) = place.map_or((token, None), |[path, line]| (path, line.parse().ok()));
    if let Some(file) = FILE.find(path).map(|file| file.as_str()) {
        let file = file.trim_start_matches("./").trim_start_matches('@');
        return Some(Reference::File(file.to_owned(), line));
    }
    let token =
        token.strip_prefix("#define ").unwrap_or(token).trim_start_matches(['@', '#', '&', '*']);
    let bare = CALL_END.replace_all(token, "");
    let bare = bare.trim_end_matches(['!', ':']);
    if !NAME.is_match(bare) {
        return None;
    }
    let mut parts: Vec<&str> = SEPARATOR.split(bare).filter(|part| !part.is_empty()).collect();
    let name = parts.pop()?;
    let is_code = !parts.is_empty() || token.ends_with(')') || is_code_shaped(name);
    let self_words = ["self", "this", "crate", "super", "Self"];
    let qualifiers = parts.iter().filter(|part| !self_words.contains(part));
    let qualifiers = qualifiers.map(|part| (*part).to_owned()).collect();
    Some(Reference::Name(Name { name: name.to_owned(), qualifiers, kind: None, is_code }))
}

/// Whether a word is written as no word of prose is.
fn is_code_shaped(name: &str) -> bool {
    let letters: Vec<char> = name.chars().collect();
    let has_lower = name.contains(char::is_lowercase);
    let inner_upper =
        letters.windows(2).any(|pair| pair[0].is_lowercase() && pair[1].is_uppercase());
    let acronym_then_word = letters.len() > 3
        && letters
            .windows(3)
            .any(|w| w[0].is_uppercase() && w[1].is_uppercase() && w[2].is_lowercase())
        && !name.ends_with("Ss")
        && !letters.ends_with(&['s']);
    if PROPER_NAMES.contains(&name) {
        return false;
    }
    name.contains('_') && name.len() > 1
        || name.starts_with('$')
        || inner_upper
        || has_lower && acronym_then_word
}

/// Fenced blocks hold code to talk about, not the question.
fn without_code_blocks(prompt: &str) -> String {
    if prompt.matches("```").count() < 2 {
        return prompt.to_owned();
    }
    let outside: Vec<&str> = prompt.split("```").step_by(2).collect();
    let outside = outside.join(" ");
    if outside.trim().is_empty() { prompt.replace("```", " ") } else { outside }
}

/// Names of products that look like identifiers.
const PROPER_NAMES: &[&str] = &[
    "GitHub",
    "GitLab",
    "JavaScript",
    "TypeScript",
    "CoffeeScript",
    "macOS",
    "iOS",
    "iPadOS",
    "PostgreSQL",
    "MySQL",
    "SQLite",
    "NoSQL",
    "LaTeX",
    "VSCode",
    "DevTools",
    "OpenAI",
    "DeepSeek",
    "YouTube",
    "LinkedIn",
    "PowerShell",
    "FreeBSD",
    "NetBSD",
    "OpenBSD",
    "LevelDB",
    "RocksDB",
    "MongoDB",
    "WebKit",
    "IntelliJ",
    "JetBrains",
    "GraphQL",
    "OAuth",
    "IPv4",
    "IPv6",
];

/// Words with a dot that are neither files nor paths of identifiers.
const NO_REFERENCES: &[&str] = &["e.g", "i.e", "node.js", "next.js", "vue.js", "a.k.a", "vs"];

static QUOTED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"``?([^`]+)``?|"([^"]+)"|“([^”]+)”|«([^»]+)»|‘([^’]+)’|(?:^|[\s(])'([^'\s]+)'(?:$|[\s?.,;:!)])"#,
    )
});
static WORD: LazyLock<Regex> = LazyLock::new(|| pattern(r"[A-Za-z][\w'’-]*"));
static PRONOUN: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)\b(?:it|its|that|this|they|them|those|these)\b"));
static NAME: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"^(?:::)?[$]?[A-Za-z_][\w$-]*[?!]?(?:(?:::|\.|->|#|\\)[$]?[A-Za-z_~][\w$]*[?!]?)*$")
});
static CALL_END: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?:::)?<[^>]*>|\([^)]*\)?$"));
static SEPARATOR: LazyLock<Regex> = LazyLock::new(|| pattern(r"::|->|\.|#|\\"));
static FILE_LINE: LazyLock<Regex> = LazyLock::new(|| pattern(r"^([^:]+):(\d+)(?:[:-]\d+)?$"));
static FILE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"^@?(?:\.{0,2}/)?(?:[\w@.+-]+/)*(?:[\w@+-][\w@.+-]*\.(?:rs|py|pyi|js|mjs|cjs|jsx|ts|mts|cts|tsx|c|h|cc|hh",
        r"|cpp|cxx|hpp|hxx|java|kt|kts|go|rb|php|cs|swift|scala|sh|bash|zsh|fish|ps1|lua|vim|ex|exs|erl|hs|ml|mli",
        r"|zig|nim|jl|proto|sql|md|rst|txt|adoc|json|jsonc|json5|jsonl|toml|yaml|yml|ini|cfg|xml|html|htm|css|scss",
        r"|less|vue|svelte|cmake|mk|gradle|csv|svg|ipynb)|README|LICENSE|COPYING|CHANGELOG|CONTRIBUTING|Makefile",
        r"|Dockerfile|Gemfile|Rakefile|(?:Cargo|yarn|poetry|composer|flake)\.lock|\.gitignore|\.editorconfig)$",
    ))
});
