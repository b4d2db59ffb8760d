//! The files of the tree.

use std::fs;
use std::path::{Path, PathBuf};

/// A text file and its path from the root.
pub(crate) struct SourceFile {
    pub(crate) path: String,
    pub(crate) text: String,
}

/// Folders that are made by tools.
const NOT_OURS: [&str; 6] = ["target", ".git", "node_modules", ".venv", "out", "dist"];

/// The root of the tree.
pub(crate) fn root() -> PathBuf {
    fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("..")).unwrap()
}

/// The files with one of the extensions, by path.
pub(crate) fn files(extensions: &[&str]) -> Vec<SourceFile> {
    let mut files = Vec::new();
    visit(&root(), &mut |path| {
        let extension = path.extension().unwrap_or_default().to_string_lossy();
        if !extensions.contains(&extension.as_ref()) {
            return;
        }
        let name = path.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
        files.push(SourceFile { path: name, text: fs::read_to_string(path).unwrap() });
    });
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}

/// The Rust files.
pub(crate) fn rust() -> Vec<SourceFile> {
    let files = files(&["rs"]);
    assert!(files.len() > 100, "only {} Rust files were found", files.len());
    files
}

/// Every file's path from the root.
pub(crate) fn paths() -> Vec<String> {
    let mut paths = Vec::new();
    visit(&root(), &mut |path| {
        paths.push(path.strip_prefix(root()).unwrap().to_string_lossy().into_owned());
    });
    paths
}

/// A file's text.
pub(crate) fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn visit(folder: &Path, found: &mut dyn FnMut(&Path)) {
    for entry in fs::read_dir(folder).unwrap() {
        // Others may work in the tree: what is gone by now needs no check.
        let Ok(entry) = entry else { continue };
        let path = entry.path();
        let name = entry.file_name();
        if path.is_dir() {
            if !NOT_OURS.contains(&name.to_string_lossy().as_ref()) {
                visit(&path, found);
            }
        } else {
            found(&path);
        }
    }
}

impl SourceFile {
    /// Whether a tool has written it.
    pub(crate) fn is_generated(&self) -> bool {
        self.text.lines().next().is_some_and(|line| line.contains("@generated"))
    }

    /// Its tests: the whole file, or what stands behind `#[cfg(test)] mod tests {`.
    pub(crate) fn tests(&self) -> Option<&str> {
        if self.path.starts_with("tests/")
            || self.path.contains("/tests/")
            || self.path.ends_with("/tests.rs")
        {
            return Some(&self.text);
        }
        let at = self.text.find("#[cfg(test)]\nmod tests {")?;
        Some(&self.text[at..])
    }
}
