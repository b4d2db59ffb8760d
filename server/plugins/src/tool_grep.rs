//! Row `tool-grep`: finds text in files.

use std::fmt::Write as _;
use std::sync::Arc;

use dsh_agent::files::{Answer, SEARCH, Search};
use dsh_agent::tool::{ToolContext, ToolFailure, ToolOutput, Typed, TypedTool, shown_path};
use dsh_agent::tools::TOOLS;
use dsh_kernel::Context;
use dsh_kernel::plugin::{Plugin, StartError};
use dsh_protocol::tool::ToolKind;
use dsh_protocol::workspace::{GrepArguments, GrepMatch, GrepValue};
use dsh_session::store::BoxFuture;
use serde_json::Value;

pub(crate) const PLUGIN: Plugin =
    Plugin { inject: &["tools", "search"], ..Plugin::new("tool-grep", start) };

fn start(
    context: Context,
    _config: Value,
) -> futures_util::future::BoxFuture<'static, Result<(), StartError>> {
    Box::pin(async move {
        let tool = Typed::new(Grep { search: context.get(&SEARCH)? });
        context.keep(context.get(&TOOLS)?.register(Arc::new(tool))?)?;
        Ok(())
    })
}

struct Grep {
    search: Arc<dyn Search>,
}

impl TypedTool for Grep {
    type Input = GrepArguments;

    const NAME: &'static str = "grep";

    const DESCRIPTION: &'static str = include_str!("tool_grep/description.md");

    const KIND: ToolKind = ToolKind::Search;

    fn run(
        &self,
        input: GrepArguments,
        cx: ToolContext,
    ) -> BoxFuture<'static, Result<ToolOutput, ToolFailure>> {
        let beside = self.search.beside(&cx.folders);
        let searching = beside.as_ref().unwrap_or(&self.search).grep(input, cx.cancel);
        Box::pin(async move { Ok(output(searching.await?)) })
    }
}

fn output(answer: Answer<GrepValue>) -> ToolOutput {
    let Answer { value, notes } = answer;
    let mut text = String::new();
    if let Some(matches) = &value.matches {
        let _ = writeln!(text, "{}", header(value.total, "match", "matches"));
        write_matches(&mut text, matches);
    } else {
        let _ =
            writeln!(text, "{}", header(value.total, "file with matches", "files with matches"));
    }
    for path in value.files.iter().flatten() {
        let _ = writeln!(text, "{}", shown_path(path));
    }
    for count in value.counts.iter().flatten() {
        let _ = writeln!(text, "{}: {}", shown_path(&count.path), count.count);
    }
    for note in &notes {
        let _ = writeln!(text, "Note: {note}.");
    }
    text.truncate(text.trim_end().len());
    ToolOutput { text, value: serde_json::to_value(&value).unwrap_or(Value::Null), notes }
}

/// How many there are. What of them is not shown, the notes say.
fn header(total: u64, one: &str, many: &str) -> String {
    match total {
        0 => "No matches found".to_owned(),
        1 => format!("Found 1 {one}"),
        total => format!("Found {total} {many}"),
    }
}

/// Every line of a file stands behind its number, so that no line can be taken for a path.
fn write_matches(text: &mut String, matches: &[GrepMatch]) {
    let mut path = None;
    for found in matches {
        if path != Some(&found.path) {
            if path.is_some() {
                text.push('\n');
            }
            let _ = writeln!(text, "{}", shown_path(&found.path));
            path = Some(&found.path);
        }
        for line in &found.before {
            let _ = writeln!(text, "  Line {}- {}", line.number, line.text);
        }
        for (at, line) in (0..).zip(found.text.split('\n')) {
            let _ = writeln!(text, "  Line {}: {line}", found.line + at);
        }
        for line in &found.after {
            let _ = writeln!(text, "  Line {}- {}", line.number, line.text);
        }
    }
}
