//! The home's `.env`: `NAME=value` in lines, below the environment that the program was started with.
//!
//! Comments, `export`, quotes: `'…'` is literal, `"…"` knows `\n`, `\t`, `\"`, `\\` and `\$`. Nothing is expanded.
//! What steers programs before they read a configuration cannot be set by a file.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::problem::{Problem, ProblemKind};
use crate::profile::Sources;
use crate::source::{self, Place, Source};

/// What a file may not set. Without regard to case.
const BOOTSTRAP: [&str; 38] = [
    "ALL_PROXY",
    "APPDATA",
    "BASH_ENV",
    "BUN_OPTIONS",
    "COMSPEC",
    "DEEPSEEK_BASE_URL",
    "DENO_DIR",
    "EDITOR",
    "ENV",
    "FTP_PROXY",
    "HOME",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "IFS",
    "LOCALAPPDATA",
    "LOGNAME",
    "NODE_EXTRA_CA_CERTS",
    "NODE_OPTIONS",
    "NODE_PATH",
    "NO_PROXY",
    "OLDPWD",
    "PATH",
    "PATHEXT",
    "PERL5LIB",
    "PERL5OPT",
    "PWD",
    "PYTHONHOME",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "RUBYLIB",
    "RUBYOPT",
    "SHELL",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "SYSTEMROOT",
    "USER",
    "USERPROFILE",
    "VISUAL",
];

/// What no name may begin with.
const BOOTSTRAP_PREFIXES: [&str; 6] = ["BASH_FUNC_", "DSH_", "DYLD_", "GIT_", "LD_", "XDG_"];

/// The variables with those of the home's file below them. Of a file with a problem nothing is used.
pub fn load(
    sources: &Sources,
    inherited: BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>, Vec<Problem>> {
    match source::read(&sources.environment_file()).map_err(|problem| vec![problem])? {
        Some(file) => Ok(layered(inherited, parse(&file)?)),
        None => Ok(inherited),
    }
}

/// Reads the file's variables. Either it gives all of them or all of its problems.
pub fn parse(source: &Arc<Source>) -> Result<BTreeMap<String, String>, Vec<Problem>> {
    let (mut variables, mut problems, mut refused) = (BTreeMap::new(), Vec::new(), Vec::new());
    let mut start = 0;
    for (number, line) in (1..).zip(source.text.split_inclusive('\n')) {
        let end = start + line.trim_end().len();
        let at = Place { source: Arc::clone(source), line: number, column: 1, start, end };
        start += line.len();
        let wrong = |message: &str| problem(&at, message);
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = line.strip_prefix("export ").unwrap_or(line).trim_start();
        let Some((name, value)) = line.split_once('=') else {
            problems.push(wrong("expected `NAME=value`"));
            continue;
        };
        let name = name.trim_end();
        if !is_name(name) {
            problems.push(wrong("expected a name of letters, digits and `_` before `=`"));
        } else if is_bootstrap(name) {
            refused.push((name.to_owned(), at.clone()));
        } else {
            match unquoted(value.trim()) {
                Ok(value) => drop(variables.insert(name.to_owned(), value)),
                Err(message) => problems.push(wrong(message)),
            }
        }
    }
    if let Some((_, first)) = refused.first() {
        let names: Vec<String> = refused.iter().map(|(name, _)| format!("`{name}`")).collect();
        let message = format!(
            "this file may not set {}; set them where the program is started",
            names.join(", ")
        );
        problems.push(problem(first, message));
    }
    crate::problem::sort(&mut problems);
    if problems.is_empty() { Ok(variables) } else { Err(problems) }
}

/// Without the line that it stands in: that may hold a secret.
fn problem(place: &Place, message: impl Into<String>) -> Problem {
    Problem { snippet: None, ..Problem::at(ProblemKind::EnvironmentFile, place, message) }
}

/// The environment with a file's variables below it: what is inherited wins.
pub fn layered(
    inherited: BTreeMap<String, String>,
    file: BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let mut variables = file;
    variables.extend(inherited);
    variables
}

/// Whether a file may not set a variable.
pub fn is_bootstrap(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    BOOTSTRAP.contains(&name.as_str())
        || BOOTSTRAP_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

fn is_name(name: &str) -> bool {
    let is_letter = |char: char| char.is_ascii_alphabetic() || char == '_';
    name.starts_with(is_letter) && name.chars().all(|char| is_letter(char) || char.is_ascii_digit())
}

fn unquoted(value: &str) -> Result<String, &'static str> {
    let unclosed = "a quote is not closed in this line";
    let (value, rest) = match value.chars().next() {
        Some('\'') => {
            let (inner, rest) = value[1..].split_once('\'').ok_or(unclosed)?;
            (inner.to_owned(), rest)
        }
        Some('"') => double_quoted(&value[1..]).ok_or(unclosed)?,
        _ => {
            let comment = value.find(" #").or_else(|| value.find("\t#"));
            let bare =
                if value.starts_with('#') { "" } else { &value[..comment.unwrap_or(value.len())] };
            (bare.trim_end().to_owned(), "")
        }
    };
    let rest = rest.trim_start();
    if rest.is_empty() || rest.starts_with('#') {
        Ok(value)
    } else {
        Err("nothing but a comment may stand behind a closing quote")
    }
}

fn double_quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => match chars.next()?.1 {
                'n' => value.push('\n'),
                'r' => value.push('\r'),
                't' => value.push('\t'),
                same @ ('"' | '\\' | '$') => value.push(same),
                other => value.extend(['\\', other]),
            },
            char => value.push(char),
        }
    }
    None
}
