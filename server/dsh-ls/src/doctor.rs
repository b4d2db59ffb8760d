//! `dsh-ls doctor`: what is composed, what is active, what a model sees, what was used, and what needs attention.
//!
//! It mounts the folder as every other door does, appends to no log, and prints no value of any setting: the
//! output is made to be pasted where others read it.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::bail;
use dsh_protocol::ids::ModelId;
use dsh_protocol::params::model::ModelInfo;
use dsh_runtime::config::dump::{ListedRow, list_rows};
use dsh_runtime::config::problem;
use dsh_runtime::configuration::Composition;
use dsh_runtime::kernel::PluginStatus;
use dsh_runtime::llm::models::Models;
use dsh_runtime::runtime::{EDITOR_PROFILE, Runtime, RuntimeConfig};
use dsh_runtime::workspace::{MountError, Workspace};

use crate::cli::{self, DoctorArgs, printable};
use crate::{Folders, config, logging};

mod checks;
mod keys;
mod print;
mod used;

use checks::Check;
use keys::Keys;
use used::Used;

/// Something needs attention.
const ATTENTION: u8 = 1;

/// Everything that is found out.
struct Report {
    workspace: PathBuf,
    home: PathBuf,
    profile: String,
    /// The rows; absent when the layers have errors.
    composed: Option<Vec<ListedRow>>,
    mounted: Result<Mounted, String>,
    checks: Vec<Check>,
}

/// What only a folder that is mounted can tell.
struct Mounted {
    active: Vec<PluginStatus>,
    tools: Vec<String>,
    models: Vec<ModelInfo>,
    /// The model that new sessions use.
    model: ModelId,
    /// Why it cannot be asked.
    unready: Option<String>,
    used: Used,
    /// How many credentials the home keeps, or why they cannot be read.
    credentials: Result<usize, String>,
}

pub(crate) fn run(args: &DoctorArgs) -> anyhow::Result<ExitCode> {
    if args.server.workspace.len() > 1 {
        bail!("a report is about one folder; give --workspace once");
    }
    // What a log would say of the mount is in the report.
    if args.server.log.is_some() || std::env::var_os("DSH_LS_LOG").is_some() {
        logging::start(args.server.log.as_deref())?;
    }
    let Some(folder) = crate::folders(&args.server, Folders::OrCurrent)?.pop() else {
        bail!("name a folder with --workspace");
    };
    let workspace = std::fs::canonicalize(&folder).unwrap_or(folder);
    let settings = crate::runtime_config(&args.server, EDITOR_PROFILE)?;
    let runtime = crate::runtime(&args.server, Folders::OrCurrent, EDITOR_PROFILE)?;
    let report = crate::block_on(examine(&runtime, &settings, workspace))?;
    let text = if args.json { format!("{:#}\n", report.json()) } else { report.text() };
    cli::print(&printable(&text))?;
    let is_fine = report.checks.iter().all(|check| check.is_fine);
    Ok(if is_fine { ExitCode::SUCCESS } else { ExitCode::from(ATTENTION) })
}

async fn examine(runtime: &Runtime, settings: &RuntimeConfig, workspace: PathBuf) -> Report {
    let (_, mut problems) = config::layers(settings);
    let composition = runtime.composition().ok();
    if let Some(composition) = &composition {
        problems.extend(composition.problems(&workspace));
    }
    problem::sort(&mut problems);
    let mounted = match composition.as_ref().map(|composition| composition.rows(&workspace)) {
        Some(Ok(rows)) => mount(runtime, &settings.sources.home, &Keys::of(&rows)).await,
        Some(Err(_)) | None => Err("the configuration has errors".to_owned()),
    };
    let checks = checks::all(settings, &workspace, &problems, &mounted);
    let _ = runtime.close().await;
    let listed = |it: &Arc<Composition>| list_rows(it.composed(), &it.environment(&workspace));
    Report {
        composed: composition.as_ref().map(listed),
        home: settings.sources.home.clone(),
        profile: settings.sources.profile.clone(),
        workspace,
        mounted,
        checks,
    }
}

async fn mount(runtime: &Runtime, home: &Path, keys: &Keys) -> Result<Mounted, String> {
    match runtime.workspace(None).await {
        Ok(workspace) => facts(&workspace, home, keys).await.map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    }
    .map_err(|why| keys.left_out_of(&why))
}

async fn facts(workspace: &Workspace, home: &Path, keys: &Keys) -> Result<Mounted, MountError> {
    let agents = workspace.agents().await?;
    let model = agents.default_model();
    let tools = workspace.tools().await?.definitions();
    let adapters = workspace.models().await?;
    let mut models = adapters.list(&model).await;
    for listed in &mut models {
        listed.reason = listed.reason.as_deref().map(|reason| keys.left_out_of(reason));
    }
    let mut active = workspace.plugins();
    for plugin in &mut active {
        plugin.error = plugin.error.as_deref().map(|error| keys.left_out_of(error));
    }
    let credentials = match workspace.credentials().await? {
        Some(kept) => kept.names().map(|names| names.len()).map_err(|error| error.to_string()),
        None => Ok(0),
    };
    Ok(Mounted {
        active,
        tools: tools.into_iter().map(|tool| tool.name).collect(),
        unready: unready(&adapters, &models, &model).map(|why| keys.left_out_of(&why)),
        models,
        used: used::count(&agents, home, workspace.path()).await,
        model,
        credentials,
    })
}

/// Why a model cannot be asked. One that its provider does not list may exist all the same.
fn unready(adapters: &Models, models: &[ModelInfo], model: &ModelId) -> Option<String> {
    let Some(adapter) = adapters.adapter(&model.provider) else {
        return Some(format!("no row serves the provider `{}`", model.provider));
    };
    let is_it =
        |listed: &&ModelInfo| listed.provider == model.provider && listed.model == model.model;
    match models.iter().find(is_it) {
        Some(listed) if listed.ready => None,
        Some(listed) => Some(listed.reason.clone().unwrap_or_else(|| "it is not ready".to_owned())),
        None => adapter.unready(),
    }
}
