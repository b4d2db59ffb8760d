//! Parts of something else: fields, keys, variants. Their lines alone often look like something else, too.

use std::sync::LazyLock;

use regex::Regex;

use super::shape::METHOD_MODIFIERS;
use super::{BODY, DOUBTFUL, Definition, FUNCTION_VALUE, LOCAL, PART, Place, STRONG};
use crate::offline::language::Language;
use crate::offline::pattern;

impl Place<'_> {
    /// `name: …` in its many forms.
    pub(super) fn key_or_field(&self) -> Option<Definition> {
        let after = self.after.trim_start_matches(['"', '\'', '?', '!', ']']).trim_start();
        if !after.starts_with(':') || after.starts_with("::") || after.starts_with(":=") {
            return None;
        }
        let before = self
            .before
            .trim()
            .trim_start_matches(['{', ',', '-'])
            .trim()
            .trim_end_matches(['"', '\'', '[']);
        let is_plain = before.is_empty()
            || before
                .split_whitespace()
                .all(|word| word.starts_with("pub") || METHOD_MODIFIERS.contains(&word));
        if !is_plain {
            return None;
        }
        // Fields begin in lower case; this is a bound: `Self: Trait,`.
        if self.language == Language::Rust && before.is_empty() && self.looks_like_variant() {
            return None;
        }
        let value = after[1..].trim_start();
        match self.language {
            Language::Rust if before.starts_with("pub") => self.found("field", PART + 10),
            Language::Rust if !self.is_at_margin() && RUST_TYPE.is_match(value) => {
                self.found("field", PART)
            }
            Language::Script if FUNCTION_VALUE.is_match(after) => {
                self.found("function", STRONG + 15)
            }
            Language::Script if !self.is_at_margin() => self.found("property", DOUBTFUL + 5),
            Language::Python if self.is_at_margin() && !self.is_quoted() && !value.is_empty() => {
                self.found("variable", BODY - 5)
            }
            Language::Python if !self.is_quoted() && !value.is_empty() => {
                self.found("field", PART - 5)
            }
            Language::Config | Language::Prose => self.found("key", PART - 5),
            Language::Make if self.is_at_margin() => self.found("target", BODY - 10),
            Language::C if self.is_at_margin() && value.is_empty() => self.found("label", LOCAL),
            Language::Other if self.is_at_margin() => self.found("key", PART - 5),
            Language::Rust
            | Language::Script
            | Language::Python
            | Language::C
            | Language::Go
            | Language::Ruby
            | Language::Php
            | Language::Shell
            | Language::Lua
            | Language::Sql
            | Language::Make
            | Language::Other => None,
        }
    }

    /// A member of an enumeration; its line alone looks like an argument.
    pub(super) fn variant(&self) -> Option<Definition> {
        let is_known = matches!(
            self.language,
            Language::Rust | Language::C | Language::Script | Language::Other
        );
        let stands_alone = self.before.trim().is_empty() && !self.is_at_margin();
        if !is_known || !stands_alone || !self.looks_like_variant() {
            return None;
        }
        if VARIANT_END.is_match(self.after) { self.found("variant", DOUBTFUL + 5) } else { None }
    }

    /// `"name": function …` and `"name": …`.
    pub(super) fn quoted_key(&self) -> Option<Definition> {
        let before = self.before.trim_end_matches(['"', '\'', '`']).trim();
        let is_key = before.is_empty() || before == "{" || before == "[";
        if is_key && self.after.starts_with(['"', '\'']) { self.key_or_field() } else { None }
    }
}

static RUST_TYPE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?:[A-Z]\w*(?:<.*>|::[A-Z]\w*)?,?\s*(?://.*)?$|(?:u8|u16|u32|u64|u128|usize|i8|i16|i32|i64|i128|isize|f32|f64|bool|char|str)\b|&'?\w*\s?(?:mut )?[A-Z\[a-z]\w*,?$|\[[A-Za-z]\w*[;\]]|\(\)?[A-Z]|\w+(?:::\w+)*::[A-Z]\w*(?:<.*>)?,?$|(?:dyn|impl|fn)\b|\*(?:const|mut) )",
    )
});
static VARIANT_END: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^\s*(?:,|\{|\(.*\),?|=\s*[^;]+,?|)\s*(?://.*|/\*.*)?$"));
