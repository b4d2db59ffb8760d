//! Row `tool-read`: reads a file.

use std::fmt::Write as _;
use std::sync::Arc;

use dsh_agent::files::{Answer, FS, FileSystem};
use dsh_agent::spill::{PREFIX, SPILL, Spill};
use dsh_agent::tool::{ToolContext, ToolFailure, ToolOutput, Typed, TypedTool, shown_path};
use dsh_agent::tools::TOOLS;
use dsh_kernel::Context;
use dsh_kernel::plugin::{Plugin, StartError};
use dsh_protocol::tool::ToolKind;
use dsh_protocol::workspace::{ReadArguments, ReadValue};
use dsh_session::store::BoxFuture;
use serde_json::Value;

pub(crate) const PLUGIN: Plugin =
    Plugin { inject: &["tools", "fs"], optional: &["spill"], ..Plugin::new("tool-read", start) };

fn start(
    context: Context,
    _config: Value,
) -> futures_util::future::BoxFuture<'static, Result<(), StartError>> {
    Box::pin(async move {
        let tool = Typed::new(Read { fs: context.get(&FS)?, spill: context.optional(&SPILL)? });
        context.keep(context.get(&TOOLS)?.register(Arc::new(tool))?)?;
        Ok(())
    })
}

struct Read {
    fs: Arc<dyn FileSystem>,
    /// What long results are kept by, if something keeps them.
    spill: Option<Arc<dyn Spill>>,
}

impl TypedTool for Read {
    type Input = ReadArguments;

    const NAME: &'static str = "read";

    const DESCRIPTION: &'static str = include_str!("tool_read/description.md");

    const KIND: ToolKind = ToolKind::Read;

    fn run(
        &self,
        input: ReadArguments,
        cx: ToolContext,
    ) -> BoxFuture<'static, Result<ToolOutput, ToolFailure>> {
        let reading = match &self.spill {
            Some(spill) if input.file_path.starts_with(PREFIX) => {
                spill.read(cx.session, input, cx.cancel)
            }
            Some(_) | None => {
                let beside = self.fs.beside(&cx.folders);
                beside.as_ref().unwrap_or(&self.fs).read(input, cx.cancel)
            }
        };
        Box::pin(async move { Ok(output(reading.await?)) })
    }
}

/// Every line of the file stands behind its number, so that no line can be taken for the frame around it.
fn output(answer: Answer<ReadValue>) -> ToolOutput {
    let Answer { value, notes } = answer;
    let mut text =
        format!("<path>{}</path>\n<type>file</type>\n<content>\n", shown_path(&value.path));
    for line in &value.lines {
        let _ = writeln!(text, "{}: {}", line.number, line.text);
    }
    let _ = write!(text, "\n({})\n</content>", footer(&value));
    for note in &notes {
        let _ = write!(text, "\nNote: {note}.");
    }
    ToolOutput { text, value: serde_json::to_value(&value).unwrap_or(Value::Null), notes }
}

fn footer(value: &ReadValue) -> String {
    let total = value.total_lines;
    match (value.lines.first(), value.lines.last()) {
        (Some(first), Some(last)) if last.number < total => format!(
            "Lines {} to {} of {total}. Read on with offset {}.",
            first.number,
            last.number,
            last.number + 1
        ),
        (Some(_), Some(_)) => {
            format!("End of file: {total} line{}.", if total == 1 { "" } else { "s" })
        }
        (_, _) => "The file is empty.".to_owned(),
    }
}
