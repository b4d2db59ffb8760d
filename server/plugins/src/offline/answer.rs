//! Puts answers into words. Every quotation comes from a [`Sighting`], and nothing else is quoted.

mod quote;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use super::definition::{DOUBTFUL, LOCAL, PART, STRONG};
use super::question::{Name, Question, Want};
use super::rank::{self, Found};
use super::results::{Matches, Sighting, Window};
use quote::{block, citation, enclosing};

/// Ends every answer: nobody shall take it for a language model's.
const BADGE: &str = "_offline/retrieval: found by search, not by a language model._";

/// More definitions are counted, not listed.
const LISTED: usize = 40;
const LISTED_PARTS: usize = 10;
const LISTED_USES: usize = 6;
const LISTED_CALLERS: usize = 30;
/// How many get their surroundings quoted.
const QUOTED: usize = 3;

/// What this is and what it can do.
pub(super) fn introduction() -> String {
    finished(
        "This is offline mode: no language model is configured, so nothing here can chat or write code. \
         Questions about this workspace are answered by searching it, for example:\n\n\
         - where is `name` defined?\n\
         - who calls `name`?\n\
         - how are retries delayed?\n\
         - what is this project?\n\n\
         Choose a model with a key or a local server for everything else.\n",
    )
}

/// The search itself did not work.
pub(super) fn failure(message: &str) -> String {
    finished(&format!("The workspace could not be searched: {message}.\n"))
}

/// Definitions and uses of the names of a question.
pub(super) fn names(
    question: &Question,
    found: &[Found],
    occurrences: &Matches,
    reads: &[Window],
    failure: Option<(&str, &str)>,
) -> String {
    let mut text = String::new();
    let is_strong = found.iter().any(|found| found.definition.strength >= STRONG);
    let passages = passages_among(question, found, reads);
    // A word of prose that is a key somewhere is still a word of prose.
    if !passages.is_empty() && question.is_soft && !is_strong {
        text.push_str("These passages match the question best:\n\n");
        write_passages(&mut text, question, &passages);
    }
    for name in &question.names {
        let own: Vec<&Found> = found.iter().filter(|found| found.name == name.name).collect();
        one_name(&mut text, question, name, &own, occurrences, reads);
    }
    if !passages.is_empty() && (!question.is_soft || is_strong) {
        text.push_str("Passages about the question:\n\n");
        write_passages(&mut text, question, &passages);
    }
    if let Some((tool, message)) = failure {
        let _ = writeln!(text, "A call of {tool} failed: {}\n", first_line(message));
    }
    finished(&text)
}

/// What was read for its passages, not for a definition.
fn passages_among(question: &Question, found: &[Found], reads: &[Window]) -> Vec<Window> {
    if !question.wants_passages() && !question.is_soft {
        return Vec::new();
    }
    let is_passage = |window: &&Window| {
        let mut read_for = found.iter().take(QUOTED * 2);
        !read_for
            .any(|found| found.at.path == window.path && window.position(found.at.line).is_some())
    };
    reads.iter().filter(is_passage).cloned().collect()
}

fn one_name(
    text: &mut String,
    question: &Question,
    name: &Name,
    found: &[&Found],
    occurrences: &Matches,
    reads: &[Window],
) {
    // An implementation for it is a use of it.
    let is_own = |found: &&&Found| found.definition.strength >= LOCAL;
    let defined: Vec<Found> = found.iter().filter(is_own).map(|found| (*found).clone()).collect();
    let (imported, found): (Vec<&Found>, Vec<&Found>) =
        found.iter().copied().partition(|found| is_imported(found, &defined, reads));
    let mut uses = rank::uses(&name.name, occurrences, &defined);
    uses.extend(imported.iter().map(|found| found.at.clone()));
    if question.want == Want::Uses {
        write_uses(text, name, &uses, LISTED_CALLERS);
    }
    let strong: Vec<&Found> =
        found.iter().copied().filter(|found| found.definition.strength >= STRONG).collect();
    let parts: Vec<&Found> = found
        .iter()
        .copied()
        .filter(|found| (DOUBTFUL..STRONG).contains(&found.definition.strength))
        .collect();
    let is_strong = !strong.is_empty();
    if is_strong {
        write_definitions(text, name, &strong, reads);
    }
    let is_part = write_parts(text, name, &parts, is_strong, reads);
    if !is_strong && !is_part {
        write_undefined(text, name, &found, occurrences, &uses, question.want == Want::Uses);
    } else if question.want != Want::Uses {
        write_uses(text, name, &uses, LISTED_USES);
    }
}

