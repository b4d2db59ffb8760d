//! Which crate imports which: the table in ARCHITECTURE.md is the rule.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

use crate::tree;

/// What a package depends on.
struct Imports {
    /// For its tests only.
    in_tests: BTreeSet<String>,
    /// For the rest.
    always: BTreeSet<String>,
}

/// Our packages as `cargo` sees them.
fn packages() -> BTreeMap<String, Imports> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(tree::root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let name = |value: &Value| value["name"].as_str().unwrap().to_owned();
    let packages = metadata["packages"].as_array().unwrap().iter();
    packages
        .map(|package| {
            let dependencies = package["dependencies"].as_array().unwrap();
            let is_dev = |dependency: &&Value| dependency["kind"] == "dev";
            let imports = Imports {
                in_tests: dependencies.iter().filter(is_dev).map(name).collect(),
                always: dependencies.iter().filter(|it| !is_dev(it)).map(name).collect(),
            };
            (name(package), imports)
        })
        .collect()
}

/// The words in backticks of a text.
fn quoted(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The table of ARCHITECTURE.md: each crate and what it may import.
fn table() -> Vec<(String, BTreeSet<String>)> {
    let text = tree::read("ARCHITECTURE.md");
    let mut rows: Vec<(String, BTreeSet<String>)> = Vec::new();
    for line in text.lines().filter(|line| line.starts_with("| `dsh-")) {
        let cells: Vec<&str> = line.trim_matches('|').split(" |").map(str::trim).collect();
        let [name, _folder, _holds, allowed] = cells[..] else { continue };
        let named = quoted(allowed);
        let above = rows.iter().map(|(name, _)| name.clone());
        let allowed = if allowed.starts_with("all above") {
            above.filter(|name| !named.contains(name)).collect()
        } else {
            named.into_iter().collect()
        };
        rows.push((quoted(name).remove(0), allowed));
    }
    rows
}

/// Crates that only tests use: they may import anything, and nothing but tests may import them.
fn is_for_tests(name: &str) -> bool {
    ["dsh-tests", "dsh-xtask", "dsh-mock-model", "dsh-bench"].contains(&name)
}

#[test]
fn every_crate_stands_in_the_table_of_the_architecture_and_none_is_made_up() {
    let packages: BTreeSet<String> = packages().into_keys().collect();
    let named: BTreeSet<String> = table().into_iter().map(|(name, _)| name).collect();
    assert_eq!(named, packages, "left: ARCHITECTURE.md, right: Cargo");
    let is_crate = |word: &String| {
        let rest = word.strip_prefix("dsh-").unwrap_or_default();
        !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-')
    };
    for word in quoted(&tree::read("ARCHITECTURE.md")).iter().filter(|word| is_crate(word)) {
        assert!(packages.contains(word), "ARCHITECTURE.md names `{word}`, which is no crate");
    }
}

#[test]
fn a_crate_imports_only_what_the_table_allows() {
    let packages = packages();
    let mut wrong = Vec::new();
    for (name, allowed) in table().into_iter().filter(|(name, _)| !is_for_tests(name)) {
        let Some(imports) = packages.get(&name) else { continue };
        let in_tests = imports.in_tests.iter().filter(|import| !is_for_tests(import));
        for import in imports.always.iter().chain(in_tests) {
            let is_ours = packages.contains_key(import) && *import != name;
            if is_ours && !allowed.contains(import) {
                wrong.push(format!("{name} imports {import}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_a_layer_must_not_know_it_does_not_import() {
    let packages = packages();
    for (dependency, allowed) in [
        (
            "tokio",
            &[
                "dsh-kernel",
                "dsh-agent",
                "dsh-llm",
                "dsh-session",
                "dsh-plugins",
                "dsh-runtime",
                "dsh-rpc",
                "dsh-lsp",
                "dsh-ls",
            ][..],
        ),
        ("clap", &["dsh-ls"]),
        ("anyhow", &["dsh-ls", "dsh-codegen"]),
        ("tower-lsp", &["dsh-lsp"]),
        ("tower-lsp-server", &["dsh-lsp"]),
        ("ignore", &["dsh-workspace"]),
        ("cap-std", &["dsh-workspace"]),
        ("tracing-subscriber", &["dsh-ls"]),
    ] {
        for (name, imports) in packages.iter().filter(|(name, _)| !is_for_tests(name)) {
            let is_allowed = allowed.contains(&name.as_str());
            assert!(
                is_allowed || !imports.always.contains(dependency),
                "{name} imports {dependency}"
            );
        }
    }
}

#[test]
fn no_plugin_imports_another() {
    const PLUGINS: &str = "server/plugins/src/";
    // The adapter of the offline model is the offline model's own row.
    const OWN: [(&str, &str); 1] = [("llm_offline", "offline")];
    let files = tree::rust();
    let table = tree::read("server/plugins/src/lib.rs");
    let plugins: Vec<&str> =
        table.lines().filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';')).collect();
    // What only tests use is no plugin.
    let plugins: Vec<&str> = plugins.into_iter().filter(|name| *name != "testing").collect();
    assert!(plugins.len() > 5, "{plugins:?}");
    let mut wrong = Vec::new();
    for file in files.iter().filter(|file| file.path.starts_with(PLUGINS)) {
        let inside = &file.path[PLUGINS.len()..];
        let owner = inside.split('/').next().unwrap().trim_end_matches(".rs");
        if owner == "lib" {
            continue;
        }
        for (line, text) in (1..).zip(file.text.lines()) {
            // A top-level file reaches its neighbours by `super` as well.
            let neighbour = if inside.contains('/') { "crate::" } else { "super::" };
            for prefix in ["crate::", neighbour] {
                for found in text.split(prefix).skip(1) {
                    let end = found.find(|char: char| !char.is_ascii_alphanumeric() && char != '_');
                    let import = &found[..end.unwrap_or(found.len())];
                    let is_other = plugins.contains(&import) && import != owner;
                    if is_other && !OWN.contains(&(owner, import)) {
                        wrong.push(format!("{}:{line}: {owner} imports {import}", file.path));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
