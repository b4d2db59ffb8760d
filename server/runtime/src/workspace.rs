//! One workspace folder and the plugins that are mounted for it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use dsh_agent::agents::{AGENTS, Agents};
use dsh_agent::host::{HOST, Host};
use dsh_agent::tools::{TOOLS, Tools};
use dsh_kernel::plugin::Row;
use dsh_kernel::{Kernel, PluginState};
use dsh_llm::models::{LLM, Models};
use url::Url;

/// A workspace folder whose plugins are mounted.
pub struct Workspace {
    path: PathBuf,
    uri: String,
    kernel: Kernel,
    agents: Arc<Agents>,
    models: Arc<Models>,
    tools: Arc<Tools>,
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
        let kernel = Kernel::mount(rows, dsh_plugins::PLUGINS, &HOST, Arc::new(host)).await;
        let missing = |service| MountError { service, reason: broken_rows(&kernel) };
        let agents = kernel.get(&AGENTS).ok_or_else(|| missing(AGENTS.name()))?;
        let models = kernel.get(&LLM).ok_or_else(|| missing(LLM.name()))?;
        let tools = kernel.get(&TOOLS).ok_or_else(|| missing(TOOLS.name()))?;
        Ok(Self { path, uri, kernel, agents, models, tools })
    }

    /// The folder, canonical.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder as a `file:` URI.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// The folder's agents.
    pub fn agents(&self) -> &Agents {
        &self.agents
    }

    /// The models that can be asked here.
    pub fn models(&self) -> &Models {
        &self.models
    }

    /// The tools that see this folder.
    pub fn tools(&self) -> &Tools {
        &self.tools
    }

    /// Ends the folder's agents and unmounts its plugins.
    pub async fn close(&self) {
        self.kernel.dispose().await;
    }
}

fn broken_rows(kernel: &Kernel) -> String {
    let mut broken = Vec::new();
    for plugin in kernel.plugins() {
        let id = &plugin.id;
        match plugin.state {
            PluginState::Active | PluginState::Disposed => {}
            PluginState::Failed => {
                broken.push(format!("row `{id}` failed: {}", plugin.error.unwrap_or_default()));
            }
            PluginState::Pending => {
                broken.push(format!("row `{id}` waits for {}", plugin.waiting_for.join(", ")));
            }
            PluginState::Loading | PluginState::Unloading => {
                broken.push(format!("row `{id}` is {}", plugin.state));
            }
        }
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
