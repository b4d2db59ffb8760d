//! A home in a fresh folder, and what it composes to.

use std::fs;
use std::path::{Path, PathBuf};

use dsh_config::compose::{Composed, compose};
use dsh_config::evaluate::Environment;
use dsh_config::problem::Problem;
use dsh_config::profile::Sources;
use serde_json::Value;

/// A home, and files beside it.
pub(crate) struct World {
    folder: tempfile::TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("home")).unwrap();
        Self { folder }
    }

    /// With a patch file of the home.
    pub(crate) fn with_home_patch(text: &str) -> Self {
        let world = Self::new();
        world.write("home/cordis.patch.yml", text);
        world
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.path("home")
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn sources(&self, profile: &str, patches: &[&str]) -> Sources {
        let patches = patches.iter().map(|name| self.path(name)).collect();
        Sources { home: self.home(), profile: profile.to_owned(), patches }
    }

    pub(crate) fn compose(&self, profile: &str, patches: &[&str]) -> Composed {
        compose(&self.sources(profile, patches))
    }

    /// Problems as people see them, with the folder named `.`.
    pub(crate) fn show(&self, problems: &[Problem]) -> String {
        let folder = self.folder.path().display().to_string();
        problems.iter().map(|problem| format!("{problem}\n").replace(&folder, ".")).collect()
    }
}

/// A Linux with a home, a current directory and some variables.
pub(crate) fn environment(variables: &[(&str, &str)]) -> Environment {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    Environment {
        variables: variables.iter().map(own).collect(),
        home: Path::new("/h").to_owned(),
        cwd: Path::new("/w").to_owned(),
        platform: "linux".to_owned(),
    }
}

/// A row's configuration, evaluated.
pub(crate) fn config(composed: &Composed, id: &str) -> Value {
    let rows = composed.rows(&environment(&[])).unwrap_or_else(|it| panic!("{it:#?}"));
    rows.into_iter().find(|row| row.id == id).map(|row| row.config).unwrap()
}
