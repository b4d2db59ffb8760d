//! One rule of visibility for grep and glob, and what is said of the rest.

use std::fs;
use std::process::Command;

use dsh_tests::world::World;
use serde_json::json;

use super::Desk;

#[track_caller]
fn git(world: &World, arguments: &[&str]) -> String {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=x", "-c", "user.email=x@y", "-c", "core.excludesFile=/dev/null"]);
    let output = git.args(arguments).current_dir(world.work()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_files_are_those_that_git_would_take_with_or_without_a_repository() {
    let make = |world: &World| {
        world.file(".gitignore", "/build/*\n!/build/keep.txt\n*.log\n");
        world.file("sub/.gitignore", "!x.log\n");
        for path in ["build/a", "build/keep.txt", "sub/x.log", "sub/y.txt", "z.log", "ok"] {
            world.file(path, "needle\n");
        }
    };
    for mut desk in Desk::both(make) {
        let without = desk.paths("**");
        git(&desk.world, &["init", "-q"]);
        let mut expected: Vec<String> =
            git(&desk.world, &["ls-files", "-co", "--exclude-standard"])
                .lines()
                .map(str::to_owned)
                .collect();
        expected.sort();
        assert_eq!(desk.paths("**"), expected);
        assert_eq!(without, expected);
        let said = desk.grep("needle");
        assert_eq!(said.hits(), ["build/keep.txt:1", "ok:1", "sub/x.log:1", "sub/y.txt:1"]);
        said.notes_say("2 files ignored by .gitignore or .ignore were not searched");
    }
}

#[test]
fn ignored_is_not_forbidden_and_an_empty_result_says_what_was_left_out() {
    for mut desk in Desk::both(|world| {
        world.file(".gitignore", "node_modules/\n");
        world.file("node_modules/x/i.js", "needle\n");
    }) {
        assert_eq!(desk.read("node_modules/x/i.js").lines(), ["needle"]);
        let named = desk.call("grep", &json!({ "pattern": "needle", "path": "node_modules/x" }));
        assert_eq!(named.hits(), ["node_modules/x/i.js:1"]);
        assert_eq!(desk.paths("node_modules/x/*"), ["node_modules/x/i.js"]);
        let nothing = desk.grep("needle");
        assert!(nothing.hits().is_empty());
        nothing.notes_say("1 folder ignored by .gitignore or .ignore was not searched");
    }
}

#[test]
fn grep_and_glob_see_the_same_hidden_files_and_no_pattern_lifts_a_rule() {
    for mut desk in Desk::both(|world| {
        world.file(".gitignore", ".env\ngen/\n");
        world.file(".github/ci.yml", "needle\n");
        world.file("a.yml", "needle\n");
        world.file(".hidden.ts", "needle\n");
        world.file(".env", "needle\n");
        world.file("gen/g.ts", "needle\n");
        world.file(".git/config", "needle\n");
        world.file(".svn/entries", "needle\n");
    }) {
        assert_eq!(desk.paths("**/*.yml"), [".github/ci.yml", "a.yml"]);
        assert_eq!(desk.paths(".github/**"), [".github/ci.yml"]);
        assert_eq!(desk.hits("needle"), [".github/ci.yml:1", ".hidden.ts:1", "a.yml:1"]);
        assert_eq!(desk.paths("**/*.ts"), [".hidden.ts"]);
        for pattern in ["**/.env", ".git/**", "**/.git", ".svn/*", "**/config"] {
            assert!(desk.paths(pattern).is_empty(), "{pattern}");
        }
        for include in ["*", ".env", "gen/**", "**"] {
            let said = desk.call("grep", &json!({ "pattern": "needle", "include": include }));
            assert!(said.hits().iter().all(|hit| !hit.contains("env") && !hit.contains("gen/")));
        }
    }
}

#[test]
fn worktrees_are_no_doubles_and_a_git_file_is_no_text() {
    for mut desk in Desk::both(|world| {
        world.file("a.txt", "needle\n");
        git(world, &["init", "-q"]);
        git(world, &["add", "."]);
        git(world, &["commit", "-qm", "x"]);
        git(world, &["worktree", "add", "-q", ".wt/x"]);
    }) {
        let said = desk.grep("needle");
        assert_eq!(said.hits(), ["a.txt:1"]);
        said.notes_say("1 linked git worktree skipped, which may be named as path: .wt/x");
        assert!(desk.paths("**/.git").is_empty());
        assert!(desk.hits("gitdir").is_empty());
        let named = desk.call("grep", &json!({ "pattern": "needle", "path": ".wt/x" }));
        assert_eq!(named.hits(), [".wt/x/a.txt:1"]);
        // What is known of the folder once it was named does not make a double of it.
        assert_eq!(desk.hits("needle"), ["a.txt:1"]);
    }
}

#[test]
fn only_the_documented_files_of_rules_count_and_nothing_is_run() {
    let world = World::new();
    let script = world.root().join("x.sh");
    fs::write(&script, format!("#!/bin/sh\ntouch {}\n", world.root().join("ran").display()))
        .unwrap();
    let configuration = world.root().join("rc");
    fs::write(&configuration, format!("--pre={}\n", script.display())).unwrap();
    world.file(".rgignore", "*\n");
    world.file("a.txt", "needle\n");
    world.file("sub/.ignore", "*\n");
    world.file("sub/b.txt", "needle\n");
    let mut command = world.command(["rpc", "--model", "offline/retrieval"]);
    command.env("RIPGREP_CONFIG_PATH", &configuration);
    let mut client = dsh_tests::client::Client::spawn(command);
    client.initialize();
    let mut desk = Desk { world, client };
    let said = desk.grep("needle");
    assert_eq!(said.hits(), ["a.txt:1"], "`.rgignore` says nothing, `.ignore` does");
    said.notes_say("ignored by .gitignore or .ignore were not searched");
    for pattern in [format!("--pre={}", script.display()), "-v".to_owned(), "--files".to_owned()] {
        assert!(desk.hits(&pattern).is_empty(), "{pattern}");
    }
    assert_eq!(
        desk.call("grep", &json!({ "pattern": "x", "path": "--files" })).code,
        "FS_NOT_FOUND"
    );
    assert!(desk.paths("-rf").is_empty());
    assert!(!desk.outside("ran").exists());
}
