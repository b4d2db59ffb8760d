//! The generated files: what each should hold, and how it differs from what is committed.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};

use crate::page::Page;
use crate::wire::Wire;
use crate::{lua, reference, typescript};

/// How many lines of each side a difference shows.
const EXCERPT_LINES: usize = 8;

/// One generated file.
pub(crate) struct File {
    path: PathBuf,
    text: String,
}

/// Every generated file with the text it should have. `protocol` is the folder of the `dsh-protocol` crate.
pub(crate) fn generate(protocol: &Path) -> Result<Vec<File>> {
    let document = dsh_protocol::schema::document();
    let wire = Wire::read(&document).context("the schema has a form that no writer knows")?;
    let json = format!("{}\n", serde_json::to_string_pretty(&document)?);
    let hash = hex(&Sha256::digest(json.as_bytes()));
    let readme = protocol.join("README.md");
    let old_readme =
        fs::read_to_string(&readme).with_context(|| format!("reading {}", readme.display()))?;
    let file = |name: &str, text: String| File { path: protocol.join(name), text };
    Ok(vec![
        file("generated/protocol.gen.lua", lua::write(&wire, &hash)),
        file("generated/protocol.gen.ts", typescript::write(&wire, &hash)),
        file("schema/protocol.schema.json", json),
        file("schema/protocol.sha256", format!("{hash}\n")),
        file("README.md", reference::splice(&old_readme, &wire)?),
    ])
}

impl File {
    /// Writes the file if it is stale and says whether it was.
    pub(crate) fn write(&self) -> Result<bool> {
        let stale = self.committed()? != self.text;
        if stale {
            if let Some(folder) = self.path.parent() {
                fs::create_dir_all(folder)?;
            }
            fs::write(&self.path, &self.text)
                .with_context(|| format!("writing {}", self.path.display()))?;
        }
        Ok(stale)
    }

    /// Fails with an excerpt of the difference if the file is stale.
    pub(crate) fn check(&self) -> Result<()> {
        let committed = self.committed()?;
        if committed == self.text {
            return Ok(());
        }
        bail!("{} is stale:\n{}", self.path.display(), excerpt(&committed, &self.text));
    }

    /// The path, for messages.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn committed(&self) -> Result<String> {
        if !self.path.exists() {
            return Ok(String::new());
        }
        fs::read_to_string(&self.path).with_context(|| format!("reading {}", self.path.display()))
    }
}

/// The lines between the equal beginning and the equal end of two texts, the first few of each side.
fn excerpt(committed: &str, generated: &str) -> String {
    let old: Vec<&str> = committed.lines().collect();
    let new: Vec<&str> = generated.lines().collect();
    let same_before = old.iter().zip(&new).take_while(|(left, right)| left == right).count();
    let same_after = old[same_before..]
        .iter()
        .rev()
        .zip(new[same_before..].iter().rev())
        .take_while(|(left, right)| left == right)
        .count();
    let mut out = Page::default();
    out.line(format!("@@ line {} @@", same_before + 1));
    side(&mut out, '-', &old[same_before..old.len() - same_after]);
    side(&mut out, '+', &new[same_before..new.len() - same_after]);
    out.into_text()
}

fn side(out: &mut Page, sign: char, lines: &[&str]) {
    for line in lines.iter().take(EXCERPT_LINES) {
        out.line(format!("{sign} {line}"));
    }
    if lines.len() > EXCERPT_LINES {
        out.line(format!("{sign} … {} more lines", lines.len() - EXCERPT_LINES));
    }
}

fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_shows_only_what_differs() {
        let excerpt = excerpt("one\ntwo\nthree\n", "one\n2\nand a half\nthree\n");
        assert_eq!(excerpt, "@@ line 2 @@\n- two\n+ 2\n+ and a half\n");
    }

    #[test]
    fn a_long_difference_is_cut_with_a_count() {
        let long = "line\n".repeat(EXCERPT_LINES + 3);
        assert!(excerpt("", &long).ends_with("+ … 3 more lines\n"));
    }

    #[test]
    fn every_generated_file_says_so_at_its_beginning() {
        let protocol = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        for file in generate(protocol).unwrap() {
            let is_marked = file.text.lines().take(3).any(|line| line.contains("@generated"));
            let has_room = !matches!(
                file.path.file_name().and_then(|name| name.to_str()).unwrap(),
                "README.md" | "protocol.sha256"
            );
            assert_eq!(is_marked, has_room, "{}", file.path.display());
        }
    }
}
