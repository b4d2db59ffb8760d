//! What must not take long or much memory, however hostile the folder: each in a process of its own, and each cancelled
//! once in the middle.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::ensure;
use serde_json::{Value, json};

use crate::Subject;
use crate::client::Client;
use crate::scenarios::{Figures, ms};
use crate::search::{call, server};

/// How long a call runs before it is cancelled.
const HEAD_START: Duration = Duration::from_millis(10);

struct Limit {
    name: &'static str,
    tool: &'static str,
    arguments: Value,
    make: fn(&Path) -> anyhow::Result<()>,
    /// What the answer must say.
    expected: &'static str,
}

fn many_files(root: &Path) -> anyhow::Result<()> {
    for folder in 0..100 {
        let path = root.join(format!("d{folder}"));
        fs::create_dir(&path)?;
        for file in 0..1000 {
            File::create(path.join(format!("f{file}")))?;
        }
    }
    Ok(())
}

fn sparse(root: &Path) -> anyhow::Result<()> {
    File::create(root.join("big"))?.set_len(20 << 30)?;
    Ok(fs::write(root.join("a.txt"), "needle\n")?)
}

fn long_line(root: &Path) -> anyhow::Result<()> {
    let mut file = File::create(root.join("long"))?;
    let piece = vec![b'x'; 1 << 20];
    for _ in 0..300 {
        file.write_all(&piece)?;
    }
    file.write_all(b"needle\n")?;
    Ok(fs::write(root.join("a.txt"), "needle\n")?)
}

fn pipe(root: &Path) -> anyhow::Result<()> {
    ensure!(Command::new("mkfifo").arg(root.join("pipe")).status()?.success(), "no pipe");
    Ok(fs::write(root.join("a.txt"), "needle\n")?)
}

/// Deeper than a path can be long, with names of two letters.
fn deep(root: &Path) -> anyhow::Result<()> {
    let made = Command::new("python3")
        .args(["-c", "import os\nfor _ in range(3000): os.mkdir('dd'); os.chdir('dd')"])
        .current_dir(root)
        .status()?;
    ensure!(made.success(), "no deep folders");
    Ok(fs::write(root.join("a.txt"), "needle\n")?)
}

fn many_matches(root: &Path) -> anyhow::Result<()> {
    let text = "a needle in a line\n".repeat(10_000);
    for file in 0..100 {
        fs::write(root.join(format!("f{file}.txt")), &text)?;
    }
    Ok(())
}

fn limits() -> Vec<Limit> {
    let grep = |pattern: &str| json!({ "pattern": pattern });
    vec![
        Limit {
            name: "glob of 100,000 files",
            tool: "glob",
            arguments: json!({ "pattern": "**" }),
            make: many_files,
            expected: r#""total":100000"#,
        },
        Limit {
            name: "grep of 100,000 empty files",
            tool: "grep",
            arguments: grep(""),
            make: many_files,
            expected: r#""total":0"#,
        },
        Limit {
            name: "read of a sparse file of 20 GB",
            tool: "read",
            arguments: json!({ "file_path": "big", "limit": 5 }),
            make: sparse,
            expected: "big",
        },
        Limit {
            name: "grep beside a sparse file of 20 GB",
            tool: "grep",
            arguments: grep("needle"),
            make: sparse,
            expected: r#""total":1"#,
        },
        Limit {
            name: "read of a line of 300 MB",
            tool: "read",
            arguments: json!({ "file_path": "long" }),
            make: long_line,
            expected: "long",
        },
        Limit {
            name: "grep of a line of 300 MB",
            tool: "grep",
            arguments: grep("needle"),
            make: long_line,
            expected: r#""total":1"#,
        },
        Limit {
            name: "read of a pipe",
            tool: "read",
            arguments: json!({ "file_path": "pipe" }),
            make: pipe,
            expected: "FS_NOT_REGULAR_FILE",
        },
        Limit {
            name: "grep beside a pipe",
            tool: "grep",
            arguments: grep("needle"),
            make: pipe,
            expected: r#""total":1"#,
        },
        Limit {
            name: "grep of 3,000 folders in each other",
            tool: "grep",
            arguments: grep("needle"),
            make: deep,
            expected: r#""total":1"#,
        },
        Limit {
            name: "grep with 1,000,000 matches",
            tool: "grep",
            arguments: grep("needle"),
            make: many_matches,
            expected: r#""total":1000000"#,
        },
    ]
}

/// Every limit once.
pub(crate) fn run(product: &Subject) -> anyhow::Result<Figures> {
    let mut figures = Figures::default();
    for limit in limits() {
        let folder = tempfile::tempdir()?;
        (limit.make)(folder.path())?;
        let home = tempfile::tempdir()?;
        let mut client = server(product, folder.path(), home.path())?;
        let before = client.memory();
        let (took, result) = call(&mut client, limit.tool, &limit.arguments)?;
        let text = result.to_string();
        ensure!(text.contains(limit.expected), "{}: {}", limit.name, &text[..text.len().min(1000)]);
        figures.add(limit.name, "ms", Some(took));
        let grown = client.peak().zip(before).map(|(peak, before)| peak - before);
        figures.add("its memory", "MiB", grown);
        client.end()?;
        let mut client = server(product, folder.path(), home.path())?;
        figures.add("its cancel", "ms", Some(cancelled(&mut client, &limit)?));
        client.end()?;
        // What is too deep for one call of the system is deleted by a program that goes down by steps.
        ensure!(
            Command::new("rm").arg("-rf").arg(folder.path()).status()?.success(),
            "left behind"
        );
    }
    Ok(figures)
}

/// From the cancel to the call's answer; 0 if the call was over before.
fn cancelled(client: &mut Client, limit: &Limit) -> anyhow::Result<f64> {
    let params = json!({ "name": limit.tool, "arguments": limit.arguments });
    let id = client.send("tool/call", &params)?;
    std::thread::sleep(HEAD_START);
    let asked = Instant::now();
    client.notify("$/cancelRequest", &json!({ "id": id }))?;
    let answer = client.until(&format!("\"id\":{id},"))?;
    let took = ms(asked);
    let is_over = answer.contains(limit.expected);
    Ok(if is_over { 0.0 } else { took })
}
