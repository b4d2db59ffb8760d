//! Row `tool-glob`: finds files by their path.

use std::fmt::Write as _;
use std::sync::Arc;

use dsh_agent::files::{Answer, SEARCH, Search};
use dsh_agent::tool::{ToolContext, ToolFailure, ToolOutput, Typed, TypedTool, shown_path};
use dsh_agent::tools::TOOLS;
use dsh_kernel::Context;
use dsh_kernel::plugin::{Plugin, StartError};
use dsh_protocol::tool::ToolKind;
use dsh_protocol::workspace::{GlobArguments, GlobValue};
use dsh_session::store::BoxFuture;
use serde_json::Value;

pub(crate) const PLUGIN: Plugin =
    Plugin { inject: &["tools", "search"], ..Plugin::new("tool-glob", start) };

fn start(
    context: Context,
    _config: Value,
) -> futures_util::future::BoxFuture<'static, Result<(), StartError>> {
    Box::pin(async move {
        let tool = Typed::new(Glob { search: context.get(&SEARCH)? });
        context.keep(context.get(&TOOLS)?.register(Arc::new(tool))?)?;
        Ok(())
    })
}

struct Glob {
    search: Arc<dyn Search>,
}

impl TypedTool for Glob {
    type Input = GlobArguments;

    const NAME: &'static str = "glob";

    const DESCRIPTION: &'static str = include_str!("tool_glob/description.md");

    const KIND: ToolKind = ToolKind::Search;

    fn run(
        &self,
        input: GlobArguments,
        cx: ToolContext,
    ) -> BoxFuture<'static, Result<ToolOutput, ToolFailure>> {
        let beside = self.search.beside(&cx.folders);
        let searching = beside.as_ref().unwrap_or(&self.search).glob(input, cx.cancel);
        Box::pin(async move { Ok(output(searching.await?)) })
    }
}

fn output(answer: Answer<GlobValue>) -> ToolOutput {
    let Answer { value, notes } = answer;
    let mut text = String::new();
    if value.paths.is_empty() {
        text.push_str("No files found\n");
    }
    for path in &value.paths {
        let _ = writeln!(text, "{}", shown_path(path));
    }
    for note in &notes {
        let _ = writeln!(text, "Note: {note}.");
    }
    text.truncate(text.trim_end().len());
    ToolOutput { text, value: serde_json::to_value(&value).unwrap_or(Value::Null), notes }
}
