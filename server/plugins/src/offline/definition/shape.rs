//! Definitions without a keyword, known by the shape of the line: C's functions, assignments, fields, keys.

use std::sync::LazyLock;

use regex::Regex;

use super::{ANNOUNCED, BODY, DOUBTFUL, Definition, FUNCTION_VALUE, LOCAL, PART, Place, STRONG};
use crate::offline::language::Language;
use crate::offline::pattern;

impl Place<'_> {
    /// `} name;` and `typedef … name;`.
    pub(super) fn closing_typedef(&self) -> Option<Definition> {
        if self.language != Language::C {
            return None;
        }
        let ends = self.after.trim_start().starts_with([';', ')', '[', ',']);
        if self.line.trim_start().starts_with("typedef") {
            // The arguments of a pointer to a function are no names of types.
            let is_argument = self.before.contains(")(") || self.before.contains(") (");
            let is_last = !is_argument
                && (TYPEDEF_END.is_match(self.after) || self.before.trim_end().ends_with("(*"));
            return if is_last { self.found("typedef", BODY - 2) } else { None };
        }
        let closes = self.is_at_margin() && self.before.trim_start().starts_with('}');
        if closes && ends && !self.before.contains('(') {
            self.found("type", BODY - 2)
        } else {
            None
        }
    }

    /// A function by its parentheses.
    pub(super) fn function(&self) -> Option<Definition> {
        if !CALL_LIKE.is_match(self.after) || NO_NAMES.contains(&self.name) {
            return None;
        }
        let before = self.before.trim();
        match self.language {
            Language::C | Language::Other | Language::Php => self.c_function(before),
            Language::Script => self.method(before),
            Language::Shell if before.is_empty() && SHELL_FUNCTION.is_match(self.after) => {
                self.found("function", BODY)
            }
            Language::Rust
            | Language::Python
            | Language::Go
            | Language::Ruby
            | Language::Shell
            | Language::Lua
            | Language::Sql
            | Language::Config
            | Language::Make
            | Language::Prose => None,
        }
    }

    fn c_function(&self, before: &str) -> Option<Definition> {
        let line = self.line.trim_end();
        let line = TRAILING_COMMENT.replace(line, "");
        let line = line.trim_end();
        if !TYPE_WORDS.is_match(before) || is_statement(before) {
            return None;
        }
        let is_statement_end = line.ends_with(';') && !line.contains('{');
        let is_body = line.ends_with('{') || line.contains('{') && line.ends_with('}');
        let only_qualifier = before.is_empty() || before.ends_with("::") && !before.contains(' ');
        if only_qualifier {
            let opens = is_body || line.ends_with([')', ',', '(']) || line.ends_with("const");
            if is_statement_end || !(is_body || self.is_at_margin() && opens) {
                return None;
            }
            let is_macro_call = self.name.chars().all(|c| !c.is_lowercase()) && !is_body;
            return self.found("function", if is_macro_call { DOUBTFUL } else { BODY });
        }
        // `#if defined(X)` and the like are no definitions.
        if before.starts_with('#') {
            return None;
        }
        if is_statement_end {
            let strength = if self.is_at_margin() { ANNOUNCED } else { ANNOUNCED - 5 };
            return self.found("declaration", strength);
        }
        self.found("function", BODY)
    }

    fn method(&self, before: &str) -> Option<Definition> {
        let line = self.line.trim_end();
        let modifiers: Vec<&str> = before.split_whitespace().collect();
        // `export default name({` is a call.
        let is_method = modifiers.iter().all(|word| METHOD_MODIFIERS.contains(word))
            && !["default", "const", "var"].iter().any(|word| modifiers.contains(word));
        if !is_method {
            return None;
        }
        let has_body = METHOD_BODY.is_match(self.after)
            || line.ends_with('{')
                && !line.ends_with("({")
                && !line.ends_with(", {")
                && !self.after.contains("=>")
                && !self.after.contains("function");
        // Arguments on lines of their own.
        let opens = !modifiers.is_empty() && line.ends_with(['(', ',']);
        if has_body || opens {
            return self.found("method", BODY - 5);
        }
        let is_abstract = modifiers.contains(&"abstract") && line.ends_with([')', ';']);
        if METHOD_SIGNATURE.is_match(self.after) || is_abstract {
            return self.found("declaration", ANNOUNCED);
        }
        None
    }

    /// `name = …` in its many forms.
    pub(super) fn assignment(&self) -> Option<Definition> {
        if self.language == Language::Python
            && self.is_at_margin()
            && TUPLE_BEFORE.is_match(self.before)
            && TUPLE_AFTER.is_match(self.after)
        {
            return self.found("variable", BODY - 5);
        }
        if !ASSIGNED.is_match(self.after) {
            return None;
        }
        let before = self.before.trim().trim_end_matches(['"', '\'', '[']);
        let owner = OWNER.captures(before)?.get(1).map_or("", |owner| owner.as_str());
        let is_function = FUNCTION_VALUE.is_match(self.after.trim_start());
        let is_public = owner.contains("exports.") || owner.contains("prototype.");
        let is_own = owner.is_empty();
        let is_global = is_own && self.is_at_margin();
        match self.language {
            Language::Script | Language::Lua if is_public => {
                self.found(if is_function { "function" } else { "export" }, BODY - 8)
            }
            Language::Script | Language::Lua if is_function && !is_global => {
                self.found("function", STRONG + 15)
            }
            Language::Script if owner == "this." => self.found("property", PART),
            Language::Script | Language::Lua | Language::Other if is_global => {
                self.found("variable", STRONG)
            }
            Language::Script if is_own && before.is_empty() => self.found("assignment", LOCAL + 5),
            Language::Python if is_global => self.found("variable", BODY - 5),
            Language::Python => self.python_attribute(owner),
            Language::Shell | Language::Make | Language::Ruby if is_global => {
                self.found("variable", BODY - 15)
            }
            Language::Config if is_own => self.found("key", PART - 5),
            Language::Go if self.after.trim_start().starts_with('=') && self.before == "\t" => {
                self.found("constant or assignment", DOUBTFUL)
            }
            Language::C | Language::Rust => self.numbered_variant(before),
            Language::Script
            | Language::Go
            | Language::Ruby
            | Language::Php
            | Language::Shell
            | Language::Lua
            | Language::Sql
            | Language::Config
            | Language::Make
            | Language::Prose
            | Language::Other => self.found("assignment", LOCAL),
        }
    }

    /// Class attributes and locals look alike.
    fn python_attribute(&self, owner: &str) -> Option<Definition> {
        match owner {
            "self." | "cls." => self.found("attribute", DOUBTFUL),
            "" if !self.line.trim_end().ends_with(',') => {
                let is_constant = self.name.chars().all(|c| !c.is_lowercase());
                self.found("attribute or local", if is_constant { PART } else { LOCAL + 10 })
            }
            _ => self.found("assignment", LOCAL),
        }
    }

    /// `Name = 3,` in an enumeration.
    fn numbered_variant(&self, before: &str) -> Option<Definition> {
        let is_member = before.is_empty() && self.line.trim_end().ends_with([',', '/']);
        if is_member && self.looks_like_variant() { self.found("variant", PART) } else { None }
    }

    /// `type name = …;` and `type name;`.
    pub(super) fn variable(&self) -> Option<Definition> {
        let before = self.before.trim();
        match self.language {
            Language::Go => {
                let is_field = self.before.starts_with('\t')
                    && before.is_empty()
                    && GO_FIELD.is_match(self.after);
                return if is_field { self.found("field or constant", DOUBTFUL + 5) } else { None };
            }
            Language::Script | Language::Php if !before.is_empty() => {
                let modified =
                    before.split_whitespace().all(|word| METHOD_MODIFIERS.contains(&word));
                return if modified && DECLARED.is_match(self.after) {
                    self.found("field", PART)
                } else {
                    None
                };
            }
            Language::C => {}
            Language::Rust
            | Language::Script
            | Language::Python
            | Language::Ruby
            | Language::Php
            | Language::Shell
            | Language::Lua
            | Language::Sql
            | Language::Config
            | Language::Make
            | Language::Prose
            | Language::Other => return None,
        }
        // `static size_t` with the name on the next line.
        let is_bare_type = self.after.trim().is_empty()
            && before.split_whitespace().all(|word| QUALIFIERS.contains(&word));
        let declares = !before.is_empty()
            && TYPE_WORDS.is_match(before)
            && !is_statement(before)
            && !before.starts_with('#')
            && !before.ends_with([',', ':', '.'])
            && !is_bare_type
            && DECLARED.is_match(self.after);
        if !declares {
            return None;
        }
        let is_extern = before.starts_with("extern");
        let is_member = before
            .split_whitespace()
            .any(|word| METHOD_MODIFIERS.contains(&word) || word == "final");
        match (self.is_at_margin(), is_extern) {
            (true, true) => self.found("declaration", ANNOUNCED),
            (true, false) => self.found("variable", BODY - 5),
            (false, _) if is_member => self.found("field", PART + 10),
            (false, _) => self.found("member or local variable", DOUBTFUL),
        }
    }

    pub(super) fn looks_like_variant(&self) -> bool {
        self.name.starts_with(|c: char| c.is_uppercase())
    }

    /// `DEFINE_THING(name, …)`: the macro decides what it is.
    pub(super) fn made_by_macro(&self) -> Option<Definition> {
        let is_c = matches!(self.language, Language::C | Language::Other);
        if is_c && self.is_at_margin() && MACRO_BEFORE.is_match(self.before) {
            return self.found("made by a macro", DOUBTFUL + 5);
        }
        None
    }

    /// `Object.defineProperty(exports, "name", …)`.
    pub(super) fn property_by_call(&self) -> Option<Definition> {
        if self.before.contains("defineProperty(") { self.found("property", STRONG) } else { None }
    }
}

