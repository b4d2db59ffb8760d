//! Definitions: the pattern that finds lines which may define a name, and the judgement whether one does.
//!
//! The pattern runs over a whole tree, so it is generous and has the name in each of its branches, which
//! lets the search skip quickly to lines with the name. The judgement looks at one line at a time.

mod keyword;
mod member;
mod shape;
#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use regex::Regex;

use super::language::Language;
use super::pattern;
use super::question::Name;

/// What a line does to a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Definition {
    /// A word or two for a person: `function`, `struct`, `field`.
    pub kind: String,
    /// How sure it is that this is what a person would call the definition; see the constants.
    pub strength: u8,
    /// Whether other files can see it.
    pub is_public: bool,
}

/// The body stands here.
pub(super) const BODY: u8 = 100;
/// It is announced here and defined elsewhere.
pub(super) const ANNOUNCED: u8 = 70;
/// Weaker ones are parts of something else: fields, variants, keys.
pub(super) const STRONG: u8 = 60;
/// A field, a variant or another part of a type.
pub(super) const PART: u8 = 45;
/// It looks the same as something that is no definition, such as an argument in a list.
pub(super) const DOUBTFUL: u8 = 30;
/// A local variable or an assignment to what exists.
pub(super) const LOCAL: u8 = 15;
/// An implementation for it; its definition is elsewhere.
pub(super) const IMPL: u8 = 10;

/// Words before a name that define it, in any of the languages.
const KEYWORDS: &str = concat!(
    r"fn|struct|enum|union|trait|type|const|static|mod|macro|function|class|interface|namespace|module|let|var|val|def|defp",
    r"|defmacro|defmodule|defstruct|defn|defun|defmethod|defvar|define|func|fun|object|record|protocol|typealias|actor|sub",
    r"|proc|message|service|rpc|package|newtype|data|alias|table|view|procedure|trigger|index|typedef|concept|delegate",
    r"|extension|component|event|task|template|case|undef|constexpr|annotation|using",
);

/// A regular expression for `grep` that finds the lines which may define one of the names, or the type
/// around it. The names stand in one place of it: a search that knows a text which every match has skips to
/// the lines with that text, and is forty times as fast as one that has to try each line.
pub(super) fn search_pattern(names: &[Name]) -> String {
    let containers = names.iter().filter_map(|name| name.qualifiers.last());
    let wanted = names.iter().map(|name| &name.name).chain(containers);
    let wanted: Vec<String> = wanted.map(|name| bounded(name, &regex::escape(name))).collect();
    let prefixes = [
        // A keyword, and what may stand between it and the name.
        format!(
            r#"\b(?:{KEYWORDS}|impl|macro_rules!|(?i:create\b[\w ]*))(?:[*!&( \t]+|[ \t]*\([^)]*\)[ \t]*)(?:[\w$.#<>*&"'`\[ \t]|::)*"#
        ),
        // Types and modifiers, an owner, a quote, or nothing.
        r#"^[ \t]*(?:[\w$<>,.*&\[\]?~#@"'{} \t-]|::|\([\w ,()]*\))*"#.to_owned(),
        r"^[ \t]*[A-Z][A-Z0-9_]*\s*\((?:[\w ]+,\s*)?".to_owned(),
        r#"defineProperty\(.*["']"#.to_owned(),
        r"^[ \t]*typedef\b[\w \t*&]*\([\w \t]*\*+[ \t]*".to_owned(),
    ];
    format!("(?:{})(?:{})(?:[^.]|$)", prefixes.join("|"), wanted.join("|"))
}

/// `pattern` between word boundaries, as far as `name` begins and ends like a word.
pub(super) fn bounded(name: &str, pattern: &str) -> String {
    let boundary = |char: Option<char>| {
        if char.is_some_and(|c| c.is_alphanumeric() || c == '_') { r"\b" } else { "" }
    };
    format!("{}{pattern}{}", boundary(name.chars().next()), boundary(name.chars().next_back()))
}

/// Whether a line opens what a qualified name says the thing is in.
pub(super) fn opens(line: &str, container: &str) -> bool {
    CONTAINER.is_match(line) && find_word(line, container).next().is_some()
}

