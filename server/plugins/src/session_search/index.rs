//! Brings the index up to date and asks it.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use dsh_agent::session_search::Ranked;
use dsh_protocol::params::session::SearchHit;
use rusqlite::{
    Connection, OptionalExtension, Statement, Transaction, TransactionBehavior, params,
};

use super::logs::{self, Lines, LogFile};
use super::query::{Query, segmented};
use super::schema::{self, IndexError};
use super::snippet::snippet;

/// How many bytes of logs are read in one transaction, so that other processes can read between them.
const BATCH_BYTES: i64 = 16 << 20;
/// How many logs are.
const BATCH_FILES: usize = 200;

/// What the index knows of a log.
#[derive(Clone, Copy, PartialEq)]
struct Known {
    key: i64,
    inode: i64,
    /// When the file was last written.
    modified: i64,
    /// Up to where it was read.
    offset: i64,
}

impl Known {
    fn is_up_to_date(self, file: &LogFile) -> bool {
        (self.inode, self.modified, self.offset) == (file.inode, file.modified, file.length)
    }
}

/// Finds what is looked for. An index that cannot be used is made again.
pub(super) fn search(
    folder: &Path,
    query: &Query,
    limit: usize,
) -> Result<Vec<Ranked>, IndexError> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    match attempt(folder, query, limit) {
        Err(error) if error.is_moved() => attempt(folder, query, limit),
        Err(error) if error.is_the_file() => {
            tracing::warn!(%error, "the index of sessions is made again");
            schema::remove(folder)?;
            attempt(folder, query, limit)
        }
        outcome => outcome,
    }
}

fn attempt(folder: &Path, query: &Query, limit: usize) -> Result<Vec<Ranked>, IndexError> {
    let mut connection = schema::open(folder)?;
    match update(&mut connection, folder) {
        // What another process is about to add is found a moment later.
        Err(error) if error.is_busy() => {
            tracing::warn!(%error, "another process works on the index of sessions");
        }
        outcome => outcome?,
    }
    ask(&connection, folder, query, limit)
}

/// Takes in what the logs have that the index has not, and takes out what is gone.
fn update(connection: &mut Connection, folder: &Path) -> Result<(), IndexError> {
    let files = logs::files(folder)?;
    let known = known(connection)?;
    let names: BTreeSet<&str> = files.iter().map(|file| file.id.as_str()).collect();
    let gone: Vec<i64> = known
        .iter()
        .filter(|(id, _)| !names.contains(id.as_str()))
        .map(|(_, known)| known.key)
        .collect();
    let changed: Vec<&LogFile> = files
        .iter()
        .filter(|file| {
            known
                .get(&file.id)
                .is_none_or(|known| known.inode != file.inode || known.offset != file.length)
        })
        .collect();
    if !gone.is_empty() {
        let transaction = begin(connection)?;
        for key in gone {
            forget(&transaction, key)?;
        }
        transaction.commit()?;
    }
    let mut waiting = changed.as_slice();
    while !waiting.is_empty() {
        let transaction = begin(connection)?;
        let mut entering = Entering::of(&transaction)?;
        let (mut bytes, mut count) = (0, 0);
        while count < waiting.len() && count < BATCH_FILES && bytes < BATCH_BYTES {
            bytes += entering.read(waiting[count])?;
            count += 1;
        }
        drop(entering);
        transaction.commit()?;
        waiting = &waiting[count..];
    }
    Ok(())
}

fn begin(connection: &mut Connection) -> rusqlite::Result<Transaction<'_>> {
    connection.transaction_with_behavior(TransactionBehavior::Immediate)
}

fn known(connection: &Connection) -> rusqlite::Result<BTreeMap<String, Known>> {
    let mut asked = connection.prepare("SELECT id, key, inode, modified, offset FROM sessions")?;
    let rows = asked.query_map([], |row| {
        let (key, inode) = (row.get(1)?, row.get(2)?);
        Ok((row.get(0)?, Known { key, inode, modified: row.get(3)?, offset: row.get(4)? }))
    })?;
    rows.collect()
}

/// Takes out a session.
fn forget(transaction: &Transaction<'_>, key: i64) -> rusqlite::Result<()> {
    let places = "SELECT key FROM places WHERE session = ?1";
    transaction.execute(&format!("DELETE FROM words WHERE rowid IN ({places})"), [key])?;
    transaction.execute("DELETE FROM places WHERE session = ?1", [key])?;
    transaction.execute("DELETE FROM sessions WHERE key = ?1", [key])?;
    Ok(())
}

/// What enters logs into the index.
struct Entering<'a> {
    transaction: &'a Transaction<'a>,
    known: Statement<'a>,
    session: Statement<'a>,
    place: Statement<'a>,
    words: Statement<'a>,
}

/// A log that is being read.
struct Open {
    lines: Lines,
    key: i64,
    is_child: bool,
}

