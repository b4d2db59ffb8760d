//! The files of long results: a private folder of the process, with one for each session.

use std::collections::{HashMap, VecDeque};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use dsh_agent::files::Answer;
use dsh_agent::spill::PREFIX;
use dsh_agent::tool::ToolFailure;
use dsh_protocol::ids::SessionId;
use dsh_protocol::workspace::{ReadArguments, ReadValue, ToolErrorCode};
use dsh_workspace::stop::Stop;
use dsh_workspace::{Folder, Options};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// What the results of one session take at most; older ones are deleted for newer ones.
const MAX_SESSION_BYTES: u64 = 64 << 20;
/// How many sessions have results; those of the one that stored longest ago are deleted.
const MAX_SESSIONS: usize = 64;

/// Results on disk. Nothing is made before there is one.
#[derive(Default)]
pub(super) struct Store(Mutex<State>);

#[derive(Default)]
struct State {
    /// Only this user may look into it.
    folder: Option<TempDir>,
    sessions: HashMap<SessionId, Kept>,
    /// The session that stored last stands last.
    order: VecDeque<SessionId>,
    count: u64,
}

#[derive(Default)]
struct Kept {
    /// Names and sizes, the oldest first.
    results: VecDeque<(String, u64)>,
    bytes: u64,
}

impl Store {
    /// Keeps a text; returns its name.
    pub(super) fn put(&self, session: &SessionId, tool: &str, text: &str) -> io::Result<String> {
        let size = text.len() as u64;
        if size > MAX_SESSION_BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.count += 1;
        let plain = |letter: &char| letter.is_ascii_alphanumeric() || *letter == '_';
        let tool: String = tool.chars().filter(plain).take(40).collect();
        let name = format!("{tool}-{}", state.count);
        let folder = state.session_folder(session)?;
        state.make_room(session, size);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(folder.join(&name))?.write_all(text.as_bytes())?;
        let kept = state.sessions.entry(session.clone()).or_default();
        kept.results.push_back((name.clone(), size));
        kept.bytes += size;
        Ok(name)
    }

    /// Reads a window of what was kept for the session.
    pub(super) fn read(
        &self,
        session: Option<&SessionId>,
        arguments: &ReadArguments,
        cancel: &CancellationToken,
    ) -> Result<Answer<ReadValue>, ToolFailure> {
        let name = arguments.file_path.strip_prefix(PREFIX).unwrap_or_default();
        let folder = session.and_then(|session| {
            let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let kept = state.sessions.get(session)?;
            kept.results.iter().any(|(known, _)| known == name).then(|| state.path(session))?
        });
        let Some(folder) = folder else {
            let message = format!(
                "there is no stored result {PREFIX}{name} in this session; call the tool again"
            );
            return Err(ToolFailure::new(ToolErrorCode::FsNotFound, message));
        };
        let failed =
            |failure: dsh_workspace::Failure| ToolFailure::new(failure.code, failure.message);
        let options = Options { secrets: Vec::new(), max_list_size: 0, ..Options::default() };
        let stop = Stop::never();
        if cancel.is_cancelled() {
            stop.cancel();
        }
        let window = ReadArguments { file_path: name.to_owned(), ..arguments.clone() };
        let answer =
            Folder::open(&folder, options).map_err(failed)?.read(&window, &stop).map_err(failed)?;
        let value = ReadValue { path: format!("{PREFIX}{name}"), ..answer.value };
        Ok(Answer { value, notes: answer.notes })
    }
}

impl State {
    fn path(&self, session: &SessionId) -> Option<PathBuf> {
        Some(self.folder.as_ref()?.path().join(session.as_str()))
    }

    /// The session's folder, made when there is none; the session counts as the last one that stored.
    fn session_folder(&mut self, session: &SessionId) -> io::Result<PathBuf> {
        if self.folder.is_none() {
            let mut builder = tempfile::Builder::new();
            builder.prefix("dsh-spill-");
            #[cfg(unix)]
            builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
            self.folder = Some(builder.tempdir()?);
        }
        let path = self.path(session).ok_or(io::ErrorKind::NotFound)?;
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&path)?;
        self.order.retain(|other| other != session);
        self.order.push_back(session.clone());
        while self.order.len() > MAX_SESSIONS {
            if let Some(old) = self.order.pop_front() {
                self.sessions.remove(&old);
                if let Some(path) = self.path(&old) {
                    let _ = fs::remove_dir_all(path);
                }
            }
        }
        Ok(path)
    }

    fn make_room(&mut self, session: &SessionId, size: u64) {
        let Some(folder) = self.path(session) else { return };
        let kept = self.sessions.entry(session.clone()).or_default();
        while kept.bytes + size > MAX_SESSION_BYTES
            && let Some((name, size)) = kept.results.pop_front()
        {
            kept.bytes -= size;
            let _ = fs::remove_file(folder.join(name));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(store: &Store, session: &str, path: &str) -> Result<String, ToolErrorCode> {
        let arguments = ReadArguments { file_path: path.to_owned(), offset: None, limit: Some(1) };
        let session = SessionId::from(session.to_owned());
        let answer = store.read(Some(&session), &arguments, &CancellationToken::new());
        answer.map(|answer| answer.value.lines[0].text.clone()).map_err(|failure| failure.code)
    }

    #[test]
    fn what_a_session_keeps_is_its_own_and_bounded() {
        let store = Store::default();
        let session = SessionId::from("one".to_owned());
        let big = "x\n".repeat(10 << 20);
        let names: Vec<String> =
            (0..5).map(|_| store.put(&session, "grep", &big).unwrap()).collect();
        assert_eq!(read(&store, "one", &format!("spill:{}", names[4])), Ok("x".to_owned()));
        let gone = Err(ToolErrorCode::FsNotFound);
        assert_eq!(read(&store, "one", &format!("spill:{}", names[0])), gone, "made room");
        assert_eq!(read(&store, "two", &format!("spill:{}", names[4])), gone, "not its own");
        for path in ["spill:", "spill:.", "spill:../one/grep-5", "spill:/etc/passwd", "grep-5"] {
            assert_eq!(read(&store, "one", path), gone, "{path}");
        }
        let folder = store.0.lock().unwrap().folder.as_ref().unwrap().path().to_owned();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode(folder.clone()), 0o700);
            assert_eq!(mode(folder.join("one").join(&names[4])), 0o600);
        }
        for number in 0..MAX_SESSIONS {
            let other = SessionId::from(format!("s{number}"));
            store.put(&other, "../odd name", "text").unwrap();
        }
        assert_eq!(fs::read_dir(&folder).unwrap().count(), MAX_SESSIONS);
        drop(store);
        assert!(!folder.exists());
    }
}
