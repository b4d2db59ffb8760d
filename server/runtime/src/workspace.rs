//! One workspace folder and the plugins that are mounted for it.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};

use dsh_agent::agents::{AGENTS, Agents};
use dsh_agent::commands::{COMMANDS, Commands};
use dsh_agent::deliberation::{DELIBERATION, Deliberation};
use dsh_agent::files::{FS, FileSystem};
use dsh_agent::host::{HOST, Host};
use dsh_agent::session_search::{SESSION_SEARCH, SessionSearch};
use dsh_agent::tools::{TOOLS, Tools};
use dsh_kernel::plugin::{Plugin, Row};
use dsh_kernel::{Kernel, PluginState, PluginStatus, UpdateError};
use dsh_llm::credentials::{CREDENTIALS, Credentials};
use dsh_llm::models::{LLM, Models};
use dsh_plugins::PLUGINS;
use url::Url;

use crate::affected::reaches_agents;

/// A workspace folder whose plugins are mounted.
pub struct Workspace {
    path: PathBuf,
    /// Its other names.
    names: Arc<RwLock<Vec<PathBuf>>>,
    uri: String,
    kernel: Kernel,
    /// The rows that are mounted.
    rows: Mutex<Vec<Row>>,
    /// The services as they were last found: they answer while their replacements wait for running turns.
    last: Mutex<Services>,
    /// What ran rounds for people; see [`Workspace::deliberations`].
    deliberations: Mutex<Vec<Weak<dyn Deliberation>>>,
    /// Whether clients were told last that the configuration applies.
    pub(crate) applies: AtomicBool,
}

#[derive(Clone)]
struct Services {
    agents: Arc<Agents>,
    models: Arc<Models>,
    tools: Arc<Tools>,
    credentials: Option<Arc<dyn Credentials>>,
}

/// Why a folder's plugins do not run.
#[derive(Debug, thiserror::Error)]
#[error("`{service}` is not available in this workspace: {reason}")]
pub struct MountError {
    /// What is missing.
    pub service: &'static str,
    /// Which rows did not start, and why.
    pub reason: String,
}

/// What names no folder.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FolderNameError {
    /// Neither a `file:` URI of this machine nor an absolute path.
    #[error("`{0}` is neither a `file:` URI nor an absolute path")]
    NotAPath(String),
    /// There is no folder there.
    #[error("there is no folder at `{0}`")]
    NotFound(String),
}

impl Workspace {
    /// Mounts rows for the folder that `host` names.
    pub(crate) async fn mount(host: Host, rows: Vec<Row>) -> Result<Self, MountError> {
        let (path, uri) = (host.workspace.clone(), host.workspace_uri.clone());
        let names = Arc::clone(&host.workspace_names);
        let kernel = Kernel::mount(rows.clone(), PLUGINS, &HOST, Arc::new(host)).await;
        let last = Mutex::new(services(&kernel)?);
        let rows = Mutex::new(rows);
        let (deliberations, applies) = (Mutex::default(), AtomicBool::new(true));
        Ok(Self { path, names, uri, kernel, rows, last, deliberations, applies })
    }

    /// Replaces the rows, or leaves everything as it was. Waits for running turns where what they work with is
    /// replaced.
    pub(crate) async fn update(&self, rows: Vec<Row>) -> Result<(), UpdateError> {
        if reaches_agents(&self.rows(), &rows, PLUGINS)
            && let Some(agents) = self.kernel.get(&AGENTS)
        {
            agents.at_rest().await;
        }
        self.kernel.update(rows.clone()).await?;
        *lock(&self.rows) = rows;
        Ok(())
    }

    /// The rows that are mounted.
    pub(crate) fn rows(&self) -> Vec<Row> {
        lock(&self.rows).clone()
    }

    /// Every row and where its plugin stands.
    pub fn plugins(&self) -> Vec<PluginStatus> {
        self.kernel.plugins()
    }

    /// The folder, canonical.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Says by which other paths clients name the folder now.
    pub(crate) fn set_names(&self, names: Vec<PathBuf>) {
        *self.names.write().unwrap_or_else(PoisonError::into_inner) = names;
    }

    /// The folder as a `file:` URI.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// The folder's agents. While they are being replaced, those that still answer, or the next ones.
    pub async fn agents(&self) -> Result<Arc<Agents>, MountError> {
        Ok(self.services(|services| !services.agents.is_closed()).await?.agents)
    }

    /// The models that can be asked here.
    pub async fn models(&self) -> Result<Arc<Models>, MountError> {
        Ok(self.services(|_| true).await?.models)
    }

    /// The tools that see this folder.
    pub async fn tools(&self) -> Result<Arc<Tools>, MountError> {
        Ok(self.services(|_| true).await?.tools)
    }

    /// What keeps the credentials, if something does.
    pub async fn credentials(&self) -> Result<Option<Arc<dyn Credentials>>, MountError> {
        Ok(self.services(|_| true).await?.credentials)
    }

    /// What a person can type into a session, if something runs it.
    pub fn commands(&self) -> Option<Arc<Commands>> {
        self.kernel.get(&COMMANDS)
    }

