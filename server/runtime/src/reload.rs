//! Applies changed configuration files to running folders: all of a change or nothing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use dsh_config::compose::compose_with_home_patch;
use dsh_config::problem::{Problem, ProblemKind};
use dsh_config::set::{SetError, set};
use dsh_kernel::config::KeyPath;
use dsh_kernel::{RowFailure, UpdateError};
use dsh_protocol::notifications::{ConfigChanged, Notification};
use dsh_protocol::params::config as wire;
use serde_json::Value;

use crate::configuration::Composition;
use crate::runtime::Runtime;
use crate::trial::of_row;
use crate::workspace::Workspace;

/// Why a value was not set. The file is as it was.
#[derive(Debug, thiserror::Error)]
pub enum ConfigSetError {
    /// It cannot be written into the file.
    #[error(transparent)]
    Set(#[from] SetError),
    /// With the value the configuration would have problems.
    #[error("{}", listed(.0))]
    Problems(Vec<Problem>),
    /// The file cannot be read or written.
    #[error("`{path}`: {error}")]
    File {
        /// The file.
        path: String,
        /// What the system says.
        error: std::io::Error,
    },
}

fn listed(problems: &[Problem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

impl Runtime {
    /// Reads the configuration again and applies it to every mounted folder. With a problem the last good one
    /// stays. Waits for running turns where what they work with is replaced. Returns the problems; without an
    /// error among them it applies.
    pub async fn reload(&self) -> Vec<Problem> {
        let _turn = self.reloading.lock().await;
        let composed = match self.configuration.compose() {
            Ok(composition) => Arc::new(composition),
            Err(problems) => {
                for workspace in self.mounted_folders() {
                    self.tell(&workspace, &problems);
                }
                return problems;
            }
        };
        let (mut all, mut told) = (Vec::new(), Vec::new());
        let workspaces = self.mounted_folders();
        if workspaces.is_empty() {
            all = composed.problems(&self.current_folder());
        }
        for workspace in &workspaces {
            if workspace.applies.load(Ordering::Relaxed) && is_mounted(&composed, workspace) {
                all.extend(composed.problems(workspace.path()).into_iter().map(lived_with));
                continue;
            }
            let problems = self.apply(&composed, workspace).await;
            all.extend(problems.iter().cloned());
            told.push((workspace, problems));
        }
        dsh_config::problem::sort(&mut all);
        if !all.iter().any(Problem::is_error) {
            self.configuration.take(&composed);
        }
        // Whoever hears of it and asks is told what applies now.
        for (workspace, problems) in told {
            self.tell(workspace, &problems);
        }
        all
    }

    /// Sets a value of a row in the home's patch file, unless the configuration would have problems with it, and
    /// applies it.
    pub async fn set_config(
        &self,
        row: &str,
        path: &KeyPath,
        value: &Value,
    ) -> Result<Vec<Problem>, ConfigSetError> {
        let file = self.configuration.sources().home_patch();
        let failed = |error| ConfigSetError::File { path: file.display().to_string(), error };
        let text = match std::fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(failed(error)),
        };
        let changed = set(&text, row, path, value)?;
        let composed = compose_with_home_patch(self.configuration.sources(), &changed);
        let before = self.configuration.current();
        let after =
            self.configuration.with_variables(composed).map_err(ConfigSetError::Problems)?;
        let folder = self.current_folder();
        let known = known(before.as_deref().ok(), &folder);
        let mut problems = after.problems(&folder);
        problems.retain(|problem| {
            let aims_at_row = problem.kind == ProblemKind::NoSuchRow;
            (problem.is_error() || aims_at_row) && !known.contains(&facts(problem))
        });
        if !problems.is_empty() {
            return Err(ConfigSetError::Problems(problems));
        }
        write(&file, &changed).map_err(failed)?;
        self.rewritten.notify_one();
        Ok(self.reload().await)
    }

    /// Applies a composition to one folder; returns what is wrong with it there.
    async fn apply(&self, composed: &Arc<Composition>, workspace: &Workspace) -> Vec<Problem> {
        let folder = workspace.path();
        let known = known(self.configuration.current().as_deref().ok(), folder);
        let mut problems = composed.problems(folder);
        // What was wrong before and was lived with is no reason to refuse what changes.
        let is_new = |problem: &Problem| problem.is_error() && !known.contains(&facts(problem));
        if problems.iter().any(is_new) {
            return problems;
        }
        let rows = match composed.rows(folder) {
            Ok(rows) => rows,
            Err(problems) => return problems,
        };
        match workspace.update(rows).await {
            Ok(()) => {}
            Err(UpdateError::Closed) => return problems,
            Err(UpdateError::Rows(failures)) => {
                let failed = |it: &RowFailure| of_row(composed, &it.id, it.to_string());
                problems.extend(failures.iter().map(failed));
                return problems;
            }
        }
        problems.into_iter().map(lived_with).collect()
    }

    fn tell(&self, workspace: &Workspace, problems: &[Problem]) {
        let ok = !problems.iter().any(Problem::is_error);
        workspace.applies.store(ok, Ordering::Relaxed);
        for problem in problems {
            tracing::warn!(%problem, "configuration");
        }
        let problems = problems.iter().map(on_the_wire).collect();
        let workspace = workspace.uri().to_owned();
        self.notices().send(&Notification::ConfigChanged(ConfigChanged {
            workspace,
            ok,
            problems,
        }));
    }
}

/// Whether a composition comes to what a folder has already.
fn is_mounted(composed: &Composition, workspace: &Workspace) -> bool {
    composed.rows(workspace.path()).is_ok_and(|rows| rows == workspace.rows())
}

/// What is wrong with a composition, without the places, which move.
fn known(composition: Option<&Composition>, folder: &Path) -> BTreeSet<(Option<String>, String)> {
    composition.into_iter().flat_map(|it| it.problems(folder)).map(|it| facts(&it)).collect()
}

fn facts(problem: &Problem) -> (Option<String>, String) {
    (problem.key.clone(), problem.message.clone())
}

/// An error that did not keep the rest from applying.
fn lived_with(problem: Problem) -> Problem {
    if problem.is_error() { problem.warning() } else { problem }
}

/// A problem as clients see it.
pub fn on_the_wire(problem: &Problem) -> wire::Problem {
    use dsh_config::problem::Severity;
    wire::Problem {
        file: problem.file.clone(),
        line: problem.line.map(u64::from),
        column: problem.column.map(u64::from),
        key: problem.key.clone(),
        severity: match problem.severity {
            Severity::Error => wire::Severity::Error,
            Severity::Warning => wire::Severity::Warning,
            Severity::Information => wire::Severity::Information,
        },
        message: problem.message.clone(),
    }
}

/// Replaces a file whole. A link to it stays a link.
fn write(path: &Path, text: &str) -> std::io::Result<()> {
    use std::io::Write as _;
    let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = path.parent().map_or_else(|| PathBuf::from("."), Path::to_owned);
    std::fs::create_dir_all(&folder)?;
    let mut temporary = tempfile::NamedTempFile::new_in(&folder)?;
    temporary.write_all(text.as_bytes())?;
    if let Ok(metadata) = std::fs::metadata(&path) {
        temporary.as_file().set_permissions(metadata.permissions())?;
    }
    temporary.as_file().sync_all()?;
    temporary.persist(&path)?;
    Ok(())
}
