//! From composed rows to the kernel's: expressions evaluated.

use dsh_kernel::plugin::Row;
use serde_json::Value;

use crate::apply::full_id;
use crate::compose::{Composed, ComposedRow};
use crate::evaluate::{Environment, Evaluator};
use crate::patch::meant;
use crate::problem::{Problem, ProblemKind};
use crate::setting::Setting;

impl Composed {
    /// The rows to mount, or every error.
    pub fn rows(&self, environment: &Environment) -> Result<Vec<Row>, Vec<Problem>> {
        let mut problems: Vec<Problem> =
            self.problems.iter().filter(|problem| problem.is_error()).cloned().collect();
        let rows = evaluate(&self.rows, "", environment, &mut problems);
        crate::problem::sort(&mut problems);
        if problems.is_empty() { Ok(rows) } else { Err(problems) }
    }
}

/// Evaluates rows and what is in them.
pub(crate) fn evaluate(
    rows: &[ComposedRow],
    above: &str,
    environment: &Environment,
    problems: &mut Vec<Problem>,
) -> Vec<Row> {
    rows.iter().map(|row| evaluate_row(row, above, environment, problems)).collect()
}

fn evaluate_row(
    row: &ComposedRow,
    above: &str,
    environment: &Environment,
    problems: &mut Vec<Problem>,
) -> Row {
    let full = full_id(above, &row.id);
    let mut evaluator = Evaluator::new(environment);
    let config = row.config.as_ref().and_then(|config| evaluator.evaluate(config));
    let named = |problem: Problem| {
        let key = problem.key.as_deref().unwrap_or_default();
        let key = crate::setting::join(&full, key);
        problem.key(key.trim_end_matches('.'))
    };
    problems.extend(evaluator.problems.into_iter().map(named));
    Row {
        name: row.name.clone(),
        config: config.unwrap_or_default(),
        references: evaluator.references,
        children: row
            .children
            .as_ref()
            .map(|children| evaluate(children, &full, environment, problems)),
        disabled: row
            .disabled
            .as_ref()
            .is_some_and(|disabled| is_disabled(disabled, &full, environment, problems)),
        inject: row.inject.clone(),
        isolate: row.isolate.clone(),
        intercept: row.intercept.clone(),
        id: row.id.clone(),
    }
}

/// What `disabled` says. A variable's text counts as its words do.
pub(crate) fn is_disabled(
    disabled: &Setting,
    full: &str,
    environment: &Environment,
    problems: &mut Vec<Problem>,
) -> bool {
    let mut evaluator = Evaluator::new(environment);
    let value = evaluator.evaluate(disabled).unwrap_or_default();
    let said = match &value {
        Value::Null => Some(false),
        Value::Bool(value) => Some(*value),
        Value::String(text) => match text.trim() {
            "true" | "1" => Some(true),
            "false" | "0" | "" => Some(false),
            word => meant(word),
        },
        _ => None,
    };
    let said = said.filter(|_| evaluator.references.is_empty());
    let key = format!("{full}.disabled");
    problems.extend(evaluator.problems.into_iter().map(|problem| problem.key(&key)));
    said.unwrap_or_else(|| {
        let message = "`disabled` comes to neither `true` nor `false`";
        problems.push(Problem::at(ProblemKind::WrongType, &disabled.place, message).key(&key));
        false
    })
}