/// What a line does to `name`, if it defines, declares or binds it.
pub(super) fn judge(path: &str, line: &str, name: &str) -> Option<Definition> {
    let language = Language::of(path);
    let trimmed = line.trim_start();
    if language == Language::Prose || language.is_comment(trimmed) {
        return None;
    }
    if IMPORT.is_match(trimmed) {
        return find_word(line, name).find_map(|at| alias(language, trimmed, &line[..at]));
    }
    let found = find_word(line, name).filter_map(|at| {
        let place =
            Place { language, line, before: &line[..at], name, after: &line[at + name.len()..] };
        place.judge()
    });
    found.max_by_key(|definition| definition.strength)
}

/// `import a as name` and `pub use a as name`: other files know a thing by the second one.
fn alias(language: Language, line: &str, before: &str) -> Option<Definition> {
    let has_aliases = matches!(language, Language::Rust | Language::Python | Language::Script);
    if !has_aliases || !before.ends_with(" as ") {
        return None;
    }
    let is_public = line.starts_with("pub") || line.starts_with("export");
    let strength = if is_public { ANNOUNCED - 5 } else { LOCAL + 10 };
    Some(Definition { kind: "import alias".to_owned(), strength, is_public })
}

/// The places where `name` stands alone in `line`.
pub(super) fn find_word<'l>(line: &'l str, name: &'l str) -> impl Iterator<Item = usize> + 'l {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    line.match_indices(name).map(|(at, _)| at).filter(move |&at| {
        let before = line[..at].chars().next_back();
        let after = line[at + name.len()..].chars().next();
        !before.is_some_and(|c| {
            is_part(c) && !(c == '$' && name.starts_with(|c: char| c.is_alphabetic()))
        }) && !after.is_some_and(is_part)
    })
}

/// A name in its line.
#[derive(Clone, Copy)]
struct Place<'l> {
    language: Language,
    line: &'l str,
    before: &'l str,
    name: &'l str,
    after: &'l str,
}

impl Place<'_> {
    fn judge(&self) -> Option<Definition> {
        if self.is_quoted() && self.language != Language::Config {
            return self.property_by_call().or_else(|| self.quoted_key());
        }
        self.by_keyword()
            .or_else(|| self.closing_typedef())
            .or_else(|| self.function())
            .or_else(|| self.assignment())
            .or_else(|| self.key_or_field())
            .or_else(|| self.variable())
            .or_else(|| self.variant())
            .or_else(|| self.made_by_macro())
    }

    #[expect(clippy::unnecessary_wraps, reason = "every judgement ends with it")]
    fn found(&self, kind: &str, strength: u8) -> Option<Definition> {
        let is_public =
            PUBLIC.is_match(self.line) || self.is_at_margin() && self.language == Language::Python;
        Some(Definition { kind: kind.to_owned(), strength, is_public })
    }

    fn is_at_margin(&self) -> bool {
        !self.line.starts_with([' ', '\t'])
    }

    /// Whether an odd number of quotes stands before the name.
    fn is_quoted(&self) -> bool {
        let odd = |quote: char| self.before.matches(quote).count() % 2 == 1;
        // A lone `'` may be a lifetime or a character of prose.
        odd('"') || (odd('\'') && self.before.trim_start().ends_with('\'')) || odd('`')
    }
}

static CONTAINER: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^\s*(?:[\w()]+\s+)*(?:impl|class|struct|trait|enum|interface|mod|namespace|module|object)\b",
    )
});
static IMPORT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"^(?:pub(?:\([^)]*\))? )?(?:use |extern crate )|^(?:import|from)\b.*|^export\s*(?:type\s*)?[{*]|^#\s*include|^(?:using|require|require_once|include|package) [\w.:\\<>"'/ ]+;?$"#,
    )
});
static PUBLIC: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"^\s*(?:pub\b|export\b|public\b|open\b)|\bexports\.|\bextern\b|^#\s*define")
});
/// A value that is a function.
static FUNCTION_VALUE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?::[^=]*)?\s*[=:]\s*(?:async\b|function\b|class\b|lambda\b|fn\b|\([^()]*\)\s*(?::[^=]+)?=>|\w+\s*=>|\([^)]*$)",
    )
});