/// Whether the words before a name make the line a statement that uses it.
fn is_statement(before: &str) -> bool {
    before
        .split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .any(|word| STATEMENTS.contains(&word))
}

/// Words that stand before parentheses as names do.
const NO_NAMES: &[&str] = &[
    "super", "function", "if", "for", "while", "switch", "catch", "return", "else", "do", "with",
    "sizeof", "typeof", "defined", "elif",
];

/// Words of C that stand before a type.
const QUALIFIERS: &[&str] = &[
    "static",
    "const",
    "extern",
    "inline",
    "volatile",
    "register",
    "constexpr",
    "typedef",
    "mutable",
    "virtual",
    "public",
    "private",
    "protected",
];

const STATEMENTS: &[&str] = &[
    "return",
    "else",
    "new",
    "throw",
    "case",
    "goto",
    "await",
    "yield",
    "delete",
    "if",
    "while",
    "for",
    "switch",
    "do",
    "assert",
    "print",
    "echo",
    "in",
    "not",
    "and",
    "or",
    "import",
    "from",
    "use",
    "using",
    "sizeof",
    "co_await",
    "when",
    "then",
    "raise",
    "defer",
    "typedef",
    "co_return",
    "elif",
    "unless",
    "puts",
    "instanceof",
    "with",
];

