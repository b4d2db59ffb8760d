//! Source files as people write them: types, constants, functions of several shapes, comments and tests, in four
//! languages.

use crate::seed::Seed;

const SUBJECTS: [&str; 18] = [
    "courier",
    "ticket",
    "quota",
    "ledger",
    "beacon",
    "harvest",
    "lantern",
    "archive",
    "turnstile",
    "orchard",
    "compass",
    "relay",
    "warden",
    "satchel",
    "gazette",
    "foundry",
    "mooring",
    "tally",
];
const DEEDS: [&str; 14] = [
    "admit",
    "settle",
    "enqueue",
    "drain",
    "reconcile",
    "stamp",
    "forward",
    "prune",
    "refill",
    "annotate",
    "measure",
    "restore",
    "throttle",
    "release",
];
const QUALITIES: [&str; 10] = [
    "pending", "stale", "primary", "spare", "nightly", "signed", "partial", "hot", "inbound",
    "sealed",
];
const FOLDERS: [&str; 9] = [
    "crates/core/src",
    "crates/wire/src",
    "crates/wire/src/codec",
    "services/billing",
    "services/mail",
    "web/src/routes",
    "web/src/lib",
    "tools/report",
    "src",
];

/// A file.
#[derive(Clone, Debug)]
pub struct Source {
    /// Relative to the workspace folder.
    pub path: String,
    /// Its lines.
    pub lines: Vec<String>,
    /// Names that are declared in it, with their lines, counted from 1.
    declared: Vec<(usize, String)>,
}

/// So many files, each with names of its own.
pub fn sources(seed: &mut Seed, count: usize) -> Vec<Source> {
    (0..count).map(|number| source(number, seed)).collect()
}

