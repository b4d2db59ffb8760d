//! Sorts out what a search has found: definitions, best first, and uses.

use super::definition::{self, Definition};
use super::place::Place;
use super::question::Name;
use super::results::{Matches, Sighting};

/// A line that defines a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub name: String,
    pub definition: Definition,
    pub at: Sighting,
    pub score: i32,
}

/// The lines that define one of the names, best first.
pub(super) fn definitions(names: &[Name], matches: &Matches) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    for name in names {
        let mut opened: Option<(&str, usize)> = None;
        for at in &matches.shown {
            let indent = at.text.len() - at.text.trim_start().len();
            if let Some(container) = name.qualifiers.last()
                && definition::opens(&at.text, container)
            {
                opened = Some((&at.path, indent));
            }
            let Some(definition) = definition::judge(&at.path, &at.text, &name.name) else {
                continue;
            };
            let is_inside = opened.is_some_and(|(path, outer)| path == at.path && indent > outer);
            let score = score(name, &definition, at, is_inside);
            found.push(Found { name: name.name.clone(), definition, at: at.clone(), score });
        }
    }
    found.sort_by(|a, b| {
        let place = |found: &Found| (found.at.path.clone(), found.at.line);
        b.score.cmp(&a.score).then_with(|| place(a).cmp(&place(b)))
    });
    found.dedup_by(|a, b| a.at.path == b.at.path && a.at.line == b.at.line);
    found
}

fn score(name: &Name, definition: &Definition, at: &Sighting, is_inside: bool) -> i32 {
    let place = Place::of(&at.path);
    let mut score = i32::from(definition.strength) * 10 + shift(place);
    if let Some(kind) = &name.kind
        && is_kind(kind, &definition.kind)
    {
        score += 200;
    }
    if definition.is_public {
        score += 60;
    }
    if !at.text.starts_with([' ', '\t']) {
        score += 40;
    }
    let path = at.path.to_lowercase();
    let file = path.rsplit('/').next().unwrap_or(&path);
    let stem = file.split('.').next().unwrap_or(file);
    if stem == name.name.to_lowercase() {
        score += 50;
    }
    if is_inside {
        score += 350;
    }
    for qualifier in &name.qualifiers {
        let qualifier = qualifier.to_lowercase();
        let is_component = path
            .split(['/', '.'])
            .any(|part| part == qualifier || part.replace('-', "_").starts_with(&qualifier));
        if is_component {
            score += 120;
        }
    }
    if at.cut {
        score -= 300;
    }
    score - i32::try_from(place.depth.min(20)).unwrap_or(20) * 4
}

/// How much the sort of file adds to or takes from a definition in it.
fn shift(place: Place) -> i32 {
    let mut shift = 0;
    for (holds, by) in [
        (place.is_test, -350),
        (place.is_example, -250),
        (place.is_foreign, -250),
        (place.is_packed, -500),
        (place.is_lock, -500),
        (place.is_docs, -500),
        (place.is_data, -200),
    ] {
        if holds {
            shift += by;
        }
    }
    shift
}

/// Whether a definition is of the kind that a question names.
fn is_kind(asked: &str, kind: &str) -> bool {
    let same = match asked {
        "fn" | "func" | "function" | "method" | "routine" | "subroutine" | "constructor"
        | "getter" | "setter" | "hook" => ["function", "method", "declaration"].as_slice(),
        "struct" | "structure" | "class" | "type" | "typedef" | "object" | "alias" => {
            &["struct", "class", "type", "typedef", "enum", "union", "record", "interface"]
        }
        "const" | "constant" | "variable" | "static" => &["constant", "variable", "static"],
        "field" | "property" | "attribute" | "member" | "option" => {
            &["field", "property", "attribute", "key"]
        }
        "enum" | "enumeration" => &["enum"],
        "macro" => &["macro"],
        "module" | "namespace" => &["module", "namespace", "package"],
        "target" => &["target"],
        other => return kind == other,
    };
    same.contains(&kind)
}

/// The lines that only use a name, calls first, near the definition first.
pub(super) fn uses(name: &str, matches: &Matches, defined: &[Found]) -> Vec<Sighting> {
    let home = defined.first().map_or("", |found| found.at.path.as_str());
    let is_defined = |at: &Sighting| {
        defined.iter().any(|found| found.at.path == at.path && found.at.line == at.line)
    };
    let mut uses: Vec<(i32, &Sighting)> = Vec::new();
    for at in &matches.shown {
        let Some(position) = definition::find_word(&at.text, name).next() else {
            continue;
        };
        let is_bound = definition::judge(&at.path, &at.text, name)
            .is_some_and(|definition| definition.strength > definition::LOCAL + 10);
        if is_defined(at) || is_bound {
            continue;
        }
        let after = at.text[position + name.len()..].trim_start();
        let is_comment =
            ["//", "#", "*", "--", "/*"].iter().any(|mark| at.text.trim_start().starts_with(mark));
        let is_import = ["use ", "import ", "from ", "pub use ", "export {", "#include"]
            .iter()
            .any(|start| at.text.trim_start().starts_with(start));
        let common = home.split('/').zip(at.path.split('/')).take_while(|(a, b)| a == b).count();
        let mut score = shift(Place::of(&at.path)) + i32::try_from(common.min(9)).unwrap_or(0) * 30;
        if after.starts_with(['(', '<', '!', '{']) || after.starts_with("::<") {
            score += 150;
        }
        if is_comment {
            score -= 250;
        }
        if is_import {
            score -= 80;
        }
        uses.push((score, at));
    }
    uses.sort_by(|a, b| {
        b.0.cmp(&a.0).then_with(|| (&a.1.path, a.1.line).cmp(&(&b.1.path, b.1.line)))
    });
    uses.into_iter().map(|(_, at)| at.clone()).collect()
}

/// Names that are written like `name` up to case and separators, in the lines that were found.
pub(super) fn near_misses(name: &str, matches: &Matches) -> Vec<(String, Sighting)> {
    let wanted = folded(name);
    let mut misses: Vec<(String, Sighting)> = Vec::new();
    for at in &matches.shown {
        let words =
            at.text.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-' || c == '$'));
        for word in words {
            let is_new = word != name && misses.iter().all(|(known, _)| known != word);
            if is_new && misses.len() < 3 && folded(word) == wanted {
                misses.push((word.to_owned(), at.clone()));
            }
        }
    }
    misses
}

fn folded(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// A regular expression for `grep` that finds a name in any case and with any separators between its words.
pub(super) fn loose_pattern(names: &[Name]) -> String {
    let loose = |name: &Name| {
        let mut pattern = String::new();
        let mut previous = ' ';
        for char in name.name.chars() {
            let begins = char.is_uppercase() && previous.is_lowercase();
            if (begins || char == '_' || char == '-')
                && !pattern.is_empty()
                && !pattern.ends_with('?')
            {
                pattern.push_str("[_-]?");
            }
            if char != '_' && char != '-' {
                pattern.push_str(&regex::escape(char.encode_utf8(&mut [0; 4])));
            }
            previous = char;
        }
        definition::bounded(&name.name, &pattern)
    };
    format!("(?i){}", names.iter().map(loose).collect::<Vec<_>>().join("|"))
}

/// A regular expression for `grep` that finds names as they are.
pub(super) fn exact_pattern(names: &[Name]) -> String {
    let exact = |name: &Name| definition::bounded(&name.name, &regex::escape(&name.name));
    names.iter().map(exact).collect::<Vec<_>>().join("|")
}
