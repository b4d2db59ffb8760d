//! Reads from log files what can be looked for. Files are only read.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use dsh_protocol::content::visible_text;
use dsh_protocol::event::{Event, EventData};
use dsh_protocol::message::Source;
use dsh_protocol::session::FileHeader;
use serde::Deserialize;

/// How much of one message can be looked for.
const TEXT_MOST: usize = 1 << 20;

/// A log file as its folder shows it.
pub(super) struct LogFile {
    pub(super) id: String,
    pub(super) path: PathBuf,
    pub(super) inode: i64,
    /// When it was last written, in nanoseconds.
    pub(super) modified: i64,
    pub(super) length: i64,
}

/// Something that was said, and the line of the file that says it.
pub(super) struct Said {
    pub(super) seq: i64,
    pub(super) offset: i64,
    pub(super) length: i64,
    pub(super) text: String,
}

/// The log files of a folder.
pub(super) fn files(folder: &Path) -> io::Result<Vec<LogFile>> {
    let mut files = Vec::new();
    for entry in folder.read_dir()? {
        let entry = entry?;
        let path = entry.path();
        let is_log = path.extension().is_some_and(|extension| extension == "jsonl");
        let (true, Some(id)) = (is_log, path.file_stem().and_then(|stem| stem.to_str())) else {
            continue;
        };
        // One that goes at this moment is not there.
        let Ok(metadata) = entry.metadata() else { continue };
        if metadata.is_file() {
            files.push(LogFile {
                id: id.to_owned(),
                inode: metadata.ino().cast_signed(),
                modified: metadata.mtime() * 1_000_000_000 + metadata.mtime_nsec(),
                length: metadata.len().cast_signed(),
                path,
            });
        }
    }
    Ok(files)
}

/// How many bytes tell whether a file is the one that was read.
const TAIL: i64 = 64;

/// The last bytes before a place of a file.
pub(super) fn tail(path: &Path, offset: i64) -> io::Result<Vec<u8>> {
    let length = offset.min(TAIL);
    let mut tail = vec![0; usize::try_from(length).unwrap_or(0)];
    File::open(path)?.read_exact_at(&mut tail, (offset - length).cast_unsigned())?;
    Ok(tail)
}

/// The lines of a log file from a place on, whole ones only.
pub(super) struct Lines {
    file: BufReader<File>,
    offset: i64,
    line: Vec<u8>,
}

impl Lines {
    pub(super) fn from(file: &LogFile, offset: i64) -> io::Result<Self> {
        let mut file = File::open(&file.path)?;
        file.seek(SeekFrom::Start(offset.cast_unsigned()))?;
        Ok(Self { file: BufReader::with_capacity(64 * 1024, file), offset, line: Vec::new() })
    }

    /// Where the last line that was read ends.
    pub(super) fn offset(&self) -> i64 {
        self.offset
    }

    /// The header, when this is the file's beginning.
    pub(super) fn header(&mut self) -> io::Result<Option<FileHeader>> {
        Ok(self.line()?.and_then(|(_, line)| serde_json::from_slice(line).ok()))
    }

    /// The next thing that was said; `None` at the end. Lines that cannot be read say nothing.
    pub(super) fn next(&mut self) -> io::Result<Option<Said>> {
        loop {
            let Some((offset, line)) = self.line()? else { return Ok(None) };
            let length = i64::try_from(line.len()).unwrap_or(i64::MAX);
            if let Some((seq, text)) = said(line) {
                return Ok(Some(Said { seq, offset, length, text }));
            }
        }
    }

    fn line(&mut self) -> io::Result<Option<(i64, &[u8])>> {
        self.line.clear();
        self.file.read_until(b'\n', &mut self.line)?;
        if !self.line.ends_with(b"\n") {
            return Ok(None);
        }
        let offset = self.offset;
        self.offset += i64::try_from(self.line.len()).unwrap_or(i64::MAX);
        Ok(Some((offset, &self.line)))
    }
}

/// What a line says that was found earlier; `None` when another one stands there now.
pub(super) fn said_at(path: &Path, seq: i64, offset: i64, length: i64) -> Option<String> {
    let mut line = vec![0; usize::try_from(length).ok()?];
    File::open(path).ok()?.read_exact_at(&mut line, offset.cast_unsigned()).ok()?;
    said(&line).filter(|(now, _)| *now == seq).map(|(_, text)| text)
}

#[derive(Deserialize)]
struct Kind<'a> {
    #[serde(borrow)]
    r#type: Cow<'a, str>,
}

/// The events that say something.
const KINDS: [&str; 3] = ["user/message", "assistant/message", "session/title"];

/// The seq of a line's event and what it says: what people and models wrote, and titles.
fn said(line: &[u8]) -> Option<(i64, String)> {
    // Nearly all lines are chunks; as this program writes them, the type can be seen without reading the rest.
    if let Some(rest) = line.strip_prefix(br#"{"type":""#)
        && !KINDS.iter().any(|kind| rest.starts_with(kind.as_bytes()))
    {
        return None;
    }
    let kind: Kind<'_> = serde_json::from_slice(line).ok()?;
    if !KINDS.contains(&&*kind.r#type) {
        return None;
    }
    let event: Event = serde_json::from_slice(line).ok()?;
    let seq = i64::try_from(event.seq).ok()?;
    let mut text = if let EventData::UserMessage(message) = &event.data {
        (message.source == Source::User).then(|| visible_text(&message.content))?
    } else if let EventData::AssistantMessage(answer) = &event.data {
        visible_text(&answer.message.content)
    } else if let EventData::SessionTitle(title) = event.data {
        title.title
    } else {
        return None;
    };
    text.truncate(text.floor_char_boundary(TEXT_MOST));
    (!text.trim().is_empty()).then_some((seq, text))
}
