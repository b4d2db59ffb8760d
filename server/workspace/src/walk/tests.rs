//! Tests of visibility: which files `grep`, `glob` and `scan` see, and what is said of the others.

use std::process::Command;

use dsh_protocol::workspace::{GlobArguments, GrepArguments, ToolErrorCode};

use crate::fixture::{Ask, Fixture, code, glob, grep, text, while_another_thread};
use crate::{Folder, Options};

#[test]
fn ignore_files_are_honoured_without_a_repository_and_what_they_hide_is_counted() {
    let fixture = Fixture::new(&[
        (".gitignore", "/build/*\n!/build/keep.txt\n*.log\nout/\n"),
        ("sub/.gitignore", "!x.log\n"),
        (".ignore", "plain\n"),
        ("build/a", "needle"),
        ("build/keep.txt", "needle"),
        ("out/a", "needle"),
        ("sub/x.log", "needle"),
        ("y.log", "needle"),
        ("plain", "needle"),
        (".hidden.ts", "needle"),
    ]);
    for folder in fixture.both() {
        assert_eq!(
            folder.hits("needle"),
            [".hidden.ts:1:1", "build/keep.txt:1:1", "sub/x.log:1:1"]
        );
        let listed = folder.glob_for("**");
        let expected = [
            ".gitignore",
            ".hidden.ts",
            ".ignore",
            "build/keep.txt",
            "sub/.gitignore",
            "sub/x.log",
        ];
        assert_eq!(listed.value.paths, expected);
        assert_eq!(
            listed.notes,
            ["3 files and 1 folder ignored by .gitignore or .ignore were not listed"]
        );
    }
}

#[test]
fn visible_files_are_those_that_git_would_take() {
    let fixture = Fixture::new(&[
        (
            ".gitignore",
            "/build/*\n!/build/keep.txt\n*.log\n**/tmp/\n\\#odd\na/**/z\n!a/b/z\ntrail  \n[x]y\n",
        ),
        ("sub/.gitignore", "!x.log\n/only\nbuild\n"),
        (".gitattributes", ""),
    ]);
    let names = [
        "build/a",
        "build/keep.txt",
        "build/d/e",
        "sub/x.log",
        "y.log",
        "sub/tmp/q",
        "tmp2/q",
        "#odd",
        "a/z",
        "a/b/z",
        "a/b/c/z",
        "trail",
        "xy",
        "sub/only",
        "sub/d/only",
        "sub/build/w",
        "ok.txt",
        "excluded",
    ];
    for name in names {
        fixture.write(name, "x");
    }
    let git = |arguments: &[&str]| {
        let output =
            Command::new("git").args(arguments).current_dir(fixture.root()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    git(&["init", "-q"]);
    fixture.write(".git/info/exclude", "excluded\n");
    let listed =
        git(&["-c", "core.excludesFile=/dev/null", "ls-files", "-co", "--exclude-standard"]);
    let mut expected: Vec<&str> = listed.lines().collect();
    expected.sort_unstable();
    assert_eq!(fixture.open(Options::default()).paths("**"), expected);
}

#[test]
fn an_ignored_path_that_is_named_is_read_searched_and_listed() {
    let fixture = Fixture::new(&[
        (".gitignore", "node_modules/\n/gen/*\n"),
        ("node_modules/x/i.js", "needle"),
        ("gen/a", "needle"),
        (".venv/.gitignore", "*\n"),
        (".venv/lib/a", "needle"),
    ]);
    for folder in fixture.both() {
        assert_eq!(text(&folder.read_path("node_modules/x/i.js").unwrap()), "needle");
        for path in ["node_modules/x", "node_modules", "gen", "gen/a", ".venv", ".venv/lib"] {
            let named = GrepArguments { path: Some(path.into()), ..grep("needle") };
            assert_eq!(folder.grep_with(named).unwrap().value.total, 1, "{path}");
        }
        assert_eq!(folder.paths("node_modules/x/*"), ["node_modules/x/i.js"]);
        assert_eq!(folder.paths("node_modules/x/i.js"), ["node_modules/x/i.js"]);
        assert_eq!(folder.paths("gen/"), ["gen/a"]);
        let listed = GlobArguments { path: Some("node_modules".into()), ..glob("*.js") };
        assert_eq!(folder.glob_with(listed).unwrap().value.paths, ["node_modules/x/i.js"]);
        let nothing = folder.grep_for("needle");
        assert_eq!(nothing.value.total, 0);
        assert_eq!(
            nothing.notes,
            ["2 files and 2 folders ignored by .gitignore or .ignore were not searched"]
        );
    }
}

#[test]
fn version_control_is_never_seen_and_linked_worktrees_are_not_doubles() {
    let fixture = Fixture::new(&[
        ("a", "needle"),
        (".git/config", "needle"),
        (".git/worktrees/x/HEAD", "needle"),
        (".hg/b", "needle"),
        (".github/ci.yml", "needle"),
        (".wt/x/a", "needle"),
        ("module/m", "needle"),
        ("module/.git", "gitdir: ../.git/modules/m\n"),
        ("other/o", "needle"),
        ("other/.git", "gitdir: /elsewhere/.git/worktrees/o\n"),
    ]);
    let pointer =
        format!("gitdir: {}/.git/worktrees/x\n", fixture.root().canonicalize().unwrap().display());
    fixture.write(".wt/x/.git", &pointer);
    fixture.write(".wt/y/a", "needle");
    fixture.write(".wt/y/.git", "gitdir: ../../.git/worktrees/y\n");
    for folder in fixture.both() {
        let answer = folder.grep_for("needle|gitdir");
        let paths: Vec<_> = answer.value.matches.unwrap().into_iter().map(|it| it.path).collect();
        assert_eq!(paths, [".github/ci.yml", "a", "module/m", "other/o"]);
        assert_eq!(
            answer.notes,
            ["2 linked git worktrees skipped, which may be named as path: .wt/x, .wt/y"]
        );
        assert_eq!(folder.paths("**/*.yml"), [".github/ci.yml"]);
        assert_eq!(folder.paths(".github/**"), [".github/ci.yml"]);
        for pattern in ["**/.git", ".git/**", ".git/config", ".git"] {
            assert_eq!(folder.paths(pattern), Vec::<String>::new(), "{pattern}");
        }
        let named = GrepArguments { path: Some(".wt/x".into()), ..grep("needle") };
        assert_eq!(folder.grep_with(named).unwrap().value.total, 1);
        let internal = GrepArguments { path: Some(".git/config".into()), ..grep("needle") };
        assert_eq!(folder.grep_with(internal).unwrap().value.total, 0);
    }
}

#[test]
fn rules_of_an_outer_repository_do_not_reach_into_a_nested_one() {
    let fixture = Fixture::new(&[
        (".gitignore", "*.txt\n"),
        ("a.txt", ""),
        ("nested/.git/HEAD", ""),
        ("nested/b.txt", ""),
    ]);
    assert_eq!(fixture.open(Options::default()).paths("*.txt"), ["nested/b.txt"]);
}

#[test]
fn folders_that_may_not_be_read_cost_a_note_and_nothing_else() {
    use std::os::unix::fs::PermissionsExt;
    let fixture = Fixture::new(&[("a", "needle"), ("no/b", "needle")]);
    let locked = fixture.path("no");
    std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o000)).unwrap();
    // Nothing is locked to a superuser.
    let is_superuser = std::fs::read_dir(&locked).is_ok();
    let folder = fixture.open(Options::default());
    let answer = folder.grep_for("needle");
    std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o700)).unwrap();
    if !is_superuser {
        assert_eq!(answer.value.total, 1);
        assert_eq!(answer.notes, ["1 path not readable: no"]);
    }
}

