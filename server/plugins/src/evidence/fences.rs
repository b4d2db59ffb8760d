//! Fenced blocks: quotes of the place above them or in their first line, results of searches, or the writer's
//! own code, which claims nothing.

use super::claims::{Claim, Quote, QuoteKind};
use super::place::{Lines, Place, place};
use super::words;

/// Longer blocks are compared as far as this.
const MOST_LINES: usize = 400;

/// What stands above a block.
#[derive(Debug, Default)]
pub(super) struct Intro<'t> {
    /// The claim of its last sentence, if that cites one place.
    claim: Option<usize>,
    /// Its last sentence. Only what has a block below it is read.
    lead: &'t str,
}

impl<'t> Intro<'t> {
    /// `found` are the paragraph's claims and where their places end; they will stand from `start` on.
    pub(super) fn new(paragraph: &'t str, start: usize, found: &[(Claim, usize)]) -> Self {
        let text = paragraph.trim_end();
        let sentence = text.rfind(". ").map_or(0, |at| at + 2);
        let line = text.rfind('\n').map_or(0, |at| at + 1);
        let is_in_lead = |(_, (claim, end)): &(usize, &(Claim, usize))| {
            claim.lines.is_some() && *end > sentence.max(line)
        };
        let mut in_lead =
            found.iter().enumerate().filter(is_in_lead).map(|(at, (claim, _))| (at, claim));
        let first = in_lead.next();
        let is_one = first.is_some_and(|(_, first)| {
            in_lead.all(|(_, other)| (&other.path, other.lines) == (&first.path, first.lines))
        });
        Self {
            claim: first.filter(|_| is_one).map(|(at, _)| start + at),
            lead: &paragraph[sentence..],
        }
    }

    /// Whether it says that the code is proposed.
    fn proposes(&self) -> bool {
        words::proposes(&without_code(self.lead))
    }

    /// Whether it speaks of what a program says.
    fn is_about_output(&self) -> bool {
        words::tells_of_output(&without_code(self.lead))
    }
}

/// A text without what stands between backticks.
fn without_code(text: &str) -> String {
    text.split('`').step_by(2).collect::<Vec<_>>().join(" ")
}

/// Adds what a block claims.
pub(super) fn take_in(claims: &mut Vec<Claim>, intro: &Intro<'_>, info: &str, lines: &[&str]) {
    let lines = &lines[..lines.len().min(MOST_LINES)];
    let language = info.split([' ', ',', '{', ':']).next().unwrap_or_default().to_ascii_lowercase();
    if ["diff", "patch", "mermaid"].contains(&language.as_str()) {
        return;
    }
    let named = of_info(info).map(|claim| (claim, lines));
    let commented = || of_first_line(lines).filter(|_| !intro.proposes());
    if let Some((mut claim, lines)) = named.or_else(commented) {
        add_block(&mut claim, lines);
        claims.push(claim);
        return;
    }
    let is_plain = ["", "text", "txt", "plain", "plaintext", "grep"].contains(&language.as_str());
    let results: Vec<Claim> = if is_plain {
        lines.iter().filter_map(|line| of_result(line)).collect()
    } else {
        Vec::new()
    };
    if !results.is_empty() {
        claims.extend(results);
        return;
    }
    let is_writers = intro.proposes() || is_plain && intro.is_about_output();
    let above = intro.claim.filter(|_| !is_writers).and_then(|at| claims.get_mut(at));
    if let Some(claim) = above.filter(|claim| may_quote(&language, &claim.path)) {
        add_block(claim, lines);
    }
}

/// Whether a block in a language can be from a file: not if it shows what one types, or what comes of it.
fn may_quote(language: &str, path: &str) -> bool {
    const SHOWN: &[&str] = &["console", "shell", "shell-session", "output", "log", "text", "txt"];
    const SCRIPTS: &[&str] = &[".sh", ".bash", ".zsh", ".fish", "file", ".md", ".yml", ".yaml"];
    let is_script = ["sh", "bash", "zsh", "fish"].contains(&language);
    let is_of_script = SCRIPTS.iter().any(|end| path.ends_with(end));
    !SHOWN.contains(&language)
        && !is_of_another_kind(language, path)
        && (!is_script || is_of_script)
}

/// Whether a block is data and the file above it is none of that kind: then it shows what the code makes.
fn is_of_another_kind(language: &str, path: &str) -> bool {
    const KINDS: &[&[&str]] = &[
        &["json", "jsonc", "json5", "jsonl"],
        &["yaml", "yml"],
        &["toml", "lock"],
        &["xml", "html", "svg"],
        &["sql"],
        &["http"],
        &["csv"],
    ];
    let extension = path.rsplit('.').next().unwrap_or_default();
    let kind = KINDS.iter().find(|kind| kind.contains(&language));
    kind.is_some_and(|kind| !kind.contains(&extension))
}

