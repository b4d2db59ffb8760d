//! Files and folders that change under a call, and between two.

use std::fs::{self, File};
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;

use super::Desk;

/// Does `disturb` over and over while `test` runs.
fn meanwhile(disturb: impl Fn(usize) + Sync, test: impl FnOnce()) {
    struct Over<'o>(&'o AtomicBool);
    impl Drop for Over<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut round = 0;
            while !is_over.load(Ordering::Relaxed) {
                disturb(round);
                round += 1;
            }
        });
        let _over = Over(&is_over);
        test();
    });
}

#[test]
fn a_file_that_is_cut_off_and_filled_again_kills_nobody() {
    let rounds = if std::env::var_os("DSH_TESTS_SOAK").is_some() { 600 } else { 30 };
    for mut desk in Desk::both(|world| world.file("big", "needle in a line\n")) {
        let path = desk.path("big");
        let text = "needle in a line\n".repeat(200_000);
        let fill = |_| {
            let mut file = File::create(&path).unwrap();
            let _ = file.write_all(text.as_bytes());
        };
        meanwhile(fill, || {
            for _ in 0..rounds {
                let said = desk.grep("needle");
                assert_eq!(said.code, "", "{}", said.text);
                desk.read("big");
            }
        });
        assert_eq!(desk.grep("needle").value["total"], 200_000);
    }
}

#[test]
fn files_that_vanish_between_the_list_and_the_open_cost_no_hit() {
    for mut desk in Desk::both(|world| world.file("a.txt", "needle\n")) {
        let work = desk.world.work();
        let churn = |round: usize| {
            let path = work.join(format!("t{}", round % 50));
            fs::write(&path, "other\n").unwrap();
            fs::remove_file(&path).unwrap();
        };
        meanwhile(churn, || {
            for _ in 0..100 {
                assert_eq!(desk.hits("needle"), ["a.txt:1"]);
                assert!(desk.paths("**").contains(&"a.txt".to_owned()));
            }
        });
    }
}

#[test]
fn a_workspace_that_goes_away_is_an_error_until_it_is_back() {
    for mut desk in Desk::both(|world| world.file("a.txt", "needle\n")) {
        assert_eq!(desk.hits("needle"), ["a.txt:1"]);
        let away = desk.outside("away");
        fs::rename(desk.world.work(), &away).unwrap();
        let gone = json!({ "name": "grep", "arguments": { "pattern": "needle" } });
        assert_eq!(desk.client.refused("tool/call", gone)["data"]["kind"], "workspaceNotFound");
        fs::create_dir(desk.world.work()).unwrap();
        desk.world.file("b.txt", "needle\n");
        assert_eq!(desk.hits("needle"), ["b.txt:1"], "another folder has the name");
        fs::remove_dir_all(desk.world.work()).unwrap();
        fs::rename(&away, desk.world.work()).unwrap();
        assert_eq!(desk.hits("needle"), ["a.txt:1"]);
    }
}

#[test]
fn every_answer_is_of_the_files_as_they_are_now() {
    for mut desk in Desk::both(|world| {
        world.file(".gitignore", "*.log\n");
        for number in 0..20 {
            world.file(&format!("d{number}/a.txt"), "needle\n");
            world.file(&format!("d{number}/a.log"), "needle\n");
        }
    }) {
        let mut expected: Vec<String> = (0..20).map(|it| format!("d{it}/a.txt")).collect();
        expected.sort();
        // What has rested for some seconds is not listed again; before and after that, answers are the same.
        let rested = std::time::Instant::now() + std::time::Duration::from_millis(3500);
        while std::time::Instant::now() < rested {
            assert_eq!(desk.paths("d*/**"), expected);
        }
        for (number, path) in expected.iter().enumerate() {
            match number % 5 {
                0 => fs::remove_file(desk.path(path)).unwrap(),
                1 => fs::rename(desk.path(path), desk.path(&format!("d{number}.txt"))).unwrap(),
                2 => desk.world.file(&format!("d{number}/.gitignore"), "!a.log\n*.txt\n"),
                3 => fs::remove_dir_all(desk.path(path.trim_end_matches("/a.txt"))).unwrap(),
                _ => desk.world.file(&format!("new{number}/deep/a.txt"), "needle\n"),
            }
            let mut all = Vec::new();
            walk(&desk.world.work(), &mut all);
            let ours =
                desk.call("grep", &json!({ "pattern": "needle", "mode": "files", "limit": 5000 }));
            let ours: Vec<String> = ours.value["files"]
                .as_array()
                .unwrap()
                .iter()
                .map(|it| it.as_str().unwrap().to_owned())
                .collect();
            all.retain(|path| {
                let folder = desk.path(path).parent().unwrap().join(".gitignore");
                let is_turned = folder != desk.path(".gitignore") && folder.exists();
                if path.ends_with("txt") { !is_turned } else { is_turned && path.ends_with("log") }
            });
            all.sort();
            assert_eq!(ours, all, "after change {number}");
        }
    }
}

/// Every file below a folder, relative to the first.
fn walk(root: &std::path::Path, all: &mut Vec<String>) {
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                all.push(path.strip_prefix(root).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
}
