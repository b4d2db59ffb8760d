//! Tests of confinement: which paths are opened, in both ways of opening.

use dsh_protocol::workspace::{GrepArguments, ToolErrorCode};

use crate::fixture::{Ask, Fixture, code, glob, grep, text, while_another_thread};
use crate::{Options, outside};

#[test]
fn a_path_that_leads_out_gets_one_answer_whether_or_not_anything_is_there() {
    let fixture = Fixture::new(&[("a.txt", "inside"), ("d/b.txt", "inside")]);
    let there = fixture.outside().join("secret");
    let missing = fixture.outside().join("missing");
    fixture.link(&there, "there");
    fixture.link(&missing, "missing");
    fixture.link(fixture.outside(), "folder");
    fixture.link("../..", "up");
    fixture.link("/proc/self/environ", "README.md");
    fixture.link("/proc/self/root", "magic");
    fixture.link("there", "twice");
    let root = fixture.root().to_str().unwrap();
    let relative =
        format!("../{}/secret", fixture.outside().file_name().unwrap().to_str().unwrap());
    let climbing = format!("nope/../{relative}");
    let back = format!("{root}/../../etc/passwd");
    let doubled = format!("/{root}/a.txt");
    for folder in fixture.both() {
        for path in [
            "there",
            "missing",
            "folder",
            "folder/secret",
            "folder/missing",
            "up",
            "up/etc/passwd",
            "README.md",
            "magic",
            "magic/etc/passwd",
            "twice",
            "..",
            "../missing",
            &relative,
            &climbing,
            &back,
            &doubled,
            "/etc/passwd",
            "/etc/missing",
            there.to_str().unwrap(),
            "d/../..",
        ] {
            assert_eq!(folder.read_path(path).unwrap_err(), outside(), "read {path}");
            let named = GrepArguments { path: Some(path.to_owned()), ..grep(".") };
            assert_eq!(folder.grep_with(named).unwrap_err(), outside(), "grep {path}");
        }
        assert_eq!(folder.hits("OUTSIDE|root:"), Vec::<String>::new());
        assert_eq!(folder.paths("**"), ["a.txt", "d/b.txt"]);
        assert_eq!(folder.glob_with(glob("folder/*")).unwrap_err(), outside());
        let listed =
            dsh_protocol::workspace::GlobArguments { path: Some("folder".into()), ..glob("*") };
        assert_eq!(folder.glob_with(listed).unwrap_err(), outside());
    }
}

#[test]
fn a_link_that_dangles_outside_stays_refused_when_its_target_appears() {
    let fixture = Fixture::new(&[]);
    let later = fixture.outside().join("later");
    fixture.link(&later, "d");
    for folder in fixture.both() {
        let before = folder.read_path("d").unwrap_err();
        std::fs::write(&later, "OUTSIDE").unwrap();
        assert_eq!(folder.read_path("d").unwrap_err(), before);
        std::fs::remove_file(&later).unwrap();
    }
}

#[test]
fn links_that_stay_inside_are_followed() {
    let fixture =
        Fixture::new(&[("pkg/lib/x.ts", "content"), ("app/y", ""), ("a/b/c/z", "content")]);
    fixture.link("../pkg/lib", "app/lib");
    fixture.link(fixture.path("pkg/lib/x.ts"), "absolute");
    fixture.link(fixture.root().canonicalize().unwrap().join("app/lib"), "chain");
    fixture.link("c/../../../pkg/./lib/x.ts", "a/b/dots");
    for folder in fixture.both() {
        for path in ["app/lib/x.ts", "absolute", "chain/x.ts", "a/b/dots"] {
            let answer = folder.read_path(path).unwrap();
            assert_eq!((text(&answer).as_str(), answer.value.path.as_str()), ("content", path));
        }
        assert_eq!(folder.hits("content"), ["a/b/c/z:1:1", "pkg/lib/x.ts:1:1"]);
        assert_eq!(folder.paths("app/lib/*"), ["pkg/lib/x.ts"]);
    }
}

#[test]
fn circles_of_links_end() {
    let fixture = Fixture::new(&[("a/f", "needle")]);
    fixture.link(".", "loop");
    fixture.link("../a", "a/b");
    fixture.link("y", "x");
    fixture.link("x", "y");
    for folder in fixture.both() {
        assert_eq!(code(folder.read_path("x")), ToolErrorCode::FsNotFound);
        assert_eq!(folder.paths("**"), ["a/f"]);
        assert_eq!(folder.hits("needle"), ["a/f:1:1"]);
    }
}

#[test]
fn the_root_may_be_a_link_and_be_spelled_either_way() {
    let fixture = Fixture::new(&[("a.txt", "content")]);
    let link = fixture.outside().join("w");
    std::os::unix::fs::symlink(fixture.root(), &link).unwrap();
    for force_portable_open in [false, true] {
        let options = Options { force_portable_open, ..Options::default() };
        let folder = crate::Folder::open(&link, options).unwrap();
        let real = fixture.root().canonicalize().unwrap();
        let uri = format!("file://{}/a.txt", link.display());
        for path in ["a.txt".into(), link.join("a.txt"), real.join("a.txt"), uri.into()] {
            let answer = folder.read_path(path.to_str().unwrap()).unwrap();
            assert_eq!((text(&answer).as_str(), answer.value.path.as_str()), ("content", "a.txt"));
        }
        assert_eq!(folder.root(), real);
        assert_eq!(folder.paths(&format!("{}/*.txt", link.display())), ["a.txt"]);
    }
}

