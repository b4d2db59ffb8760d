//! All workspace folders of one process.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use dsh_agent::agents::OpenError;
use dsh_agent::files::Buffers;
use dsh_agent::host::{Host, NewId, Observer as _, time_ordered_ids};
use dsh_config::problem::Problem;
use dsh_config::profile::Sources;
use dsh_kernel::plugin::Row;
use dsh_protocol::ids::{ModelId, SessionId};
use dsh_session::clock::{Clock, system};
use dsh_session::store::StorageError;
use tokio::sync::{Notify, OnceCell};
use tokio_util::sync::CancellationToken;

use crate::buffers::OpenBuffers;
use crate::configuration::{Composition, Configuration};
use crate::notices::Notices;
use crate::watch::Watch;
use crate::workspace::{FolderNameError, MountError, Workspace, folder_path, folder_uri};

mod sessions;

/// What a runtime is started with.
#[derive(Clone)]
pub struct RuntimeConfig {
    /// Which configuration files there are, and the folder for everything that is kept.
    pub sources: Sources,
    /// The variables of the process.
    pub variables: BTreeMap<String, String>,
    /// The model that a person forced for this process.
    pub forced_model: Option<ModelId>,
    /// The model that the environment names.
    pub environment_model: Option<ModelId>,
    /// Tells the time.
    pub clock: Clock,
    /// Makes ids.
    pub new_id: NewId,
}

impl RuntimeConfig {
    /// The system's clock, ids and variables, the editors' profile, and nobody's choice of a model.
    pub fn new(home: PathBuf) -> Self {
        Self {
            sources: Sources { home, profile: EDITOR_PROFILE.to_owned(), patches: Vec::new() },
            variables: process_variables(),
            forced_model: None,
            environment_model: None,
            clock: system(),
            new_id: time_ordered_ids(),
        }
    }
}

/// The profile of the doors that serve editors and scripts.
pub const EDITOR_PROFILE: &str = "editor";

/// The profile of a single question.
pub const HEADLESS_PROFILE: &str = "headless";

