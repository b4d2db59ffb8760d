//! Answers as files of the home folder, for editors that show documents.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// How many are kept; the oldest go first.
const MOST: usize = 50;

/// Writes an answer and returns its file. Names sort by their time, as generated ids do.
pub(crate) async fn keep(home: PathBuf, name: String, text: String) -> io::Result<PathBuf> {
    let kept = tokio::task::spawn_blocking(move || write(&home.join("answers"), &name, &text));
    kept.await.map_err(io::Error::other)?
}

fn write(folder: &Path, name: &str, text: &str) -> io::Result<PathBuf> {
    fs::create_dir_all(folder)?;
    let path = folder.join(format!("{name}.md"));
    fs::write(&path, text)?;
    let mut all: Vec<PathBuf> =
        fs::read_dir(folder)?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    all.sort();
    for old in all.iter().take(all.len().saturating_sub(MOST)) {
        // Another process may have been faster.
        let _ = fs::remove_file(old);
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_newest_answers_are_kept() {
        let home = tempfile::tempdir().unwrap();
        for number in 0..MOST + 3 {
            let name = format!("{number:03}");
            keep(home.path().to_owned(), name, format!("answer {number}")).await.unwrap();
        }
        let folder = home.path().join("answers");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), MOST);
        assert!(!folder.join("002.md").exists());
        assert_eq!(fs::read_to_string(folder.join("003.md")).unwrap(), "answer 3");
    }
}