/// A line of a list of imports looks like a variant. Where one has turned out to be an import and none to be a
/// variant, those that were not read are imports as well.
fn is_imported(found: &Found, all: &[Found], reads: &[Window]) -> bool {
    let is_doubtful = |found: &Found| (DOUBTFUL..PART - 5).contains(&found.definition.strength);
    let imports = |found: &Found| reads.iter().any(|window| quote::imports(window, &found.at));
    let encloses = |found: &Found| reads.iter().any(|window| enclosing(window, &found.at));
    let mut doubtful = all.iter().filter(|found| is_doubtful(found));
    let is_list = found.at.text.trim_end().ends_with(',') && found.definition.kind == "variant";
    is_doubtful(found)
        && is_list
        && (imports(found) || all.iter().any(imports) && !doubtful.any(encloses))
}

fn write_definitions(text: &mut String, name: &Name, found: &[&Found], reads: &[Window]) {
    let shown = &name.name;
    match found.len() {
        1 => _ = writeln!(text, "`{shown}` is defined here:\n"),
        count => _ = writeln!(text, "`{shown}` has {count} definitions, the best match first:\n"),
    }
    for found in found.iter().take(LISTED) {
        write_found(text, found);
    }
    if found.len() > LISTED {
        let _ = writeln!(text, "- and {} more", found.len() - LISTED);
    }
    text.push('\n');
    for found in found.iter().take(QUOTED) {
        let window = reads.iter().find(|window| {
            window.path == found.at.path && window.position(found.at.line).is_some()
        });
        if let Some(block) = window.and_then(|window| block(window, found.at.line)) {
            text.push_str(&block);
        }
    }
}

fn write_found(text: &mut String, found: &Found) {
    let _ = writeln!(text, "- {} ({})", citation(&found.at, &found.name), found.definition.kind);
}

/// Fields, variants and keys. Those that look like something else are claimed only if what they are in was
/// read and says so. Returns whether any was claimed.
fn write_parts(
    text: &mut String,
    name: &Name,
    parts: &[&Found],
    is_beside: bool,
    reads: &[Window],
) -> bool {
    let is_sure = |found: &&&Found| {
        found.definition.strength >= PART - 5
            || reads.iter().any(|window| enclosing(window, &found.at))
    };
    let sure: Vec<&&Found> = parts.iter().filter(is_sure).collect();
    let doubtful: Vec<&&Found> = parts.iter().filter(|found| !is_sure(found)).collect();
    if !sure.is_empty() {
        let what = if is_beside {
            "is also declared as a part of something else"
        } else {
            "is declared as a part of something else"
        };
        let _ = writeln!(text, "`{}` {what}:\n", name.name);
        let count = if is_beside { LISTED_PARTS } else { LISTED };
        for found in sure.iter().take(count) {
            write_found(text, found);
        }
        text.push('\n');
    }
    if !doubtful.is_empty() && !is_beside {
        let _ = writeln!(text, "By their look, these lines may define `{}`:\n", name.name);
        for found in doubtful.iter().take(LISTED_PARTS) {
            write_found(text, found);
        }
        text.push('\n');
    }
    !sure.is_empty() || !doubtful.is_empty() && !is_beside
}

fn write_uses(text: &mut String, name: &Name, uses: &[Sighting], count: usize) {
    if uses.is_empty() {
        return;
    }
    let _ = writeln!(text, "`{}` is used here:\n", name.name);
    for at in uses.iter().take(count) {
        let _ = writeln!(text, "- {}", citation(at, &name.name));
    }
    if uses.len() > count {
        let _ = writeln!(text, "- and in at least {} more lines", uses.len() - count);
    }
    text.push('\n');
}

/// Nothing defines the name.
fn write_undefined(
    text: &mut String,
    name: &Name,
    found: &[&Found],
    occurrences: &Matches,
    uses: &[Sighting],
    uses_are_listed: bool,
) {
    let locals: Vec<&&Found> =
        found.iter().filter(|found| found.definition.strength >= LOCAL).collect();
    if !locals.is_empty() {
        let _ = writeln!(
            text,
            "No definition of `{}` was found beyond local names and assignments:\n",
            name.name
        );
        for found in locals.iter().take(LISTED_PARTS) {
            write_found(text, found);
        }
        text.push('\n');
    } else if !uses.is_empty() {
        let _ = writeln!(text, "No definition of `{}` was found in this workspace.\n", name.name);
    }
    if !locals.is_empty() || !uses.is_empty() {
        if !uses_are_listed {
            write_uses(text, name, uses, LISTED_PARTS);
        }
        return;
    }
    let _ = writeln!(text, "`{}` was not found in this workspace.\n", name.name);
    let misses = rank::near_misses(&name.name, occurrences);
    if !misses.is_empty() {
        text.push_str(
            "These names differ only in case or separators; they are not what was asked for:\n\n",
        );
        for (other, at) in &misses {
            let _ = writeln!(text, "- {}", citation(at, other));
        }
        text.push('\n');
    }
}

