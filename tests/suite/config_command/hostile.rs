//! Files that are no configuration: each is refused soon, with a reason, by `config check` and by a running server,
//! which goes on with what it had.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use dsh_tests::client::Client;
use dsh_tests::world::{World, binary};
use dsh_tests::{TOOLS, tools_but};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::json;

use super::{told, write};

/// Far more than the second that a refusal may take: the machine may be busy with other tests.
const SOON: Duration = Duration::from_secs(10);

/// What makes the file, and what is said of it.
struct Hostile {
    name: &'static str,
    make: fn(&Path),
    said: &'static str,
}

fn put(path: &Path, text: impl AsRef<[u8]>) {
    fs::write(path, text).unwrap();
}

fn bomb() -> String {
    let level = |level: usize| {
        let aliases = vec![format!("*l{}", level - 1); 10].join(", ");
        format!("    l{level}: &l{level} [{aliases}]\n")
    };
    let levels: String = (1..12).map(level).collect();
    format!("- id: a\n  merge:\n    l0: &l0 [x, x, x, x, x, x, x, x, x, x]\n{levels}")
}

const HOSTILE: &[Hostile] = &[
    Hostile {
        name: "an alias bomb",
        make: |path| put(path, bomb()),
        said: "there are more than 20000 values, aliases unfolded",
    },
    Hostile {
        name: "10 MB of patches",
        make: |path| put(path, "- {id: tools, disabled: false}\n".repeat(340_000)),
        said: "a file of configuration may have 1048576",
    },
    Hostile {
        name: "a megabyte of patches",
        make: |path| put(path, "- {id: tools, disabled: false}\n".repeat(33_000)),
        said: "there are more than 20000 values, aliases unfolded",
    },
    Hostile {
        name: "a megabyte in one line",
        make: |path| put(path, format!("- id: tools\n  merge: {}", "[".repeat(1_000_000))),
        said: "is nested deeper than 64 levels",
    },
    Hostile {
        name: "deep nesting in lines",
        make: |path| {
            let nested = (0..500).map(|level| format!("{}a:\n", " ".repeat(level + 4)));
            put(path, format!("- id: tools\n  merge:\n{}", nested.collect::<String>()));
        },
        said: "is nested deeper than 64 levels",
    },
    Hostile {
        name: "nine thousand wrong keys",
        make: |path| {
            let keys = (0..9000).map(|at| format!("    key{at}: {at}\n"));
            put(path, format!("- id: agent-loop\n  merge:\n{}", keys.collect::<String>()));
        },
        said: "unknown key; known are `maxParallelToolCalls`, `budgets`",
    },
    Hostile {
        name: "a word that was a boolean once",
        make: |path| put(path, "- id: fs\n  merge: {denyHardlinks: yes}\n"),
        said: "`yes` is a text, write `true`",
    },
    Hostile {
        name: "one id twice",
        make: |path| {
            put(path, "- insert: [{id: a, name: tools}]\n- insert: [{id: a, name: tools}]\n");
        },
        said: "`a` is inserted twice; the first is in line 1",
    },
    Hostile {
        name: "one key twice",
        make: |path| put(path, "- id: tools\n  disabled: true\n  disabled: false\n"),
        said: "`disabled` stands here twice; the first is in line 2",
    },
    Hostile {
        name: "tabs",
        make: |path| put(path, "- id: tools\n\tdisabled: true\n"),
        said: "indent with spaces, not with tabs",
    },
    Hostile {
        name: "NUL bytes",
        make: |path| put(path, "- id: tools\n  disabled: true\0\n"),
        said: "is no YAML: unexpected character",
    },
    Hostile {
        name: "NUL bytes alone",
        make: |path| put(path, [0; 4096]),
        said: "unexpected character",
    },
    Hostile {
        name: "UTF-16",
        make: |path| {
            let text = "\u{feff}- id: tools\n".encode_utf16().flat_map(u16::to_le_bytes);
            put(path, text.collect::<Vec<u8>>());
        },
        said: "is not UTF-8",
    },
    Hostile { name: "nothing", make: |path| put(path, ""), said: "expected a list" },
    Hostile {
        name: "comments only",
        make: |path| put(path, "# later\n"),
        said: "expected a list of patches and found nothing; write `[]` for none",
    },
    Hostile {
        name: "two documents",
        make: |path| put(path, "[]\n---\n[]\n"),
        said: "a second document begins",
    },
    Hostile {
        name: "code",
        make: |path| put(path, "- id: tools\n  disabled: !!js process.exit()\n"),
        said: "!!js",
    },
    Hostile { name: "a directory", make: |path| fs::create_dir(path).unwrap(), said: "is no file" },
    Hostile {
        name: "a FIFO",
        make: |path| mknodat(CWD, path, FileType::Fifo, Mode::from(0o644), 0).unwrap(),
        said: "is no file",
    },
    Hostile {
        name: "a device",
        make: |path| std::os::unix::fs::symlink("/dev/zero", path).unwrap(),
        said: "is no file",
    },
    Hostile {
        name: "a link to itself",
        make: |path| std::os::unix::fs::symlink(path, path).unwrap(),
        said: "cannot be read",
    },
];

