//! From the bytes of an open file to text: what is binary, which encoding it has, and decoding it.
//!
//! The rule is one for all tools: a byte order mark decides the encoding, else a NUL in the first 8192
//! bytes makes a file binary, else it is UTF-8 with U+FFFD in the place of what is not. The file's size
//! is a hint at most: some systems report 0 for files that have content, and files grow while they are read.

use std::io::{self, Read};

use encoding_rs::{CoderResult, Encoding, UTF_8};

use crate::stop::{Stop, StopReason};

/// Only so many bytes decide whether a file is binary.
const SNIFFED_BYTES: usize = 8192;
/// Holds nearly every source file, so that most take one read and nothing is copied.
const FIRST_READ_BYTES: usize = 64 << 10;
/// Between two looks at the stop.
const STEP_BYTES: usize = 1 << 20;
/// A buffer that one large file has stretched is given back before the next.
const KEPT_BYTES: usize = 1 << 20;

/// What the first bytes of a file say about the rest.
enum Shape {
    /// Text, after a byte order mark of that length.
    Text(&'static Encoding, usize),
    Binary,
}

fn shape(bytes: &[u8]) -> Shape {
    let head = &bytes[..bytes.len().min(SNIFFED_BYTES)];
    // UTF-32 begins like UTF-16, and is text to nobody who reads this.
    if head.starts_with(&[0xff, 0xfe, 0, 0]) {
        return Shape::Binary;
    }
    if let Some((encoding, length)) = Encoding::for_bom(head)
        && encoding != UTF_8
    {
        return Shape::Text(encoding, length);
    }
    if head.contains(&0) {
        return Shape::Binary;
    }
    let mark = if head.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    Shape::Text(UTF_8, mark)
}

/// Why there is no text.
#[derive(Debug)]
pub(crate) enum Trouble {
    Binary,
    Stopped(StopReason),
    Io(io::Error),
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Trouble {
        Trouble::Io(error)
    }
}

/// What is known of a file after it was decoded.
#[derive(Debug)]
pub(crate) struct Decoding {
    pub(crate) encoding: &'static Encoding,
    /// Some bytes were not valid in the encoding.
    pub(crate) lossy: bool,
    /// The end of the file was reached.
    pub(crate) complete: bool,
    /// It was not, because the deadline came first.
    pub(crate) is_late: bool,
}

impl Decoding {
    /// The encoding's label where it is worth telling.
    pub(crate) fn label(&self) -> Option<String> {
        (self.encoding != UTF_8).then(|| self.encoding.name().to_ascii_lowercase())
    }
}

/// Hands the decoded text of a file of any length to `sink`, piece by piece, until the file ends, `sink`
/// returns false, `budget` bytes were read, or the deadline is over.
pub(crate) fn decode(
    mut file: impl Read,
    budget: u64,
    stop: &Stop,
    mut sink: impl FnMut(&str) -> bool,
) -> Result<Decoding, Trouble> {
    let mut raw = vec![0; FIRST_READ_BYTES];
    let mut filled = read_some(&mut file, &mut raw, SNIFFED_BYTES)?;
    let Shape::Text(encoding, mark) = shape(&raw[..filled]) else {
        return Err(Trouble::Binary);
    };
    let mut decoding = Decoding { encoding, lossy: false, complete: false, is_late: false };
    let mut decoder = encoding.new_decoder_without_bom_handling();
    // Room for the longest that one piece can become, so that a piece is decoded in one call.
    let mut text =
        String::with_capacity(decoder.max_utf8_buffer_length(raw.len()).unwrap_or(raw.len() * 4));
    let mut start = mark;
    let mut total = 0_u64;
    loop {
        let last = filled == 0;
        let mut piece = &raw[start.min(filled)..filled];
        loop {
            text.clear();
            let (result, read, replaced) = decoder.decode_to_string(piece, &mut text, last);
            decoding.lossy |= replaced;
            if !text.is_empty() && !sink(&text) {
                return Ok(decoding);
            }
            piece = &piece[read..];
            if result == CoderResult::InputEmpty {
                break;
            }
        }
        if last {
            decoding.complete = true;
            return Ok(decoding);
        }
        total += filled as u64;
        if total >= budget {
            return Ok(decoding);
        }
        match stop.reason() {
            Some(StopReason::Cancelled) => return Err(Trouble::Stopped(StopReason::Cancelled)),
            Some(StopReason::Deadline) => {
                decoding.is_late = true;
                return Ok(decoding);
            }
            None => {}
        }
        start = 0;
        filled = read_some(&mut file, &mut raw, 1)?;
    }
}

/// Hands a text that is in memory to `sink`, piece by piece and under the same bounds as [`decode`].
pub(crate) fn feed(
    text: &str,
    budget: u64,
    stop: &Stop,
    mut sink: impl FnMut(&str) -> bool,
) -> Result<Decoding, Trouble> {
    let mut decoding = Decoding { encoding: UTF_8, lossy: false, complete: false, is_late: false };
    let mut total = 0_u64;
    let mut rest = text;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.floor_char_boundary(FIRST_READ_BYTES));
        if total >= budget || !sink(piece) {
            return Ok(decoding);
        }
        total += piece.len() as u64;
        rest = after;
        match stop.reason() {
            Some(StopReason::Cancelled) => return Err(Trouble::Stopped(StopReason::Cancelled)),
            Some(StopReason::Deadline) if !rest.is_empty() => {
                decoding.is_late = true;
                return Ok(decoding);
            }
            Some(StopReason::Deadline) | None => {}
        }
    }
    decoding.complete = true;
    Ok(decoding)
}

