//! What a path says about a file: whether it is a test, an example, somebody else's code, or documentation.

/// What sort of file a path names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "facts that do not depend on each other")]
pub(super) struct Place {
    pub is_test: bool,
    /// An example, a benchmark, a demonstration.
    pub is_example: bool,
    /// Copied in, generated or packed: nobody edits it here.
    pub is_foreign: bool,
    pub is_packed: bool,
    /// Lists of exact versions.
    pub is_lock: bool,
    pub is_changelog: bool,
    pub is_licence: bool,
    /// Prose for people.
    pub is_docs: bool,
    /// Tables, fixtures, pictures as text.
    pub is_data: bool,
    /// How many folders it is in.
    pub depth: usize,
}

impl Place {
    /// By the path alone.
    pub(super) fn of(path: &str) -> Place {
        let lower = path.to_ascii_lowercase();
        let file = lower.rsplit('/').next().unwrap_or(&lower);
        let folders: Vec<&str> = lower.split('/').rev().skip(1).collect();
        let is_in =
            |names: &str| folders.iter().any(|folder| names.split(' ').any(|name| name == *folder));
        let stem = file.split('.').next().unwrap_or(file);
        let ends = |ends: &str| ends.split(' ').any(|end| file.ends_with(end));
        let starts = |starts: &str| starts.split(' ').any(|start| file.starts_with(start));
        Place {
            is_test: is_in(TESTS)
                || stem == "tests"
                || stem == "test"
                || stem.ends_with("_test")
                || stem.ends_with("_tests")
                || stem.starts_with("test_")
                || file.contains(".test.")
                || file.contains(".spec."),
            is_example: is_in(EXAMPLES),
            is_foreign: is_in(FOREIGN)
                || file.contains(".gen.")
                || file.contains("_generated")
                || file.contains(".pb."),
            is_packed: file.contains(".min.") || file.contains("-min.") || ends(".map .bundle.js"),
            is_lock: ends(".lock -lock.json -lock.yaml go.sum .lockb"),
            is_changelog: starts(CHANGELOGS),
            is_licence: starts(LICENCES),
            is_docs: ends(".md .rst .txt .adoc .markdown .org") || starts("readme contributing"),
            is_data: ends(DATA),
            depth: folders.len(),
        }
    }
}

/// Folders of tests.
const TESTS: &str = "test tests __tests__ testing testdata spec specs fixtures e2e";

/// Folders of examples.
const EXAMPLES: &str =
    "example examples demo demos bench benches benchmark benchmarks samples sample";

/// Folders of what nobody writes here.
const FOREIGN: &str = "vendor vendored third_party third-party thirdparty node_modules external extern deps bower_components generated dist build out target";

/// How changelogs begin.
const CHANGELOGS: &str = "changelog changes history news releases release-notes release_notes";

/// How licences begin.
const LICENCES: &str = "license licence copying copyright notice unlicense third-party";

/// How data ends.
const DATA: &str = ".csv .svg .jsonl .tsv .snap .patch .diff .log .po .xml .json .html .css .ipynb";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_tells_what_sort_of_file_it_is() {
        assert!(Place::of("src/foo/tests/mod.rs").is_test);
        assert!(Place::of("src/foo_test.go").is_test);
        assert!(!Place::of("src/contest.rs").is_test);
        assert!(Place::of("vendor/x/y.c").is_foreign);
        assert!(Place::of("a/jquery.min.js").is_packed);
        assert!(Place::of("Cargo.lock").is_lock);
        assert!(Place::of("a/CHANGELOG.md").is_changelog);
        assert!(Place::of("LICENSE-MIT").is_licence);
        assert_eq!(Place::of("a/b/c.rs").depth, 2);
    }
}
