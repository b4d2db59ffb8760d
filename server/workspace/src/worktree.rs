//! Telling a linked git worktree inside the folder from a submodule: the former holds the same files again.

use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use crate::beneath::{Root, Want};
use crate::directory::{self, Entry, Kind};

/// More than any `.git` file has.
const MAX_POINTER_BYTES: u64 = 8192;

/// The repositories whose other worktrees would be doubles here.
#[derive(Debug)]
pub(crate) struct Worktrees {
    root: PathBuf,
    /// The folder where the repository of the workspace itself keeps its worktrees, if that is elsewhere.
    own: Option<PathBuf>,
}

impl Worktrees {
    pub(crate) fn of(root: &Root) -> Worktrees {
        let pointer = root.open_plain(Path::new(".git"), Want::File).ok();
        let target = pointer.and_then(|file| target(file, root.path()));
        let own = target.and_then(|target| worktrees_folder(&target).map(Path::to_owned));
        Worktrees { root: root.path().to_owned(), own }
    }

    /// Whether the folder at `path` is a worktree of the workspace's own repository or of one in the workspace.
    pub(crate) fn is_linked(&self, path: &Path, folder: &File, entries: &[Entry]) -> bool {
        let is_pointer = |it: &Entry| it.name == ".git" && it.kind == Kind::File;
        if !entries.iter().any(is_pointer) {
            return false;
        }
        let pointer = directory::open_file(folder, ".git".as_ref()).ok();
        let Some(target) = pointer.and_then(|file| target(file, &self.root.join(path))) else {
            return false;
        };
        worktrees_folder(&target).is_some_and(|worktrees| {
            worktrees.starts_with(&self.root) || self.own.as_deref() == Some(worktrees)
        })
    }
}

/// `…/.git/worktrees`, if that is where `target` is.
fn worktrees_folder(target: &Path) -> Option<&Path> {
    target.parent().filter(|parent| parent.file_name().is_some_and(|name| name == "worktrees"))
}

/// What a `.git` file in `folder` points to, made absolute by letters alone.
fn target(file: File, folder: &Path) -> Option<PathBuf> {
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    file.take(MAX_POINTER_BYTES).read_to_string(&mut text).ok()?;
    let target = folder.join(text.strip_prefix("gitdir:")?.trim());
    let mut normal = PathBuf::new();
    for component in target.components() {
        match component {
            Component::ParentDir => {
                normal.pop();
            }
            Component::CurDir => {}
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => {
                normal.push(component);
            }
        }
    }
    Some(normal)
}
