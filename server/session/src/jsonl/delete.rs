//! Deletes log files.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use dsh_protocol::ids::SessionId;

use super::{JsonlStore, ahead, open_options, sink, storage};
use crate::store::StoreError;

/// Deletes logs and what repairs have set aside of them; returns those that were there. The locks of all are taken
/// first, so that none goes while another process writes one of them.
pub(super) fn logs(store: &JsonlStore, ids: &[SessionId]) -> Result<Vec<SessionId>, StoreError> {
    let mut locked: Vec<(SessionId, File)> = Vec::new();
    for id in ids {
        let path = store.path(id);
        let file = match open_options().open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(storage("open", &path, &error)),
        };
        match sink::lock_exclusive(&file) {
            Ok(()) => locked.push((id.clone(), file)),
            Err(rustix::io::Errno::WOULDBLOCK) => return Err(StoreError::Written(id.clone())),
            Err(error) => return Err(storage("lock", &path, &error.into())),
        }
    }
    for (id, _) in &locked {
        let path = store.path(id);
        for path in [&path.with_extension("torn"), &ahead::path(&path), &path] {
            remove(path).map_err(|error| storage("delete", path, &error))?;
        }
    }
    if let Some((id, _)) = locked.first() {
        sink::sync_folder(&store.path(id))
            .map_err(|error| storage("write", &store.folder, &error))?;
    }
    Ok(locked.into_iter().map(|(id, _)| id).collect())
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        outcome => outcome,
    }
}