#[test]
fn names_are_returned_as_they_are() {
    let names = ["a\nb", "\u{1b}[31mx", "<system-reminder>x", " lead", "-rf", "tab\there"];
    let fixture = Fixture::new(&[]);
    for name in names {
        fixture.write(name, "needle");
    }
    let folder = fixture.open(Options::default());
    let mut sorted = names.map(str::to_owned);
    sorted.sort();
    assert_eq!(folder.paths("**"), sorted);
    for name in folder.paths("*") {
        assert_eq!(text(&folder.read_path(&name).unwrap()), "needle");
    }
}

#[test]
fn a_name_that_is_not_text_is_shown_as_well_as_it_can_be() {
    use std::os::unix::ffi::OsStrExt;
    let fixture = Fixture::new(&[]);
    let name = std::ffi::OsStr::from_bytes(b"b\xffd");
    std::fs::create_dir(fixture.root().join(name)).unwrap();
    std::fs::write(fixture.root().join(name).join("f"), "needle").unwrap();
    assert_eq!(fixture.open(Options::default()).hits("needle"), ["b\u{fffd}d/f:1:1"]);
}

#[test]
fn a_tree_with_too_many_entries_gives_a_part_and_says_so() {
    let fixture = Fixture::new(&[]);
    for number in 0..40 {
        fixture.write(&format!("d{number}/f"), "needle");
    }
    let folder = fixture.open(Options { max_entries: 50, ..Options::default() });
    let answer = folder.glob_for("**");
    assert!(answer.value.truncated && answer.value.total < 40);
    assert!(answer.notes.iter().any(|note| note.contains("too many entries")));
}

#[test]
fn files_that_come_and_go_during_a_search_do_not_disturb_it() {
    let fixture = Fixture::new(&[("a", "needle")]);
    let folder = fixture.open(Options::default());
    let churn = || {
        fixture.write("t/x", "other");
        std::fs::remove_dir_all(fixture.path("t")).unwrap();
    };
    while_another_thread(churn, || {
        for _ in 0..200 {
            let answer = folder.grep_for("needle");
            assert_eq!((answer.value.total, answer.notes), (1, Vec::new()));
            folder.glob_for("**");
        }
    });
}

#[test]
fn a_path_too_long_for_the_system_costs_a_note_and_nothing_else() {
    use rustix::fs::{Mode, OFlags, mkdirat, openat};
    let fixture = Fixture::new(&[("a", "needle")]);
    let mut deep = rustix::fs::open(fixture.root(), OFlags::DIRECTORY, Mode::empty()).unwrap();
    let name = "d".repeat(250);
    for _ in 0..20 {
        mkdirat(&deep, &name, Mode::RWXU).unwrap();
        deep = openat(&deep, &name, OFlags::DIRECTORY, Mode::empty()).unwrap();
    }
    let answer = fixture.open(Options::default()).grep_for("needle");
    assert_eq!(answer.value.total, 1);
    assert!(answer.notes[0].starts_with("1 path not readable: ddd"), "{:?}", answer.notes);
}

#[test]
#[cfg(target_os = "linux")]
fn the_process_table_is_not_searched_though_it_is_named() {
    let folder = Folder::open("/".as_ref(), Options::default()).unwrap();
    let process = format!("proc/{}", std::process::id());
    for path in ["proc", &process, &format!("{process}/task"), &format!("{process}/environ")] {
        let named = GrepArguments { path: Some(path.into()), ..grep("PATH=") };
        assert_eq!(code(folder.grep_with(named)), ToolErrorCode::FsSandboxDenied, "{path}");
    }
}
