//! Definitions that begin with a keyword.

use std::sync::LazyLock;

use regex::Regex;

use super::{
    ANNOUNCED, BODY, DOUBTFUL, Definition, FUNCTION_VALUE, IMPL, KEYWORDS, LOCAL, Place, STRONG,
};
use crate::offline::language::Language;
use crate::offline::pattern;

impl Place<'_> {
    /// A definition that begins with a keyword.
    pub(super) fn by_keyword(&self) -> Option<Definition> {
        let captures = KEYWORD_BEFORE.captures(self.before)?;
        let found = captures.name("keyword")?;
        let keyword = found.as_str().to_ascii_lowercase();
        let glue = captures.name("glue").map_or("", |glue| glue.as_str());
        let after = self.after.trim_start();
        let lead = self.before[..found.start()].trim();
        if !self.has_keyword(&keyword, lead, &self.before[found.end()..]) {
            return None;
        }
        // `const fn name` and `enum class name`: the last word says what it is.
        let last = glue.split_whitespace().rfind(|word| INNER_KEYWORDS.contains(word));
        let keyword = last.unwrap_or(keyword.as_str());
        match keyword {
            "impl" => self.found("implementation", IMPL),
            "let" | "var" | "val" | "const" | "constexpr" | "static" | "defvar" => {
                self.binding(keyword, lead, after)
            }
            "struct" | "enum" | "union" | "class" | "interface" => {
                self.type_by_keyword(keyword, glue, after)
            }
            "using" if self.language == Language::C && after.starts_with('=') => {
                self.found("type", BODY - 2)
            }
            "case" if self.language == Language::Ruby || after.starts_with(':') => None,
            "case" if lead.is_empty() && self.language != Language::Rust => {
                self.found("variant", DOUBTFUL)
            }
            "type" | "mod" | "module" | "namespace" | "package" | "object" | "record" | "data"
            | "index" | "view" | "table" | "task" | "message" | "service" | "event"
            | "component" | "alias" | "extension" | "protocol" | "template" | "macro" | "sub"
            | "procedure" | "trigger" | "annotation" => self.by_soft_keyword(keyword, lead, after),
            "define"
                if self.language == Language::C || lead.ends_with('#') || lead.ends_with('(') =>
            {
                self.found(if lead.ends_with('#') { "macro" } else { "definition" }, BODY)
            }
            "case" | "define" | "typedef" | "undef" | "using" => None,
            "func" | "fn" | "def" | "defp" | "fun" | "function" | "function*" | "proc" | "defn"
            | "defun" | "defmethod" | "rpc" => self.function_by_keyword(after),
            "macro_rules!" | "defmacro" => self.found("macro", BODY),
            other if other.starts_with("create") => self.found("SQL object", BODY),
            other => self.found(other, BODY),
        }
    }

    /// Whether the word is a keyword in this language and place, and no call: `type(name)` and `func(name)` are
    /// written in many languages. `between` stands between it and the name.
    fn has_keyword(&self, keyword: &str, lead: &str, between: &str) -> bool {
        let is_open = between.matches('(').count() > between.matches(')').count();
        // CMake's `function(name)`.
        let is_command = self.language == Language::Other
            && matches!(keyword, "function" | "macro")
            && lead.is_empty()
            && self.line.trim_end().ends_with(')');
        let may_be_open =
            matches!(keyword, "let" | "var" | "val" | "define" | "impl") || is_command;
        if is_open && !may_be_open {
            return false;
        }
        match keyword {
            "fn" => matches!(self.language, Language::Rust | Language::Other),
            "func" => matches!(self.language, Language::Go | Language::Other),
            "function" => matches!(
                self.language,
                Language::Script
                    | Language::Php
                    | Language::Lua
                    | Language::Shell
                    | Language::Sql
                    | Language::Other
            ),
            "type" if self.language == Language::Python => {
                lead.is_empty() && self.after.trim_start().starts_with(['=', '['])
            }
            "type" => matches!(
                self.language,
                Language::Rust | Language::Go | Language::Script | Language::Sql | Language::Other
            ),
            // `*const T` and `&'static T`.
            "const" | "static" => self.language != Language::Rust || !lead.ends_with(['*', '\'']),
            _ => true,
        }
    }

    fn function_by_keyword(&self, after: &str) -> Option<Definition> {
        let is_signature = self.line.trim_end().ends_with(';')
            && !self.line.contains('{')
            && matches!(self.language, Language::Rust | Language::Script);
        if self.language == Language::Rust && after.starts_with(',') {
            return None;
        }
        self.found("function", if is_signature { ANNOUNCED + 15 } else { BODY })
    }

    /// C's `struct name *x` is a use, and `struct name;` only announces.
    fn type_by_keyword(&self, keyword: &str, glue: &str, after: &str) -> Option<Definition> {
        let can_be_use = matches!(self.language, Language::C | Language::Other | Language::Go);
        let begins = after.is_empty()
            || ["{", ":", "<", "(", "//", "/*", "\\"].iter().any(|mark| after.starts_with(mark))
            || ["final", "extends", "implements", "where", "permits", "sealed"]
                .iter()
                .any(|word| after.starts_with(word));
        if after.starts_with(';') && can_be_use {
            return self.found(keyword, STRONG + 2);
        }
        if can_be_use && (!begins || glue.contains('(') || after.starts_with("::")) {
            return None;
        }
        if after.starts_with([',', ')', '.', '=', '"', '\'']) && self.language != Language::Script {
            return None;
        }
        self.found(keyword, BODY)
    }

    /// Words that are keywords in one language and names or prose in others.
    fn by_soft_keyword(&self, keyword: &str, lead: &str, after: &str) -> Option<Definition> {
        let modifiers = lead.split_whitespace().all(|word| {
            word.starts_with("pub") || word.starts_with('(') || MODIFIERS.contains(&word)
        });
        let is_said = after.is_empty()
            || after
                .starts_with(['{', '=', ':', ';', '<', '(', '[', '\'', '"', ')', '|', '.', '\\'])
            || after.split_whitespace().next().is_some_and(|word| {
                let go_type = self.language == Language::Go && keyword == "type";
                go_type
                    || [
                        "extends",
                        "where",
                        "do",
                        "is",
                        "as",
                        "on",
                        "implements",
                        "of",
                        "struct",
                        "interface",
                    ]
                    .contains(&word)
            });
        if !modifiers || !is_said || after.starts_with("==") {
            return None;
        }
        let kind = match (keyword, self.language) {
            ("mod", _) => "module",
            ("sub", _) => "function",
            (word, _) => word,
        };
        let is_own = !matches!(
            (keyword, self.language),
            (
                "object"
                    | "data"
                    | "index"
                    | "view"
                    | "table"
                    | "task"
                    | "message"
                    | "event"
                    | "alias"
                    | "record",
                Language::C
            ) | ("package", Language::Script | Language::Python)
        );
        self.found(kind, if is_own { BODY } else { DOUBTFUL })
    }

    /// `let`, `const` and the like: a global, a member, or a local by where they stand.
    fn binding(&self, keyword: &str, lead: &str, after: &str) -> Option<Definition> {
        if !after.is_empty()
            && !after.starts_with(['=', ':', ';', ',', '[', '<', '(', '?', '!', ')'])
            && self.language != Language::Go
        {
            return None;
        }
        if after.starts_with("::") {
            return None;
        }
        let is_modifier = matches!(keyword, "const" | "static" | "constexpr");
        // Without a value, what follows C's qualifiers is a type, and a name may come on the next line.
        if is_modifier && self.language == Language::C && !after.starts_with(['=', '[', '{']) {
            return None;
        }
        // `static name(…) {` is a method.
        if keyword == "static" && self.language == Language::Script && after.starts_with(['(', '<'])
        {
            return None;
        }
        let is_function = FUNCTION_VALUE.is_match(after);
        let is_shown =
            lead.starts_with("pub") || lead.contains("export") || lead.contains("public");
        if after.contains("require(") || after.starts_with("= import") {
            return self.found("import", LOCAL);
        }
        if is_function {
            let strength = if self.is_at_margin() || is_shown { BODY } else { STRONG + 10 };
            return self.found("function", strength);
        }
        if self.language == Language::Rust {
            return match keyword {
                "let" => self.found("local variable", LOCAL),
                "static" => self.found("static", BODY),
                _ => self.found("constant", BODY),
            };
        }
        if self.is_at_margin() || is_shown {
            return self.found(if is_modifier { "constant" } else { "variable" }, BODY - 5);
        }
        if self.language == Language::Script && lead.is_empty() {
            return self.found("local variable", LOCAL + 5);
        }
        if is_modifier { self.found("constant", STRONG) } else { self.found("variable", DOUBTFUL) }
    }
}

