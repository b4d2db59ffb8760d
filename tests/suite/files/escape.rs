//! Nothing outside the workspace is read, searched or listed, and nobody learns what is there.

use std::fs;

use dsh_tests::world::World;
use serde_json::json;

use super::{Desk, link};

const DENIED: &str = "FS_SANDBOX_DENIED";

fn outside(world: &World) {
    fs::create_dir(world.root().join("S")).unwrap();
    fs::write(world.root().join("S/k"), "OUTSIDE\n").unwrap();
    world.file("a.txt", "alpha\n");
}

#[test]
fn spellings_that_lead_out_are_refused_with_one_text_and_those_that_stay_are_read() {
    for mut desk in Desk::both(outside) {
        let work = desk.world.work().display().to_string();
        let refusal = desk.read("../S/k");
        assert_eq!(refusal.code, DENIED);
        for path in [
            "../S/nobody",
            "nope/../../S/k",
            "/etc/passwd",
            "/etc/nobody",
            "//etc/passwd",
            "//10.0.0.1/s/x",
            &format!("{work}/../../etc/passwd"),
            &format!("{work}/../S/k"),
            &format!("{work}x/k"),
            "file:///etc/passwd",
        ] {
            assert_eq!(desk.read(path), refusal, "{path}");
        }
        for path in [
            "a.txt",
            "./a.txt",
            "b/../a.txt",
            &format!("{work}/a.txt"),
            &format!("file://{work}/a.txt"),
        ] {
            assert_eq!(desk.read(path).lines(), ["alpha"], "{path}");
        }
        for (name, arguments) in [
            ("grep", json!({ "pattern": ".", "path": ".." })),
            ("glob", json!({ "pattern": "*", "path": ".." })),
            ("grep", json!({ "pattern": ".", "path": "/etc" })),
            ("glob", json!({ "pattern": "*", "path": "../S" })),
        ] {
            assert_eq!(desk.call(name, &arguments).code, DENIED, "{name} {arguments}");
        }
        desk.never_said("OUTSIDE");
    }
}

#[test]
fn odd_spellings_are_names_or_errors_that_say_what_is_wrong() {
    for mut desk in Desk::both(outside) {
        for (path, code) in [
            ("", "FS_NOT_FOUND"),
            ("  ", "FS_NOT_FOUND"),
            ("a\0b", "FS_NOT_FOUND"),
            (&"x".repeat(5000), "FS_NOT_FOUND"),
            ("~", "FS_NOT_FOUND"),
            ("$HOME", "FS_NOT_FOUND"),
            ("%2e%2e/S/k", "FS_NOT_FOUND"),
            ("a.txt/", "FS_NOT_DIRECTORY"),
            ("a.txt/b", "FS_NOT_FOUND"),
            (r"\\10.0.0.1\s\x", "FS_NOT_FOUND"),
            (r"\\?\UNC\10.0.0.1\s\x", "FS_NOT_FOUND"),
            (r"\\.\pipe\x", "FS_NOT_FOUND"),
            (r"C:a.txt", "FS_NOT_FOUND"),
            ("--files", "FS_NOT_FOUND"),
        ] {
            let said = desk.read(path);
            assert_eq!(said.code, code, "{path:?}: {}", said.text);
        }
        assert_eq!(desk.read("a.txt/.").code, "FS_NOT_DIRECTORY");
        fs::write(desk.path("~"), "tilde\n").unwrap();
        assert_eq!(desk.read("~").lines(), ["tilde"]);
        desk.never_said("OUTSIDE");
    }
}