/// The variables of this process whose values are text.
fn process_variables() -> BTreeMap<String, String> {
    let text = |(name, value): (OsString, OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    std::env::vars_os().filter_map(text).collect()
}

/// The folders by their canonical paths, each mounted at its first use.
type Folders = BTreeMap<PathBuf, Arc<OnceCell<Arc<Workspace>>>>;

/// All workspace folders of one process.
pub struct Runtime {
    config: RuntimeConfig,
    pub(crate) configuration: Configuration,
    /// One change of the configuration after the other.
    pub(crate) reloading: tokio::sync::Mutex<()>,
    /// Tells whoever follows the files that this process has written one.
    pub(crate) rewritten: Notify,
    notices: Notices,
    buffers: Arc<OpenBuffers>,
    /// Fires when a folder was used for the first time.
    in_use: CancellationToken,
    /// The folders that clients have named, for the plugins.
    open: Arc<RwLock<Vec<PathBuf>>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Folders as clients named them, not looked at yet: opening one must not touch the disk.
    named: Vec<PathBuf>,
    folders: Folders,
    /// Where sessions were found, so that each is looked for once.
    found: BTreeMap<SessionId, Arc<Workspace>>,
}

/// Why there is no such folder to work in.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// The name is not that of a folder.
    #[error(transparent)]
    Name(#[from] FolderNameError),
    /// The folder exists but is not open here.
    #[error("the folder `{0}` is not open in this server")]
    NotOpen(String),
    /// No folder is open.
    #[error("no folder is open")]
    NoneOpen,
    /// Several folders are open and none was named.
    #[error("several folders are open; name one of them as `workspace`: {}", .0.join(", "))]
    Ambiguous(Vec<String>),
    /// The folder's plugins do not run.
    #[error(transparent)]
    Mount(#[from] MountError),
    /// The configuration cannot be used.
    #[error("{}", listed(.0))]
    Configuration(Vec<Problem>),
}

fn listed(problems: &[Problem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// The sessions whose logs could not be written to their end, and why.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the last events are not saved of {}", not_saved(.0))]
pub struct Unwritten(pub Vec<(SessionId, StorageError)>);

fn not_saved(sessions: &[(SessionId, StorageError)]) -> String {
    let each = sessions.iter().map(|(session, error)| format!("`{session}` ({error})"));
    each.collect::<Vec<_>>().join(", ")
}

/// Why there is no such session.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// No open folder has it.
    #[error("there is no session `{0}` in the open folders")]
    NotFound(SessionId),
    /// Its log cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Its folder's plugins do not run.
    #[error(transparent)]
    Mount(#[from] MountError),
}

impl Runtime {
    /// A runtime without folders. Touches nothing yet.
    pub fn new(config: RuntimeConfig) -> Self {
        let configuration = Configuration::new(config.sources.clone(), config.variables.clone());
        Self {
            config,
            configuration,
            reloading: tokio::sync::Mutex::default(),
            rewritten: Notify::new(),
            notices: Notices::default(),
            buffers: Arc::default(),
            in_use: CancellationToken::new(),
            open: Arc::default(),
            state: Mutex::default(),
        }
    }

    /// The configuration that applies; composed now if no folder has been used yet.
    pub fn composition(&self) -> Result<Arc<Composition>, Vec<Problem>> {
        self.configuration.current()
    }

    /// Applies the configuration files whenever they change. Begins when a folder is used for the first time;
    /// never ends by itself.
    pub async fn follow_configuration(&self) {
        self.in_use.cancelled().await;
        let mut watch = Watch::new(self.config.sources.watched());
        loop {
            // The first time, for what changed since the files were read.
            self.reload().await;
            tokio::select! {
                () = watch.changed() => {}
                // What was written here applies: only a file that is like that is as it was.
                () = self.rewritten.notified() => watch.see().await,
            }
        }
    }

    /// The folders that are mounted.
    pub(crate) fn mounted_folders(&self) -> Vec<Arc<Workspace>> {
        let cells: Vec<_> = self.lock().folders.values().cloned().collect();
        cells.iter().filter_map(|cell| cell.get().cloned()).collect()
    }

    /// The folder that the configuration is looked at for when none is mounted.
    pub(crate) fn current_folder(&self) -> PathBuf {
        let open = self.open_folders().into_iter().next();
        open.or_else(|| std::env::current_dir().ok()).unwrap_or_default()
    }

    /// Tells what happens to sessions.
    pub fn notices(&self) -> &Notices {
        &self.notices
    }

    /// What editors have open.
    pub fn buffers(&self) -> &OpenBuffers {
        &self.buffers
    }

    /// Keeps an answer as a file that an editor can show. `name` is that of its message.
    pub async fn keep_answer(&self, name: &str, text: &str) -> std::io::Result<PathBuf> {
        let home = self.config.sources.home.clone();
        crate::answers::keep(home, name.to_owned(), text.to_owned()).await
    }

    /// Closes a folder that a client named: its running turns are aborted and its sessions are on disk when
    /// this returns.
    pub async fn close_folder(&self, name: &str) -> Result<(), FolderNameError> {
        let path = folder_path(name)?;
        let closed = {
            let mut state = self.lock();
            state.named.retain(|named| *named != path);
            self.tell_open(&state);
            let canonical = std::fs::canonicalize(&path).unwrap_or(path);
            let still_open = state
                .named
                .iter()
                .any(|named| std::fs::canonicalize(named).is_ok_and(|named| named == canonical));
            if still_open {
                return Ok(());
            }
            state.found.retain(|_, workspace| workspace.path() != canonical);
            state.folders.remove(&canonical)
        };
        if let Some(workspace) = closed.as_ref().and_then(|cell| cell.get()) {
            workspace.close().await;
        }
        Ok(())
    }

    /// Opens a folder by its URI or path. Only remembers the name: the disk is looked at when the folder is
    /// first used.
    pub fn open_folder(&self, name: &str) -> Result<(), FolderNameError> {
        let path = folder_path(name)?;
        let mut state = self.lock();
        if !state.named.contains(&path) {
            state.named.push(path);
            self.tell_open(&state);
        }
        Ok(())
    }

    /// The folder that a client means: the named one, or the only one that is open. Its plugins are mounted
    /// when this returns.
    pub async fn workspace(&self, name: Option<&str>) -> Result<Arc<Workspace>, WorkspaceError> {
        let open = self.open_folders();
        let path = match name {
            Some(name) => {
                let path = folder_path(name)?;
                let canonical = std::fs::canonicalize(&path)
                    .map_err(|_| FolderNameError::NotFound(path.display().to_string()))?;
                if !canonical.is_dir() {
                    return Err(FolderNameError::NotFound(path.display().to_string()).into());
                }
                if !open.contains(&canonical) {
                    return Err(WorkspaceError::NotOpen(canonical.display().to_string()));
                }
                canonical
            }
            None => match open.as_slice() {
                [only] => only.clone(),
                [] => return Err(self.none_open()),
                several => {
                    return Err(WorkspaceError::Ambiguous(
                        several.iter().map(|path| folder_uri(path)).collect(),
                    ));
                }
            },
        };
        self.mounted(&path).await
    }

    /// Every open folder that exists, mounted.
    pub async fn workspaces(&self) -> Result<Vec<Arc<Workspace>>, WorkspaceError> {
        let mut workspaces = Vec::new();
        for path in self.open_folders() {
            workspaces.push(self.mounted(&path).await?);
        }
        Ok(workspaces)
    }

    /// The URIs of the open folders that exist.
    pub fn folder_uris(&self) -> Vec<String> {
        self.open_folders().iter().map(|path| folder_uri(path)).collect()
    }

    /// How many sessions are loaded.
    pub fn session_count(&self) -> usize {
        self.mounted_folders().iter().map(|workspace| workspace.session_count()).sum()
    }

    /// Ends every agent and unmounts every folder. Running turns end as aborted; everything is on disk when
    /// this returns, but for the sessions that it names: their last events are lost with the process.
    pub async fn close(&self) -> Result<(), Unwritten> {
        let state = std::mem::take(&mut *self.lock());
        for cell in state.folders.into_values() {
            if let Some(workspace) = cell.get() {
                workspace.close().await;
            }
        }
        let mut sessions = Vec::new();
        for (session, sink) in self.notices.take_unwritten() {
            if let Err(error) = sink.flush().await {
                sessions.push((session.clone(), error));
                self.notices.left_unwritten(&session, sink);
            }
        }
        if sessions.is_empty() { Ok(()) } else { Err(Unwritten(sessions)) }
    }

    /// The open folders by their canonical paths; two spellings of one folder are one. Those that do not
    /// exist (now) are left out.
    pub fn open_folders(&self) -> Vec<PathBuf> {
        let named = self.lock().named.clone();
        let mut canonical = Vec::new();
        for path in named {
            if let Ok(path) = std::fs::canonicalize(path)
                && path.is_dir()
                && !canonical.contains(&path)
            {
                canonical.push(path);
            }
        }
        canonical
    }

    /// Says of the folders that were named but do not exist that they do not.
    fn none_open(&self) -> WorkspaceError {
        match self.lock().named.first() {
            Some(path) => FolderNameError::NotFound(path.display().to_string()).into(),
            None => WorkspaceError::NoneOpen,
        }
    }

    async fn mounted(&self, path: &Path) -> Result<Arc<Workspace>, WorkspaceError> {
        let cell = Arc::clone(self.lock().folders.entry(path.to_owned()).or_default());
        let workspace = cell
            .get_or_try_init(|| async {
                let mounted =
                    async { Ok(Workspace::mount(self.host(path), self.rows(path)?).await?) };
                let mounted: Result<_, WorkspaceError> = mounted.await;
                // Also where it failed: the files may be mended.
                self.in_use.cancel();
                Ok::<_, WorkspaceError>(Arc::new(mounted?))
            })
            .await?;
        workspace.set_names(self.names_of(path));
        Ok(Arc::clone(workspace))
    }

    /// The names of an open folder that go through links.
    fn names_of(&self, path: &Path) -> Vec<PathBuf> {
        let mut named = self.lock().named.clone();
        let is_other = |named: &PathBuf| {
            named != path && std::fs::canonicalize(named).is_ok_and(|named| named == path)
        };
        named.retain(is_other);
        named
    }

    /// The rows to mount for a folder. What is wrong with some of them is logged; the others go on.
    fn rows(&self, path: &Path) -> Result<Vec<Row>, WorkspaceError> {
        let composition = self.configuration.current().map_err(WorkspaceError::Configuration)?;
        let rows = composition.rows(path).map_err(WorkspaceError::Configuration)?;
        for problem in composition.problems(path) {
            tracing::warn!(%problem, "configuration");
        }
        Ok(rows)
    }

    pub(crate) fn host(&self, path: &Path) -> Host {
        Host {
            home: self.config.sources.home.clone(),
            environment: self.configuration.variables(),
            workspace: path.to_owned(),
            workspace_names: Arc::new(RwLock::new(self.names_of(path))),
            open_folders: Arc::clone(&self.open),
            workspace_uri: folder_uri(path),
            forced_model: self.config.forced_model.clone(),
            environment_model: self.config.environment_model.clone(),
            clock: Arc::clone(&self.config.clock),
            new_id: Arc::clone(&self.config.new_id),
            observer: Arc::new(self.notices.clone()),
            buffers: Arc::clone(&self.buffers) as Arc<dyn Buffers>,
        }
    }

    fn tell_open(&self, state: &State) {
        self.open.write().unwrap_or_else(PoisonError::into_inner).clone_from(&state.named);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
