//! How models put what they say of files.

use super::tree::File;
use crate::seed::Seed;

fn one<const N: usize>(all: [String; N], seed: &mut Seed) -> String {
    all[usize::try_from(seed.below(N as u64)).unwrap()].clone()
}

/// How an answer begins.
pub(super) fn opening(seed: &mut Seed) -> String {
    let openings = [
        "Here is what I found.",
        "## Summary\n\nIn short, this is how it works (checked at 12:30, version 1.4.2).",
        "Yes. The details are below; see https://example.org/docs/guide.md:10 for background.",
        "The server listens on `localhost:8080`, or `127.0.0.1:9000` in tests. Details:",
    ];
    one(openings.map(str::to_owned), seed)
}

/// A right statement about a file.
pub(super) fn citation(file: &File, seed: &mut Seed) -> String {
    let path = &file.path;
    match seed.below(10) {
        0..=2 => {
            let (line, name) = file.definition(seed);
            identifier(path, line, name, seed)
        }
        3..=5 => {
            let (line, text) = file.unique_line(seed);
            quote(path, line, &text, file.language(), seed)
        }
        6 => {
            let (line, _) = file.definition(seed);
            range(path, line, (line + 3).min(file.lines.len()), seed)
        }
        7 => {
            let (line, _) = file.definition(seed);
            let last = (line + 3).min(file.lines.len());
            let block: Vec<&str> = file.lines[line - 1..last].iter().map(String::as_str).collect();
            let language = file.language();
            let fence = format!("```{language}\n{}\n```", block.join("\n"));
            one(
                [
                    format!("From `{path}:{line}-{last}`:\n\n{fence}"),
                    format!("The code at `{path}:{line}` reads\n{fence}"),
                    format!("```{language}\n// {path}:{line}-{last}\n{}\n```", block.join("\n")),
                    format!("[{path}]({path}#L{line}-L{last}):\n{fence}"),
                    format!(
                        "`{path}:{line}`:\n```{language}\n{}\n// ...\n{}\n```",
                        block[0],
                        block[block.len() - 1]
                    ),
                ],
                seed,
            )
        }
        8 => one(
            [
                format!("The rest is in `{path}`."),
                format!("See [the file]({path})."),
                format!("Everything else lives in {path}."),
            ],
            seed,
        ),
        _ => place_only(path, file.definition(seed).0, seed),
    }
}

/// A place and nothing that is said to be there.
pub(super) fn place_only(path: &str, line: usize, seed: &mut Seed) -> String {
    one(
        [
            format!("- The check is at `{path}:{line}`."),
            format!("See {path}:{line}:5 for the rest."),
            format!("It happens here: [{path}:{line}]({path}#L{line})."),
            format!("1. **Validation** happens first ({path}:{line})."),
            format!("| step | place |\n|---|---|\n| limits | `{path}:{line}` |"),
            format!("The limit is enforced in `{path}` (line {line})."),
            format!("[here]({path}#L{line}) is where it ends."),
        ],
        seed,
    )
}

/// A range of lines.
pub(super) fn range(path: &str, first: usize, last: usize, seed: &mut Seed) -> String {
    one(
        [
            format!("The whole of it: `{path}:{first}-{last}`."),
            format!("- Limits are kept ({path}:{first}-{last})."),
            format!("See [the function]({path}#L{first}-L{last})."),
            format!("`{path}` (lines {first}\u{2013}{last}) has the loop."),
        ],
        seed,
    )
}

/// A name beside a place.
pub(super) fn identifier(path: &str, line: usize, name: &str, seed: &mut Seed) -> String {
    one(
        [
            format!("`{name}` is defined in `{path}:{line}`."),
            format!("- `{name}` (`{path}:{line}`): keeps the limit."),
            format!("`{path}:{line}` defines `{name}`, which is called once."),
            format!("- `{path}:{line}` \u{2014} `{name}()`"),
            format!("The entry point is `{name}()` at {path}:{line}."),
            format!("| `{name}` | `{path}:{line}` |"),
            format!("The function `{name}` ([{path}:{line}]({path}#L{line})) does it."),
        ],
        seed,
    )
}

/// A line beside its place.
pub(super) fn quote(
    path: &str,
    line: usize,
    text: &str,
    language: &str,
    seed: &mut Seed,
) -> String {
    let ticks = if text.contains('`') { "``" } else { "`" };
    let code =
        if text.contains('`') { format!("{ticks} {text} {ticks}") } else { format!("`{text}`") };
    one(
        [
            format!("- `{path}:{line}`: {code}"),
            format!("The line {code} ({path}:{line}) decides."),
            format!("At `{path}:{line}`:\n```{language}\n    {text}   \n```"),
            format!("`{path}:{line}` \u{2014} {code}"),
            format!("```\n{path}:{line}:    {text}\n```"),
        ],
        seed,
    )
}

/// The same line with one word or number changed.
pub(super) fn misquoted(text: &str, seed: &mut Seed) -> String {
    let is_word = |char: char| char.is_alphanumeric() || char == '_';
    let words: Vec<&str> =
        text.split(|char: char| !is_word(char)).filter(|word| word.len() > 3).collect();
    let word = words[usize::try_from(seed.below(words.len() as u64)).unwrap()];
    let at = text.find(word).unwrap();
    format!("{}{word}_x{}", &text[..at], &text[at + word.len()..])
}

/// Another name of the same kind.
pub(super) fn renamed(name: &str, seed: &mut Seed) -> String {
    let mut parts: Vec<&str> = name.split('_').collect();
    if seed.below(2) == 0 {
        parts[0] = "perform";
    } else {
        parts.insert(1, "inner");
    }
    parts.join("_")
}

/// Something that looks like a claim and is none, or a true one in an unusual form.
pub(super) fn decoration(file: &File, seed: &mut Seed) -> String {
    let path = &file.path;
    let (line, _) = file.definition(seed);
    let name = path.rsplit('/').next().unwrap();
    one(
        [
            "Run it with `cargo test -p store -- --nocapture` at 09:45; the ratio is 16:9.".to_owned(),
            "It needs Node.js 18.2, `tokio::fs`, `std::collections::HashMap` and `serde_json::Value`.".to_owned(),
            "Create a new file `src/retry_policy.rs` with:\n\n```rust\npub fn policy() -> Policy {\n    Policy::default()\n}\n```"
                .to_owned(),
            format!("I would change `{path}:{line}` to this:\n```rust\nlet limit = limit.clamp(1, 10);\n```"),
            "The generic `error` and the `string` type matter; `true` is the default (`i32`).".to_owned(),
            format!("The same holds for `{name}:{line}`."),
            format!("`.../{name}:{line}` shows it too."),
            "The image is `library/nginx:1.25`, on `db.internal:5432`, and `sha256:12ab` is its digest.".to_owned(),
            "There is no `CONTRIBUTING.md` in this project.".to_owned(),
            "```diff\n- let limit = 1;\n+ let limit = 2;\n```".to_owned(),
            "```sh\ncurl http://localhost:3000/v1/items:10\n```".to_owned(),
            format!("`{path}:{line}` is called by the handler, and `unrelated_name_elsewhere` is not."),
            format!("The value of `response.json` is read in `{path}`."),
            "For example, `path/to/file.rs:10` or `foo.rs:3` would be cited like that.".to_owned(),
            "It takes 1.5s:2 retries, see RFC 2616:10.3 and ISO 8601 (2024-01-02T03:04:05).".to_owned(),
        ],
        seed,
    )
}
