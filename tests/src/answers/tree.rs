//! A source tree as people write them: several languages, names made of words, lines that repeat.

use std::fmt::Write as _;

use crate::seed::Seed;

const VERBS: [&str; 14] = [
    "parse", "render", "fetch", "merge", "encode", "decode", "schedule", "resolve", "validate",
    "collect", "flush", "attach", "rotate", "compact",
];
const NOUNS: [&str; 16] = [
    "header",
    "session",
    "packet",
    "ledger",
    "cursor",
    "snapshot",
    "budget",
    "channel",
    "digest",
    "envelope",
    "workspace",
    "token",
    "invoice",
    "segment",
    "replica",
    "manifest",
];
const FOLDERS: [&str; 8] =
    ["src", "src/net", "src/store", "server/api", "server/jobs", "web/app", "lib/core", "tools"];

/// A file as an answer may know it.
#[derive(Clone, Debug)]
pub struct File {
    /// Relative to the workspace folder.
    pub path: String,
    /// Its lines.
    pub lines: Vec<String>,
    /// Lines, from 1, and the names that are defined there.
    pub definitions: Vec<(usize, String)>,
}

impl File {
    /// The whole text.
    pub fn text(&self) -> String {
        self.lines.join("\n") + "\n"
    }

    pub(super) fn language(&self) -> &str {
        self.path.rsplit('.').next().unwrap()
    }

    /// A definition: its line and its name.
    pub(super) fn definition(&self, seed: &mut Seed) -> (usize, &str) {
        let at = usize::try_from(seed.below(self.definitions.len() as u64)).unwrap();
        let (line, name) = &self.definitions[at];
        (*line, name)
    }

    /// A line that stands only once in the file, trimmed.
    pub(super) fn unique_line(&self, seed: &mut Seed) -> (usize, String) {
        let trimmed: Vec<&str> = self.lines.iter().map(|line| line.trim()).collect();
        let is_unique = |at: &usize| {
            let line = trimmed[*at];
            line.len() > 14 && trimmed.iter().filter(|other| other.contains(line)).count() == 1
        };
        let unique: Vec<usize> = (0..trimmed.len()).filter(is_unique).collect();
        let at = unique[usize::try_from(seed.below(unique.len() as u64)).unwrap()];
        (at + 1, trimmed[at].to_owned())
    }
}

/// A source tree, as it is on disk, in an editor, and as it was.
#[derive(Clone, Debug)]
pub struct Tree {
    /// What is on disk and stays as it is.
    pub files: Vec<File>,
    /// What was there once.
    pub deleted: Vec<File>,
    /// What is on disk, and what an editor has instead, line for line.
    pub edited: Vec<(File, File)>,
    /// What was there, and what is on disk now, with lines put in front.
    pub moved: Vec<(File, File)>,
}

impl Tree {
    /// The tree of a seed.
    pub fn new(seed: u64) -> Self {
        let mut seed = Seed::new(seed);
        let mut number = 0;
        let mut some = |count: usize, seed: &mut Seed| -> Vec<File> {
            (0..count)
                .map(|_| {
                    number += 1;
                    file(number, seed)
                })
                .collect()
        };
        let (files, deleted) = (some(36, &mut seed), some(4, &mut seed));
        let edited =
            some(4, &mut seed).into_iter().map(|file| (file.clone(), edited(file))).collect();
        let moved =
            some(4, &mut seed).into_iter().map(|file| (file.clone(), moved(file))).collect();
        Self { files, deleted, edited, moved }
    }

    /// A file as the tools show it.
    pub(super) fn any(&self, seed: &mut Seed) -> &File {
        let count = self.files.len() + self.edited.len() + self.moved.len();
        let at = usize::try_from(seed.below(count as u64)).unwrap();
        let now = self.edited.iter().chain(&self.moved).map(|(_, now)| now);
        self.files.iter().chain(now).nth(at).unwrap()
    }
}

fn pick<'w>(words: &[&'w str], seed: &mut Seed) -> &'w str {
    words[usize::try_from(seed.below(words.len() as u64)).unwrap()]
}

