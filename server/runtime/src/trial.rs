//! Starts a composition's rows on trial: some of what is wrong with them only their plugins know.

use std::path::Path;
use std::sync::Arc;

use dsh_config::problem::{self, Problem, ProblemKind};
use dsh_kernel::{Kernel, PluginState};
use dsh_plugins::PLUGINS;

use crate::configuration::Composition;
use crate::runtime::Runtime;

impl Runtime {
    /// Everything that is wrong with a composition in a folder: what [`Composition::problems`] finds and, if
    /// that is no error, what its rows say when they are started. They are stopped again.
    pub async fn problems_on_trial(
        &self,
        composition: &Composition,
        folder: &Path,
    ) -> Vec<Problem> {
        let mut problems = composition.problems(folder);
        let rows = match composition.rows(folder) {
            Ok(rows) if !problems.iter().any(Problem::is_error) => rows,
            Ok(_) | Err(_) => return problems,
        };
        let host = Arc::new(self.host(folder));
        let kernel = Kernel::mount(rows, PLUGINS, &dsh_agent::host::HOST, host).await;
        for status in kernel.plugins() {
            let (message, is_error) = match status.state {
                PluginState::Failed => (status.error.unwrap_or_default(), true),
                PluginState::Pending => {
                    (format!("waits for {}", status.waiting_for.join(", ")), false)
                }
                PluginState::Active => {
                    let missing = status.missing.into_iter();
                    let warned = missing.map(|it| of_row(composition, &status.id, it).warning());
                    problems.extend(warned);
                    continue;
                }
                PluginState::Disposed | PluginState::Loading | PluginState::Unloading => continue,
            };
            let problem = of_row(composition, &status.id, message);
            problems.push(if is_error { problem } else { problem.warning() });
        }
        kernel.dispose().await;
        problem::sort(&mut problems);
        problems
    }
}

/// What is wrong with a row, at the place that decided on it last.
pub(crate) fn of_row(composition: &Composition, id: &str, message: String) -> Problem {
    let problem = match composition.composed().row(id) {
        Some(row) => Problem::at(ProblemKind::Config, row.newest_place(), message),
        None => Problem::of(ProblemKind::Config, "configuration", message),
    };
    problem.key(id)
}
