//! Tells when files change, appear or vanish. They and the folders that they are to be in need not exist yet.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc;

/// How long after a sign of change the files are looked at: an editor that saves does several things.
const SETTLE: Duration = Duration::from_millis(50);

/// How often they are looked at where every folder is watched, for file systems that tell nothing.
const LOOK: Duration = Duration::from_secs(30);

/// How often where one cannot be watched.
const LOOK_UNWATCHED: Duration = Duration::from_secs(2);

/// How often in a row the folders are looked for while they come and go.
const AGAIN: usize = 8;

/// What a file may have for its text to be compared; of longer ones length and time are.
const COMPARED: u64 = 1024 * 1024;

/// A file as it was seen.
#[derive(PartialEq, Eq)]
enum Seen {
    Absent,
    Text(Vec<u8>),
    Facts(u64, Option<SystemTime>),
}

/// Some files that are watched.
pub(crate) struct Watch {
    files: Vec<PathBuf>,
    seen: Vec<Seen>,
    signs: mpsc::Receiver<()>,
    /// Absent when the system gives no watcher.
    watcher: Option<RecommendedWatcher>,
    folders: BTreeSet<PathBuf>,
}

impl Watch {
    /// Watches files; what they are now counts as seen.
    pub(crate) fn new(files: Vec<PathBuf>) -> Self {
        let (sign, signs) = mpsc::channel(1);
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            // Reading a file is an event too, and no change. A full channel has its sign already.
            if event.is_ok_and(|event| !event.kind.is_access()) {
                let _ = sign.try_send(());
            }
        });
        let watcher = watcher
            .inspect_err(
                |error| tracing::warn!(%error, "configuration files are looked at instead"),
            )
            .ok();
        let seen = look(&files);
        Self { files, seen, signs, watcher, folders: BTreeSet::new() }
    }

    /// Returns when one of the files is not what it was when they were last looked at.
    pub(crate) async fn changed(&mut self) {
        loop {
            let watched = self.watch_folders();
            let files = self.files.clone();
            let now = tokio::task::spawn_blocking(move || look(&files)).await;
            if let Ok(now) = now
                && now != self.seen
            {
                self.seen = now;
                return;
            }
            let look = if watched { LOOK } else { LOOK_UNWATCHED };
            tokio::select! {
                Some(()) = self.signs.recv() => tokio::time::sleep(SETTLE).await,
                () = tokio::time::sleep(look) => {}
            }
        }
    }

    /// Takes the files for seen as they are.
    pub(crate) async fn see(&mut self) {
        let files = self.files.clone();
        if let Ok(now) = tokio::task::spawn_blocking(move || look(&files)).await {
            self.seen = now;
        }
    }

    /// Watches the folders that say something of the files as things stand. Whether all can be watched.
    fn watch_folders(&mut self) -> bool {
        // A folder that appears before the one above it is watched tells nobody.
        for _ in 0..AGAIN {
            let all = self.watch_those(wanted(&self.files));
            if !all || wanted(&self.files) == self.folders {
                return all;
            }
        }
        false
    }

    fn watch_those(&mut self, wanted: BTreeSet<PathBuf>) -> bool {
        let Some(watcher) = &mut self.watcher else { return false };
        for gone in self.folders.difference(&wanted) {
            // A folder that was removed is watched no more already.
            let _ = watcher.unwatch(gone);
        }
        let mut all = true;
        let mut now = BTreeSet::new();
        for folder in wanted {
            // Watched anew each time: a folder that was replaced has the same name.
            match watcher.watch(&folder, RecursiveMode::NonRecursive) {
                Ok(()) => drop(now.insert(folder)),
                Err(error) => {
                    tracing::debug!(folder = %folder.display(), %error, "cannot be watched");
                    all = false;
                }
            }
        }
        self.folders = now;
        all
    }
}

fn wanted(files: &[PathBuf]) -> BTreeSet<PathBuf> {
    files.iter().flat_map(|file| folders(file)).collect()
}

/// The nearest folder above a file that exists, and the one of the file that it links to.
fn folders(file: &Path) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    folders.extend(file.ancestors().skip(1).find(|folder| folder.is_dir()).map(Path::to_owned));
    if let Ok(target) = fs::canonicalize(file) {
        folders.extend(target.parent().map(Path::to_owned));
    }
    folders
}

fn look(files: &[PathBuf]) -> Vec<Seen> {
    files.iter().map(|file| look_at(file)).collect()
}

fn look_at(file: &Path) -> Seen {
    let Ok(metadata) = fs::metadata(file) else { return Seen::Absent };
    if metadata.is_file() && metadata.len() <= COMPARED {
        return fs::read(file).map_or(Seen::Absent, Seen::Text);
    }
    Seen::Facts(metadata.len(), metadata.modified().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Does something and waits until it is seen.
    async fn seen(watch: &mut Watch, what: &str, change: impl FnOnce()) {
        change();
        let changed = tokio::time::timeout(Duration::from_secs(20), watch.changed()).await;
        assert!(changed.is_ok(), "{what}");
    }

    #[tokio::test]
    async fn a_file_is_followed_through_all_that_can_happen_to_it() {
        let root = tempfile::tempdir().unwrap();
        let (folder, elsewhere) = (root.path().join("deep/home"), root.path().join("elsewhere"));
        let file = folder.join("patch.yml");
        let mut watch = Watch::new(vec![file.clone()]);
        seen(&mut watch, "created with its folders", || {
            fs::create_dir_all(&folder).unwrap();
            fs::write(&file, "[]").unwrap();
        })
        .await;
        seen(&mut watch, "rewritten", || fs::write(&file, "[a]").unwrap()).await;
        seen(&mut watch, "replaced", || {
            fs::write(folder.join("new"), "[b]").unwrap();
            fs::rename(folder.join("new"), &file).unwrap();
        })
        .await;
        seen(&mut watch, "removed with its folder", || fs::remove_dir_all(&folder).unwrap()).await;
        seen(&mut watch, "linked", || {
            fs::create_dir_all(&folder).unwrap();
            fs::create_dir_all(&elsewhere).unwrap();
            fs::write(elsewhere.join("target"), "[c]").unwrap();
            std::os::unix::fs::symlink(elsewhere.join("target"), &file).unwrap();
        })
        .await;
        seen(&mut watch, "changed where the link leads", || {
            fs::write(elsewhere.join("target"), "[d]").unwrap();
        })
        .await;
        seen(&mut watch, "removed", || fs::remove_file(&file).unwrap()).await;
    }
}