#[test]
fn links_that_lead_out_are_refused_and_those_that_stay_are_followed() {
    let make = |world: &World| {
        outside(world);
        world.file("pkg/lib/x.ts", "inside\n");
        fs::create_dir(world.work().join("app")).unwrap();
        link("../pkg/lib", world.work().join("app/lib"));
        link(world.work().join("pkg"), world.work().join("absolute"));
        link(world.root().join("S/k"), world.work().join("p"));
        link(world.root().join("S"), world.work().join("e"));
        link(world.root().join("S/later"), world.work().join("d"));
        link("/proc/self/environ", world.work().join("README.md"));
        link("/proc/self/root", world.work().join("slash"));
    };
    for mut desk in Desk::both(make) {
        let refusal = desk.read("p");
        assert_eq!(refusal.code, DENIED);
        for path in ["e/k", "e/nobody", "d", "README.md", "slash/etc/passwd", "e"] {
            assert_eq!(desk.read(path), refusal, "{path}");
        }
        fs::write(desk.outside("S/later"), "OUTSIDE\n").unwrap();
        assert_eq!(desk.read("d"), refusal, "what is there now makes no difference");
        for (name, arguments) in [
            ("grep", json!({ "pattern": "OUT", "path": "e" })),
            ("grep", json!({ "pattern": "OUT", "path": "p" })),
            ("grep", json!({ "pattern": "HOME", "path": "README.md" })),
            ("glob", json!({ "pattern": "e/*" })),
        ] {
            assert_eq!(desk.call(name, &arguments).code, DENIED, "{name} {arguments}");
        }
        assert!(desk.hits("OUTSIDE|DSH_LS_HOME").is_empty());
        assert_eq!(desk.paths("**"), ["a.txt", "pkg/lib/x.ts"], "links are not descended into");
        for path in ["app/lib/x.ts", "absolute/lib/x.ts"] {
            assert_eq!(desk.read(path).lines(), ["inside"], "{path}");
        }
        assert_eq!(desk.paths("app/lib/*"), ["pkg/lib/x.ts"]);
        desk.never_said("OUTSIDE");
        desk.never_said("DSH_LS_HOME=");
    }
}

#[test]
fn a_pattern_cannot_ask_what_is_outside() {
    for mut desk in Desk::both(outside) {
        let refusal = desk.glob("../S/*");
        assert_eq!(refusal.code, "SEARCH_INVALID_PATTERN");
        for pattern in ["../missing/*", "/etc/*", "/missing/*", "a/../../S/*", "{../S/k,a}"] {
            assert_eq!(desk.glob(pattern), refusal, "{pattern}");
        }
        let include = desk.call("grep", &json!({ "pattern": "x", "include": "../**" }));
        assert_eq!(include.code, "SEARCH_INVALID_PATTERN");
    }
}

#[test]
fn hard_links_are_read_unless_the_configuration_refuses_them() {
    let make = |world: &World| {
        outside(world);
        fs::hard_link(world.root().join("S/k"), world.work().join("h")).unwrap();
        fs::hard_link(world.root().join("S/k"), world.work().join(".env")).unwrap();
    };
    for mut desk in Desk::both(make) {
        assert_eq!(desk.read("h").lines(), ["OUTSIDE"]);
        assert_eq!(desk.hits("OUTSIDE"), ["h:1"]);
        assert_eq!(desk.read(".env").code, "FS_SECRET_DENIED");
    }
    let mut desk = Desk::with("- id: fs\n  merge: {denyHardlinks: true}\n", make);
    let said = desk.read("h");
    assert_eq!(said.code, DENIED);
    assert!(said.text.contains("denyHardlinks"), "{}", said.text);
    let searched = desk.grep("OUTSIDE");
    assert!(searched.hits().is_empty());
    searched.notes_say("1 hard-linked file skipped, as configured: h");
}

#[test]
fn a_workspace_that_is_a_link_is_one_folder_under_both_names() {
    let world = World::new();
    let real = world.root().join("real");
    fs::create_dir(&real).unwrap();
    fs::write(real.join("a.txt"), "alpha\n").unwrap();
    fs::remove_dir(world.work()).unwrap();
    link(&real, world.work());
    let named = world.work().display().to_string();
    let mut client = world.connect(&["--workspace", &named, "--model", "offline/retrieval"]);
    client.initialize();
    let mut desk = Desk { world, client };
    let (work, real) = (desk.world.work().display().to_string(), real.display().to_string());
    for path in ["a.txt".to_owned(), format!("{work}/a.txt"), format!("{real}/a.txt")] {
        let said = desk.read(&path);
        assert_eq!(said.lines(), ["alpha"], "{path}");
        assert_eq!(said.value["path"], "a.txt");
    }
    let session = |desk: &mut Desk, folder: &str| {
        let params = json!({ "workspace": format!("file://{folder}") });
        desk.client.request("session/new", params)["session"]["workspace"].clone()
    };
    let (first, second) = (session(&mut desk, &work), session(&mut desk, &real));
    assert_eq!(first, second);
}
