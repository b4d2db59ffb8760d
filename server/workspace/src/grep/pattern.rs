//! Compiles the regular expression of a search, and explains one that does not compile.

use dsh_protocol::workspace::{GrepArguments, ToolErrorCode};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};

use crate::Failure;

/// Longer patterns are refused before they are parsed.
const MAX_PATTERN_BYTES: usize = 16 << 10;
/// Memory of one compiled pattern; the library's own bounds are a hundred times that.
const MAX_COMPILED_BYTES: usize = 8 << 20;

pub(super) fn compile(arguments: &GrepArguments) -> Result<RegexMatcher, Failure> {
    let pattern = arguments.pattern.as_str();
    let is_multiline = arguments.multiline.unwrap_or(false);
    let is_fixed = arguments.fixed_strings.unwrap_or(false);
    if pattern.len() > MAX_PATTERN_BYTES {
        return Err(invalid(format!(
            "the pattern is longer than {MAX_PATTERN_BYTES} bytes; search for less"
        )));
    }
    let mut builder = RegexMatcherBuilder::new();
    builder
        .multi_line(true)
        .fixed_strings(is_fixed)
        .case_insensitive(arguments.case_insensitive.unwrap_or(false))
        .dot_matches_new_line(is_multiline)
        .size_limit(MAX_COMPILED_BYTES)
        .dfa_size_limit(MAX_COMPILED_BYTES)
        // `$` stands before `\r\n` too, whatever line ends a file has.
        .crlf(true);
    if is_multiline {
        builder.line_terminator(None);
    }
    if !is_fixed {
        // The builder wraps the pattern in a group, which hides an unbalanced `)` or `(` from it and moves
        // the position of every other error; so the pattern is looked at by itself first.
        let alone = regex::bytes::RegexBuilder::new(pattern).size_limit(MAX_COMPILED_BYTES).build();
        alone.map_err(|error| invalid(explain(pattern, &error)))?;
    }
    builder.build(pattern).map_err(|error| {
        if is_multiline {
            return invalid(format!(
                "the pattern cannot be searched for: {error}; search for less"
            ));
        }
        // Compiled by itself it was valid, so it is the line end in it that a search by lines has no use for.
        let hint =
            "leave it out, for `$` stands before it, or set multiline to let a match span lines";
        invalid(format!("the pattern holds a line end; {hint}"))
    })
}

fn invalid(message: String) -> Failure {
    Failure::new(ToolErrorCode::SearchInvalidPattern, message)
}

fn explain(pattern: &str, error: &regex::Error) -> String {
    if let Some(construct) = unsupported(pattern) {
        return construct;
    }
    if let regex::Error::CompiledTooBig(bytes) = error {
        let limit = bytes >> 20;
        return format!(
            "the pattern needs more than {limit} MiB once it is compiled; make its repetitions smaller"
        );
    }
    let drawing = error.to_string();
    let reason = drawing
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix("error: "))
        .unwrap_or("it has an error");
    let place =
        position(&drawing).map_or_else(String::new, |column| format!(" at character {column}"));
    let hint = if looks_like_glob(pattern) {
        "it looks like a glob: give it as include, or find names with the glob tool"
    } else {
        "escape special characters with `\\` or set fixed_strings"
    };
    format!("not a valid regular expression: {reason}{place}; {hint}")
}

/// Constructs that other engines have and this one, which never backtracks, has not.
fn unsupported(pattern: &str) -> Option<String> {
    let mut previous_is_escape = false;
    let mut is_class = false;
    for (index, character) in pattern.char_indices() {
        let rest = &pattern[index..];
        if previous_is_escape {
            previous_is_escape = false;
            if !is_class
                && (matches!(character, '1'..='9')
                    || rest.starts_with("k<")
                    || rest.starts_with("k{"))
            {
                return Some(format!(
                    "the backreference `\\{character}` is not supported; search for a wider pattern and compare the matches"
                ));
            }
            continue;
        }
        match character {
            '\\' => previous_is_escape = true,
            '[' => is_class = true,
            ']' => is_class = false,
            '(' if !is_class => {
                let heads = [
                    ("(?=", "lookahead"),
                    ("(?!", "lookahead"),
                    ("(?<=", "lookbehind"),
                    ("(?<!", "lookbehind"),
                ];
                if let Some((head, name)) = heads.iter().find(|(head, _)| rest.starts_with(head)) {
                    return Some(format!(
                        "look-around is not supported: `{head}…)` is a {name}; match the text around it as well, without the group"
                    ));
                }
            }
            _ => {}
        }
    }
    None
}

/// The column of the caret that the library draws under the pattern, counted from 1.
fn position(drawing: &str) -> Option<usize> {
    let caret = drawing.lines().find(|line| line.trim_start().starts_with('^'))?;
    // The drawing is indented by four.
    (caret.find('^')? + 1).checked_sub(4).filter(|&column| column > 0)
}

fn looks_like_glob(pattern: &str) -> bool {
    pattern.starts_with("*.") || pattern.starts_with("**")
}