/// Files by their name.
pub(super) fn files(question: &Question, paths: &[String], reads: &[Window]) -> String {
    let mut text = String::new();
    if paths.is_empty() {
        let _ =
            writeln!(text, "`{}` was not found in this workspace.\n", question.files.join("`, `"));
        return finished(&text);
    }
    text.push_str(if paths.len() == 1 {
        "The file is here:\n\n"
    } else {
        "These files have that name:\n\n"
    });
    for path in paths.iter().take(LISTED) {
        let _ = writeln!(text, "- `{path}`");
    }
    text.push('\n');
    for window in reads {
        let at = question.line.and_then(|line| window.position(line));
        text.push_str(&at.map_or_else(|| quote::opening(window), |at| quote::around(window, at)));
    }
    if let Some(line) = question.line
        && !reads.iter().any(|window| window.position(line).is_some())
    {
        let _ = writeln!(text, "Line {line} could not be shown.\n");
    }
    finished(&text)
}

/// The identifier at the end of what may be no file name after all.
pub(super) fn name_in(file: &str) -> Option<Name> {
    let (before, name) = file.rsplit('/').next()?.rsplit_once('.')?;
    let qualifiers = before.split('.').map(str::to_owned).collect();
    Some(Name { name: name.to_owned(), qualifiers, kind: None, is_code: true })
}

/// Lines with a quoted text.
pub(super) fn phrase(phrase: &str, matches: &Matches, failure: Option<(&str, &str)>) -> String {
    let mut text = String::new();
    if matches.shown.is_empty() {
        let _ = writeln!(text, "The text “{phrase}” was not found in this workspace.\n");
    } else {
        let _ = writeln!(text, "The text “{phrase}” stands here:\n");
        for at in matches.shown.iter().take(LISTED_CALLERS) {
            let _ = writeln!(text, "- {}", citation(at, phrase));
        }
        if matches.shown.len() > LISTED_CALLERS || matches.partial {
            text.push_str("- and in more lines\n");
        }
        text.push('\n');
    }
    if let Some((tool, message)) = failure {
        let _ = writeln!(text, "A call of {tool} failed: {}\n", first_line(message));
    }
    finished(&text)
}

/// Passages about a question in prose.
pub(super) fn passages(question: &Question, reads: &[Window]) -> String {
    if reads.is_empty() {
        return nothing(question);
    }
    let mut text = "The passages that match the question best, the best first:\n\n".to_owned();
    write_passages(&mut text, question, reads);
    finished(&text)
}

fn write_passages(text: &mut String, question: &Question, reads: &[Window]) {
    for window in reads {
        let Some(line) = quote::best_line(question, window) else {
            continue;
        };
        let _ = writeln!(text, "- {}", citation(&window.lines[line], ""));
    }
    text.push('\n');
    for window in reads.iter().take(QUOTED) {
        if let Some(line) = quote::best_line(question, window) {
            text.push_str(&quote::around(window, line));
        }
    }
}

/// No passage is enough about the question.
pub(super) fn nothing(question: &Question) -> String {
    let words: Vec<&str> = question.terms.iter().map(|term| term.word.as_str()).collect();
    let mut text = "Nothing about this was found in this workspace".to_owned();
    if !words.is_empty() {
        let _ = write!(text, "; the words searched for: {}", words.join(", "));
    }
    text.push_str(".\n\n");
    finished(&text)
}

/// What the project says about itself.
pub(super) fn overview(paths: &[String], reads: &[Window]) -> String {
    if paths.is_empty() {
        return finished("No README and no package file was found in this workspace.\n");
    }
    let mut text = "What the project says about itself:\n\n".to_owned();
    for window in reads {
        text.push_str(&quote::opening(window));
    }
    finished(&text)
}

fn finished(text: &str) -> String {
    format!("{}\n\n{BADGE}\n", text.trim_end())
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
