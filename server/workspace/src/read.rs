//! `read`: a window of one file's lines; and the whole text of a file for callers inside the server.
//!
//! A file is streamed, whatever its size: memory holds one piece of it and the window.

#[cfg(test)]
mod tests;
mod window;

use dsh_protocol::workspace::{ReadArguments, ReadValue, ToolErrorCode};

use crate::access::{self, NamedFile};
use crate::content::{self, Buffer, Decoding, Trouble};
use crate::overlay::Source;
use crate::stop::{Stop, StopReason};
use crate::tally::{Tally, counted};
use crate::{Answer, Failure, Folder};
use window::{MAX_LINES, Window};

/// The decoded text of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// The file, relative to the folder.
    pub path: String,
    pub text: String,
    /// WHATWG label of the encoding, when it is not UTF-8.
    pub encoding: Option<String>,
    /// Whether the file ends where `text` ends; otherwise it was longer than the cap.
    pub complete: bool,
    /// Whether some bytes did not fit the encoding and are shown as U+FFFD.
    pub lossy: bool,
}

impl Folder {
    /// A window of a file's lines.
    pub fn read(
        &self,
        arguments: &ReadArguments,
        stop: &Stop,
    ) -> Result<Answer<ReadValue>, Failure> {
        access::ensure_wanted(stop)?;
        let view = self.view()?;
        let file = self.file(&view, &arguments.file_path)?;
        let offset = arguments.offset.unwrap_or(1).max(1);
        let limit = arguments.limit.unwrap_or(MAX_LINES).clamp(1, MAX_LINES);
        let mut window = Window::new(offset, limit);
        let feed = |text: &str| {
            window.feed(text);
            true
        };
        let bound = self.options.max_read_size;
        let decoding = decoded(&file, bound, stop, feed)?;
        if decoding.is_late && !window.has_lines() {
            return Err(access::stopped(StopReason::Deadline));
        }
        window.finish();
        if offset > window.total().max(1) {
            let bound = (!decoding.complete).then_some(bound);
            return Err(past_the_end(&file.shown, offset, window.total(), bound));
        }
        let mut tally = Tally::default();
        if matches!(file.source, Source::Unsaved(_)) {
            file.source.note(&file.shown, &mut Buffer::new(), stop, &mut tally);
        }
        let mut notes = tally.notes("read");
        notes.extend(read_notes(&window, &decoding, bound));
        let total_lines = window.total();
        let encoding = decoding.label();
        let value = ReadValue {
            path: file.shown,
            offset,
            lines: window.into_lines(),
            total_lines,
            encoding,
        };
        Ok(Answer { value, notes })
    }

    /// The whole decoded text of one file, cut at about [`crate::Options::max_text_size`].
    pub fn text(&self, path: &str, stop: &Stop) -> Result<Text, Failure> {
        access::ensure_wanted(stop)?;
        let view = self.view()?;
        let file = self.file(&view, path)?;
        let mut text = String::new();
        let feed = |piece: &str| {
            text.push_str(piece);
            true
        };
        let decoding = decoded(&file, self.options().max_text_size, stop, feed)?;
        if decoding.is_late {
            return Err(access::stopped(StopReason::Deadline));
        }
        let encoding = decoding.label();
        Ok(Text {
            path: file.shown,
            text,
            encoding,
            complete: decoding.complete,
            lossy: decoding.lossy,
        })
    }
}

fn decoded(
    file: &NamedFile,
    budget: u64,
    stop: &Stop,
    feed: impl FnMut(&str) -> bool,
) -> Result<Decoding, Failure> {
    let decoding = match &file.source {
        Source::Disk(file) => content::decode(file, budget, stop, feed),
        Source::Unsaved(unsaved) => content::feed(unsaved.text(), budget, stop, feed),
    };
    decoding.map_err(|trouble| match trouble {
        Trouble::Binary => {
            let message = format!("{} is binary; only text files can be read", file.shown);
            Failure::new(ToolErrorCode::FsNotText, message)
        }
        Trouble::Stopped(reason) => access::stopped(reason),
        Trouble::Io(error) => access::io_failure(&file.shown, &error),
    })
}

/// `bound` is where reading stopped, if that was before the end.
fn past_the_end(shown: &str, offset: u64, total: u64, bound: Option<u64>) -> Failure {
    let Some(bound) = bound else {
        let total = counted(total, "line");
        let message = format!(
            "line {offset} is past the end of {shown}, which has {total}; read from an earlier one"
        );
        return Failure::new(ToolErrorCode::FsNotFound, message);
    };
    let bound = bound >> 20;
    let message = format!(
        "line {offset} of {shown} is beyond its first {bound} MiB ({total} lines), where reading stops; use grep"
    );
    Failure::new(ToolErrorCode::FsTooLarge, message)
}

fn read_notes(window: &Window, decoding: &Decoding, bound: u64) -> Vec<String> {
    let mut notes = Vec::new();
    if window.total() == 0 {
        notes.push("the file is empty".to_owned());
    }
    if let Some(next) = window.cut_before() {
        notes.push(format!("the window ends early, at 50 KiB; read on from offset {next}"));
    }
    if decoding.lossy {
        let encoding = decoding.encoding.name().to_ascii_lowercase();
        notes.push(format!("bytes that are not valid {encoding} are shown as U+FFFD"));
    }
    if decoding.is_late {
        notes.push("stopped at the deadline: the file has more lines than the total".to_owned());
    } else if !decoding.complete {
        notes.push(format!(
            "the file has more lines than the total: counting stopped after {} MiB",
            bound >> 20
        ));
    }
    notes
}
