//! Picks a window of lines out of text that arrives in pieces, and counts the lines of the rest.

use dsh_protocol::workspace::Line;

/// As many lines as one read returns.
pub(super) const MAX_LINES: u64 = 2000;
/// As many bytes of UTF-8, with one for each line's end.
const MAX_BYTES: usize = 50 << 10;
/// A longer line is cut. UTF-16 code units, as editors count.
const MAX_LINE_UNITS: u64 = 2000;

pub(super) struct Window {
    offset: u64,
    /// The first line behind the window.
    end: u64,
    lines: Vec<Line>,
    bytes: usize,
    /// The line that the next piece continues, counted from 1.
    number: u64,
    /// That line has begun: the text so far does not end with a line end.
    is_open: bool,
    /// What is kept of that line.
    current: String,
    /// Its whole length so far.
    units: u64,
    ends_in_return: bool,
    /// The first line that was left out because the bytes were full.
    cut_before: Option<u64>,
}

impl Window {
    pub(super) fn new(offset: u64, limit: u64) -> Window {
        Window {
            offset,
            end: offset.saturating_add(limit),
            lines: Vec::new(),
            bytes: 0,
            number: 1,
            is_open: false,
            current: String::new(),
            units: 0,
            ends_in_return: false,
            cut_before: None,
        }
    }

    pub(super) fn feed(&mut self, mut text: &str) {
        while !text.is_empty() {
            if self.number >= self.end || self.cut_before.is_some() {
                let ends = text.bytes().filter(|&byte| byte == b'\n').count();
                self.number += ends as u64;
                self.is_open = !text.ends_with('\n');
                return;
            }
            let (line, rest) = match text.find('\n') {
                Some(end) => (&text[..end], Some(&text[end + 1..])),
                None => (text, None),
            };
            if self.number >= self.offset {
                self.append(line);
            }
            self.is_open = rest.is_none();
            let Some(rest) = rest else {
                return;
            };
            self.end_line();
            text = rest;
        }
    }

    /// The text is over.
    pub(super) fn finish(&mut self) {
        if self.is_open {
            self.end_line();
            self.is_open = false;
        }
    }

    /// Lines of the text, after `finish`. A line end at the very end adds none.
    pub(super) fn total(&self) -> u64 {
        self.number - 1
    }

    pub(super) fn has_lines(&self) -> bool {
        !self.lines.is_empty()
    }

    pub(super) fn cut_before(&self) -> Option<u64> {
        self.cut_before
    }

    pub(super) fn into_lines(self) -> Vec<Line> {
        self.lines
    }

    fn append(&mut self, piece: &str) {
        if let Some(last) = piece.bytes().last() {
            self.ends_in_return = last == b'\r';
        }
        let room = MAX_LINE_UNITS.saturating_sub(self.units);
        self.units += units(piece);
        if piece.len() as u64 <= room {
            self.current.push_str(piece);
            return;
        }
        let mut kept = 0;
        for character in piece.chars() {
            kept += character.len_utf16() as u64;
            if kept > room {
                return;
            }
            self.current.push(character);
        }
    }

    fn end_line(&mut self) {
        let is_wanted =
            self.number >= self.offset && self.number < self.end && self.cut_before.is_none();
        let number = self.number;
        self.number += 1;
        if !is_wanted {
            return;
        }
        let mut text = std::mem::take(&mut self.current);
        let units = std::mem::take(&mut self.units) - u64::from(self.ends_in_return);
        if units > MAX_LINE_UNITS {
            text = format!("{text}… [cut: the line has {units} characters]");
        } else if self.ends_in_return && text.ends_with('\r') {
            text.pop();
        }
        self.ends_in_return = false;
        let bytes = self.bytes + text.len() + 1;
        if bytes > MAX_BYTES {
            self.cut_before = Some(number);
            return;
        }
        self.bytes = bytes;
        self.lines.push(Line { number, text });
    }
}

/// Length in UTF-16 code units.
fn units(text: &str) -> u64 {
    if text.is_ascii() { text.len() as u64 } else { text.encode_utf16().count() as u64 }
}
