//! Everything that is wrong with a composition, at once.

use dsh_kernel::config::{ConfigProblem, KeyPath};
use dsh_kernel::plugin::{Plugin, Row};

use crate::apply::full_id;
use crate::compose::{Composed, ComposedRow};
use crate::evaluate::Environment;
use crate::patch::meant;
use crate::problem::{self, Problem, ProblemKind, did_you_mean};
use crate::rows;
use crate::source::Place;

/// The problems of the layers, of the expressions, and of what the plugins say of their configuration. Rows that
/// stay down are not asked about.
pub fn check(composed: &Composed, environment: &Environment, plugins: &[Plugin]) -> Vec<Problem> {
    let mut problems = composed.problems.clone();
    let evaluated = rows::evaluate(&composed.rows, "", environment, &mut problems);
    each(&composed.rows, &evaluated, "", plugins, &mut problems);
    problem::sort(&mut problems);
    problems
}

fn each(
    composed: &[ComposedRow],
    evaluated: &[Row],
    above: &str,
    plugins: &[Plugin],
    problems: &mut Vec<Problem>,
) {
    for (composed, row) in composed.iter().zip(evaluated) {
        if row.disabled {
            continue;
        }
        let full = full_id(above, &row.id);
        if let (Some(children), Some(rows)) = (&composed.children, &row.children) {
            each(children, rows, &full, plugins, problems);
            continue;
        }
        match plugins.iter().find(|plugin| plugin.name == row.name) {
            Some(plugin) => config(composed, row, &full, plugin, problems),
            None => problems.push(unknown(composed, &full, plugins)),
        }
    }
}

fn unknown(row: &ComposedRow, full: &str, plugins: &[Plugin]) -> Problem {
    let hint = did_you_mean(&row.name, plugins.iter().map(|plugin| plugin.name));
    let message = format!("there is no plugin `{}` in this program{hint}", row.name);
    Problem::at(ProblemKind::UnknownPlugin, &row.name_place, message).key(full)
}

fn config(
    composed: &ComposedRow,
    row: &Row,
    full: &str,
    plugin: &Plugin,
    problems: &mut Vec<Problem>,
) {
    let is_filled_in =
        |path: &KeyPath| row.references.iter().any(|reference| path.is_within(&reference.path));
    for ConfigProblem { path, message } in plugin.config.problems(&row.config) {
        if is_filled_in(&path) {
            continue;
        }
        let place = composed.place_of(&path);
        let key = match path.to_string() {
            path if path.is_empty() => full.to_owned(),
            path if path.starts_with('[') => format!("{full}{path}"),
            path => format!("{full}.{path}"),
        };
        let message = format!("{message}{}", hint(place));
        problems.push(Problem::at(ProblemKind::Config, place, message).key(key));
    }
}

/// Helps whoever expects YAML 1.1's booleans.
fn hint(place: &Place) -> String {
    let word = place.source.text.get(place.start..place.end).unwrap_or_default();
    meant(word).map_or_else(String::new, |value| format!("; `{word}` is a text, write `{value}`"))
}
