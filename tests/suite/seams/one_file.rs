//! A file system that no disk holds.

use dsh_agent::files::{Answer, FileSystem, FileText, Search, Visit};
use dsh_agent::tool::ToolFailure;
use dsh_protocol::workspace::{
    GlobArguments, GlobValue, GrepArguments, GrepMatch, GrepValue, Line, ReadArguments, ReadValue,
    ToolErrorCode,
};
use dsh_session::store::BoxFuture;
use tokio_util::sync::CancellationToken;

/// A folder that is nowhere and has one file.
pub(super) struct OneFile;

/// Its path.
pub(super) const FILE: &str = "zoo/stable.rs";

/// Its text.
pub(super) const LINES: [&str; 3] = ["pub fn zebra() -> u32 {", "    7", "}"];

fn found<T: Send + 'static>(value: T) -> BoxFuture<'static, Result<Answer<T>, ToolFailure>> {
    Box::pin(async { Ok(Answer { value, notes: Vec::new() }) })
}

impl FileSystem for OneFile {
    fn read(
        &self,
        arguments: ReadArguments,
        _cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<Answer<ReadValue>, ToolFailure>> {
        if arguments.file_path != FILE {
            let failure = ToolFailure::new(ToolErrorCode::FsNotFound, "there is one file only");
            return Box::pin(async { Err(failure) });
        }
        let numbered = (1..).zip(LINES);
        let lines = numbered.map(|(number, text)| Line { number, text: text.to_owned() }).collect();
        let path = FILE.to_owned();
        found(ReadValue { path, offset: 1, lines, total_lines: 3, encoding: None })
    }

    fn text(
        &self,
        path: String,
        _cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<FileText, ToolFailure>> {
        let failure = || ToolFailure::new(ToolErrorCode::FsNotFound, "there is one file only");
        let text = FileText { path: FILE.to_owned(), text: LINES.join("\n"), is_complete: true };
        let found = if path == FILE { Ok(text) } else { Err(failure()) };
        Box::pin(async { found })
    }
}

impl Search for OneFile {
    fn grep(
        &self,
        _arguments: GrepArguments,
        _cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<Answer<GrepValue>, ToolFailure>> {
        let (path, text) = (FILE.to_owned(), LINES[0].to_owned());
        let (before, after) = (Vec::new(), Vec::new());
        let matches = vec![GrepMatch { path, line: 1, column: 8, text, before, after }];
        found(GrepValue { matches: Some(matches), total: 1, ..GrepValue::default() })
    }

    fn glob(
        &self,
        _arguments: GlobArguments,
        _cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<Answer<GlobValue>, ToolFailure>> {
        found(GlobValue { paths: vec![FILE.to_owned()], total: 1, truncated: false })
    }

    fn scan(
        &self,
        visit: Visit,
        _cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<(), ToolFailure>> {
        Box::pin(async move {
            visit(FILE, &LINES.join("\n"));
            Ok(())
        })
    }
}