#[test]
fn what_is_not_a_regular_file_is_refused_without_waiting() {
    let fixture = Fixture::new(&[("a.txt", "needle"), ("d/x", "")]);
    fixture.fifo("p");
    fixture.fifo(".gitignore");
    let _socket = std::os::unix::net::UnixListener::bind(fixture.path("s.sock")).unwrap();
    for folder in fixture.both() {
        for path in ["p", "s.sock", ".", "d", "d/"] {
            assert_eq!(code(folder.read_path(path)), ToolErrorCode::FsNotRegularFile, "{path}");
        }
        assert!(folder.read_path("d").unwrap_err().message.contains("glob"));
        let named = GrepArguments { path: Some("p".into()), ..grep("x") };
        assert_eq!(code(folder.grep_with(named)), ToolErrorCode::FsNotRegularFile);
        assert_eq!(folder.hits("needle"), ["a.txt:1:1"]);
        assert_eq!(folder.paths("*"), ["a.txt", "d/x"]);
    }
}

#[test]
fn a_missing_path_says_so_and_names_its_neighbour() {
    let fixture =
        Fixture::new(&[("src/main.rs", ""), ("e\u{301}.md", "accent"), (".env", ""), ("f", "")]);
    for folder in fixture.both() {
        let failure = folder.read_path("src/mian.rs").unwrap_err();
        assert_eq!(failure.code, ToolErrorCode::FsNotFound);
        assert!(failure.message.contains("src/main.rs"), "{}", failure.message);
        assert!(folder.read_path("\u{e9}.md").unwrap_err().message.contains("e\u{301}.md"));
        assert!(!folder.read_path(".em").unwrap_err().message.contains(".env"));
        assert_eq!(code(folder.read_path("f/below")), ToolErrorCode::FsNotFound);
        for path in ["f/", "f/."] {
            assert_eq!(code(folder.read_path(path)), ToolErrorCode::FsNotDirectory);
        }
        assert_eq!(code(folder.read_path(&"x".repeat(300))), ToolErrorCode::FsNotFound);
        assert_eq!(code(folder.read_path("\\\\host\\share")), ToolErrorCode::FsNotFound);
        let returned = folder.paths("*.md");
        assert_eq!(text(&folder.read_path(&returned[0]).unwrap()), "accent");
    }
}

#[test]
fn hard_links_are_read_unless_they_are_denied() {
    let fixture = Fixture::new(&[]);
    std::fs::hard_link(fixture.outside().join("secret"), fixture.path("h")).unwrap();
    for folder in fixture.both() {
        assert_eq!(text(&folder.read_path("h").unwrap()), "OUTSIDE");
        assert_eq!(folder.hits("OUTSIDE"), ["h:1:1"]);
    }
    let strict = fixture.open(Options { deny_hardlinks: true, ..Options::default() });
    let failure = strict.read_path("h").unwrap_err();
    assert_eq!(failure.code, ToolErrorCode::FsSandboxDenied);
    assert!(failure.message.contains("denyHardlinks"));
    let answer = strict.grep_for("OUTSIDE");
    assert_eq!(answer.value.total, 0);
    assert_eq!(answer.notes, ["1 hard-linked file skipped, as configured: h"]);
}

#[test]
fn a_root_that_goes_away_is_an_error_until_it_is_back() {
    let fixture = Fixture::new(&[("w/a", "old")]);
    let (here, away) = (fixture.path("w"), fixture.path("w2"));
    let folder = crate::Folder::open(&here, Options::default()).unwrap();
    assert_eq!(folder.hits("old"), ["a:1:1"]);
    std::fs::rename(&here, &away).unwrap();
    assert_eq!(code(folder.grep_with(grep("old"))), ToolErrorCode::FsNotFound);
    assert_eq!(code(folder.glob_with(glob("*"))), ToolErrorCode::FsNotFound);
    assert_eq!(code(folder.read_path("a")), ToolErrorCode::FsNotFound);
    fixture.write("w/a", "new");
    assert_eq!(text(&folder.read_path("a").unwrap()), "new");
    std::fs::remove_dir_all(&here).unwrap();
    std::fs::rename(&away, &here).unwrap();
    assert_eq!(folder.hits("old"), ["a:1:1"]);
}

/// Kind of fault: a path is checked, and then opened when it is something else.
#[test]
fn a_file_that_is_swapped_for_a_link_all_the_time_never_shows_what_is_outside() {
    let fixture = Fixture::new(&[("x", "inside"), ("d/secret", "inside")]);
    fixture.link(fixture.outside().join("secret"), "y");
    fixture.link(fixture.outside(), "e");
    let folders = fixture.both();
    let root = std::fs::File::open(fixture.root()).unwrap();
    let swap = || {
        let exchange = rustix::fs::RenameFlags::EXCHANGE;
        rustix::fs::renameat_with(&root, "x", &root, "y", exchange).unwrap();
        rustix::fs::renameat_with(&root, "d", &root, "e", exchange).unwrap();
    };
    while_another_thread(swap, || {
        let mut shown = 0;
        for round in 0..50_000 {
            let folder = &folders[round % 2];
            for path in ["x", "d/secret"] {
                if let Ok(answer) = folder.read_path(path) {
                    assert_eq!(text(&answer), "inside");
                    shown += 1;
                }
            }
            if round % 500 == 0 {
                assert_eq!(folder.grep_for("OUTSIDE").value.total, 0);
            }
        }
        assert!(shown > 0, "the race was never won, so nothing was tried");
    });
}
