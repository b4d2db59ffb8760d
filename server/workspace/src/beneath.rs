//! Opening files and folders so that nothing outside the workspace folder is ever reached.
//!
//! Every open starts at the root's descriptor and refuses links. Only when a link is in the way is it read,
//! and the path it stands for is opened the same way, again without links. So the name that the caller is
//! told is the name of what was opened, whatever is renamed meanwhile; nothing is checked first and opened
//! later. On Linux the kernel does the confinement (openat2); elsewhere, and where a filter forbids that
//! call, cap-std does.

#[cfg(target_os = "linux")]
mod kernel;
mod portable;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::list::{self, Stamp};

/// As many links as Linux follows in one path.
const MAX_LINKS: usize = 40;
/// How often an open starts again when names keep changing under it.
const MAX_ATTEMPTS: usize = 16;

/// What the caller needs the path to be. Only a folder is enforced by the open itself; whether a file is a
/// regular one is for the caller to ask of the descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Want {
    File,
    Folder,
}

/// Something opened beneath the root.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) file: File,
    /// Its path without any link, relative to the root.
    pub(crate) real: PathBuf,
}

/// Why an open failed.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The path leads out of the root. Must not tell whether anything is there.
    Outside,
    /// Too many links, or a circle of them.
    Links,
    Io(io::Error),
}

/// Who keeps the opens inside.
#[derive(Debug)]
enum Way {
    #[cfg(target_os = "linux")]
    Kernel(File),
    Portable(cap_std::fs::Dir),
}

/// An open workspace folder.
#[derive(Debug)]
pub(crate) struct Root {
    /// Canonical.
    path: PathBuf,
    /// Its absolute paths: an absolute link may spell the root in any of these ways.
    names: Vec<PathBuf>,
    /// Device and inode, to notice that another folder has taken the name.
    identity: (u64, u64),
    way: Way,
}

