//! The founding document, unmodified, through the program. Its plugins may or may not be in it.

use dsh_plugins::PLUGINS;
use dsh_tests::world::World;

use super::{run, write};

const FOUNDING: &str = include_str!("../../../server/config/tests/founding.patch.yml");
const NAMES: [&str; 2] = ["dsh-deliberation", "dsh-deliberation/mid-fork-provider"];

/// The plugins of the document that this program lacks.
fn missing() -> Vec<&'static str> {
    let is_here = |name: &&str| PLUGINS.iter().any(|plugin| plugin.name == *name);
    NAMES.into_iter().filter(|name| !is_here(name)).collect()
}

/// What is said besides that rows of the program are replaced.
fn troubles(complaints: &str) -> Vec<&str> {
    let says = |line: &&str| line.contains(": error: ") || line.contains(": warning: ");
    complaints.lines().filter(says).collect()
}

#[test]
fn it_is_dumped_with_every_row_whole() {
    let world = World::new();
    let founding = write(&world, "founding.yml", FOUNDING);
    for profile in ["editor", "headless", "web", "none"] {
        let arguments = ["config", "dump", "--profile", profile, "--patch", &founding];
        let (code, dump, complaints) = run(&world, &arguments);
        assert_eq!((code, troubles(&complaints)), (0, vec![]), "{profile}");
        for line in FOUNDING.lines().filter(|line| line.contains("- id: ")) {
            assert!(dump.contains(line), "{profile}: {line}");
        }
        for value in ["maxSnapshotChars: 65536", "allow: [read, grep, glob]", "enabled: false"] {
            assert!(dump.contains(value), "{profile}: {value}");
        }
        let dump = write(&world, "dump.yml", &dump);
        let again = run(&world, &["config", "dump", "--profile", "none", "--patch", &dump]).1;
        assert_eq!(again, std::fs::read_to_string(&dump).unwrap());
    }
}

#[test]
fn a_second_file_turns_the_review_on_and_changes_one_line() {
    let world = World::new();
    let founding = write(&world, "founding.yml", FOUNDING);
    let on = write(
        &world,
        "on.yml",
        "- id: tool-deliberation\n  merge: {autoReview: {enabled: true}}\n",
    );
    let off = run(&world, &["config", "dump", "--patch", &founding]);
    let on = run(&world, &["config", "dump", "--patch", &founding, "--patch", &on]);
    assert_eq!((off.0, on.0, troubles(&on.2)), (0, 0, vec![]));
    let changed: Vec<_> = off.1.lines().zip(on.1.lines()).filter(|(off, on)| off != on).collect();
    let expected = ("          enabled: false", "          enabled: true");
    assert_eq!((changed, off.1.lines().count()), (vec![expected], on.1.lines().count()));
}

#[test]
fn a_check_finds_nothing_but_plugins_that_are_not_here() {
    let world = World::new();
    let founding = write(&world, "founding.yml", FOUNDING);
    let (code, found, _) = run(&world, &["config", "check", "--patch", &founding]);
    let missing = missing();
    let errors: Vec<&str> = found.lines().filter(|line| line.contains(": error: ")).collect();
    for error in &errors {
        let is_known = |name: &&str| error.contains(&format!("there is no plugin `{name}`"));
        assert!(missing.iter().any(is_known), "{error}");
    }
    assert_eq!(code == 0, missing.is_empty(), "{found}");
    let rows_without_plugin = FOUNDING
        .lines()
        .filter_map(|line| line.trim().strip_prefix("name: "))
        .filter(|name| missing.contains(name));
    assert_eq!(errors.len(), rows_without_plugin.count(), "{found}");
}
