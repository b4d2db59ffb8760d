//! The same hits as ripgrep, line by line, on trees that nobody here wrote.
//!
//! `cargo xtask ci` installs `rg` and says with `DSH_TESTS_RG` that it must be there; elsewhere the comparison
//! is made where `rg` is installed. `DSH_TESTS_SOAK` has whole trees compared instead of parts.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use dsh_tests::client::Client;
use dsh_tests::world::World;
use serde_json::{Value, json};

/// As many hits as one call shows.
const SHOWN: usize = 5000;

/// Patterns of all sorts: words, classes, anchors, alternatives, repetitions, case, scripts, none.
const PATTERNS: [&str; 40] = [
    "unsafe impl",
    "TODO",
    "(?i)todo",
    r"fn \w+\(",
    r"^use ",
    r"^\s*def \w+",
    r";$",
    r"\{$",
    r"^$",
    r"^.{120,}",
    r"\bstruct\b",
    r"[0-9]{6,}",
    r"0x[0-9a-fA-F]{8}\b",
    r"foo|bar|baz",
    r"(error|warning): ",
    r"https?://[^\s)]+",
    r"[^\x00-\x7F]",
    r"\p{Greek}",
    r"\p{Han}",
    "é",
    "naïve",
    r"\t\t\t",
    r" +$",
    r"\\n",
    r"#include\s*<",
    r"#define [A-Z_]+_H\b",
    r"\(\)$",
    r"^#!",
    r"(a|aa)+$",
    r"x*",
    r".",
    "zzzzqqqq_never",
    r"(?-u:\xff)",
    r"[[:upper:]]{10}",
    r"\w{30}",
    r"return (true|false)",
    r"(?s:a.b)",
    r"(?x) import \s+ os",
    r"\$\{?\w+\}?",
    r"\*\*/",
];

/// Lines that match, in order, by path.
type Hits = BTreeMap<String, Vec<u64>>;

fn total(hits: &Hits) -> usize {
    hits.values().map(Vec::len).sum()
}

/// Whether there is an `rg` to compare with.
fn is_installed() -> bool {
    let is_there = Command::new("rg").arg("--version").output().is_ok_and(|it| it.status.success());
    let must_be = std::env::var_os("DSH_TESTS_RG").is_some();
    assert!(is_there || !must_be, "`rg` is to be installed and is not on the PATH");
    is_there
}

/// What ripgrep finds. It takes lines that end in CRLF by the flag that says so.
fn theirs(tree: &Path, pattern: &str) -> Hits {
    let mut command = Command::new("rg");
    command.args(["--no-config", "--hidden", "--no-require-git", "-g", "!.git", "--crlf"]);
    // The lines themselves are not of interest, and some of them are long.
    command.args(["--no-heading", "--with-filename", "--line-number", "--null", "--max-columns=1"]);
    command.args(["-e", pattern, "."]).current_dir(tree).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut hits = Hits::new();
    for line in BufReader::new(child.stdout.take().unwrap()).split(b'\n') {
        let line = line.unwrap();
        let Some(end) = line.iter().position(|&byte| byte == 0) else { continue };
        let path = String::from_utf8_lossy(&line[..end]);
        let number = line[end + 1..].split(|&byte| byte == b':').next().unwrap();
        let number = std::str::from_utf8(number).unwrap().parse().unwrap();
        let path = path.trim_start_matches("./");
        if let Some(lines) = hits.get_mut(path) {
            lines.push(number);
        } else {
            hits.insert(path.to_owned(), vec![number]);
        }
    }
    assert!(child.wait().unwrap().code().is_some_and(|code| code < 2), "{pattern}");
    hits
}

fn call(client: &mut Client, name: &str, arguments: &Value) -> Value {
    client.request("tool/call", json!({ "name": name, "arguments": arguments }))
}

/// What `grep` shows, and how many hits it counts.
fn ours(client: &mut Client, pattern: &str) -> (Hits, usize) {
    let result = call(client, "grep", &json!({ "pattern": pattern, "limit": SHOWN }));
    assert_eq!(result["isError"], false, "{pattern}: {result}");
    let mut hits = Hits::new();
    for found in result["value"]["matches"].as_array().unwrap() {
        let path = found["path"].as_str().unwrap().to_owned();
        hits.entry(path).or_default().push(found["line"].as_u64().unwrap());
    }
    (hits, usize::try_from(result["value"]["total"].as_u64().unwrap()).unwrap())
}

