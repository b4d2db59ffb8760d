//! What an agent says of the places that it has found.

use crate::seed::Seed;

fn one(all: &[String], seed: &mut Seed) -> String {
    all[usize::try_from(seed.below(all.len() as u64)).unwrap()].clone()
}

/// Said before the first search; may be nothing.
pub(super) fn before_search(name: &str, seed: &mut Seed) -> String {
    one(
        &[
            String::new(),
            format!("I'll start by searching for `{name}`."),
            "Let me find where this lives.".to_owned(),
        ],
        seed,
    )
}

/// Said before files are read; may be nothing.
pub(super) fn before_reading(path: &str, seed: &mut Seed) -> String {
    one(
        &[
            String::new(),
            format!("Next I'll read {path} and whatever it calls."),
            "Now the surrounding code, and `docs/overview.md` if there is one.".to_owned(),
        ],
        seed,
    )
}

pub(super) fn opening(seed: &mut Seed) -> String {
    one(
        &[
            "Short answer: yes, in three places.".to_owned(),
            "### How it works".to_owned(),
            "I traced the calls from the outside in.".to_owned(),
            "Two modules share the work. At 10:15 the build used version 2.3.1 of the toolchain."
                .to_owned(),
        ],
        seed,
    )
}

/// Names the place of an identifier.
pub(super) fn identifier(path: &str, line: usize, name: &str, seed: &mut Seed) -> String {
    one(
        &[
            format!("`{name}` lives at `{path}:{line}`."),
            format!("Everything starts in `{name}` ({path}:{line}), which has no other caller."),
            format!("- `{name}()` \u{2013} `{path}:{line}`"),
            format!("| symbol | where |\n|---|---|\n| `{name}` | {path}:{line} |"),
            format!("{path}:{line} declares `{name}`."),
            format!("`{name}` is declared on line {line} of `{path}`."),
            format!("1. First look at `{name}` in [{path}:{line}]({path}#L{line})."),
            format!("* **Entry**: `{path}:{line}` (`{name}`)"),
        ],
        seed,
    )
}

/// Quotes a line.
pub(super) fn quote(
    path: &str,
    line: usize,
    text: &str,
    language: &str,
    seed: &mut Seed,
) -> String {
    let code = if text.contains('`') { format!("`` {text} ``") } else { format!("`{text}`") };
    one(
        &[
            format!("`{path}:{line}` reads {code}."),
            format!("{path}:{line}:\n\n```{language}\n{text}\n```"),
            format!("In `{path}`, line {line}: {code}"),
            format!("See [this line]({path}#L{line}): {code}"),
            format!("- {code} \u{2014} {path}:{line}"),
            format!("The statement that decides is {code} (`{path}:{line}`)."),
            format!("1. `{path}:{line}`\n   ```{language}\n   {text}\n   ```"),
            format!("It is this line:\n\n```{language}\n// {path}:{line}\n{text}\n```"),
        ],
        seed,
    )
}

/// Shows several lines.
pub(super) fn block(
    path: &str,
    first: usize,
    last: usize,
    text: &str,
    language: &str,
    seed: &mut Seed,
) -> String {
    one(
        &[
            format!("From `{path}:{first}-{last}`:\n\n```{language}\n{text}\n```"),
            format!("The loop is in [{path}]({path}#L{first}-L{last})."),
            format!("`{path}`, lines {first}\u{2013}{last}:\n```{language}\n{text}\n```"),
            format!("That part ({path}:{first}-{last}) never changes."),
        ],
        seed,
    )
}

/// Something without a claim.
pub(super) fn aside(seed: &mut Seed) -> String {
    one(
        &[
            "Nothing else depends on it, as far as I can see.".to_owned(),
            "If you want it stricter, create `src/policy_guard.rs` with its own test.".to_owned(),
            "You can run it against `127.0.0.1:7070` or `staging.internal:443`.".to_owned(),
            "A tighter version would be:\n\n```rust\nlet budget = budget.saturating_sub(1);\n```"
                .to_owned(),
            "The ratio stays near 3:1 and `None` means that the default applies.".to_owned(),
        ],
        seed,
    )
}
