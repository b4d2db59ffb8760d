//! Confinement by the Linux kernel: openat2.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, ResolveFlags, openat2, readlinkat};
use rustix::io::Errno;

use super::Want;

/// Never blocks on a pipe without a writer, never becomes a controlling terminal.
const FLAGS: OFlags =
    OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);
const RESOLVE: ResolveFlags =
    ResolveFlags::BENEATH.union(ResolveFlags::NO_MAGICLINKS).union(ResolveFlags::NO_SYMLINKS);

/// Whether openat2 exists and may be called here.
pub(super) fn confines(directory: &File) -> bool {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat2(directory, ".", flags, Mode::empty(), RESOLVE).is_ok()
}

pub(super) fn open(directory: &File, relative: &Path, want: Want) -> io::Result<File> {
    let flags = match want {
        Want::File => FLAGS,
        Want::Folder => FLAGS | OFlags::DIRECTORY,
    };
    Ok(File::from(openat2(directory, relative, flags, Mode::empty(), RESOLVE)?))
}

pub(super) fn link_target(directory: &File, relative: &Path) -> io::Result<Option<PathBuf>> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let link = openat2(directory, relative, flags, Mode::empty(), RESOLVE)?;
    match readlinkat(&link, "", Vec::new()) {
        Ok(target) => {
            use std::os::unix::ffi::OsStringExt;
            Ok(Some(PathBuf::from(std::ffi::OsString::from_vec(target.into_bytes()))))
        }
        // What an empty name on the descriptor of anything but a link is answered with.
        Err(Errno::NOENT | Errno::INVAL) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// `LOOP` is how the kernel says that it met a link; `AGAIN`, that something was renamed meanwhile.
pub(super) fn is_link_in_the_way(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::LOOP | Errno::AGAIN))
}
