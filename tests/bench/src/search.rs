//! grep and glob beside ripgrep, on 50,000 files: with nothing known of them and with the list that a first search
//! leaves. Everything is asked through the door, and all of `rg`'s output is read.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use crate::Subject;
use crate::client::Client;
use crate::model::{Answer, Model, Pace};
use crate::scenarios::{Figures, command, ms};

const FOLDERS: u64 = 50;
const SUBFOLDERS: u64 = 50;
const FILES: u64 = 20;

/// What has changed shorter ago is looked at again by every search, so that a fresh tree says nothing.
const REST: Duration = Duration::from_secs(4);

const WORDS: [&str; 16] = [
    "let", "value", "result", "index", "count", "parse", "node", "tree", "token", "error",
    "buffer", "stream", "handle", "state", "config", "response",
];

/// A new number from the last one.
fn next(state: &mut u64) -> usize {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    usize::try_from(*state >> 33).unwrap_or(0)
}

/// Writes the files: 10 to 110 lines each, a needle in each five hundredth.
pub(crate) fn workspace(root: &Path) -> anyhow::Result<()> {
    let mut state = 7;
    let mut number = 0_u64;
    fs::write(root.join(".gitignore"), "*.log\n/target/\n")?;
    for folder in 0..FOLDERS * SUBFOLDERS {
        let path = root.join(format!("pkg{}/mod{}", folder / SUBFOLDERS, folder % SUBFOLDERS));
        fs::create_dir_all(&path)?;
        for file in 0..FILES {
            let mut text = String::new();
            for _ in 0..10 + next(&mut state) % 100 {
                text.push_str("   ");
                for _ in 0..2 + next(&mut state) % 8 {
                    write!(text, " {}", WORDS[next(&mut state) % WORDS.len()])?;
                }
                text.push('\n');
            }
            if number.is_multiple_of(500) {
                writeln!(text, "needle_{number}")?;
            }
            number += 1;
            fs::write(path.join(format!("file{file}.rs")), text)?;
        }
    }
    std::thread::sleep(REST);
    Ok(())
}

/// A server of the folder, ready for calls.
pub(crate) fn server(product: &Subject, folder: &Path, home: &Path) -> anyhow::Result<Client> {
    let model = Model::start(vec![Answer::Text(Pace { deltas: 1, pause: Duration::ZERO })])?;
    let mut client = Client::start(&mut command(product, &model, folder, home))?;
    client.call("initialize", &json!({}))?;
    // The folder's plugins are mounted by the first call.
    client.call("tool/list", &json!({}))?;
    Ok(client)
}

/// Calls a tool; returns the milliseconds and the value.
pub(crate) fn call(
    client: &mut Client,
    name: &str,
    arguments: &Value,
) -> anyhow::Result<(f64, Value)> {
    let asked = Instant::now();
    let params = json!({ "name": name, "arguments": arguments });
    let answer = client.call("tool/call", &params)?;
    let took = ms(asked);
    Ok((took, answer["result"].clone()))
}

/// Runs `rg` with the rules of visibility that are ours; returns the milliseconds and the lines.
fn ripgrep(folder: &Path, arguments: &[&str]) -> anyhow::Result<(f64, usize)> {
    let mut command = Command::new("rg");
    command.args(["--no-config", "--hidden", "--no-require-git", "-g", "!.git"]).args(arguments);
    let asked = Instant::now();
    let output = command.current_dir(folder).output().context("`rg` is not installed")?;
    let took = ms(asked);
    ensure!(output.status.code().is_some_and(|code| code < 2), "rg failed: {output:?}");
    Ok((took, String::from_utf8_lossy(&output.stdout).lines().count()))
}

/// One question to both.
struct Case {
    tool: &'static str,
    arguments: Value,
    /// The same for `rg`, without order and threads.
    theirs: &'static [&'static str],
    /// First, warm, `rg` in order, `rg` without, and the ratios.
    names: [&'static str; 6],
}

fn cases() -> [Case; 3] {
    [
        Case {
            tool: "glob",
            arguments: json!({ "pattern": "**/file1.rs", "limit": 5000 }),
            theirs: &["--files", "-g", "**/file1.rs"],
            names: [
                "glob of 2,500 in 50,000, nothing known",
                "glob, known",
                "rg --files --sort path",
                "rg --files --threads 2",
                "glob to rg --files --sort path",
                "glob to rg --files --threads 2",
            ],
        },
        Case {
            tool: "grep",
            arguments: json!({ "pattern": r"needle_\d+", "limit": 5000 }),
            theirs: &["-n", "-e", r"needle_\d+", "."],
            names: [
                "grep with 100 hits in 50,000, nothing known",
                "grep, known",
                "rg --sort path",
                "rg --threads 2",
                "grep to rg --sort path",
                "grep to rg --threads 2",
            ],
        },
        Case {
            tool: "grep",
            arguments: json!({ "pattern": "node tree token error", "limit": 5000 }),
            theirs: &["-n", "-e", "node tree token error", "."],
            names: [
                "grep with many hits, nothing known",
                "grep with many, known",
                "rg --sort path, many",
                "rg --threads 2, many",
                "grep with many to rg --sort path",
                "grep with many to rg --threads 2",
            ],
        },
    ]
}

/// Asks both everything once, in `folder`, which has the workspace in it.
pub(crate) fn run(product: &Subject, folder: &Path) -> anyhow::Result<Figures> {
    let mut figures = Figures::default();
    for case in cases() {
        let home = tempfile::tempdir()?;
        let mut client = server(product, folder, home.path())?;
        let before = client.memory();
        let (first, _) = call(&mut client, case.tool, &case.arguments)?;
        let (warm, result) = call(&mut client, case.tool, &case.arguments)?;
        let after = client.memory();
        let ordered: Vec<&str> = case.theirs.iter().copied().chain(["--sort", "path"]).collect();
        let (sorted, lines) = ripgrep(folder, &ordered)?;
        let threaded: Vec<&str> = case.theirs.iter().copied().chain(["--threads", "2"]).collect();
        let (parallel, _) = ripgrep(folder, &threaded)?;
        let total = result["value"]["total"].as_u64();
        ensure!(total == u64::try_from(lines).ok(), "{}: {total:?} of {lines}", case.names[0]);
        let [cold_name, warm_name, sorted_name, parallel_name, to_sorted, to_parallel] = case.names;
        figures.add(cold_name, "ms", Some(first));
        figures.add(warm_name, "ms", Some(warm));
        figures.add(sorted_name, "ms", Some(sorted));
        figures.add(parallel_name, "ms", Some(parallel));
        figures.add(to_sorted, "×", Some(warm / sorted));
        figures.add(to_parallel, "×", Some(warm / parallel));
        let memory = after.zip(before).map(|(after, before)| after - before);
        figures.add("memory that the searches left", "MiB", memory);
        client.end()?;
    }
    Ok(figures)
}
