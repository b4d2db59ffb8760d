//! One layer's patches laid over the rows below.

use std::sync::Arc;

use crate::compose::ComposedRow;
use crate::patch::{self, Fields, Patch, WrittenRow};
use crate::problem::{Problem, ProblemKind, did_you_mean};
use crate::source::{Place, Source};

/// The rows so far.
#[derive(Default)]
pub(crate) struct Tree {
    pub(crate) rows: Vec<ComposedRow>,
    pub(crate) problems: Vec<Problem>,
}

impl Tree {
    /// Lays a layer over the rows.
    pub(crate) fn apply(&mut self, source: &Arc<Source>, patches: Vec<Patch>) {
        for patch in patches {
            match &patch.id {
                None => {
                    let rows = patch.insert.unwrap_or_default();
                    insert(&mut self.rows, "", rows, source, &mut self.problems);
                }
                Some(id) => match self.find(&id.0) {
                    Ok(path) => {
                        let Some(row) = at(&mut self.rows, &path) else { continue };
                        change(row, patch, source, &mut self.problems);
                    }
                    Err(message) => {
                        let problem = Problem::at(ProblemKind::NoSuchRow, &id.1, message);
                        self.problems.push(problem.key(&id.0).warning());
                    }
                },
            }
        }
    }

    /// The way to a row by its id or by the ids on the way to it.
    fn find(&self, id: &str) -> Result<Vec<usize>, String> {
        if let Some(way) = descend(&self.rows, id) {
            return Ok(way);
        }
        let mut found = Vec::new();
        search(&self.rows, id, &mut Vec::new(), &mut found);
        match &found[..] {
            [way] => Ok(way.clone()),
            [] => {
                let mut known = Vec::new();
                ids(&self.rows, "", &mut known);
                let hint = did_you_mean(id, known.iter().map(String::as_str));
                Err(format!("no earlier layer has a row `{id}`, so the patch is left out{hint}"))
            }
            [one, other, ..] => {
                let (one, other) = (full(&self.rows, one), full(&self.rows, other));
                Err(format!(
                    "`{id}` may be {one} or {other}, so the patch is left out; write one of them"
                ))
            }
        }
    }
}

/// The way along ids that are joined with `:`.
fn descend(rows: &[ComposedRow], id: &str) -> Option<Vec<usize>> {
    let (first, rest) = id.split_once(':').map_or((id, None), |(first, rest)| (first, Some(rest)));
    let at = rows.iter().position(|row| row.id == first)?;
    let mut way = vec![at];
    if let Some(rest) = rest {
        way.extend(descend(rows[at].children.as_deref()?, rest)?);
    }
    Some(way)
}

/// The ways to every row with an id.
fn search(rows: &[ComposedRow], id: &str, way: &mut Vec<usize>, found: &mut Vec<Vec<usize>>) {
    for (at, row) in rows.iter().enumerate() {
        way.push(at);
        if row.id == id {
            found.push(way.clone());
        }
        search(row.children.as_deref().unwrap_or_default(), id, way, found);
        way.pop();
    }
}

/// Every row's full id.
fn ids(rows: &[ComposedRow], above: &str, known: &mut Vec<String>) {
    for row in rows {
        let full = full_id(above, &row.id);
        ids(row.children.as_deref().unwrap_or_default(), &full, known);
        known.push(full);
    }
}

/// The full id of the row at the end of a way, in backticks.
fn full(mut rows: &[ComposedRow], way: &[usize]) -> String {
    let mut full = String::new();
    for row in way {
        let Some(row) = rows.get(*row) else { break };
        full = full_id(&full, &row.id);
        rows = row.children.as_deref().unwrap_or_default();
    }
    format!("`{full}`")
}

pub(crate) fn full_id(above: &str, id: &str) -> String {
    if above.is_empty() { id.to_owned() } else { format!("{above}:{id}") }
}

fn at<'a>(rows: &'a mut [ComposedRow], way: &[usize]) -> Option<&'a mut ComposedRow> {
    let (first, rest) = way.split_first()?;
    let row = rows.get_mut(*first)?;
    if rest.is_empty() { Some(row) } else { at(row.children.as_deref_mut()?, rest) }
}

