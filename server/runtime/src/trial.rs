//! Starts a composition's rows on trial: some of what is wrong with them only their plugins know.

use std::path::Path;
use std::sync::Arc;

use dsh_config::problem::{self, Problem, ProblemKind};
use dsh_kernel::{Kernel, Missing, PluginState, PluginStatus};
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
        let plugins = kernel.plugins();
        for (id, missing) in missing(&plugins) {
            let place = composition.composed().row(id).map(|row| row.place_of(&missing.at));
            let of = |place| Problem::at(ProblemKind::Config, place, missing.text.clone());
            problems.extend(place.map(|place| of(place).key(id).warning()));
        }
        for status in plugins {
            let (message, is_error) = match status.state {
                PluginState::Failed => (status.error.unwrap_or_default(), true),
                PluginState::Pending => {
                    (format!("waits for {}", status.waiting_for.join(", ")), false)
                }
                PluginState::Active
                | PluginState::Disposed
                | PluginState::Loading
                | PluginState::Unloading => continue,
            };
            let problem = of_row(composition, &status.id, message);
            problems.push(if is_error { problem } else { problem.warning() });
        }
        kernel.dispose().await;
        problem::sort(&mut problems);
        problems
    }
}

/// What active rows name and nobody has, with the row's id. A tool whose own row does not run, and a provider of
/// subagents whose row cannot, are left out: what is wrong there is told of that row.
pub fn missing(plugins: &[PluginStatus]) -> Vec<(&str, &Missing)> {
    let is_of = |plugin: &PluginStatus, kind: &str, name: &str| {
        let own = plugin.name.strip_prefix(kind).and_then(|rest| rest.strip_prefix('-'));
        own.is_some_and(|own| own == name.replace('_', "-"))
    };
    let is_told = |name: &str| {
        plugins.iter().any(|plugin| match plugin.state {
            PluginState::Active => false,
            PluginState::Disposed => is_of(plugin, "tool", name),
            PluginState::Pending
            | PluginState::Failed
            | PluginState::Loading
            | PluginState::Unloading => {
                is_of(plugin, "tool", name) || is_of(plugin, "subagent", name)
            }
        })
    };
    let of = |plugin| {
        let PluginStatus { id, missing, .. }: &PluginStatus = plugin;
        missing.iter().map(|missing| (id.as_str(), missing))
    };
    let all = plugins.iter().flat_map(of);
    all.filter(|(_, missing)| !is_told(&missing.name)).collect()
}

/// What is wrong with a row, at the place that decided on it last.
pub(crate) fn of_row(composition: &Composition, id: &str, message: String) -> Problem {
    let problem = match composition.composed().row(id) {
        Some(row) => Problem::at(ProblemKind::Config, row.newest_place(), message),
        None => Problem::of(ProblemKind::Config, "configuration", message),
    };
    problem.key(id)
}
