//! Made-up sessions over a made-up source tree: what an agent looked at and what it said then, right or with one
//! known fault. Imports nothing of the product: what is wrong with a session is known from how it was made.

mod phrases;
mod source;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::seed::Seed;
pub use source::{Source, sources};

/// What is wrong with a session's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mutation {
    /// It cites another file of the tree, which does not have what it says.
    WrongFile,
    /// It cites another line of the right file.
    WrongLine,
    /// One token of the quoted line is another one.
    Misquoted,
    /// The cited file was deleted afterwards.
    Deleted,
    /// The identifier got another name afterwards.
    Renamed,
    /// Lines were put in above the cited one afterwards.
    Moved,
}

/// Every mutation.
pub const MUTATIONS: [Mutation; 6] = [
    Mutation::WrongFile,
    Mutation::WrongLine,
    Mutation::Misquoted,
    Mutation::Deleted,
    Mutation::Renamed,
    Mutation::Moved,
];

/// The fault of a session.
#[derive(Clone, Debug)]
pub struct Plant {
    /// Which sort it is.
    pub mutation: Mutation,
    /// The file that the answer cites.
    pub path: String,
    /// The line that it cites, counted from 1.
    pub line: usize,
    /// Where the cited text stands in that file now.
    pub now: Vec<usize>,
}

/// A session.
#[derive(Clone, Debug)]
pub struct Trajectory {
    /// What was asked.
    pub prompt: String,
    /// The steps before the answer: what was said, and the calls of tools with their arguments.
    pub steps: Vec<(String, Vec<(&'static str, Value)>)>,
    /// The answer in Markdown.
    pub answer: String,
    /// What is wrong, if something is.
    pub plant: Option<Plant>,
}

/// Sessions, the tree that they are about, and what happens to it after them.
#[derive(Clone, Debug)]
pub struct Corpus {
    /// The tree while the sessions run, by path.
    pub before: BTreeMap<String, String>,
    /// What changes afterwards: the new text of a file; nothing when it is deleted.
    pub changes: BTreeMap<String, Option<String>>,
    /// Clean and faulty ones in turn.
    pub trajectories: Vec<Trajectory>,
}

/// `count` clean sessions and `count` with one fault each, always the same for one seed.
pub fn corpus(seed: u64, count: usize) -> Corpus {
    let mut seed = Seed::new(seed);
    let changing = count.div_ceil(MUTATIONS.len()) * 3;
    let mut all = sources(&mut seed, 44 + changing);
    let mut reserved = all.split_off(44);
    let mut before: BTreeMap<String, String> = BTreeMap::new();
    for source in all.iter().chain(&reserved) {
        before.insert(source.path.clone(), source.text());
    }
    let mut changes = BTreeMap::new();
    let mut trajectories = Vec::new();
    for number in 0..count {
        trajectories.push(trajectory(&all, &mut seed, None));
        let mutation = MUTATIONS[number % MUTATIONS.len()];
        let (claim, plant) = match mutation {
            Mutation::WrongFile | Mutation::WrongLine | Mutation::Misquoted => {
                let source = pick(&all, &mut seed);
                misstated(&all, source, mutation, &mut seed)
            }
            Mutation::Deleted | Mutation::Renamed | Mutation::Moved => {
                let source = reserved.pop().unwrap();
                let (claim, plant, after) = outdated(&source, mutation, &mut seed);
                changes.insert(source.path.clone(), after);
                (claim, plant)
            }
        };
        trajectories.push(trajectory(&all, &mut seed, Some((claim, plant))));
    }
    Corpus { before, changes, trajectories }
}

fn pick<'a, T>(all: &'a [T], seed: &mut Seed) -> &'a T {
    &all[usize::try_from(seed.below(all.len() as u64)).unwrap()]
}

/// A statement about a file and what was looked at for it.
struct Claim {
    text: String,
    /// The name that is searched for.
    searched: String,
    path: String,
    line: usize,
}

fn right(source: &Source, seed: &mut Seed) -> Claim {
    let (line, name) = source.definition(seed);
    let (text, line) = match seed.below(5) {
        0 | 1 => (phrases::identifier(&source.path, line, &name, seed), line),
        2 | 3 => {
            let (line, quoted) = source.statement(seed);
            (phrases::quote(&source.path, line, &quoted, source.language(), seed), line)
        }
        _ => {
            let last = (line + 1 + seed.size(3)).min(source.lines.len());
            let block = source.lines[line - 1..last].join("\n");
            (phrases::block(&source.path, line, last, &block, source.language(), seed), line)
        }
    };
    Claim { text, searched: name, path: source.path.clone(), line }
}