/// Adds rows to the root or a group. One that is there from an earlier layer is replaced.
fn insert(
    siblings: &mut Vec<ComposedRow>,
    group: &str,
    rows: Vec<WrittenRow>,
    source: &Arc<Source>,
    problems: &mut Vec<Problem>,
) {
    for written in rows {
        let (id, place) = (written.id.0.clone(), written.id.1.clone());
        let key = full_id(group, &id);
        let row = composed(written, &key, source, problems);
        match siblings.iter().position(|known| known.id == id) {
            Some(at) if Arc::ptr_eq(&siblings[at].place.source, source) => {
                let first = siblings[at].place.line;
                let message = format!("`{id}` is inserted twice; the first is in line {first}");
                problems.push(Problem::at(ProblemKind::DuplicateId, &place, message).key(key));
            }
            Some(at) => {
                // It goes to the end, where the rest of its layer is: order says nothing, and dumps read better.
                let replaced = siblings.remove(at);
                let message = format!("takes the place of the row of {}", replaced.origin());
                let problem = Problem::at(ProblemKind::Replaced, &place, message);
                problems.push(problem.key(key).information());
                siblings.push(row);
            }
            None => siblings.push(row),
        }
    }
}

fn composed(
    written: WrittenRow,
    key: &str,
    source: &Arc<Source>,
    problems: &mut Vec<Problem>,
) -> ComposedRow {
    let Fields { config, disabled, inject, intercept, isolate } = written.fields;
    let children = written.children.map(|rows| {
        let mut children = Vec::new();
        insert(&mut children, key, rows, source, problems);
        children
    });
    ComposedRow {
        id: written.id.0,
        name: written.name.0,
        config: config.flatten(),
        disabled: disabled.flatten(),
        inject: inject.unwrap_or_default(),
        intercept: intercept.unwrap_or_default(),
        isolate: isolate.unwrap_or_default(),
        children,
        place: written.id.1,
        name_place: written.name.1,
        patched_by: Vec::new(),
    }
}

fn change(row: &mut ComposedRow, patch: Patch, source: &Arc<Source>, problems: &mut Vec<Problem>) {
    let key = patch.id.as_ref().map_or("", |(id, _)| id).to_owned();
    if let Some((name, place)) = &patch.guard
        && *name != row.name
    {
        let message =
            format!("the row's name is `{}`, not `{name}`; the patch is left out", row.name);
        problems.push(Problem::at(ProblemKind::NameMismatch, place, message).key(key).warning());
        return;
    }
    let not_a_group = |place: &Place| {
        let message = "the row is no group; rows cannot be inserted into it";
        Problem::at(ProblemKind::NotAGroup, place, message).key(&key).warning()
    };
    if patch.insert.is_some() && row.children.is_none() {
        problems.push(not_a_group(&patch.place));
        return;
    }
    if let (Some(merge), true) = (&patch.merge, row.children.is_some()) {
        let message = "the row is a group; its `config` is a list of rows, which `insert` adds to";
        problems.push(Problem::at(ProblemKind::WrongType, &merge.place, message).key(key));
        return;
    }
    fields(row, &patch, &key, source, problems);
    if let (Some(rows), Some(children)) = (patch.insert, &mut row.children) {
        insert(children, &key, rows, source, problems);
    }
    if !row.patched_by.iter().any(|layer| Arc::ptr_eq(layer, source)) {
        row.patched_by.push(Arc::clone(source));
    }
}

fn fields(
    row: &mut ComposedRow,
    patch: &Patch,
    key: &str,
    source: &Arc<Source>,
    problems: &mut Vec<Problem>,
) {
    if let Some(children) = &mut row.children {
        if let Some(node) = &patch.children {
            let rows = patch::rows(node, problems);
            children.clear();
            insert(children, key, rows, source, problems);
        }
    } else if let Some(config) = &patch.fields.config {
        row.config.clone_from(config);
    }
    if let Some(merge) = &patch.merge {
        match &mut row.config {
            Some(config) => config.merge(merge),
            None => row.config = Some(merged_into_nothing(merge)),
        }
    }
    if let Some(disabled) = &patch.fields.disabled {
        row.disabled.clone_from(disabled);
    }
    if let Some(inject) = &patch.fields.inject {
        row.inject.clone_from(inject);
    }
    if let Some(intercept) = &patch.fields.intercept {
        row.intercept.clone_from(intercept);
    }
    if let Some(isolate) = &patch.fields.isolate {
        row.isolate.clone_from(isolate);
    }
}

fn merged_into_nothing(merge: &crate::setting::Setting) -> crate::setting::Setting {
    let value = crate::setting::SettingValue::Scalar(serde_json::Value::Null);
    let mut setting = crate::setting::Setting { value, place: merge.place.clone() };
    setting.merge(merge);
    setting
}
