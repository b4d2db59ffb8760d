//! From a path as somebody wrote it to a path relative to the folder, by its letters alone.
//!
//! `..` takes back the component before it, whatever that is on disk, so a path means the same to every
//! tool and to the person who reads it. `~`, `$` and `%` are letters like any other.

use std::path::{Component, Path, PathBuf};

use dsh_protocol::workspace::ToolErrorCode;

use crate::{Failure, outside};

/// Longer paths exist on no system that runs this.
const MAX_PATH_BYTES: usize = 4096;

/// A path inside the folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Spelling {
    /// Normalized, without `.` and `..`; empty for the folder itself.
    pub(crate) relative: PathBuf,
    /// The path was written as a folder's: it ends in `/` or `/.`.
    pub(crate) is_folder: bool,
}

impl Spelling {
    /// Reads `text`. `roots` are the absolute paths that name the folder.
    pub(crate) fn parse(text: &str, roots: &[PathBuf]) -> Result<Spelling, Failure> {
        if text.trim().is_empty() {
            return Err(not_found("the path is empty; name a file of the workspace"));
        }
        if text.contains('\0') {
            return Err(not_found("the path holds a NUL character, which no file name can"));
        }
        let decoded = uri_path(text)?;
        let text = decoded.as_deref().unwrap_or(text);
        // Two slashes name a host on some systems; no path of ours needs them.
        if text.starts_with("//")
            || (cfg!(windows) && text.starts_with(['\\', '/']) && !Path::new(text).is_absolute())
        {
            return Err(outside());
        }
        let relative = normalize(Path::new(text), roots)?;
        if text.len() > MAX_PATH_BYTES {
            return Err(not_found("the path is longer than any file name can be"));
        }
        let is_folder = text.ends_with('/') || text.ends_with("/.") || text.ends_with("/..");
        Ok(Spelling { relative, is_folder })
    }
}

/// `path` relative to the folder, without `.` and `..`, whichever of the roots it begins with.
pub(crate) fn normalize(path: &Path, roots: &[PathBuf]) -> Result<PathBuf, Failure> {
    let mut normal = PathBuf::new();
    let mut depth = 0_usize;
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::Normal(name) => {
                normal.push(name);
                depth += 1;
            }
            Component::ParentDir => {
                depth = depth.checked_sub(1).ok_or_else(outside)?;
                normal.pop();
            }
            Component::RootDir => normal.push(component.as_os_str()),
            Component::Prefix(_) if path.is_absolute() => normal.push(component.as_os_str()),
            // `C:name` depends on a current folder that the reader of the path cannot see.
            Component::Prefix(_) => return Err(outside()),
        }
    }
    if !normal.has_root() {
        return Ok(normal);
    }
    let inside = roots.iter().find_map(|root| normal.strip_prefix(root).ok());
    inside.map(Path::to_owned).ok_or_else(outside)
}

/// The path of a `file:` URI; nothing if `text` is none.
fn uri_path(text: &str) -> Result<Option<String>, Failure> {
    let Some(rest) =
        text.get(..7).filter(|scheme| scheme.eq_ignore_ascii_case("file://")).map(|_| &text[7..])
    else {
        return Ok(None);
    };
    let rest = rest.strip_prefix("localhost").unwrap_or(rest);
    if !rest.starts_with('/') {
        return Err(outside());
    }
    let rest = if cfg!(windows) { &rest[1..] } else { rest };
    let path = percent_decoded(rest)
        .ok_or_else(|| not_found("the file uri is not valid; give a plain path"))?;
    if path.contains('\0') {
        return Err(not_found("the path holds a NUL character, which no file name can"));
    }
    Ok(Some(path))
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let high = char::from(rest.next()?).to_digit(16)?;
        let low = char::from(rest.next()?).to_digit(16)?;
        bytes.push(u8::try_from(high * 16 + low).ok()?);
    }
    String::from_utf8(bytes).ok()
}

fn not_found(message: &str) -> Failure {
    Failure::new(ToolErrorCode::FsNotFound, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<&str, ToolErrorCode>) {
        let roots = ["/real/w", "/link/w"].map(PathBuf::from);
        let result =
            Spelling::parse(text, &roots).map(|it| it.relative.to_str().unwrap().to_owned());
        assert_eq!(result.as_deref().map_err(|it| it.code), expected, "{text:?}");
    }

    #[test]
    fn a_path_is_read_by_its_letters_alone() {
        for (text, relative) in [
            ("a.txt", "a.txt"),
            ("./a//b/./c", "a/b/c"),
            ("nope/../a.txt", "a.txt"),
            (".", ""),
            ("/real/w", ""),
            ("/real/w/a", "a"),
            ("/link/w/a", "a"),
            ("/real/x/../w/a", "a"),
            ("file:///real/w/a%20b", "a b"),
            ("FILE://localhost/real/w/a", "a"),
            ("~/a", "~/a"),
            ("$HOME", "$HOME"),
            ("%2e%2e/k", "%2e%2e/k"),
            ("-rf", "-rf"),
        ] {
            check(text, Ok(relative));
        }
    }

    #[test]
    fn a_path_that_leaves_the_folder_is_outside() {
        for text in [
            "..",
            "../k",
            "nope/../../k",
            "a/../../w/a",
            "/",
            "/etc/passwd",
            "/real/w/../../etc/passwd",
            "/real/wider/a",
            "//real/w/a",
            "//host/share",
            "file:///etc/passwd",
            "file://host/real/w/a",
            "file:///real/w/%2e%2e/k",
        ] {
            check(text, Err(ToolErrorCode::FsSandboxDenied));
        }
    }

    #[test]
    fn a_path_that_no_file_can_have_is_not_found() {
        let long = "x/".repeat(2500);
        for text in ["", "  ", "a\0b", "file:///real/w/%00", "file:///real/w/%zz", long.as_str()] {
            check(text, Err(ToolErrorCode::FsNotFound));
        }
    }
}
