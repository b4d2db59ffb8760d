//! A report as text for people and as JSON for scripts.

use std::fmt::Write as _;

use dsh_runtime::config::dump::ListedRow;
use dsh_runtime::kernel::PluginStatus;
use serde_json::{Value, json};

use super::used::SESSIONS;
use super::{Mounted, Report};

/// Where the last column of a table is wrapped.
const WIDTH: usize = 110;

impl Report {
    /// For people.
    pub(super) fn text(&self) -> String {
        let mut out = String::new();
        let facts = [
            ("workspace", self.workspace.display().to_string()),
            ("home", self.home.display().to_string()),
            ("profile", self.profile.clone()),
        ];
        for (name, value) in facts {
            let _ = writeln!(out, "{name:<10}  {value}");
        }
        match &self.composed {
            Some(rows) => self.composed(&mut out, rows),
            None => heading(&mut out, "Composed", "unknown: the layers have errors"),
        }
        match &self.mounted {
            Ok(mounted) => {
                active(&mut out, mounted);
                visible(&mut out, mounted);
                used(&mut out, mounted);
            }
            Err(why) => {
                heading(&mut out, "Active, visible, used", "unknown: the folder is not mounted");
                aligned(&mut out, &[vec![why.clone()]], &[]);
            }
        }
        self.checks(&mut out);
        out
    }

    fn composed(&self, out: &mut String, listed: &[ListedRow]) {
        heading(out, "Composed", "the rows that the layers come to");
        let mut rows =
            vec![["row", "plugin", "comes from, patched by"].map(str::to_owned).to_vec()];
        for row in listed {
            let mut layers = self.shortened(&row.origin);
            for layer in &row.patched_by {
                let _ = write!(layers, ", {}", self.shortened(layer));
            }
            if row.disabled {
                layers.push_str(" (disabled)");
            }
            rows.push(vec![row.id.clone(), row.name.clone(), layers]);
        }
        table(out, &rows);
    }

    /// A layer's name, short where it lies in the home.
    fn shortened(&self, layer: &str) -> String {
        let home = self.home.display().to_string();
        match layer.strip_prefix(&home).and_then(|rest| rest.strip_prefix('/')) {
            Some(rest) => format!("HOME/{rest}"),
            None => layer.to_owned(),
        }
    }

    fn checks(&self, out: &mut String) {
        let attention = self.checks.iter().filter(|check| !check.is_fine).count();
        let summary = match attention {
            0 => "all fine".to_owned(),
            1 => "1 needs attention".to_owned(),
            count => format!("{count} need attention"),
        };
        heading(out, "Checks", &summary);
        for check in &self.checks {
            let verdict = if check.is_fine { "ok" } else { "ATTENTION" };
            let rows = [vec![verdict.to_owned(), check.name.to_owned(), check.text.clone()]];
            aligned(out, &rows, &[9, 13]);
            for detail in &check.details {
                let _ = writeln!(out, "             {detail}");
            }
        }
    }

    /// For scripts.
    pub(super) fn json(&self) -> Value {
        let checks = self.checks.iter().map(|check| {
            let (name, details) = (check.name, &check.details);
            json!({ "name": name, "ok": check.is_fine, "text": check.text, "details": details })
        });
        let composed = self.composed.as_ref().map(|rows| rows.iter().map(row).collect::<Vec<_>>());
        let mut report = json!({
            "workspace": self.workspace,
            "home": self.home,
            "profile": self.profile,
            "ok": self.checks.iter().all(|check| check.is_fine),
            "checks": checks.collect::<Vec<_>>(),
            "composed": composed,
        });
        match &self.mounted {
            Ok(mounted) => {
                report["active"] = mounted.active.iter().map(plugin).collect();
                report["visible"] = json!({ "tools": mounted.tools, "models": mounted.models });
                report["used"] = json!({
                    "sessions": mounted.used.sessions,
                    "older": mounted.used.older,
                    "tools": mounted.used.tools,
                    "models": mounted.used.models,
                    "unreadable": mounted.used.unreadable,
                });
            }
            Err(why) => report["notMounted"] = why.as_str().into(),
        }
        report
    }
}

