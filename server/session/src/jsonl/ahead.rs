//! Deltas that clients are told of before they stand in the log, in a file beside it.
//!
//! A delta that is written as soon as it comes would be a line of its own, with five times the room that it takes in a
//! row. So what clients are told of is written here first, and the log gets the row some time later. A process that is
//! killed in between leaves the file, and whoever takes the right to append next brings its deltas into the log. The
//! file says behind which place of which log it belongs: in every other case it counts for nothing.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use dsh_protocol::event::Event;
use rustix::fs::OFlags;

use super::decode::Decoder;
use super::lines::{Lines, Mark};
use super::place::Place;
use crate::run::{Entry, Run};

/// The file beside a log.
pub(super) fn path(log: &Path) -> PathBuf {
    log.with_extension("ahead")
}

/// The file as its writer has it.
#[derive(Default)]
pub(super) struct Ahead {
    file: Option<File>,
    /// Where in the log its deltas belong.
    at: Option<Mark>,
    /// How many bytes of it count.
    length: u64,
    /// Seq behind its last delta.
    next_seq: u64,
}

impl Ahead {
    /// Adds the deltas of a run that it does not have yet; returns the seq behind the last. The run begins where the
    /// log ends, at `mark`.
    pub(super) fn add(
        &mut self,
        log_path: &Path,
        log: &File,
        mark: Mark,
        run: &Run,
    ) -> io::Result<u64> {
        if run.first_seq() != mark.next_seq {
            return Err(io::Error::other("the deltas do not follow the log"));
        }
        if self.at != Some(mark) {
            self.begin(log_path, log, mark)?;
        }
        let Some(file) = &self.file else { return Err(io::ErrorKind::NotFound.into()) };
        let mut bytes = Vec::new();
        let known = usize::try_from(self.next_seq - run.first_seq()).unwrap_or(usize::MAX);
        for at in known..run.len() {
            serde_json::to_writer(&mut bytes, &run.event(at))?;
            bytes.push(b'\n');
        }
        file.write_all_at(&bytes, self.length)?;
        self.length += bytes.len() as u64;
        self.next_seq = run.next_seq();
        Ok(self.next_seq)
    }

    /// Begins anew, at another place of the log.
    fn begin(&mut self, log_path: &Path, log: &File, mark: Mark) -> io::Result<()> {
        self.at = None;
        let mut line = serde_json::to_vec(&Place::of(log, mark.offset)?)?;
        line.push(b'\n');
        let file = match self.file.take() {
            Some(file) => file.set_len(0).map(|()| file)?,
            None => create(&path(log_path))?,
        };
        file.write_all_at(&line, 0)?;
        (self.file, self.at) = (Some(file), Some(mark));
        (self.length, self.next_seq) = (line.len() as u64, mark.next_seq);
        Ok(())
    }

    /// Takes the file away: all that is in it stands in the log.
    pub(super) fn remove(&mut self, log_path: &Path) {
        *self = Self::default();
        let path = path(log_path);
        if let Err(error) = fs::remove_file(&path)
            && error.kind() != io::ErrorKind::NotFound
        {
            // It counts for nothing where it is.
            tracing::debug!(path = %path.display(), %error, "was not removed");
        }
    }
}

fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    match options.open(path) {
        // What a crash left was taken in when this process got the right to append.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            fs::remove_file(path)?;
            options.open(path)
        }
        outcome => outcome,
    }
}

/// The deltas beside a log that belong behind a mark, which is where it ends; none where there are none.
pub(super) fn read(log_path: &Path, log: &File, mark: Mark) -> Vec<Event> {
    let mut events = Vec::new();
    let path = path(log_path);
    match read_into(&mut events, &path, log, mark) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::warn!(path = %path.display(), %error, "was not read to its end");
        }
        Ok(()) | Err(_) => {}
    }
    events
}

fn read_into(events: &mut Vec<Event>, path: &Path, log: &File, mark: Mark) -> io::Result<()> {
    let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW;
    let mut options = OpenOptions::new();
    let file = options.read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    let mut lines = Lines::from(&file, 0)?;
    let Some(first) = lines.next()? else { return Ok(()) };
    let place: Place = serde_json::from_slice(first)?;
    if place != Place::of(log, mark.offset)? {
        return Ok(());
    }
    let mut decoder = Decoder::default();
    let mut next_seq = mark.next_seq;
    while let Some(line) = lines.next()? {
        // What is not a delta, or not the next one, was not written here.
        match decoder.decode(line) {
            Ok(Entry::One(event)) if event.seq == next_seq && Run::of(&event).is_some() => {
                next_seq += 1;
                events.push(event);
            }
            _ => break,
        }
    }
    Ok(())
}
