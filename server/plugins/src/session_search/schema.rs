//! The index's file.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

/// Tells indexes of another form apart. Raise it with each change below, and of what is indexed.
const VERSION: i64 = 1;

/// How long another process that brings the index up to date is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

const SCHEMA: &str = r#"
    CREATE TABLE sessions (
        key INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,
        -- The session that it was forked from, and the first event that is its own.
        parent TEXT, seed INTEGER NOT NULL,
        -- The file that was read, up to where, and the last bytes there: another file may have its number.
        inode INTEGER NOT NULL, modified INTEGER NOT NULL, offset INTEGER NOT NULL, tail BLOB NOT NULL,
        -- Whether nothing of it is looked for.
        is_child INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE places (
        key INTEGER PRIMARY KEY, session INTEGER NOT NULL, seq INTEGER NOT NULL,
        offset INTEGER NOT NULL, length INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX places_of_session ON places (session);
    -- The text itself stays in the logs.
    CREATE VIRTUAL TABLE words USING fts5(
        text, content = '', contentless_delete = 1, tokenize = "unicode61 remove_diacritics 2"
    );
"#;

/// The index of a folder's logs.
pub(super) fn path(folder: &Path) -> PathBuf {
    folder.join("search.sqlite")
}

/// Why the index cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum IndexError {
    /// The index is of another form.
    #[error("the index is of another version")]
    OtherVersion,
    /// A file cannot be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The index does not work.
    #[error("the index `search.sqlite`: {0}")]
    Sqlite(#[from] rusqlite::Error),
}

impl IndexError {
    /// Whether a new index would do.
    pub(super) fn is_the_file(&self) -> bool {
        match self {
            Self::OtherVersion => true,
            Self::Io(_) => false,
            Self::Sqlite(error) => !matches!(
                error.sqlite_error_code(),
                Some(
                    ErrorCode::DatabaseBusy
                        | ErrorCode::DatabaseLocked
                        | ErrorCode::DiskFull
                        | ErrorCode::OutOfMemory
                        | ErrorCode::PermissionDenied
                        | ErrorCode::ReadOnly
                )
            ),
        }
    }

    /// Whether another process has made the index again while this one worked on it.
    pub(super) fn is_moved(&self) -> bool {
        matches!(
            self,
            Self::Sqlite(rusqlite::Error::SqliteFailure(error, _))
                if error.extended_code == rusqlite::ffi::SQLITE_READONLY_DBMOVED
        )
    }

    /// Whether another process works on it.
    pub(super) fn is_busy(&self) -> bool {
        matches!(self, Self::Sqlite(error) if matches!(
            error.sqlite_error_code(),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
        ))
    }
}

/// Opens the index, or makes an empty one that only its owner may read.
pub(super) fn open(folder: &Path) -> Result<Connection, IndexError> {
    let path = path(folder);
    let created = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
    match created {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error.into()),
        Ok(_) | Err(_) => {}
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(&path, flags)?;
    connection.busy_timeout(PATIENCE)?;
    connection.execute_batch("PRAGMA synchronous = NORMAL; PRAGMA trusted_schema = OFF;")?;
    match version(&connection)? {
        VERSION => Ok(connection),
        0 => {
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            // Another process may have been faster.
            if version(&transaction)? == 0 {
                transaction.execute_batch(SCHEMA)?;
                transaction.pragma_update(None, "user_version", VERSION)?;
            }
            transaction.commit()?;
            Ok(connection)
        }
        _ => Err(IndexError::OtherVersion),
    }
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Removes the index.
pub(super) fn remove(folder: &Path) -> io::Result<()> {
    let path = path(folder);
    for path in [path.with_extension("sqlite-journal"), path] {
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}