/// Whether the two programs are known to see another text in the file: what has a NUL only after the first
/// bytes is text here, and there a binary file from the NUL on.
fn is_told_apart(path: &Path) -> bool {
    let bytes = std::fs::read(path).unwrap();
    let is_wide = bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff");
    !is_wide && bytes.contains(&0)
}

/// Compares one pattern; returns how many hits both have.
fn compare(
    client: &mut Client,
    tree: &Path,
    pattern: &str,
    denied: &mut BTreeSet<String>,
) -> usize {
    let mut theirs = theirs(tree, pattern);
    let (ours, counted) = ours(client, pattern);
    theirs.retain(|path, _| !denied.contains(path));
    // What only they have is denied here by its name, or it is a difference.
    let is_missing = |path: &String| !ours.contains_key(path);
    let last = ours.keys().next_back().cloned().filter(|_| counted > SHOWN);
    let may_be_shown = |path: &String| last.as_ref().is_none_or(|last| path < last);
    let missing: Vec<String> =
        theirs.keys().filter(|path| is_missing(path) && may_be_shown(path)).cloned().collect();
    for path in missing {
        let result = call(client, "read", &json!({ "file_path": path }));
        if result["error"]["code"] == "FS_SECRET_DENIED" {
            theirs.remove(&path);
            denied.insert(path);
        }
    }
    let mut different = 0;
    for (path, lines) in &ours {
        let is_last = last.as_ref() == Some(path);
        let same = theirs
            .get(path)
            .is_some_and(|other| if is_last { other.starts_with(lines) } else { lines == other });
        if !same {
            assert!(is_told_apart(&tree.join(path)), "{pattern}: {path}: {lines:?}");
            different += 1;
        }
    }
    for path in theirs.keys().filter(|path| may_be_shown(path) && !ours.contains_key(*path)) {
        assert!(is_told_apart(&tree.join(path)), "{pattern}: {path} is missing");
        different += 1;
    }
    if different == 0 && last.is_none() {
        assert_eq!(counted, total(&theirs), "{pattern}");
    }
    assert!(different < 20, "{pattern}: {different} files are told apart");
    total(&ours)
}

#[track_caller]
fn check(tree: &Path) {
    assert!(tree.is_dir(), "there is no `{}`", tree.display());
    let world = World::new();
    let mut client =
        world.connect(&["--workspace", tree.to_str().unwrap(), "--model", "offline/retrieval"]);
    client.initialize();
    let mut denied = BTreeSet::new();
    let mut hits = 0;
    for pattern in PATTERNS {
        hits += compare(&mut client, tree, pattern, &mut denied);
    }
    assert!(hits > 10_000, "only {hits} hits were compared");
}

fn is_soak() -> bool {
    std::env::var_os("DSH_TESTS_SOAK").is_some()
}

#[test]
fn rust_sources_are_searched_like_ripgrep_does() {
    if !is_installed() {
        return;
    }
    let home = std::env::var_os("CARGO_HOME").map_or_else(
        || PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cargo"),
        PathBuf::from,
    );
    let sources = home.join("registry/src");
    if is_soak() {
        return check(&sources);
    }
    // One crate of many files and of several scripts.
    let registry = std::fs::read_dir(&sources).unwrap().next().unwrap().unwrap().path();
    let crates = std::fs::read_dir(registry).unwrap().map(|it| it.unwrap().path());
    let is_wanted =
        |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with("regex-automata-");
    check(&crates.filter(is_wanted).min().unwrap());
}

#[test]
fn the_python_library_is_searched_like_ripgrep_does() {
    if !is_installed() {
        return;
    }
    let script = "import sysconfig; print(sysconfig.get_paths()['stdlib'])";
    let output = Command::new("python3").args(["-c", script]).output().unwrap();
    let library = PathBuf::from(String::from_utf8(output.stdout).unwrap().trim());
    check(&if is_soak() { library } else { library.join("asyncio") });
}

#[test]
fn c_headers_are_searched_like_ripgrep_does() {
    if !is_installed() {
        return;
    }
    let headers = Path::new("/usr/include");
    check(&if is_soak() { headers.to_owned() } else { headers.join("linux") });
}