/// Changes every function's constant.
fn edited(mut file: File) -> File {
    for line in &mut file.lines {
        if line.contains("limit_") {
            *line = line.replace("limit_", "bound_");
        }
    }
    file
}

/// Puts a notice of seven lines in front.
fn moved(mut file: File) -> File {
    let mark = if ["py", "rb", "toml", "yml"].contains(&file.language()) { "#" } else { "//" };
    let notice =
        (1..8).map(|number| format!("{mark} Part {number} of the notice that every file has."));
    file.lines.splice(0..0, notice);
    for (line, _) in &mut file.definitions {
        *line += 7;
    }
    file
}

fn file(number: usize, seed: &mut Seed) -> File {
    let folder = pick(&FOLDERS, seed);
    let (extension, write): (&str, fn(&str, u64, &mut String)) = match seed.below(6) {
        0 | 1 => ("rs", rust),
        2 => ("py", python),
        3 => ("ts", script),
        4 => ("go", go),
        _ => ("toml", settings),
    };
    // A number keeps names apart from each other's beginnings.
    let path = format!("{folder}/{}_{number}.{extension}", pick(&NOUNS, seed));
    let mut text = String::new();
    let mut definitions = Vec::new();
    let mut used = Vec::new();
    let functions = 4 + seed.size(8);
    while definitions.len() < functions {
        let name =
            format!("{}_{}_{}", pick(&VERBS, seed), pick(&NOUNS, seed), seed.below(900) + 100);
        if used.contains(&name) {
            continue;
        }
        definitions.push((text.lines().count() + 2, name.clone()));
        let _ = writeln!(
            text,
            "{}",
            if extension == "py" || extension == "toml" { "# One more." } else { "// One more." }
        );
        write(&name, seed.below(9000) + 1000, &mut text);
        text.push('\n');
        used.push(name);
    }
    let lines = text.lines().map(str::to_owned).collect();
    File { path, lines, definitions }
}

fn rust(name: &str, number: u64, out: &mut String) {
    let _ = write!(
        out,
        "pub fn {name}(input: &str, limit: usize) -> Result<u64, Error> {{\n    let limit_{number} = limit.max({number});\n    \
         for (at, part) in input.split(',').enumerate() {{\n        if at > limit_{number} {{\n            return \
         Err(Error::TooMany {{ at, number: {number} }});\n        }}\n        trace!(\"{name}: {{part}}\");\n    }}\n    \
         Ok(0)\n}}\n"
    );
}

fn python(name: &str, number: u64, out: &mut String) {
    let _ = write!(
        out,
        "def {name}(source, limit=None):\n    limit_{number} = limit or {number}\n    for at, part in enumerate(source):\n        \
         if at > limit_{number}:\n            raise ValueError(f\"{name}: {{at}} of {number}\")\n    return None\n"
    );
}

fn script(name: &str, number: u64, out: &mut String) {
    let _ = write!(
        out,
        "export async function {name}(input: string[], limit = 0): Promise<number> {{\n  const limit_{number} = Math.max(limit, \
         {number});\n  for (const [at, part] of input.entries()) {{\n    if (at > limit_{number}) throw new Error(`{name} \
         ${{part}}`);\n  }}\n  return 0;\n}}\n"
    );
}

fn go(name: &str, number: u64, out: &mut String) {
    let _ = write!(
        out,
        "func {name}(input []string, limit int) (int, error) {{\n\tlimit_{number} := max(limit, {number})\n\tfor at, part := range \
         input {{\n\t\tif at > limit_{number} {{\n\t\t\treturn 0, fmt.Errorf(\"{name}: %s\", part)\n\t\t}}\n\t}}\n\treturn 0, nil\n}}\n"
    );
}

fn settings(name: &str, number: u64, out: &mut String) {
    let _ = write!(
        out,
        "[{name}]\nlimit_{number} = {number}\nretries = 3\nendpoint = \"https://example.org/{name}\"\nnames = [\"a\", \"b\"]\n\n"
    );
}