fn word(words: &[&'static str], seed: &mut Seed) -> &'static str {
    words[usize::try_from(seed.below(words.len() as u64)).unwrap()]
}

impl Source {
    /// The whole text.
    pub fn text(&self) -> String {
        self.lines.join("\n") + "\n"
    }

    pub(super) fn language(&self) -> &str {
        self.path.rsplit('.').next().unwrap()
    }

    /// The line of a declaration and the declared name.
    pub(super) fn definition(&self, seed: &mut Seed) -> (usize, String) {
        let at = usize::try_from(seed.below(self.declared.len() as u64)).unwrap();
        self.declared[at].clone()
    }

    /// A line of code that stands once in the file, without its indentation.
    pub(super) fn statement(&self, seed: &mut Seed) -> (usize, String) {
        let says = |line: &str| {
            line.len() > 16
                && !line.starts_with(['/', '*'])
                && !line.starts_with('#')
                && !line.starts_with("\"\"\"")
        };
        let once = |line: &str| self.lines.iter().filter(|other| other.contains(line)).count() == 1;
        let lines = self.lines.iter().enumerate().map(|(at, line)| (at + 1, line.trim()));
        let fit: Vec<(usize, &str)> = lines.filter(|(_, line)| says(line) && once(line)).collect();
        let (line, text) = fit[usize::try_from(seed.below(fit.len() as u64)).unwrap()];
        (line, text.to_owned())
    }

    /// The lines that have a text.
    pub(super) fn lines_with(&self, text: &str) -> Vec<usize> {
        (1..=self.lines.len()).filter(|line| self.lines[line - 1].contains(text)).collect()
    }

    /// A line with nothing of a text within three lines of it, if there is one.
    pub(super) fn far_from(&self, text: &str, seed: &mut Seed) -> Option<usize> {
        let has = self.lines_with(text);
        let is_far = |line: &usize| has.iter().all(|other| other.abs_diff(*line) > 3);
        let far: Vec<usize> = (1..=self.lines.len()).filter(is_far).collect();
        far.get(usize::try_from(seed.below(far.len() as u64)).unwrap()).copied()
    }

    /// A line with one token changed, so that the file does not have it.
    pub(super) fn misquoted(&self, line: &str, seed: &mut Seed) -> String {
        let text = self.text();
        let swaps = [
            (" > ", " >= "),
            (" < ", " <= "),
            ("True", "False"),
            ("true", "false"),
            ("max", "min"),
            ("Some(", "Ok("),
            ("self.", "other."),
            ("len", "count"),
            ("push", "insert"),
            ("return", "yield"),
            ("const ", "let "),
            ("100", "250"),
            ("limit", "bound"),
        ];
        let fit: Vec<String> = swaps
            .iter()
            .filter(|(from, _)| line.contains(from))
            .map(|(from, to)| line.replacen(from, to, 1))
            .filter(|wrong| !text.contains(wrong.as_str()))
            .collect();
        if !fit.is_empty() && seed.below(3) > 0 {
            return fit[usize::try_from(seed.below(fit.len() as u64)).unwrap()].clone();
        }
        // A name of it in another form.
        let is_part = |char: char| char.is_alphanumeric() || char == '_';
        let names: Vec<&str> =
            line.split(|char| !is_part(char)).filter(|name| name.len() > 3).collect();
        let name = names[usize::try_from(seed.below(names.len() as u64)).unwrap()];
        line.replacen(name, &format!("{}ed", name.trim_end_matches('e')), 1)
    }

    /// The text with so many comments above a line, some way up, and how many lines are left as they were.
    pub(super) fn with_lines_above(
        &self,
        line: usize,
        count: usize,
        seed: &mut Seed,
    ) -> (String, usize) {
        let at = usize::try_from(seed.below(line as u64)).unwrap();
        let mark = if self.language() == "py" { "#" } else { "//" };
        let added = (0..count).map(|number| {
            format!(
                "{mark} Note {number}: {} before {}.",
                word(&DEEDS, seed),
                word(&SUBJECTS, seed)
            )
        });
        let added: Vec<String> = added.collect();
        let mut lines = self.lines.clone();
        lines.splice(at..at, added);
        (lines.join("\n") + "\n", at)
    }
}

/// A file in the making.
struct Draft {
    lines: Vec<String>,
    declared: Vec<(usize, String)>,
    used: Vec<String>,
    number: usize,
}

impl Draft {
    fn say(&mut self, line: impl Into<String>) {
        self.lines.push(line.into());
    }

    /// A line that declares a name.
    fn declare(&mut self, name: &str, line: impl Into<String>) {
        self.say(line);
        self.declared.push((self.lines.len(), name.to_owned()));
    }

    /// A name that nothing else in the tree has.
    fn name(&mut self, seed: &mut Seed) -> String {
        loop {
            let name = format!("{}_{}", word(&DEEDS, seed), word(&QUALITIES, seed));
            let name = format!("{name}_{}{}", word(&SUBJECTS, seed), self.number);
            if !self.used.contains(&name) {
                self.used.push(name.clone());
                return name;
            }
        }
    }
}

/// `some_long_name` as `someLongName`.
fn camel(name: &str) -> String {
    let mut parts = name.split('_');
    let mut camel = parts.next().unwrap().to_owned();
    for part in parts {
        let (first, rest) = part.split_at(1);
        camel.push_str(&first.to_uppercase());
        camel.push_str(rest);
    }
    camel
}

fn pascal(name: &str) -> String {
    let camel = camel(name);
    let (first, rest) = camel.split_at(1);
    first.to_uppercase() + rest
}

fn source(number: usize, seed: &mut Seed) -> Source {
    let mut draft = Draft { lines: Vec::new(), declared: Vec::new(), used: Vec::new(), number };
    let (extension, write): (&str, fn(&mut Draft, &mut Seed)) = match seed.below(4) {
        0 | 1 => ("rs", rust),
        2 => ("py", python),
        _ => ("ts", script),
    };
    let stem = format!("{}_{}", word(&QUALITIES, seed), word(&SUBJECTS, seed));
    let path = format!("{}/{stem}_{number}.{extension}", word(&FOLDERS, seed));
    write(&mut draft, seed);
    let Draft { lines, declared, .. } = draft;
    Source { path, lines, declared }
}

fn rust(draft: &mut Draft, seed: &mut Seed) {
    let subject = word(&SUBJECTS, seed);
    let kind = pascal(&draft.name(seed));
    let most = draft.name(seed).to_uppercase();
    draft.say(format!("//! Keeps the {subject} in order."));
    draft.say("");
    draft.say("use std::collections::BTreeMap;");
    draft.say("");
    draft.say(format!("/// How many entries one {subject} takes."));
    draft.declare(&most, format!("pub const {most}: usize = {};", 100 + seed.size(900)));
    draft.say("");
    draft.declare(&kind, format!("pub struct {kind} {{"));
    draft.say(format!("    {subject}s: BTreeMap<String, u64>,"));
    draft.say("    is_open: bool,");
    draft.say("}");
    draft.say("");
    draft.say(format!("impl {kind} {{"));
    for _ in 0..3 + seed.size(4) {
        let name = draft.name(seed);
        let number = seed.size(9000);
        draft.say(format!("    /// Called once for each {}.", word(&SUBJECTS, seed)));
        draft.declare(
            &name,
            format!("    pub fn {name}(&mut self, key: &str, limit: usize) -> Option<u64> {{"),
        );
        match seed.below(3) {
            0 => {
                draft.say(format!("        if self.{subject}s.len() > limit.max({number}) {{"));
                draft.say("            self.is_open = false;");
                draft.say("            return None;");
                draft.say("        }");
                draft.say(format!(
                    "        let total = self.{subject}s.values().sum::<u64>() + {number};"
                ));
                draft.say("        Some(total)");
            }
            1 => {
                draft.say(format!("        let slot_{number} = self.{subject}s.entry(key.to_owned()).or_default();"));
                draft.say(format!("        *slot_{number} += {number};"));
                draft
                    .say(format!("        tracing::debug!(key, limit, \"{name} took {number}\");"));
                draft.say(format!("        Some(*slot_{number})"));
            }
            _ => {
                draft.say(format!(
                    "        for (at, value) in self.{subject}s.values().enumerate() {{"
                ));
                draft.say(format!("            if at < limit && *value == {number} {{"));
                draft.say(format!("                return Some(value.wrapping_mul({number}));"));
                draft.say("            }");
                draft.say("        }");
                draft.say("        None");
            }
        }
        draft.say("    }");
        draft.say("");
    }
    draft.say("}");
    draft.say("");
    draft.say("#[cfg(test)]");
    draft.say("mod tests {");
    let test = draft.name(seed);
    draft.say("    #[test]");
    draft.declare(&test, format!("    fn {test}() {{"));
    draft.say(format!("        assert!({most} > {});", seed.size(99)));
    draft.say("    }");
    draft.say("}");
}

fn python(draft: &mut Draft, seed: &mut Seed) {
    let subject = word(&SUBJECTS, seed);
    let kind = pascal(&draft.name(seed));
    draft.say(format!("\"\"\"The {subject} and what comes of it.\"\"\""));
    draft.say("");
    draft.say("from dataclasses import dataclass");
    draft.say("");
    draft.say("");
    draft.say("@dataclass");
    draft.declare(&kind, format!("class {kind}:"));
    draft.say(format!("    {subject}: str"));
    draft.say(format!("    weight: int = {}", seed.size(9000)));
    for _ in 0..3 + seed.size(4) {
        let name = draft.name(seed);
        let number = seed.size(9000);
        draft.say("");
        draft.say("");
        draft.declare(&name, format!("def {name}(items, limit={number}):"));
        draft.say(format!("    \"\"\"Counts what {} needs.\"\"\"", word(&SUBJECTS, seed)));
        if seed.below(2) == 0 {
            draft.say(format!("    chosen = [item for item in items if item.weight < {number}]"));
            draft.say("    if len(chosen) > limit:");
            draft.say(format!(
                "        raise OverflowError(f\"{name}: {{len(chosen)}} of {number}\")"
            ));
            draft.say("    return chosen[:limit]");
        } else {
            draft.say(format!("    total_{number} = sum(item.weight for item in items)"));
            draft.say(format!("    while total_{number} > limit:"));
            draft.say(format!("        total_{number} -= {}", seed.size(90)));
            draft.say(format!("    return max(total_{number}, 0)"));
        }
    }
}

fn script(draft: &mut Draft, seed: &mut Seed) {
    let subject = word(&SUBJECTS, seed);
    let kind = pascal(&draft.name(seed));
    draft.say(format!("import {{ {subject} }} from \"./{subject}\";"));
    draft.say("");
    draft.declare(&kind, format!("export interface {kind} {{"));
    draft.say(format!("  {subject}: string;"));
    draft.say("  readonly weight: number;");
    draft.say("}");
    for _ in 0..3 + seed.size(4) {
        let name = camel(&draft.name(seed));
        let number = seed.size(9000);
        draft.say("");
        draft.say(format!("/** Runs before every {}. */", word(&SUBJECTS, seed)));
        if seed.below(2) == 0 {
            draft.declare(
                &name,
                format!("export function {name}(items: {kind}[], limit = {number}): number {{"),
            );
            draft.say(format!(
                "  const total = items.reduce((sum, item) => sum + item.weight, {number});"
            ));
            draft.say(format!("  if (total > limit) throw new RangeError(`{name}: ${{total}}`);"));
            draft.say(format!("  return total % {number};"));
            draft.say("}");
        } else {
            draft.declare(
                &name,
                format!("export const {name} = async (item: {kind}): Promise<boolean> => {{"),
            );
            draft.say(format!(
                "  const found = await {subject}.find(item.{subject}, {{ limit: {number} }});"
            ));
            draft.say(format!("  return found.length > {number};"));
            draft.say("};");
        }
    }
}
