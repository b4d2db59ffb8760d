//! How frames are told apart on the two doors that use standard input and output.

/// What stands around a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// `dsh-ls rpc`: a line feed behind each.
    Lines,
    /// `dsh-ls lsp`: a `Content-Length` header before each.
    Lengths,
}

impl Framing {
    /// The bytes of a frame.
    pub fn frame(self, body: &str) -> Vec<u8> {
        match self {
            Self::Lines => format!("{body}\n").into_bytes(),
            Self::Lengths => format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes(),
        }
    }
}

/// Takes what a server writes apart, and accepts no other spelling than the documented one.
pub(crate) struct Splitter {
    framing: Framing,
    bytes: Vec<u8>,
}

impl Splitter {
    pub(crate) fn new(framing: Framing) -> Self {
        Self { framing, bytes: Vec::new() }
    }

    /// Takes a piece of the output and gives each frame that is whole by now.
    pub(crate) fn take(&mut self, piece: &[u8], mut found: impl FnMut(&[u8])) {
        self.bytes.extend_from_slice(piece);
        let mut start = 0;
        while let Some((body, end)) = self.next(start) {
            found(&self.bytes[body..end]);
            start = if self.framing == Framing::Lines { end + 1 } else { end };
        }
        self.bytes.drain(..start);
    }

    /// What is left and is no whole frame.
    pub(crate) fn rest(&self) -> &[u8] {
        &self.bytes
    }

    /// Where the next frame's body begins and ends.
    fn next(&self, start: usize) -> Option<(usize, usize)> {
        let rest = &self.bytes[start..];
        match self.framing {
            Framing::Lines => {
                let end = rest.iter().position(|byte| *byte == b'\n')?;
                Some((start, start + end))
            }
            Framing::Lengths => {
                let head = rest.strip_prefix(b"Content-Length: ")?;
                let digits = head.iter().take_while(|byte| byte.is_ascii_digit()).count();
                let length: usize = std::str::from_utf8(&head[..digits]).ok()?.parse().ok()?;
                let behind = head[digits..].strip_prefix(b"\r\n\r\n")?;
                let body = start + rest.len() - behind.len();
                (behind.len() >= length).then_some((body, body + length))
            }
        }
    }
}
