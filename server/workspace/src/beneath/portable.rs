//! Confinement by cap-std, where the kernel does not offer it.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use cap_std::fs::{Dir, OpenOptions};

use super::Want;

pub(super) fn open(directory: &Dir, relative: &Path, want: Want) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    set_flags(&mut options, want);
    if want == Want::Folder && cfg!(not(unix)) {
        return Ok(directory.open_dir(relative)?.into_std_file());
    }
    Ok(directory.open_with(relative, &options)?.into_std())
}

/// A pipe without a writer must not hold the caller. `Dir::open_dir` is no alternative for folders: it may
/// return a descriptor that cannot be listed.
#[cfg(unix)]
fn set_flags(options: &mut OpenOptions, want: Want) {
    use cap_std::fs::OpenOptionsExt;
    use rustix::fs::OFlags;
    let mut flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    if want == Want::Folder {
        flags |= OFlags::DIRECTORY;
    }
    options.custom_flags(flags.bits().cast_signed());
}

#[cfg(not(unix))]
fn set_flags(_options: &mut OpenOptions, _want: Want) {}

pub(super) fn link_target(directory: &Dir, relative: &Path) -> io::Result<Option<PathBuf>> {
    if directory.symlink_metadata(relative)?.is_symlink() {
        return directory.read_link_contents(relative).map(Some);
    }
    Ok(None)
}