    /// The folder's files as agents see them, if something reads them.
    pub fn files(&self) -> Option<Arc<dyn FileSystem>> {
        self.kernel.get(&FS)
    }

    /// What finds things that were said in sessions, if something does.
    pub fn session_search(&self) -> Option<Arc<dyn SessionSearch>> {
        self.kernel.get(&SESSION_SEARCH)
    }

    /// What runs rounds that a person asks for, if something does.
    pub fn deliberation(&self) -> Option<Arc<dyn Deliberation>> {
        let now = self.kernel.get(&DELIBERATION)?;
        let mut used = self.deliberations.lock().unwrap_or_else(PoisonError::into_inner);
        used.retain(|other| other.strong_count() > 0);
        let own = Arc::downgrade(&now);
        if !used.iter().any(|other| Weak::ptr_eq(other, &own)) {
            used.push(own);
        }
        Some(now)
    }

    /// What runs rounds, and what ran them before it was replaced, as long as some still do.
    pub fn deliberations(&self) -> Vec<Arc<dyn Deliberation>> {
        let now = self.deliberation();
        let used = self.deliberations.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<_> = used.iter().filter_map(Weak::upgrade).collect();
        drop(used);
        if all.is_empty() {
            all.extend(now);
        }
        all
    }

    async fn services(&self, usable: impl Fn(&Services) -> bool) -> Result<Services, MountError> {
        let mut changes = self.kernel.watch();
        loop {
            changes.mark_unchanged();
            // Asked first: what is missing after the last change is missing for good.
            let is_changing = self.kernel.is_changing();
            match services(&self.kernel) {
                Ok(services) if usable(&services) || !is_changing => {
                    lock(&self.last).clone_from(&services);
                    return Ok(services);
                }
                Err(missing) if !is_changing => return Err(missing),
                Ok(_) | Err(_) => {}
            }
            let last = lock(&self.last).clone();
            if usable(&last) {
                return Ok(last);
            }
            if changes.changed().await.is_err() {
                return Ok(last);
            }
        }
    }

    /// How many sessions are loaded.
    pub fn session_count(&self) -> usize {
        self.kernel.get(&AGENTS).map_or(0, |agents| agents.count())
    }

    /// Ends the folder's agents and unmounts its plugins.
    pub async fn close(&self) {
        self.kernel.dispose().await;
    }
}

/// What a folder must have to be of use.
fn services(kernel: &Kernel) -> Result<Services, MountError> {
    let missing = |service| MountError { service, reason: broken_rows(kernel, service) };
    Ok(Services {
        agents: kernel.get(&AGENTS).ok_or_else(|| missing(AGENTS.name()))?,
        models: kernel.get(&LLM).ok_or_else(|| missing(LLM.name()))?,
        tools: kernel.get(&TOOLS).ok_or_else(|| missing(TOOLS.name()))?,
        credentials: kernel.get(&CREDENTIALS),
    })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Why nobody provides a service: the rows that would, and those that they wait for.
fn broken_rows(kernel: &Kernel, service: &str) -> String {
    let plugins = kernel.plugins();
    let mut broken = Vec::new();
    let mut wanted = vec![service.to_owned()];
    let mut at = 0;
    while let Some(service) = wanted.get(at).cloned() {
        at += 1;
        let provides = |name: &str| {
            let gives = |plugin: &&Plugin| plugin.provides.contains(&service.as_str());
            PLUGINS.iter().filter(gives).any(|plugin| plugin.name == name)
        };
        for row in plugins.iter().filter(|row| provides(&row.name)) {
            let id = &row.id;
            broken.push(match row.state {
                PluginState::Active => continue,
                PluginState::Disposed => format!("row `{id}` is disabled"),
                PluginState::Failed => {
                    format!("row `{id}` failed: {}", row.error.as_deref().unwrap_or_default())
                }
                PluginState::Pending => {
                    let new = row.waiting_for.iter().filter(|service| !wanted.contains(service));
                    let new: Vec<String> = new.cloned().collect();
                    wanted.extend(new);
                    format!("row `{id}` waits for {}", row.waiting_for.join(", "))
                }
                PluginState::Loading | PluginState::Unloading => {
                    format!("row `{id}` is {}", row.state)
                }
            });
        }
    }
    if broken.is_empty() {
        broken.push(format!("no row provides `{service}`"));
    }
    broken.join("; ")
}

/// The absolute path that a client names a folder by. Looks at the letters only.
pub fn folder_path(name: &str) -> Result<PathBuf, FolderNameError> {
    let not_a_path = || FolderNameError::NotAPath(name.to_owned());
    let path = if name.starts_with("file:") {
        let url = Url::parse(name).map_err(|_| not_a_path())?;
        url.to_file_path().map_err(|()| not_a_path())?
    } else {
        PathBuf::from(name)
    };
    if path.is_absolute() { Ok(path) } else { Err(not_a_path()) }
}

/// A folder as a `file:` URI without a slash at its end.
pub(crate) fn folder_uri(path: &Path) -> String {
    Url::from_file_path(path).map(String::from).unwrap_or_default()
}
