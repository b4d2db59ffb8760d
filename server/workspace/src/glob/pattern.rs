//! A glob as a model writes it, brought into the one form that paths are matched against.
//!
//! `*` stays within one component, `**` crosses them, a glob without `/` means names at any depth, one that
//! ends in `/` means everything below. A `[` may also be meant literally, as in `app/[slug]/page.tsx`, so a
//! path matches if it does either way.

use std::path::Path;

use dsh_protocol::workspace::ToolErrorCode;
use globset::{GlobBuilder, GlobMatcher};

use crate::{Failure, Folder};

/// Longer patterns are refused before they are parsed.
const MAX_GLOB_BYTES: usize = 4096;
const META: [char; 5] = ['*', '?', '[', '{', '\\'];

/// A compiled glob.
#[derive(Debug)]
pub(crate) struct Pattern {
    globs: Vec<GlobMatcher>,
    /// Matches names instead of paths.
    is_name: bool,
}

impl Pattern {
    fn new(glob: &str, is_name: bool) -> Result<Pattern, Failure> {
        let literal = glob
            .contains('[')
            .then(|| glob.replace(']', "\u{0}").replace('[', "[[]").replace('\u{0}', "[]]"));
        let given = compile(glob);
        let globs = match (given, literal.map(|glob| compile(&glob))) {
            (Ok(given), Some(Ok(literal))) => vec![literal, given],
            (Ok(given), Some(Err(_)) | None) => vec![given],
            (Err(_), Some(Ok(literal))) => vec![literal],
            (Err(error), Some(Err(_)) | None) => {
                return Err(invalid(format!(
                    "not a valid glob: {}; escape special characters with `\\`",
                    error.kind()
                )));
            }
        };
        Ok(Pattern { globs, is_name })
    }

    /// Whether a path, relative to where the pattern starts, matches.
    pub(crate) fn matches(&self, path: &str) -> bool {
        let path = if self.is_name { path.rsplit('/').next().unwrap_or(path) } else { path };
        self.globs.iter().any(|glob| glob.is_match(path))
    }
}

/// A glob split into the folder to start in and what to match below it.
#[derive(Debug)]
pub(crate) struct Start {
    /// The leading components without special characters, below the `path` that was given.
    pub(crate) folder: String,
    pub(crate) pattern: Pattern,
    /// The glob as a whole, if it could be the name of one file.
    pub(crate) literal: Option<String>,
    /// The glob was absolute: it starts at the workspace folder whatever `path` is.
    pub(crate) is_rooted: bool,
    /// How many folders below `folder` can hold a match; nothing if any number.
    pub(crate) max_depth: Option<usize>,
}

impl Folder {
    /// Reads the pattern of `glob`.
    pub(crate) fn start(&self, glob: &str) -> Result<Start, Failure> {
        let (glob, is_rooted) = self.checked(glob)?;
        let is_anchored = is_rooted || glob.starts_with("./");
        let mut parts: Vec<&str> =
            glob.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
        // What names a folder means everything in it.
        if parts.is_empty() || glob.ends_with('/') || glob.ends_with("/.") {
            parts.push("**");
        }
        let is_name = parts.len() == 1 && !is_anchored && parts[0] != "**";
        let fixed = parts[..parts.len() - 1].iter().take_while(|part| !part.contains(META)).count();
        let rest = &parts[fixed..];
        let is_bounded =
            !is_name && !rest.iter().any(|part| part.contains("**") || part.contains('{'));
        Ok(Start {
            folder: parts[..fixed].join("/"),
            pattern: Pattern::new(&rest.join("/"), is_name)?,
            literal: (!is_name).then(|| parts.join("/")),
            is_rooted,
            max_depth: is_bounded.then(|| rest.len() - 1),
        })
    }

    /// Reads the `include` of `grep`.
    pub(crate) fn include(&self, glob: &str) -> Result<Pattern, Failure> {
        if glob.starts_with('!') {
            return Err(invalid(
                "include cannot exclude: give a glob that files must match".to_owned(),
            ));
        }
        if has_bare_comma(glob) {
            return Err(invalid(
                "include takes one glob; write alternatives as `*.{ts,tsx}`".to_owned(),
            ));
        }
        let (glob, is_rooted) = self.checked(glob)?;
        let is_anchored = is_rooted || glob.starts_with("./");
        let mut parts: Vec<&str> =
            glob.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
        if parts.is_empty() || glob.ends_with('/') {
            parts.push("**");
        }
        Pattern::new(&parts.join("/"), parts.len() == 1 && !is_anchored)
    }

    /// Refuses what leads out of the folder, and takes the folder's own path off an absolute glob.
    fn checked<'g>(&self, glob: &'g str) -> Result<(&'g str, bool), Failure> {
        if glob.trim().is_empty() {
            return Err(invalid("the glob is empty; `**` means every file".to_owned()));
        }
        if glob.len() > MAX_GLOB_BYTES {
            return Err(invalid(format!(
                "the glob is longer than {MAX_GLOB_BYTES} bytes; match less"
            )));
        }
        if glob.contains('\0') {
            return Err(invalid(
                "the glob holds a NUL character, which no file name can".to_owned(),
            ));
        }
        if glob.split(['/', '{', '}', ',']).any(|part| part == "..") {
            return Err(leaves());
        }
        if !glob.starts_with('/') && !Path::new(glob).is_absolute() {
            return Ok((glob, false));
        }
        let roots = self.names();
        let below = roots.iter().find_map(|root| {
            let rest = glob.strip_prefix(root.to_str()?)?;
            (rest.is_empty() || rest.starts_with('/') || root.parent().is_none()).then_some(rest)
        });
        below.map(|glob| (glob, true)).ok_or_else(leaves)
    }
}

fn compile(glob: &str) -> Result<GlobMatcher, globset::Error> {
    Ok(GlobBuilder::new(glob).literal_separator(true).build()?.compile_matcher())
}

/// A comma outside braces and brackets.
fn has_bare_comma(glob: &str) -> bool {
    let mut depth = 0_usize;
    for character in glob.chars() {
        match character {
            '{' | '[' => depth += 1,
            '}' | ']' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => return true,
            _ => {}
        }
    }
    false
}

fn invalid(message: String) -> Failure {
    Failure::new(ToolErrorCode::SearchInvalidPattern, message)
}

fn leaves() -> Failure {
    invalid(
        "the glob leads outside the workspace folder; use one that stays inside, without `..`"
            .to_owned(),
    )
}