/// What a name is when it stands behind another keyword.
const INNER_KEYWORDS: &[&str] =
    &["fn", "func", "function", "function*", "fun", "class", "struct", "enum", "type"];

const MODIFIERS: &[&str] = &[
    "export",
    "default",
    "declare",
    "public",
    "private",
    "protected",
    "internal",
    "static",
    "abstract",
    "final",
    "sealed",
    "partial",
    "open",
    "data",
    "inline",
    "unsafe",
    "async",
    "const",
    "global",
    "local",
    "case",
    "companion",
    "implicit",
    "lazy",
    "override",
    "fileprivate",
    "indirect",
    "@",
    "(",
    "{",
    "}",
    "else",
    "newtype",
    "opaque",
    "or",
    "CREATE",
    "create",
    "crate)",
    "super)",
    "in",
];

pub(super) static KEYWORD_BEFORE: LazyLock<Regex> = LazyLock::new(|| {
    let glue = concat!(
        r"(?P<glue>(?:mut |ref |class |struct |enum |fn |fun |func |async |unsafe |inline |function\*? |type |static ",
        r"|const |if not exists |or replace |IF NOT EXISTS |\([^)]*\)\s*|<[^>]*>\s*)*",
        r#"[*&"'`(]*(?:[\w$@]+(?:<[^>]*>)?(?:\.|::|:|#))*["'`]?)$"#,
    );
    pattern(&format!(
        r"(?:^|[^\w.$])(?P<keyword>{KEYWORDS}|impl|macro_rules!|(?i:create\s+(?:[\w ]+?)??(?:table|view|index|function|procedure|trigger|type)))(?:\*?\s+|\s*\*\s*|\s*\(){glue}"
    ))
});
