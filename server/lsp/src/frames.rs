//! LSP's base protocol: header lines, a blank line, and as many bytes as `Content-Length` says.

use dsh_protocol::MAX_FRAME_BYTES;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt};

/// The longest header line, in bytes.
const MAX_LINE: u64 = 8 * 1024;

/// The most header lines of one frame.
const MAX_LINES: usize = 64;

/// Why the input cannot be read any further: where the next frame begins is not known.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FramingError {
    #[error("framing: `{0}` is not a header line; expected `Content-Length: BYTES`")]
    NotAHeader(String),
    #[error("framing: a frame has no `Content-Length`")]
    NoLength,
    #[error("framing: `Content-Length: {0}` is not a number of bytes")]
    BadLength(String),
    #[error("framing: two different `Content-Length` lines in one frame")]
    TwoLengths,
    #[error("framing: a frame of {0} bytes is larger than the limit of {MAX_FRAME_BYTES}")]
    TooLarge(u64),
    #[error("framing: `{0}` is not supported; frames are UTF-8 and not compressed")]
    Encoding(String),
    #[error("framing: the header is too long")]
    LongHeader,
    #[error("framing: the input ended in the middle of a frame")]
    CutOff,
    #[error("framing: {0}")]
    Io(#[from] std::io::Error),
}

/// Reads the next frame's body into `body`; `false` when the input has ended between two frames.
pub(crate) async fn read<R: AsyncBufRead + Unpin>(
    input: &mut R,
    body: &mut Vec<u8>,
) -> Result<bool, FramingError> {
    let Some(length) = header(input).await? else { return Ok(false) };
    body.clear();
    // Grows with what arrives: a large length alone costs nothing.
    let read = input.take(length).read_to_end(body).await?;
    if (read as u64) < length { Err(FramingError::CutOff) } else { Ok(true) }
}

/// Reads the header lines; the body's length, or `None` at the end of the input.
async fn header<R: AsyncBufRead + Unpin>(input: &mut R) -> Result<Option<u64>, FramingError> {
    let mut length = None;
    let mut line = Vec::new();
    for number in 0..MAX_LINES {
        line.clear();
        input.take(MAX_LINE).read_until(b'\n', &mut line).await?;
        if line.is_empty() && number == 0 {
            return Ok(None);
        }
        if !line.ends_with(b"\n") {
            let long = line.len() as u64 == MAX_LINE;
            return Err(if long { FramingError::LongHeader } else { FramingError::CutOff });
        }
        let text = String::from_utf8_lossy(line.trim_ascii_end()).into_owned();
        if text.is_empty() {
            if number == 0 {
                return Err(FramingError::NoLength);
            }
            return length.map(Some).ok_or(FramingError::NoLength);
        }
        field(&text, &mut length)?;
    }
    Err(FramingError::LongHeader)
}

/// Takes one header line. Names are read without regard to case; unknown ones are passed over.
fn field(text: &str, length: &mut Option<u64>) -> Result<(), FramingError> {
    let of_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let named = text.split_once(':').map(|(name, value)| (name.trim(), value.trim()));
    // Without this, JSON without a header is a header for ever: it has colons too.
    let named = named.filter(|(name, _)| !name.is_empty() && name.bytes().all(of_name));
    let Some((name, value)) = named else {
        return Err(FramingError::NotAHeader(text.chars().take(80).collect()));
    };
    let name = name.to_ascii_lowercase();
    match name.as_str() {
        "content-length" => {
            let bytes = parse_length(value)?;
            if length.replace(bytes).is_some_and(|other| other != bytes) {
                return Err(FramingError::TwoLengths);
            }
        }
        "content-type" => {
            let charset = value.to_ascii_lowercase();
            let charset =
                charset.split_once("charset=").map(|(_, charset)| charset.trim_matches('"'));
            if charset.is_some_and(|charset| !matches!(charset.trim(), "utf-8" | "utf8")) {
                return Err(FramingError::Encoding(text.chars().take(80).collect()));
            }
        }
        "content-encoding" if !value.eq_ignore_ascii_case("identity") => {
            return Err(FramingError::Encoding(text.chars().take(80).collect()));
        }
        _ => {}
    }
    Ok(())
}

/// Digits and nothing else: a sign or a prefix is a mistake that must not be guessed at.
fn parse_length(value: &str) -> Result<u64, FramingError> {
    let bad = || FramingError::BadLength(value.chars().take(80).collect());
    if value.is_empty() || !value.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(bad());
    }
    let bytes: u64 = value.parse().map_err(|_| bad())?;
    if bytes > MAX_FRAME_BYTES as u64 { Err(FramingError::TooLarge(bytes)) } else { Ok(bytes) }
}

/// Puts the header in front of a body.
pub(crate) fn write(body: &[u8], output: &mut Vec<u8>) {
    output.extend_from_slice(format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes());
    output.extend_from_slice(body);
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn all(mut input: &[u8]) -> Result<Vec<String>, String> {
        let mut bodies = Vec::new();
        let mut body = Vec::new();
        while read(&mut input, &mut body).await.map_err(|error| error.to_string())? {
            bodies.push(String::from_utf8(body.clone()).unwrap());
        }
        Ok(bodies)
    }

    #[tokio::test]
    async fn headers_are_read_as_clients_write_them() {
        for header in [
            "Content-Length: 2\r\n\r\n",
            "content-length:  2\r\n\r\n",
            "CONTENT-LENGTH:2\r\n\r\n",
            "Content-Length: 2\n\n",
            "Content-Type: application/vscode-jsonrpc; charset=utf8\r\nContent-Length: 2\r\n\r\n",
            "Content-Length: 2\r\nContent-Type: application/vscode-jsonrpc; charset=\"utf-8\"\r\n\r\n",
            "Content-Length: 2\r\nContent-Length: 2\r\nX-Other: y\r\n\r\n",
        ] {
            let input = format!("{header}{{}}{header}[]");
            assert_eq!(all(input.as_bytes()).await.unwrap(), ["{}", "[]"], "{header:?}");
        }
    }

    #[tokio::test]
    async fn what_is_no_frame_is_named() {
        let long = format!("Content-Length: {}\r\n\r\n", "9".repeat(400));
        for (input, named) in [
            ("Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", "two different"),
            ("nonsense\r\n\r\n", "`nonsense`"),
            ("{\"jsonrpc\":\"2.0\"}\n", "is not a header line"),
            (": 2\r\n\r\n{}", "is not a header line"),
            ("\r\n", "no `Content-Length`"),
            ("Foo: 1\r\n\r\n{}", "no `Content-Length`"),
            ("Content-Length: abc\r\n\r\n{}", "`Content-Length: abc`"),
            ("Content-Length: -1\r\n\r\n", "-1"),
            ("Content-Length: +5\r\n\r\n", "+5"),
            ("Content-Length: 0x10\r\n\r\n", "0x10"),
            ("Content-Length: 99999999999\r\n\r\n", "larger than the limit"),
            (long.as_str(), "not a number"),
            ("Content-Length: 2\r\nContent-Encoding: gzip\r\n\r\n{}", "gzip"),
            ("Content-Length: 2\r\nContent-Type: x; charset=utf-16\r\n\r\n{}", "utf-16"),
            ("Content-Length: 5\r\n\r\n{}", "ended in the middle"),
            ("Content-Length: 5\r\n", "ended in the middle"),
        ] {
            let error = all(input.as_bytes()).await.unwrap_err();
            assert!(error.starts_with("framing: ") && error.contains(named), "{input:?}: {error}");
        }
    }
}