fn row(row: &ListedRow) -> Value {
    json!({
        "id": row.id, "name": row.name, "disabled": row.disabled,
        "origin": row.origin, "patchedBy": row.patched_by,
    })
}

fn plugin(plugin: &PluginStatus) -> Value {
    json!({
        "id": plugin.id, "name": plugin.name, "state": plugin.state.to_string(),
        "waitingFor": plugin.waiting_for, "provides": plugin.provides, "error": plugin.error,
    })
}

fn active(out: &mut String, mounted: &Mounted) {
    heading(out, "Active", "where each row's plugin stands");
    let mut rows =
        vec![["row", "state", "provides; waits for; why not"].map(str::to_owned).to_vec()];
    for plugin in &mounted.active {
        let mut said = Vec::new();
        if !plugin.provides.is_empty() {
            said.push(plugin.provides.join(", "));
        }
        if !plugin.waiting_for.is_empty() {
            said.push(format!("waits for {}", plugin.waiting_for.join(", ")));
        }
        said.extend(plugin.error.clone());
        rows.push(vec![plugin.id.clone(), plugin.state.to_string(), said.join("; ")]);
    }
    table(out, &rows);
}

fn visible(out: &mut String, mounted: &Mounted) {
    heading(out, "Visible", "what a model is sent, and which models can be asked");
    let tools = if mounted.tools.is_empty() { "none".to_owned() } else { mounted.tools.join(", ") };
    aligned(out, &[vec!["tools".to_owned(), tools]], &[5]);
    let mut rows = vec![["model", "ready", "why not"].map(str::to_owned).to_vec()];
    for model in &mounted.models {
        let ready = if model.ready { "yes" } else { "no" };
        let mut said = model.reason.clone().unwrap_or_default();
        if model.default {
            said = format!("new sessions use it{}{said}", if said.is_empty() { "" } else { "; " });
        }
        rows.push(vec![format!("{}/{}", model.provider, model.model), ready.to_owned(), said]);
    }
    table(out, &rows);
}

fn used(out: &mut String, mounted: &Mounted) {
    let used = &mounted.used;
    let said = match (used.sessions, used.older) {
        (0, _) => "this folder has no sessions yet".to_owned(),
        (sessions, 0) => format!("what the logs of this folder say; sessions: {sessions}"),
        (_, older) => {
            format!("what the newest {SESSIONS} logs of this folder say; {older} are older")
        }
    };
    heading(out, "Used", &said);
    for (title, counted, counts) in
        [("tool", "calls", &used.tools), ("model", "answers", &used.models)]
    {
        let mut rows = vec![vec![title.to_owned(), counted.to_owned()]];
        rows.extend(counts.iter().map(|(name, count)| vec![name.clone(), count.to_string()]));
        if rows.len() > 1 {
            table(out, &rows);
        }
    }
}

fn heading(out: &mut String, title: &str, about: &str) {
    let _ = writeln!(out, "\n{title}: {about}");
}

/// Rows in columns, each as wide as its widest cell; the first row is the titles.
fn table(out: &mut String, rows: &[Vec<String>]) {
    let columns = rows.first().map_or(0, Vec::len).saturating_sub(1);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    aligned(out, rows, &widths);
}

/// Rows in columns of some widths. The last one is wrapped, and whatever it says stays in it.
fn aligned(out: &mut String, rows: &[Vec<String>], widths: &[usize]) {
    let indent: usize = 2 + widths.iter().map(|width| width + 2).sum::<usize>();
    for row in rows {
        let Some((last, cells)) = row.split_last() else { continue };
        let mut line = "  ".to_owned();
        for (cell, width) in cells.iter().zip(widths) {
            let cell = cell.replace('\n', " ");
            let _ = write!(line, "{cell:<width$}  ");
        }
        for (at, piece) in wrapped(last, WIDTH.saturating_sub(indent).max(30)).iter().enumerate() {
            if at > 0 {
                line = " ".repeat(indent);
            }
            let _ = writeln!(out, "{}", format!("{line}{piece}").trim_end());
        }
    }
}

/// A text in lines of a width; longer words stay whole.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let Some(line) = lines.last_mut() else { break };
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}
