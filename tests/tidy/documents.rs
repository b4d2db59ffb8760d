//! Documents and manifests that must keep up with the code.

use crate::tree;

#[test]
fn every_dependency_says_why_it_is_there_and_is_used() {
    let manifest = tree::read("Cargo.toml");
    let (_, rest) = manifest.split_once("[workspace.dependencies]\n").unwrap();
    let section = rest.split("\n[").next().unwrap();
    let manifests: Vec<String> = tree::files(&["toml"]).into_iter().map(|file| file.text).collect();
    let mut wrong = Vec::new();
    let mut before = "";
    for line in section.lines() {
        let name = line.split(" =").next().unwrap_or_default();
        let is_dependency = !line.starts_with('#') && line.contains('=');
        if is_dependency && !name.starts_with("dsh-") {
            // Crates of one family stand under one comment.
            let family = |line: &str| line.split(['-', ' ']).next().unwrap_or_default().to_owned();
            if !before.starts_with('#') && family(before) != family(name) {
                wrong.push(format!("`{name}` has no comment"));
            }
            let used = format!("{name}.workspace = true");
            let also = format!("{name} = {{ workspace = true");
            if !manifests.iter().any(|text| text.contains(&used) || text.contains(&also)) {
                wrong.push(format!("`{name}` is not used"));
            }
        }
        before = line;
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn versions_are_said_in_one_place() {
    let mut wrong = Vec::new();
    for file in tree::files(&["toml"]).iter().filter(|file| file.path.ends_with("/Cargo.toml")) {
        let tables = file.text.split("\n[").filter(|table| {
            let name = table.split(']').next().unwrap_or_default();
            name.ends_with("dependencies")
        });
        for line in tables.flat_map(|table| table.lines().skip(1)) {
            if line.contains('=') && !line.contains("workspace = true") && !line.starts_with('#') {
                wrong.push(format!("{}: {line}", file.path));
            }
        }
        if !file.text.contains("[lints]\nworkspace = true") {
            wrong.push(format!("{}: the workspace's lints are off", file.path));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_changelog_has_a_place_for_what_comes_next() {
    let changelog = tree::read("CHANGELOG.md");
    let first = changelog.lines().find(|line| line.starts_with("## "));
    assert_eq!(first, Some("## Unreleased"));
}

#[test]
fn the_map_is_short_and_its_places_exist() {
    let map = tree::read("ARCHITECTURE.md");
    assert!(map.lines().count() <= 300, "a map of {} lines", map.lines().count());
    let paths = tree::paths();
    let mut wrong = Vec::new();
    for word in map.split('`').skip(1).step_by(2) {
        let place = word.split("::").next().unwrap_or_default();
        let is_place = place.contains('/')
            && !place.contains([' ', ':', '*', '|', '<'])
            && !place.chars().any(|char| char.is_ascii_uppercase())
            && !place.starts_with(['~', '.', '/']);
        let is_method = !place.contains('.') && !paths.iter().any(|path| path.starts_with(place));
        let looks_like_a_file = place.contains('.');
        let exists = paths.iter().any(|path| {
            path == place
                || path.ends_with(&format!("/{place}"))
                || path.starts_with(&format!("{place}/"))
        });
        if is_place && !exists && (looks_like_a_file || !is_method) {
            wrong.push(place.to_owned());
        }
    }
    assert!(wrong.is_empty(), "ARCHITECTURE.md names what is not there: {wrong:?}");
}
