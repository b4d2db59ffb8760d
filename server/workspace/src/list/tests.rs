//! Answers from the file list beside those of a walk that keeps nothing.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use dsh_protocol::workspace::{GlobArguments, GrepArguments, GrepMode};

use super::UNSEEN_WALKS;
use crate::fixture::{Ask, Fixture, glob, grep};
use crate::{Folder, Options};

/// Everything that answers say of the folder and of some folders in it.
fn said(folder: &Folder) -> String {
    let mut said = String::new();
    for path in [".", "a", "a/b", "gen"] {
        let path = Some(path.to_owned());
        let listed =
            folder.glob_with(GlobArguments { path: path.clone(), limit: Some(5000), ..glob("**") });
        let counted = folder.grep_with(GrepArguments {
            path,
            mode: Some(GrepMode::Count),
            limit: Some(5000),
            ..grep("x")
        });
        let _ = writeln!(said, "{listed:#?}\n{counted:#?}");
    }
    said
}

struct Both<'f> {
    fixture: &'f Fixture,
    /// Each way of opening: with what is kept, and without.
    ways: [(Folder, Folder); 2],
}

impl<'f> Both<'f> {
    fn new(fixture: &'f Fixture, slack: Duration) -> Both<'f> {
        let ways = [false, true].map(|force_portable_open| {
            let warm = Options { list_slack: slack, force_portable_open, ..Options::default() };
            let cold = Options { max_list_size: 0, ..warm.clone() };
            (fixture.open(warm), fixture.open(cold))
        });
        Both { fixture, ways }
    }

    #[track_caller]
    fn check(&self, what: &str) {
        for (warm, cold) in &self.ways {
            let (warm, cold) = (said(warm), said(cold));
            let differs = warm.lines().zip(cold.lines()).find(|(warm, cold)| warm != cold);
            assert!(warm == cold, "{what}: {differs:?}");
        }
    }

    fn reads(&self) -> u64 {
        let reads = |folder: &Folder| folder.list.as_ref().unwrap().reads.load(Ordering::Relaxed);
        self.ways.iter().map(|(warm, _)| reads(warm)).sum()
    }

    /// Searches until nothing is read any more because everything is known.
    fn settle(&self) {
        let patience = Instant::now() + Duration::from_secs(30);
        loop {
            let before = self.reads();
            self.check("settling");
            if self.reads() == before {
                return;
            }
            assert!(Instant::now() < patience, "folders are read again and again");
            std::thread::park_timeout(Duration::from_millis(20));
        }
    }

    fn path(&self, path: &str) -> std::path::PathBuf {
        self.fixture.path(path)
    }
}

/// A tree in which each change finds a folder of its own.
fn tree() -> Fixture {
    let fixture = Fixture::new(&[
        (".gitignore", "*.log\n/gen/\n"),
        (".git/info/exclude", "excluded\n"),
        ("a/.ignore", "plain\n"),
        ("a/b/c/x.txt", "x"),
        ("a/b/x.log", "x"),
        ("gen/x.txt", "x"),
        ("top.txt", "x"),
    ]);
    for number in 0..12 {
        for name in ["one.txt", "sub/two.txt", "sub/deep/three.txt", "sub/x.log", "excluded"] {
            fixture.write(&format!("f{number}/{name}"), "x\nx\n");
        }
    }
    fixture
}

#[test]
fn what_is_known_is_not_read_again_and_every_change_is_seen_at_once() {
    let fixture = tree();
    let both = Both::new(&fixture, Options::default().list_slack);
    let outside = fixture.outside();
    both.settle();
    let rename = |from: &str, to: &str| fs::rename(both.path(from), both.path(to)).unwrap();
    let changes: [(&str, &dyn Fn()); 24] = [
        ("a file is created", &|| fixture.write("f0/new.txt", "x")),
        ("a file is deleted", &|| fs::remove_file(both.path("f1/one.txt")).unwrap()),
        ("a file is renamed", &|| rename("f2/one.txt", "f2/uno.txt")),
        ("a folder is renamed", &|| rename("f3/sub", "f3/bus")),
        ("a folder is moved elsewhere", &|| rename("f4/sub", "f5/moved")),
        ("a folder is moved out", &|| {
            fs::rename(both.path("f6/sub/deep"), outside.join("deep")).unwrap();
        }),
        ("a folder is moved in", &|| {
            fs::rename(outside.join("deep"), both.path("f6/back")).unwrap();
        }),
        ("two folders change places", &|| {
            rename("f7/sub", "f7/aside");
            rename("f8/sub", "f7/sub");
            rename("f7/aside", "f8/sub");
        }),
        ("a folder becomes a file", &|| {
            fs::remove_dir_all(both.path("f9/sub")).unwrap();
            fixture.write("f9/sub", "x");
        }),
        ("a file becomes a folder", &|| {
            fs::remove_file(both.path("f9/one.txt")).unwrap();
            fixture.write("f9/one.txt/in", "x");
        }),
        ("a folder becomes a link to itself", &|| {
            rename("f10/sub", "f10/real");
            fixture.link("real", "f10/sub");
        }),
        ("a file becomes a link out", &|| {
            fs::remove_file(both.path("f10/one.txt")).unwrap();
            fixture.link(outside.join("secret"), "f10/one.txt");
        }),
        ("a pipe appears", &|| fixture.fifo("f10/pipe")),
        ("a folder may not be read", &|| {
            fs::set_permissions(both.path("f11/sub"), fs::Permissions::from_mode(0o000)).unwrap();
        }),
        ("it may again", &|| {
            fs::set_permissions(both.path("f11/sub"), fs::Permissions::from_mode(0o700)).unwrap();
        }),
        ("rules are edited in place", &|| fixture.write(".gitignore", "*.txt\n/gen/\n")),
        ("rules are replaced whole", &|| {
            fixture.write("rules", "*.log\nsub/\n");
            rename("rules", ".gitignore");
        }),
        ("rules are removed", &|| fs::remove_file(both.path(".gitignore")).unwrap()),
        ("rules appear further down", &|| fixture.write("f0/sub/.gitignore", "deep\n")),
        ("rules are edited with another length of time between", &|| {
            fixture.write("a/.ignore", "c\n");
        }),
        ("a repository's own rules are edited", &|| {
            fixture.write(".git/info/exclude", "one.txt\n");
        }),
        ("a folder on the way to them becomes a link to itself", &|| {
            rename(".git/info", ".git/real");
            fixture.link("real", ".git/info");
        }),
        ("a folder becomes a repository", &|| {
            fixture.write("f0/.git/info/exclude", "three.txt\n");
            fixture.write(".gitignore", "three.txt\n");
        }),
        ("a branch is checked out", &|| {
            for number in 0..12 {
                let _ = fs::remove_dir_all(both.path(&format!("f{number}")));
                for name in ["other.txt", "sub/two.txt", "sub/deep/four.txt"] {
                    fixture.write(&format!("f{number}/{name}"), "x");
                }
            }
        }),
    ];
    for (what, change) in changes {
        change();
        both.check(what);
    }
    let root = fixture.root().to_owned();
    let away = root.with_extension("away");
    fs::rename(&root, &away).unwrap();
    both.check("the root is gone");
    fs::create_dir(&root).unwrap();
    fixture.write("a/b/other", "x");
    both.check("another one is in its place");
    fs::remove_dir_all(&root).unwrap();
    fs::rename(&away, &root).unwrap();
    both.check("the root is back");
    both.settle();
    for _ in 0..UNSEEN_WALKS {
        both.check("later");
    }
    let known = both.ways[0].0.list.as_ref().unwrap().len();
    assert_eq!(known, 40, "what is gone is forgotten");
}

/// A new number from the last one.
fn next(state: &mut u64) -> usize {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    usize::try_from(*state >> 33).unwrap()
}

#[test]
fn any_changes_in_any_order_are_seen() {
    for seed in 1..=2 {
        let fixture = tree();
        let both = Both::new(&fixture, Duration::from_millis(30));
        let mut state = seed;
        let places = ["a", "a/b", "a/b/c", "f0", "f0/sub", "f1", "f1/sub/deep", "gen", "f2", ""];
        for round in 0..60 {
            if next(&mut state).is_multiple_of(3) {
                both.settle();
            }
            for _ in 0..=next(&mut state) % 3 {
                let mut place = || both.path(places[next(&mut state) % places.len()]);
                let (here, there) = (place(), place());
                // What cannot be done is left undone.
                match next(&mut state) % 9 {
                    0 => drop(fs::write(here.join(format!("n{}", round % 7)), "x")),
                    1 => drop(fs::remove_file(here.join(format!("n{}", round % 7)))),
                    2 => drop(fs::rename(&here, there.join("moved"))),
                    3 => drop(fs::rename(here.join("moved"), &there)),
                    4 => drop(fs::write(here.join(".gitignore"), format!("n{}\nb\n", round % 7))),
                    5 => drop(fs::remove_file(here.join(".gitignore"))),
                    6 => drop(fs::create_dir_all(&here)),
                    7 if here != fixture.root() => drop(fs::remove_dir_all(&here)),
                    _ => drop(std::os::unix::fs::symlink(&there, here.join("link"))),
                }
            }
            both.check(&format!("seed {seed}, round {round}"));
        }
    }
}

#[test]
fn a_list_takes_no_more_memory_than_it_may_and_answers_are_the_same() {
    let fixture = tree();
    let all = Both::new(&fixture, Duration::ZERO);
    all.check("all");
    let list = all.ways[0].0.list.as_ref().unwrap();
    let held = list.held.load(Ordering::Relaxed);
    assert!(list.trouble().is_none() && held > 0);
    let options = Options { max_list_size: held / 2, ..Options::default() };
    let small = fixture.open(options);
    for _ in 0..3 {
        assert_eq!(said(&small), said(&all.ways[0].1));
    }
    let list = small.list.as_ref().unwrap();
    assert!(list.trouble().is_some() && list.held.load(Ordering::Relaxed) <= held / 2);
}