/// Reads at least `least` bytes unless the file ends before.
fn read_some(file: &mut impl Read, buffer: &mut [u8], least: usize) -> io::Result<usize> {
    let mut filled = 0;
    while filled < least {
        match file.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// A file in memory.
#[derive(Debug)]
pub(crate) enum Loaded<'b> {
    /// All of it, without byte order mark. UTF-16 was decoded; anything else is as it was in the file.
    Whole(&'b [u8]),
    /// The first bytes, as they are, of a file that is longer than the limit.
    Head(&'b [u8]),
}

impl<'b> Loaded<'b> {
    /// A text that is in memory already.
    pub(crate) fn text(text: &'b str, limit: usize) -> Loaded<'b> {
        let bytes = text.as_bytes();
        if bytes.len() <= limit { Loaded::Whole(bytes) } else { Loaded::Head(bytes) }
    }
}

/// Memory that one thread loads file after file into.
#[derive(Debug)]
pub(crate) struct Buffer {
    /// Zeroed once and then written over; `load` says how much of it counts.
    bytes: Vec<u8>,
    decoded: String,
}

impl Buffer {
    pub(crate) fn new() -> Buffer {
        Buffer { bytes: vec![0; FIRST_READ_BYTES], decoded: String::new() }
    }

    /// Loads a file of at most `limit` bytes, or the head of a longer one.
    pub(crate) fn load(
        &mut self,
        mut file: impl Read,
        limit: usize,
        stop: &Stop,
    ) -> Result<Loaded<'_>, Trouble> {
        if self.bytes.len() > KEPT_BYTES {
            self.bytes.truncate(KEPT_BYTES);
            self.bytes.shrink_to_fit();
            self.decoded = String::new();
        }
        let mut filled = 0;
        let mut shape_of_head = None;
        loop {
            let end = self.bytes.len().min(filled + STEP_BYTES);
            let count = match file.read(&mut self.bytes[filled..end]) {
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.into()),
            };
            filled += count;
            if shape_of_head.is_none() && (count == 0 || filled >= SNIFFED_BYTES) {
                let found = shape(&self.bytes[..filled]);
                if matches!(found, Shape::Binary) {
                    return Err(Trouble::Binary);
                }
                shape_of_head = Some(found);
            }
            if count == 0 {
                break;
            }
            if filled > limit {
                return Ok(Loaded::Head(&self.bytes[..filled]));
            }
            if filled == self.bytes.len() {
                self.bytes.resize(filled * 2, 0);
            }
            if filled > FIRST_READ_BYTES
                && let Some(reason) = stop.reason()
            {
                return Err(Trouble::Stopped(reason));
            }
        }
        let Some(Shape::Text(encoding, mark)) = shape_of_head else {
            return Err(Trouble::Binary);
        };
        let text = &self.bytes[mark..filled];
        if encoding == UTF_8 {
            return Ok(Loaded::Whole(text));
        }
        let (decoded, _) = encoding.decode_without_bom_handling(text);
        self.decoded.clear();
        self.decoded.push_str(&decoded);
        Ok(Loaded::Whole(self.decoded.as_bytes()))
    }
}

/// A reader that ends with an error when the call has to end, and with the file's end at its budget.
pub(crate) struct Stoppable<'s, R> {
    pub(crate) reader: R,
    pub(crate) stop: &'s Stop,
    pub(crate) budget: u64,
}

impl<R: Read> Read for Stoppable<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stop.reason().is_some() {
            return Err(io::Error::from(io::ErrorKind::TimedOut));
        }
        let most =
            usize::try_from(self.budget).unwrap_or(usize::MAX).min(buffer.len()).min(STEP_BYTES);
        let count = self.reader.read(&mut buffer[..most])?;
        self.budget -= count as u64;
        Ok(count)
    }
}