impl<'a> Entering<'a> {
    fn of(transaction: &'a Transaction<'a>) -> rusqlite::Result<Self> {
        Ok(Self {
            transaction,
            known: transaction.prepare(
                "SELECT key, inode, modified, offset, is_child, tail FROM sessions WHERE id = ?1",
            )?,
            session: transaction.prepare(
                "INSERT INTO sessions (id, parent, seed, inode, modified, offset, tail, is_child)
                 VALUES (?1, ?2, ?3, ?4, 0, 0, x'', ?5)",
            )?,
            place: transaction.prepare(
                "INSERT INTO places (session, seq, offset, length) VALUES (?1, ?2, ?3, ?4)",
            )?,
            words: transaction.prepare("INSERT INTO words (rowid, text) VALUES (?1, ?2)")?,
        })
    }

    /// Reads a log from where it was read up to; returns how many bytes were read.
    fn read(&mut self, file: &LogFile) -> Result<i64, IndexError> {
        let open = match self.open(file) {
            // It was deleted a moment ago.
            Err(IndexError::Io(error)) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            opened => opened?,
        };
        let Some(Open { mut lines, key, is_child }) = open else { return Ok(0) };
        let begun = lines.offset();
        while let Some(said) = lines.next()? {
            if !is_child {
                self.place.execute(params![key, said.seq, said.offset, said.length])?;
                let place = self.transaction.last_insert_rowid();
                self.words.execute(params![place, segmented(&said.text)])?;
            }
        }
        let end = lines.offset();
        let tail = logs::tail(&file.path, end)?;
        self.transaction.execute(
            "UPDATE sessions SET modified = ?2, offset = ?3, tail = ?4 WHERE key = ?1",
            params![key, file.modified, end, tail],
        )?;
        Ok(end - begun)
    }

    /// Opens a log where it was read up to. Another process may have read it since it was looked at.
    fn open(&mut self, file: &LogFile) -> Result<Option<Open>, IndexError> {
        let known = self.known.query_row([&file.id], |row| {
            let (key, inode, modified) = (row.get(0)?, row.get(1)?, row.get(2)?);
            let known = Known { key, inode, modified, offset: row.get(3)? };
            Ok((known, row.get(4)?, row.get::<_, Vec<u8>>(5)?))
        });
        if let Some((known, is_child, tail)) = known.optional()? {
            let went_on = known.inode == file.inode
                && (known.offset < file.length || known.is_up_to_date(file))
                && logs::tail(&file.path, known.offset)? == tail;
            if went_on {
                let lines = Lines::from(file, known.offset)?;
                return Ok(Some(Open { lines, key: known.key, is_child }));
            }
            // Another file stands there now, or this one was changed.
            forget(self.transaction, known.key)?;
        }
        self.begin(file)
    }

    /// Enters a session by the header of its log; `None` when there is none to be read.
    fn begin(&mut self, file: &LogFile) -> Result<Option<Open>, IndexError> {
        let mut lines = Lines::from(file, 0)?;
        let Some(header) = lines.header()? else { return Ok(None) };
        let is_child = header.origin.is_some();
        let seed = i64::try_from(header.seed_length.unwrap_or(0)).unwrap_or(i64::MAX);
        let parent = header.parent_session.map(|parent| parent.0);
        self.session.execute(params![file.id, parent, seed, file.inode, is_child])?;
        let key = self.transaction.last_insert_rowid();
        Ok(Some(Open { lines, key, is_child }))
    }
}

/// What a fork inherited is found in the session that it comes from, as long as that is there.
const FOUND: &str = "
    SELECT sessions.id, places.seq, places.offset, places.length, words.rank
    FROM words
    JOIN places ON places.key = words.rowid
    JOIN sessions ON sessions.key = places.session
    WHERE words MATCH ?1 AND NOT (
        places.seq < sessions.seed
        AND EXISTS (SELECT 1 FROM sessions AS origin WHERE origin.id = sessions.parent)
    )
    ORDER BY words.rank, places.key DESC
    LIMIT ?2";

fn ask(
    connection: &Connection,
    folder: &Path,
    query: &Query,
    limit: usize,
) -> Result<Vec<Ranked>, IndexError> {
    let mut asked = connection.prepare(FOUND)?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut rows = asked.query(params![query.expression(), limit])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let id: String = row.get(0)?;
        let (seq, offset, length) = (row.get(1)?, row.get(2)?, row.get(3)?);
        let path = folder.join(format!("{id}.jsonl"));
        // A log that has gone or changed since says something else.
        let Some(text) = logs::said_at(&path, seq, offset, length) else { continue };
        let hit = SearchHit {
            session_id: id.into(),
            seq: seq.cast_unsigned(),
            snippet: snippet(&text, query.words()),
        };
        found.push(Ranked { hit, rank: row.get(4)? });
    }
    Ok(found)
}
