//! Logs that another process writes while they are listed again and again: what was read of them is kept, so that each
//! list reads what is new. The index knows nothing of them until they come to rest.

use std::collections::VecDeque;
use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use dsh_protocol::session::FileHeader;

use super::lines::Mark;
use super::place::Place;
use super::read::{self, ReadError};
use crate::fold::Fold;
use crate::store::Summary;

/// How many logs are kept: each holds the messages of its session.
const MOST: usize = 8;

/// What was read of logs that others write.
#[derive(Default)]
pub(super) struct Grown(Mutex<VecDeque<Known>>);

/// A log as far as it was read.
struct Known {
    inode: u64,
    place: Place,
    mark: Mark,
    header: FileHeader,
    fold: Fold,
}

impl Grown {
    /// Sums up a log, of which only what is new is read if it was read before. It is kept where `is_written` says that
    /// somebody writes it now.
    pub(super) fn summary(
        &self,
        file: &File,
        is_written: bool,
    ) -> Result<(FileHeader, Summary), ReadError> {
        let inode = file.metadata().map_err(ReadError::Io)?.ino();
        let (header, mark, mut fold) = if let Some(known) = self.take(inode, file) {
            (known.header, known.mark, known.fold)
        } else {
            let (header, mark) = read::header(file)?;
            (header, mark, Fold::default())
        };
        let mark = read::fold(file, &header, mark, &mut fold)?;
        let summary = Summary::of(&header, &fold);
        if is_written && let Ok(place) = Place::of(file, mark.offset) {
            let mut known = self.lock();
            known.truncate(MOST - 1);
            let header = header.clone();
            known.push_front(Known { inode, place, mark, header, fold });
        }
        Ok((header, summary))
    }

    /// Lets go of a log that the index knows now.
    pub(super) fn forget(&self, log: &Metadata) {
        self.lock().retain(|known| known.inode != log.ino());
    }

    /// What is known of a log, unless it is another one now.
    fn take(&self, inode: u64, file: &File) -> Option<Known> {
        let mut known = self.lock();
        let at = known.iter().position(|known| known.inode == inode)?;
        let known = known.remove(at)?;
        let is_same = Place::of(file, known.mark.offset).is_ok_and(|place| place == known.place);
        is_same.then_some(known)
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Known>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
