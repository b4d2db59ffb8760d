//! How long files and functions may be.

use crate::tree::{self, SourceFile};

/// The size that files stay under, and the one that none may have.
const FILE: usize = 500;
const FILE_HARD: usize = 800;

/// Files between the two limits. The list only shrinks: an entry that is short enough by now fails.
const LONG_FILES: [&str; 0] = [];

const FUNCTION: usize = 100;

fn sources() -> Vec<SourceFile> {
    let mut files = tree::files(&["rs", "ts", "tsx", "mts", "mjs", "js", "lua", "py"]);
    files.retain(|file| !file.is_generated());
    files
}

#[test]
fn files_are_short() {
    let mut wrong = Vec::new();
    for file in sources() {
        let lines = file.text.lines().count();
        let is_listed = LONG_FILES.contains(&file.path.as_str());
        if lines > FILE_HARD || (lines > FILE && !is_listed) {
            wrong.push(format!("{}: {lines} lines; split it", file.path));
        } else if lines <= FILE && is_listed {
            wrong.push(format!("{}: {lines} lines; take it off the list", file.path));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_middle_file_has_no_more_than_200_lines() {
    let mut lines: Vec<usize> = tree::rust().iter().map(|file| file.text.lines().count()).collect();
    lines.sort_unstable();
    assert!(lines[lines.len() / 2] <= 200, "{}", lines[lines.len() / 2]);
}

/// The functions of a formatted file: where each begins, its name and its length. A function ends at the first
/// closing brace that stands as far in as its beginning.
fn functions(file: &SourceFile) -> Vec<(usize, String, usize)> {
    let lines: Vec<&str> = file.text.lines().collect();
    let mut functions = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        let before = code.split("fn ").next().unwrap_or_default();
        let is_words = |word: &str| {
            ["const", "async", "unsafe"].contains(&word)
                || word.starts_with("pub")
                || word.ends_with(')')
                || word == "in"
        };
        if !code.contains("fn ") || !before.split_whitespace().all(is_words) {
            continue;
        }
        let rest = &code[before.len() + 3..];
        let name: String =
            rest.chars().take_while(|char| char.is_alphanumeric() || *char == '_').collect();
        let end = format!("{}}}", &line[..line.len() - code.len()]);
        let length = lines[at..].iter().position(|line| *line == end);
        if let (Some(length), false) = (length, code.ends_with('}') || code.ends_with(';')) {
            functions.push((at + 1, name, length + 1));
        }
    }
    functions
}

#[test]
fn functions_are_short() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for file in tree::rust() {
        for (line, name, length) in functions(&file) {
            count += 1;
            if length > FUNCTION {
                wrong.push(format!("{}:{line}: `{name}` has {length} lines", file.path));
            }
        }
    }
    assert!(count > 1_000, "only {count} functions were found");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_file_says_first_what_lives_in_it() {
    let mut wrong = Vec::new();
    for file in sources() {
        let opening = match file.path.rsplit('.').next().unwrap_or_default() {
            "rs" => "//! ",
            "lua" => "---",
            "py" => "\"\"\"",
            _ => "/**",
        };
        // A script names its interpreter before anything else.
        let text = match file.text.strip_prefix("#!/") {
            Some(script) => script.split_once('\n').map_or("", |(_, rest)| rest),
            None => &file.text,
        };
        if !text.starts_with(opening) {
            wrong.push(format!("{} does not begin with `{opening}`", file.path));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
