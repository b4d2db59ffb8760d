//! One open folder: what is in it, and opening a file by a name in it. Links are never followed.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;

use crate::stop::Stop;

/// Between two looks at the stop.
const STEP_ENTRIES: usize = 1024;

/// What a directory entry is, before it is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Folder,
    Link,
    /// A pipe, socket or device.
    Special,
}

#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) name: OsString,
    pub(crate) kind: Kind,
}

/// The folder's entries by name; only some of them when the call has to end.
#[cfg(unix)]
pub(crate) fn entries(directory: &File, stop: &Stop) -> io::Result<Vec<Entry>> {
    use std::os::unix::ffi::OsStrExt;
    let mut entries = Vec::new();
    let listing = rustix::fs::Dir::new(directory.try_clone()?)?;
    for entry in listing {
        if entries.len() % STEP_ENTRIES == STEP_ENTRIES - 1 && stop.reason().is_some() {
            break;
        }
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        let mut kind = entry.file_type();
        if kind == rustix::fs::FileType::Unknown {
            let flags = rustix::fs::AtFlags::SYMLINK_NOFOLLOW;
            match rustix::fs::statat(directory, name, flags) {
                Ok(stat) => kind = rustix::fs::FileType::from_raw_mode(stat.st_mode),
                // It is gone again.
                Err(_) => continue,
            }
        }
        let kind = if kind.is_file() {
            Kind::File
        } else if kind.is_dir() {
            Kind::Folder
        } else if kind.is_symlink() {
            Kind::Link
        } else {
            Kind::Special
        };
        entries.push(Entry { name: name.to_owned(), kind });
    }
    entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    Ok(entries)
}

/// Opens a file of the folder for reading without waiting for anything.
#[cfg(unix)]
pub(crate) fn open_file(directory: &File, name: &OsStr) -> io::Result<File> {
    use rustix::fs::OFlags;
    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::openat(directory, name, flags, rustix::fs::Mode::empty())?))
}

/// When a file of the folder was last modified: nanoseconds since 1970.
#[cfg(unix)]
pub(crate) fn modified(directory: &File, name: &OsStr) -> io::Result<i128> {
    let flags = rustix::fs::AtFlags::SYMLINK_NOFOLLOW;
    let stat = rustix::fs::statat(directory, name, flags)?;
    Ok(i128::from(stat.st_mtime) * 1_000_000_000 + i128::from(stat.st_mtime_nsec))
}

#[cfg(not(unix))]
pub(crate) fn entries(directory: &File, stop: &Stop) -> io::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for entry in cap_std::fs::Dir::from_std_file(directory.try_clone()?).entries()? {
        if entries.len() % STEP_ENTRIES == STEP_ENTRIES - 1 && stop.reason().is_some() {
            break;
        }
        let entry = entry?;
        let kind = entry.file_type()?;
        let kind = if kind.is_file() {
            Kind::File
        } else if kind.is_dir() {
            Kind::Folder
        } else if kind.is_symlink() {
            Kind::Link
        } else {
            Kind::Special
        };
        entries.push(Entry { name: entry.file_name(), kind });
    }
    entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    Ok(entries)
}

#[cfg(not(unix))]
pub(crate) fn open_file(directory: &File, name: &OsStr) -> io::Result<File> {
    Ok(cap_std::fs::Dir::from_std_file(directory.try_clone()?).open(name)?.into_std())
}

#[cfg(not(unix))]
pub(crate) fn modified(directory: &File, name: &OsStr) -> io::Result<i128> {
    let metadata =
        cap_std::fs::Dir::from_std_file(directory.try_clone()?).symlink_metadata(name)?;
    let age = metadata.modified()?.into_std().duration_since(std::time::UNIX_EPOCH);
    Ok(age.map_or(0, |age| i128::try_from(age.as_nanos()).unwrap_or(i128::MAX)))
}