fn add_block(claim: &mut Claim, lines: &[&str]) {
    let lines = without_numbers(lines);
    if !lines.is_empty() {
        claim.quotes.push(Quote { lines, kind: QuoteKind::Block });
    }
}

/// `rust src/a.rs:3-9`, `rust:src/a.rs:3`, `title="src/a.rs:3"`, `3:9:src/a.rs`.
fn of_info(info: &str) -> Option<Claim> {
    let of_token = |token: &str| {
        let token = token.trim_matches(['"', '\'', '{', '}', '(', ')']);
        let token = ["title=", "file=", "path=", "filename="]
            .iter()
            .find_map(|key| token.strip_prefix(key))
            .unwrap_or(token);
        let token = token.trim_matches(['"', '\'']);
        cited(token).or_else(|| {
            let (first, rest) = token.split_once(':')?;
            let (second, path) = rest.split_once(':')?;
            if let (Ok(first), Ok(last)) = (first.parse(), second.parse()) {
                let place = place(path).filter(|place| place.is_sure)?;
                return Some(Claim::at(place.path, true, Some(Lines { first, last })));
            }
            cited(rest)
        })
    };
    info.split_whitespace().find_map(of_token)
}

/// The one place of a token.
fn cited(token: &str) -> Option<Claim> {
    let Place { path, lines, is_sure, rest } = place(token)?;
    let lines = *lines.first().filter(|_| is_sure && rest.is_empty())?;
    Some(Claim::at(path, true, Some(lines)))
}

/// A comment in the first line that names the place of the others.
fn of_first_line<'l>(lines: &'l [&'l str]) -> Option<(Claim, &'l [&'l str])> {
    let (first, rest) = lines.split_first()?;
    let first = first.trim();
    let comment =
        ["//", "#", "--", ";", "/*", "<!--"].iter().find_map(|mark| first.strip_prefix(mark))?;
    let comment = comment.trim().trim_end_matches("*/").trim_end_matches("-->").trim();
    Some((cited(comment.trim_end_matches(':'))?, rest))
}

/// A line as `grep -n` prints it.
fn of_result(line: &str) -> Option<Claim> {
    let line = line.trim_start_matches([' ', '\t', '-', '*']);
    let token = line.split_whitespace().next()?;
    let place = place(token).filter(|place| !place.lines.is_empty())?;
    let quote = result_line(&line[token.len() - place.rest.len()..]);
    let mut claim = Claim::at(place.path, place.is_sure, place.lines.first().copied());
    claim.quotes.extend(quote);
    Some(claim)
}

/// What stands behind the place in a search's result, unless it is a tool's message about it.
pub(super) fn result_line(rest: &str) -> Option<Quote> {
    let text = rest.trim_start_matches([':', '|', '-', ' ', '\t']).trim();
    let lower = text.to_ascii_lowercase();
    let is_message = ["error", "warning", "note", "panicked", "fail", "fatal", "info", "hint"]
        .iter()
        .any(|word| lower.starts_with(word));
    let is_behind_mark = rest.starts_with([':', '|']);
    let is_short = text.chars().filter(|char| char.is_alphanumeric()).count() < 3;
    let kind = if is_behind_mark { QuoteKind::Tight } else { QuoteKind::Loose };
    (!is_message && !is_short).then(|| Quote { lines: vec![text.to_owned()], kind })
}

/// Lines without the numbers that `read` shows before them, if all have one.
fn without_numbers(lines: &[&str]) -> Vec<String> {
    let stripped: Option<Vec<String>> = lines
        .iter()
        .map(|line| {
            let text = line.trim_start();
            let rest = text.trim_start_matches(|char: char| char.is_ascii_digit());
            let is_numbered = rest.len() < text.len();
            let behind = rest
                .strip_prefix([':', '|', '\t', '\u{2192}', '.'])
                .or_else(|| rest.strip_prefix(" |"));
            let behind = behind.or_else(|| rest.strip_prefix("  "));
            match behind {
                Some(behind) if is_numbered => Some(behind.to_owned()),
                _ if text.is_empty() || is_numbered && rest.is_empty() => Some(String::new()),
                Some(_) | None => None,
            }
        })
        .collect();
    let has_numbers =
        lines.iter().any(|line| line.trim_start().starts_with(|char: char| char.is_ascii_digit()));
    stripped
        .filter(|_| has_numbers)
        .unwrap_or_else(|| lines.iter().map(|line| (*line).to_owned()).collect())
}
