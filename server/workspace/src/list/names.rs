//! The names of a folder's files, in one piece of memory.

use std::ffi::OsStr;

/// What ends a name: no name has it.
#[cfg(unix)]
const END: u8 = 0;

/// Names in the order in which they were given.
#[derive(Debug, Default)]
pub(crate) struct Names {
    #[cfg(unix)]
    bytes: Box<[u8]>,
    #[cfg(not(unix))]
    names: Box<[std::ffi::OsString]>,
}

/// Some names that follow one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    start: usize,
    end: usize,
}

#[cfg(unix)]
impl Names {
    pub(crate) fn new<'n>(names: impl Iterator<Item = &'n OsStr>) -> Names {
        use std::os::unix::ffi::OsStrExt;
        let mut bytes = Vec::new();
        for name in names {
            bytes.extend_from_slice(name.as_bytes());
            bytes.push(END);
        }
        Names { bytes: bytes.into() }
    }

    /// All names, in spans of at most `most` of them.
    pub(crate) fn spans(&self, most: usize) -> Vec<Span> {
        let mut spans = Vec::new();
        let (mut start, mut count) = (0, 0);
        for (at, &byte) in self.bytes.iter().enumerate() {
            count += usize::from(byte == END);
            if count == most {
                spans.push(Span { start, end: at + 1 });
                (start, count) = (at + 1, 0);
            }
        }
        if count > 0 {
            spans.push(Span { start, end: self.bytes.len() });
        }
        spans
    }

    pub(crate) fn iter(&self, span: Span) -> impl Iterator<Item = &OsStr> {
        use std::os::unix::ffi::OsStrExt;
        let bytes = &self.bytes[span.start..span.end];
        let whole = bytes.strip_suffix(&[END]);
        whole.into_iter().flat_map(|names| names.split(|&byte| byte == END)).map(OsStr::from_bytes)
    }

    /// About how much memory they take.
    pub(crate) fn weight(&self) -> usize {
        self.bytes.len()
    }
}

#[cfg(not(unix))]
impl Names {
    pub(crate) fn new<'n>(names: impl Iterator<Item = &'n OsStr>) -> Names {
        Names { names: names.map(OsStr::to_owned).collect() }
    }

    /// All names, in spans of at most `most` of them.
    pub(crate) fn spans(&self, most: usize) -> Vec<Span> {
        let count = self.names.len();
        (0..count).step_by(most).map(|start| Span { start, end: count.min(start + most) }).collect()
    }

    pub(crate) fn iter(&self, span: Span) -> impl Iterator<Item = &OsStr> {
        self.names[span.start..span.end].iter().map(|name| name.as_os_str())
    }

    /// About how much memory they take.
    pub(crate) fn weight(&self) -> usize {
        self.names.iter().map(|name| name.len() + 48).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_out_as_they_went_in() {
        for given in [vec![], vec!["a"], vec!["b", "a c", "é", "d"]] {
            let given: Vec<&OsStr> = given.into_iter().map(OsStr::new).collect();
            let names = Names::new(given.iter().copied());
            for most in [1, 3, 4, 100] {
                let spans = names.spans(most);
                assert_eq!(spans.len(), given.len().div_ceil(most));
                let out: Vec<&OsStr> = spans.iter().flat_map(|&span| names.iter(span)).collect();
                assert_eq!(out, given);
            }
        }
    }
}