pub(super) const METHOD_MODIFIERS: &[&str] = &[
    "async",
    "static",
    "get",
    "set",
    "public",
    "private",
    "protected",
    "readonly",
    "override",
    "abstract",
    "export",
    "default",
    "declare",
    "function",
    "*",
    "#",
    "final",
    "var",
    "internal",
    "const",
    "accessor",
    "async*",
];

static TUPLE_BEFORE: LazyLock<Regex> = LazyLock::new(|| pattern(r"^(?:\w+\s*,\s*)*$"));
static TUPLE_AFTER: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^(?:\s*,\s*\w+)*\s*,?\s*=(?:[^=]|$)"));
static CALL_LIKE: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\??\s*(?:<[^()]*>)?\s*\("));
static SHELL_FUNCTION: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\s*\(\s*\)\s*(?:\{|\(|$)"));
static TRAILING_COMMENT: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"\s*(?://.*|/\*[^*]*\*/\s*)$"));
/// Nothing but types, qualifiers and modifiers.
static TYPE_WORDS: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"^(?:[\w$:<>,.*&\[\]?~@ \t]|\([\w ,]*\)|"C")*$"#));
static TYPEDEF_END: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^\s*(?:\[[^\]]*\]\s*)*(?:;|\)\s*\(|,|\()"));
static METHOD_BODY: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^\s*(?:<[^()]*>)?\s*\((?:[^()]|\([^()]*\))*\)\s*(?::\s*[^=;]+)?\{"));
static METHOD_SIGNATURE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"^\??\s*(?:<[^()]*>)?\s*\(.*\)\s*:\s*[^;{]+;?\s*$|^\??\s*<.*>\s*\([^)]*$")
});
static ASSIGNED: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"^["'\])]*\??\s*(?::\s*[^=:]+)?(?:=(?:[^=~>]|$)|:=|\?=|<-|\+=)"#));
static OWNER: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^(?:export |local |set |-|\$)?((?:[\w$]+\.)*)$"));
static GO_FIELD: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^(?:[ \t]+[\w*\[\].{}]+[ \t]*(?:=.*|//.*|`.*)?)?$"));
static DECLARED: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^\s*(?:\[[^\]]*\]\s*)*(?:=(?:[^=]|$)|;|\{|,|:\s*\d|$)"));
static MACRO_BEFORE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^[A-Z][A-Z0-9_]*\s*\(\s*(?:[\w ]+,\s*)?$"));