/// A claim that is wrong from the beginning.
fn misstated(
    all: &[Source],
    source: &Source,
    mutation: Mutation,
    seed: &mut Seed,
) -> (Claim, Plant) {
    let is_name = seed.below(2) == 0 && mutation != Mutation::Misquoted;
    let (line, said) = if is_name { source.definition(seed) } else { source.statement(seed) };
    let (path, cited, said, now) = match mutation {
        Mutation::WrongFile => {
            let others: Vec<&Source> =
                all.iter().filter(|other| !other.text().contains(&said)).collect();
            let other = pick(&others, seed);
            (other.path.clone(), line.min(other.lines.len()), said, Vec::new())
        }
        Mutation::WrongLine => {
            let Some(cited) = source.far_from(&said, seed) else {
                // A name that stands all over its file.
                return misstated(all, pick(all, seed), mutation, seed);
            };
            let now = source.lines_with(&said);
            (source.path.clone(), cited, said, now)
        }
        Mutation::Misquoted | Mutation::Deleted | Mutation::Renamed | Mutation::Moved => {
            (source.path.clone(), line, source.misquoted(&said, seed), Vec::new())
        }
    };
    let text = if is_name {
        phrases::identifier(&path, cited, &said, seed)
    } else {
        phrases::quote(&path, cited, &said, source.language(), seed)
    };
    let plant = Plant { mutation, path: path.clone(), line: cited, now };
    (Claim { text, searched: source.definition(seed).1, path: source.path.clone(), line }, plant)
}

/// A claim that was right when it was made, and the file's text after it.
fn outdated(
    source: &Source,
    mutation: Mutation,
    seed: &mut Seed,
) -> (Claim, Plant, Option<String>) {
    let is_name = mutation == Mutation::Renamed || seed.below(2) == 0;
    let (line, said) = if is_name { source.definition(seed) } else { source.statement(seed) };
    let (path, language) = (source.path.clone(), source.language());
    let text = if is_name {
        phrases::identifier(&path, line, &said, seed)
    } else {
        phrases::quote(&path, line, &said, language, seed)
    };
    let (after, now) = match mutation {
        Mutation::Deleted => (None, Vec::new()),
        Mutation::Renamed => {
            (Some(source.text().replace(&said, &renamed(&said, seed))), Vec::new())
        }
        Mutation::WrongFile | Mutation::WrongLine | Mutation::Misquoted | Mutation::Moved => {
            let count = 4 + seed.size(20);
            let (after, at) = source.with_lines_above(line, count, seed);
            let moved = |old: usize| if old > at { old + count } else { old };
            (Some(after), source.lines_with(&said).into_iter().map(moved).collect())
        }
    };
    let plant = Plant { mutation, path: path.clone(), line, now };
    (Claim { text, searched: source.definition(seed).1, path, line }, plant, after)
}

/// Another name: with a word more, or with another first word.
fn renamed(name: &str, seed: &mut Seed) -> String {
    let is_snake = name.contains('_');
    let tail = name.split_once('_').map_or(name, |(_, tail)| tail);
    match seed.below(3) {
        0 if is_snake => format!("{name}_v2"),
        0 => format!("{name}V2"),
        1 if is_snake => format!("try_{name}"),
        1 => format!("Tried{name}"),
        _ if is_snake => format!("obtain_{tail}"),
        _ => format!("Obtained{tail}"),
    }
}

fn trajectory(all: &[Source], seed: &mut Seed, fault: Option<(Claim, Plant)>) -> Trajectory {
    let count = 2 + seed.size(3);
    let mut claims: Vec<Claim> = (0..count).map(|_| right(pick(all, seed), seed)).collect();
    let plant = fault.map(|(claim, plant)| {
        let at = usize::try_from(seed.below(count as u64 + 1)).unwrap();
        claims.insert(at, claim);
        plant
    });
    let reads = claims.iter().map(|claim| {
        let offset = claim.line.saturating_sub(seed.size(6)).max(1);
        ("read", json!({ "file_path": claim.path, "offset": offset, "limit": 10 + seed.size(20) }))
    });
    let mut reads: Vec<(&str, Value)> = reads.collect();
    let searched = claims[0].searched.clone();
    let rest = reads.split_off(1);
    let mut steps = vec![(
        phrases::before_search(&searched, seed),
        vec![("grep", json!({ "pattern": searched, "limit": 20 })), reads.remove(0)],
    )];
    if !rest.is_empty() {
        steps.push((phrases::before_reading(&claims[1].path, seed), rest));
    }
    let mut parts = vec![phrases::opening(seed)];
    for claim in claims {
        parts.push(claim.text);
        if seed.below(3) == 0 {
            parts.push(phrases::aside(seed));
        }
    }
    let prompt = format!("How does `{searched}` fit into the rest?");
    Trajectory { prompt, steps, answer: parts.join("\n\n"), plant }
}
