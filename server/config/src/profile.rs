//! Profiles: named lists of bundles, and the files beside them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::bundle;
use crate::problem::{Problem, ProblemKind, did_you_mean, one_of};
use crate::source;
use crate::yaml::{self, Content, Node};

/// What a patch file is called, in a profile's folder and in the home.
pub const PATCH_FILE: &str = "cordis.patch.yml";

/// The file that lists a profile's bundles.
pub const PROFILE_FILE: &str = "profile.yml";

/// The file of the home that adds to the environment.
pub const ENVIRONMENT_FILE: &str = ".env";

/// The profiles that need no file. A file of the same name takes their place.
const BUILT_IN: [(&str, &[&str]); 4] = [
    ("editor", &["dsh-base", "dsh-editor", "dsh-deliberation"]),
    ("headless", &["dsh-base", "dsh-headless", "dsh-deliberation"]),
    ("none", &[]),
    ("web", &["dsh-base", "dsh-editor", "dsh-deliberation"]),
];

/// Which files are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sources {
    /// The program's home.
    pub home: PathBuf,
    /// The profile.
    pub profile: String,
    /// The patch files of the command line, in its order.
    pub patches: Vec<PathBuf>,
}

impl Sources {
    fn profile_folder(&self) -> PathBuf {
        self.home.join("profiles").join(&self.profile)
    }

    /// The profile's patch file.
    pub fn profile_patch(&self) -> PathBuf {
        self.profile_folder().join(PATCH_FILE)
    }

    /// The home's patch file: the one that `set` writes.
    pub fn home_patch(&self) -> PathBuf {
        self.home.join(PATCH_FILE)
    }

    /// The home's environment file.
    pub fn environment_file(&self) -> PathBuf {
        self.home.join(ENVIRONMENT_FILE)
    }

    /// Every file whose change, appearance or disappearance changes the composition. They and their folders may
    /// not exist.
    pub fn watched(&self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        if check_name(&self.profile).is_ok() {
            files.push(self.profile_folder().join(PROFILE_FILE));
            files.push(self.profile_patch());
        }
        files.push(self.home_patch());
        files.push(self.environment_file());
        files.extend(self.patches.iter().cloned());
        files
    }

    /// The bundles of the profile, in their order.
    pub(crate) fn bundles(&self) -> Result<Vec<String>, Problem> {
        check_name(&self.profile)?;
        let path = self.profile_folder().join(PROFILE_FILE);
        if let Some(file) = source::read(&path)? {
            let root = yaml::parse(&file)?;
            let name = file.name.as_str();
            let empty = || Problem::of(ProblemKind::MissingField, name, "expected `bundles: […]`");
            return listed(&root.ok_or_else(empty)?);
        }
        let built_in = BUILT_IN.iter().find(|(name, _)| *name == self.profile);
        match built_in {
            Some((_, bundles)) => Ok(bundles.iter().map(|name| (*name).to_owned()).collect()),
            None => Err(absent(&self.home, &self.profile, &path)),
        }
    }
}

/// Whether a profile may have the name: it is the name of a folder.
pub fn check_name(name: &str) -> Result<(), Problem> {
    let is_wrong = name.trim().is_empty()
        || name == "."
        || name == ".."
        || name.contains(['/', '\\'])
        || name.contains(char::is_control);
    if !is_wrong {
        return Ok(());
    }
    let message =
        format!("{name:?} is no name of a profile: it names a folder, without `/` and `\\`");
    Err(Problem::of(ProblemKind::ProfileName, "profile", message))
}

/// The profiles that can be used, by name.
pub fn names(home: &Path) -> Vec<String> {
    let mut names: Vec<String> = BUILT_IN.iter().map(|(name, _)| (*name).to_owned()).collect();
    for entry in fs::read_dir(home.join("profiles")).into_iter().flatten().flatten() {
        if let (true, Ok(name)) =
            (entry.path().join(PROFILE_FILE).is_file(), entry.file_name().into_string())
        {
            names.push(name);
        }
    }
    names.sort();
    names.dedup();
    names
}

fn absent(home: &Path, name: &str, path: &Path) -> Problem {
    let names = names(home);
    let hint = did_you_mean(name, names.iter().map(String::as_str));
    let message = format!(
        "there is no profile `{name}`; there are {}, and {} would make it one{hint}",
        one_of(&names),
        path.display()
    );
    Problem::of(ProblemKind::ProfileAbsent, "profile", message)
}

/// The bundles that a profile's file lists.
fn listed(root: &Node) -> Result<Vec<String>, Problem> {
    let wrong = |node: &Node| {
        let message = format!("expected `bundles: […]` and found {}", node.kind());
        Err(Problem::at(ProblemKind::WrongType, &node.place, message))
    };
    let Content::Map(entries) = &root.value else { return wrong(root) };
    if let Some(entry) = entries.iter().find(|entry| entry.key != "bundles") {
        let message = format!("a profile has no `{}`; it has `bundles`", entry.key);
        return Err(Problem::at(ProblemKind::UnknownField, &entry.place, message));
    }
    let Some(Node { value: Content::List(items), tag: None, .. }) = root.get("bundles") else {
        return wrong(root.get("bundles").unwrap_or(root));
    };
    let mut bundles = Vec::new();
    for item in items {
        match &item.value {
            Content::String(name) if bundle::names().any(|known| known == name) => {
                bundles.push(name.clone());
            }
            Content::String(name) => {
                let known: Vec<&str> = bundle::names().collect();
                let message = format!("there is no bundle `{name}`; there are {}", one_of(&known));
                return Err(Problem::at(ProblemKind::UnknownBundle, &item.place, message));
            }
            _ => return wrong(item),
        }
    }
    Ok(bundles)
}
