//! How a folder or file is known to be as it was: by device, inode and times, from one look at it.
//!
//! Every change of what is in a folder, and of a file's bytes, sets its change time to the system's clock, and
//! nothing sets it back. Two changes can get the same time when they come close together, so what had changed
//! shortly before it was read is not trusted.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// What a look at a folder or file tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) device: u64,
    inode: u64,
    size: u64,
    /// Nanoseconds since 1970.
    modified: i128,
    changed: i128,
}

impl Stamp {
    /// Whether what was read after `moment` is still there as long as the stamp is the same. `slack` is more
    /// than any clock that stamps files is late or coarse.
    pub(crate) fn is_settled_at(&self, moment: SystemTime, slack: Duration) -> bool {
        let moment = moment.duration_since(UNIX_EPOCH).unwrap_or_default();
        let settled = moment.checked_sub(slack).map_or(0, |it| it.as_nanos());
        i128::try_from(settled).is_ok_and(|settled| self.changed < settled)
    }

    #[cfg(unix)]
    pub(crate) fn of(metadata: &std::fs::Metadata) -> Stamp {
        use std::os::unix::fs::MetadataExt;
        Stamp {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
            changed: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Other systems have no change time that would do; no list is kept there.
    #[cfg(not(unix))]
    pub(crate) fn of(_metadata: &std::fs::Metadata) -> Stamp {
        Stamp { device: 0, inode: 0, size: 0, modified: 0, changed: i128::MAX }
    }
}

#[cfg(unix)]
fn nanoseconds(seconds: i64, rest: i64) -> i128 {
    i128::from(seconds) * 1_000_000_000 + i128::from(rest)
}

/// Looks at `path` below `directory`. A link in its last component is not followed; others may be, but a
/// stamp says no more of what is outside than that it is not what was there before.
#[cfg(unix)]
pub(crate) fn look(
    directory: impl std::os::fd::AsFd,
    path: &std::path::Path,
) -> std::io::Result<Stamp> {
    let stat = rustix::fs::statat(directory, path, rustix::fs::AtFlags::SYMLINK_NOFOLLOW)?;
    #[allow(clippy::useless_conversion, reason = "the types differ by system")]
    let stamp = Stamp {
        device: u64::try_from(stat.st_dev).unwrap_or(0),
        inode: u64::try_from(stat.st_ino).unwrap_or(0),
        size: u64::try_from(stat.st_size).unwrap_or(0),
        modified: nanoseconds(stat.st_mtime, i64::try_from(stat.st_mtime_nsec).unwrap_or(0)),
        changed: nanoseconds(stat.st_ctime, i64::try_from(stat.st_ctime_nsec).unwrap_or(0)),
    };
    Ok(stamp)
}

/// Whether the file system that an open folder is on stamps every change from this system's own clock. One
/// that another machine or program serves may not.
#[cfg(target_os = "linux")]
pub(crate) fn are_trusted(folder: &std::fs::File) -> bool {
    /// ext2 to ext4, XFS, Btrfs, tmpfs, ramfs, overlayfs, F2FS, ZFS, bcachefs.
    const KNOWN: [i64; 9] = [
        0xef53,
        0x5846_5342,
        0x9123_683e,
        0x0102_1994,
        0x8584_58f6,
        0x794c_7630,
        0xf2f5_2010,
        0x2fc1_2fc1,
        0xca45_1a4e,
    ];
    #[allow(clippy::useless_conversion, reason = "the type differs by system")]
    rustix::fs::fstatfs(folder).is_ok_and(|it| KNOWN.contains(&i64::from(it.f_type)))
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn are_trusted(_folder: &std::fs::File) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_shortly_before_it_was_read_is_not_settled() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let stamp = Stamp::of(&file.as_file().metadata().unwrap());
        let (now, slack) = (SystemTime::now(), Duration::from_secs(3));
        assert!(!stamp.is_settled_at(now, slack));
        assert!(stamp.is_settled_at(now + 2 * slack, slack));
        // A clock that was set back since.
        assert!(!stamp.is_settled_at(now - 10 * slack, slack));
        assert!(!stamp.is_settled_at(UNIX_EPOCH, slack));
    }
}