fn remove(path: &Path) {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir(path).unwrap(),
        Ok(_) => fs::remove_file(path).unwrap(),
        Err(_) => {}
    }
}

#[test]
fn each_is_refused_by_a_check_wherever_it_stands() {
    let world = World::new();
    fs::create_dir_all(world.home()).unwrap();
    let places = ["home/cordis.patch.yml", "mine.yml", "home/profiles/editor/cordis.patch.yml"];
    for (at, hostile) in HOSTILE.iter().enumerate() {
        let place = world.root().join(places[at % places.len()]);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        (hostile.make)(&place);
        let mut arguments = vec!["config".to_owned(), "check".to_owned()];
        if place.ends_with("mine.yml") {
            arguments.extend(["--patch".to_owned(), place.display().to_string()]);
        }
        let begun = Instant::now();
        let (code, found, complaints) = told(&world, &world.run(&arguments));
        assert!(begun.elapsed() < SOON, "{}: {:?}", hostile.name, begun.elapsed());
        assert_eq!((code, complaints.as_str()), (2, ""), "{}: {found}", hostile.name);
        let name = places[at % places.len()];
        let first = found.lines().next().unwrap();
        assert!(first.contains(name) && first.contains(": error: "), "{}: {first}", hostile.name);
        assert!(first.contains(hostile.said), "{}: {first}", hostile.name);
        remove(&place);
    }
}

fn tools(client: &mut Client) -> Vec<String> {
    let listed = client.request("tool/list", json!({}))["tools"].clone();
    listed.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().into()).collect()
}

#[test]
fn a_running_server_says_why_and_goes_on_with_what_it_had() {
    let world = World::new();
    let good = "- id: tool-grep\n  disabled: true\n";
    // In another layer: between two of them the file is away for a moment.
    let profile = write(&world, "home/profiles/editor/cordis.patch.yml", good);
    fs::create_dir_all(world.home()).unwrap();
    let mut client = world.start("offline/retrieval");
    assert_eq!(tools(&mut client), tools_but(&["grep"]));
    let place = world.home().join("cordis.patch.yml");
    for hostile in HOSTILE {
        remove(&place);
        (hostile.make)(&place);
        let begun = Instant::now();
        let reloaded = client.request("config/reload", json!({}));
        assert!(begun.elapsed() < SOON, "{}: {:?}", hostile.name, begun.elapsed());
        assert_eq!(reloaded["ok"], false, "{}: {reloaded}", hostile.name);
        let problems = reloaded["problems"].to_string();
        assert!(problems.contains(hostile.said), "{}: {problems}", hostile.name);
        assert_eq!(tools(&mut client), tools_but(&["grep"]), "{}", hostile.name);
    }
    remove(&place);
    fs::remove_file(profile).unwrap();
    assert_eq!(client.request("config/reload", json!({})), json!({ "ok": true, "problems": [] }));
    assert_eq!(tools(&mut client), TOOLS);
    client.shut_down();
}

#[test]
fn marks_and_line_ends_of_other_systems_are_fine() {
    let world = World::new();
    let text = "\u{feff}- id: tool-grep\r\n  disabled: true\r\n";
    write(&world, "home/cordis.patch.yml", text);
    let (code, found, _) = told(&world, &world.run(["config", "check"]));
    assert_eq!((code, found.as_str()), (0, "0 errors, 0 warnings\n"));
    let mut client = world.start("offline/retrieval");
    assert_eq!(tools(&mut client), tools_but(&["grep"]));
    client.shut_down();
    write(&world, "home/cordis.patch.yml", text.replace("disabled", "disbaled"));
    let (code, found, _) = told(&world, &world.run(["config", "check"]));
    assert_eq!(code, 2);
    assert!(found.contains(":2:3: error") && found.contains("2 |   disbaled: true\n"), "{found}");
}

/// A command that whoever runs it as root runs without root's right to read everything.
fn unprivileged(world: &World, arguments: &[&str]) -> Command {
    if !rustix::process::geteuid().is_root() {
        return world.command(arguments);
    }
    let mut command = world.program("setpriv");
    command.args(["--bounding-set=-all", "--inh-caps=-all"]).arg(binary()).args(arguments);
    command
}

#[test]
fn a_file_that_may_not_be_read_is_refused_and_not_taken_for_none() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::new();
    let place = write(&world, "home/cordis.patch.yml", "- id: tool-grep\n  disabled: true\n");
    let mut client = Client::spawn(unprivileged(&world, &["rpc"]));
    client.initialize();
    assert_eq!(tools(&mut client), tools_but(&["grep"]));
    fs::set_permissions(&place, fs::Permissions::from_mode(0o000)).unwrap();
    let reloaded = client.request("config/reload", json!({}));
    assert_eq!(reloaded["ok"], false, "{reloaded}");
    assert!(reloaded["problems"].to_string().contains("cannot be read"), "{reloaded}");
    assert_eq!(tools(&mut client), tools_but(&["grep"]));
    client.shut_down();
    let output = unprivileged(&world, &["config", "check"]).output().unwrap();
    let (code, found, _) = told(&world, &output);
    assert_eq!(code, 2, "{found}");
    let expected = "ROOT/home/cordis.patch.yml: error: cannot be read: Permission denied";
    assert!(found.starts_with(expected), "{found}");
}
