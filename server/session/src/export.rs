//! A whole session as text.

use std::fmt::Write as _;
use std::io::{self, Write};

use dsh_protocol::event::{Event, EventData};
use dsh_protocol::session::FileHeader;
use dsh_protocol::transcript;

use crate::log::Log;

/// How many events are looked at in one go, so that the log does not stand still for long.
const PAGE: usize = 1000;

/// Writes a log file: the header, then one event to a line, none of them packed.
pub fn jsonl(log: &Log, out: &mut impl Write) -> io::Result<()> {
    line(log.header(), out)?;
    let mut after = -1;
    loop {
        let page = log.page(after, PAGE, |_| true);
        for event in &page.events {
            after = i64::try_from(event.seq).unwrap_or(i64::MAX);
            line(event.as_ref(), out)?;
        }
        if !page.more {
            return Ok(());
        }
    }
}

fn line(value: &impl serde::Serialize, out: &mut impl Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}

/// A document for people: what the session is, and its transcript.
pub fn markdown(log: &Log) -> String {
    // Chunks come again in the messages that they make up.
    let wanted = |event: &Event| !matches!(event.data, EventData::AssistantChunk(_));
    let events = log.page(-1, usize::MAX, wanted).events;
    let transcript = transcript::print(events.iter().map(AsRef::as_ref));
    let FileHeader { id, cwd, created_at, parent_session, .. } = log.header();
    let (title, model) = log.read(|fold| (fold.title.clone(), fold.own_model()));
    let title = title.unwrap_or_else(|| format!("Session {id}"));
    let mut text = format!("# {}\n\n", escaped(&title));
    let _ = writeln!(text, "- session: `{id}`");
    let _ = writeln!(text, "- folder: {}", escaped(cwd));
    if let Some(model) = model {
        let _ = writeln!(text, "- model: {}", escaped(&model.to_string()));
    }
    if let Some(parent) = parent_session {
        let _ = writeln!(text, "- from session: `{parent}`");
    }
    let _ = writeln!(text, "- created: {}", rfc3339(*created_at));
    let fence = fence(&transcript);
    let _ = write!(text, "\n{fence}text\n{transcript}{fence}\n");
    text
}

/// A line of plain text that Markdown shows as it is.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        if "\\`*_{}[]<>#|&!~".contains(char) {
            escaped.push('\\');
        }
        escaped.push(if char.is_control() { ' ' } else { char });
    }
    escaped
}

/// A fence that nothing in the text closes: longer than every run of backticks in it.
fn fence(text: &str) -> String {
    let longest = text.split(|char| char != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

/// A time in epoch milliseconds as people and programs read it, in UTC.
pub fn rfc3339(epoch_ms: u64) -> String {
    let (days, rest) = (epoch_ms / 86_400_000, epoch_ms / 1000 % 86_400);
    // Days since 1 March of year 0, in eras of 400 years: the leap day is the last one of its year.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day_of_month = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + u64::from(month <= 2);
    let (hours, minutes, seconds) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day_of_month:02}T{hours:02}:{minutes:02}:{seconds:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00Z");
        assert_eq!(rfc3339(951_827_696_000), "2000-02-29T12:34:56Z");
        assert_eq!(rfc3339(1_709_251_199_999), "2024-02-29T23:59:59Z");
        assert_eq!(rfc3339(4_107_542_400_000), "2100-03-01T00:00:00Z");
    }

    #[test]
    fn nothing_closes_the_fence() {
        assert_eq!(fence("plain"), "```");
        assert_eq!(fence("a ```` b"), "`````");
    }
}