impl Root {
    pub(crate) fn open(
        path: PathBuf,
        names: Vec<PathBuf>,
        force_portable: bool,
    ) -> io::Result<Root> {
        let ambient = cap_std::ambient_authority();
        let directory = cap_std::fs::Dir::open_ambient_dir(&path, ambient)?;
        let file = directory.try_clone()?.into_std_file();
        let identity = identity(&file.metadata()?);
        let way = if force_portable { Way::Portable(directory) } else { best_way(directory, file) };
        Ok(Root { path, names, identity, way })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The number of the file system that it is on.
    pub(crate) fn device(&self) -> u64 {
        self.identity.0
    }

    /// Whether the root's name still leads to the folder that was opened, and it has these names.
    pub(crate) fn is_current(&self, names: &[PathBuf]) -> io::Result<bool> {
        Ok(self.names == names
            && identity(&std::fs::symlink_metadata(&self.path)?) == self.identity)
    }

    /// Opens a normalized relative path, following links as long as they stay inside.
    pub(crate) fn open_following(&self, relative: &Path, want: Want) -> Result<Opened, Refusal> {
        let mut last = io::Error::from(io::ErrorKind::ResourceBusy);
        for _ in 0..MAX_ATTEMPTS {
            if !matches!(self.way, Way::Portable(_)) {
                match self.open_plain(relative, want) {
                    Ok(file) => return Ok(Opened { file, real: relative.to_owned() }),
                    Err(error) if is_link_in_the_way(&error) => {}
                    Err(error) => return Err(refusal(error)),
                }
            }
            let real = self.follow(relative, false)?;
            match self.open_plain(&real, want) {
                Ok(file) => return Ok(Opened { file, real }),
                // A name became a link after `follow` had looked at it.
                Err(error) if is_link_in_the_way(&error) => last = error,
                Err(error) => return Err(refusal(error)),
            }
        }
        Err(Refusal::Io(last))
    }

    /// The path without links that a normalized relative path stands for, whether or not there is anything
    /// yet. Nothing may be concluded from it but a name: what is there may change at any time.
    pub(crate) fn resolve(&self, relative: &Path) -> Result<PathBuf, Refusal> {
        let is_plain =
            !matches!(self.way, Way::Portable(_)) && matches!(self.link_target(relative), Ok(None));
        if is_plain { Ok(relative.to_owned()) } else { self.follow(relative, true) }
    }

    /// Opens a path that is meant to have no links; finding one is an error. (The portable way may follow
    /// one that was put there a moment ago, but never out of the root.)
    pub(crate) fn open_plain(&self, relative: &Path, want: Want) -> io::Result<File> {
        let relative = if relative.as_os_str().is_empty() { Path::new(".") } else { relative };
        match &self.way {
            #[cfg(target_os = "linux")]
            Way::Kernel(directory) => kernel::open(directory, relative, want),
            Way::Portable(directory) => portable::open(directory, relative, want),
        }
    }

    /// Looks at a path that is meant to have no links, without opening it.
    pub(crate) fn look(&self, relative: &Path) -> io::Result<Stamp> {
        let relative = if relative.as_os_str().is_empty() { Path::new(".") } else { relative };
        match &self.way {
            #[cfg(target_os = "linux")]
            Way::Kernel(directory) => list::look(directory, relative),
            #[cfg(unix)]
            Way::Portable(directory) => list::look(directory, relative),
            #[cfg(not(unix))]
            Way::Portable(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Replaces every link in `relative` by what it stands for. What comes after a missing name stands for
    /// itself, if it `may_be_missing`.
    fn follow(&self, relative: &Path, may_be_missing: bool) -> Result<PathBuf, Refusal> {
        let mut pending = components_reversed(relative)?;
        let mut real = PathBuf::new();
        let mut links = 0;
        while let Some(name) = pending.pop() {
            if name == ".." {
                if !real.pop() {
                    return Err(Refusal::Outside);
                }
                continue;
            }
            real.push(name);
            let target = match self.link_target(&real) {
                Ok(Some(target)) => target,
                Ok(None) => continue,
                Err(error)
                    if may_be_missing
                        && error.kind() == io::ErrorKind::NotFound
                        && !pending.iter().any(|name| name == "..") =>
                {
                    real.extend(pending.into_iter().rev());
                    return Ok(real);
                }
                Err(error) => return Err(refusal(error)),
            };
            links += 1;
            if links > MAX_LINKS {
                return Err(Refusal::Links);
            }
            real.pop();
            if target.has_root() {
                real.clear();
                pending.extend(components_reversed(self.strip_root(&target)?)?);
            } else {
                pending.extend(components_reversed(&target)?);
            }
        }
        Ok(real)
    }

    /// An absolute link target without the root in front.
    fn strip_root<'t>(&self, target: &'t Path) -> Result<&'t Path, Refusal> {
        let mut names = std::iter::once(&self.path).chain(&self.names);
        names.find_map(|name| target.strip_prefix(name).ok()).ok_or(Refusal::Outside)
    }

    /// Where `relative` points to, if it is a link. All but its last component are no links.
    fn link_target(&self, relative: &Path) -> io::Result<Option<PathBuf>> {
        match &self.way {
            #[cfg(target_os = "linux")]
            Way::Kernel(directory) => kernel::link_target(directory, relative),
            Way::Portable(directory) => portable::link_target(directory, relative),
        }
    }
}

/// The components of a relative path, the last one first, `..` among them.
fn components_reversed(path: &Path) -> Result<Vec<OsString>, Refusal> {
    let mut names = Vec::new();
    for component in path.components().rev() {
        match component {
            Component::CurDir => {}
            Component::Normal(_) | Component::ParentDir => {
                names.push(component.as_os_str().to_owned());
            }
            Component::RootDir | Component::Prefix(_) => return Err(Refusal::Outside),
        }
    }
    Ok(names)
}

#[cfg(unix)]
fn identity(metadata: &std::fs::Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (metadata.dev(), metadata.ino())
}

/// Without inode numbers a folder that was replaced by another is noticed by its creation time.
#[cfg(not(unix))]
fn identity(metadata: &std::fs::Metadata) -> (u64, u64) {
    let created =
        metadata.created().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    created.map_or((0, 0), |age| (age.as_secs(), u64::from(age.subsec_nanos())))
}

/// Both arguments are the same folder.
#[cfg(target_os = "linux")]
fn best_way(directory: cap_std::fs::Dir, file: File) -> Way {
    if kernel::confines(&file) { Way::Kernel(file) } else { Way::Portable(directory) }
}

#[cfg(not(target_os = "linux"))]
fn best_way(directory: cap_std::fs::Dir, _file: File) -> Way {
    Way::Portable(directory)
}

#[cfg(target_os = "linux")]
fn is_link_in_the_way(error: &io::Error) -> bool {
    kernel::is_link_in_the_way(error)
}

#[cfg(not(target_os = "linux"))]
fn is_link_in_the_way(_error: &io::Error) -> bool {
    false
}

fn refusal(error: io::Error) -> Refusal {
    let crossed = match error.raw_os_error() {
        // cap-std reports an escape without an error number of the system.
        None => error.kind() == io::ErrorKind::PermissionDenied,
        Some(_) => error.kind() == io::ErrorKind::CrossesDevices,
    };
    if crossed { Refusal::Outside } else { Refusal::Io(error) }
}
