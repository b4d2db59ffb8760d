//! `credentials.yml`: a mapping from names to values that its owner alone can read.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write as _};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use dsh_config::source::Source;
use dsh_config::yaml::{self, Content};
use dsh_llm::credentials::CredentialError;

/// More is no file of keys.
const MAX_BYTES: u64 = 1024 * 1024;

/// Its entries; none when there is no file. Nothing is taken from a file that others can read.
pub(super) fn read(path: &Path) -> Result<BTreeMap<String, String>, CredentialError> {
    let refused = |why: &str| CredentialError::File(format!("`{}` {why}", path.display()));
    // What is no regular file may have no end.
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(error) => return Err(refused(&format!("cannot be read: {error}"))),
    };
    if !metadata.is_file() || metadata.len() > MAX_BYTES {
        return Err(refused("is no file of credentials"));
    }
    let unreadable = |error: std::io::Error| refused(&format!("cannot be read: {error}"));
    let mut file = File::open(path).map_err(unreadable)?;
    if file.metadata().map_err(unreadable)?.mode() & 0o077 != 0 {
        return Err(refused("can be read by others; run `chmod 600` on it"));
    }
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(unreadable)?;
    entries(path, &text)
}

fn entries(path: &Path, text: &str) -> Result<BTreeMap<String, String>, CredentialError> {
    // No text of the file may appear in a message: it is made of secrets.
    let refused = |line: u32, why: &str| {
        CredentialError::File(format!("`{}`, line {line}: {why}", path.display()))
    };
    let source = Source::file(path.to_owned(), text);
    let root = yaml::parse(&source).map_err(|problem| {
        refused(problem.line.unwrap_or(1), "is no YAML of the form `NAME: value`")
    })?;
    let Some(root) = root else { return Ok(BTreeMap::new()) };
    let Content::Map(pairs) = root.value else {
        return Err(refused(root.place.line, "expected `NAME: value`"));
    };
    let mut entries = BTreeMap::new();
    for pair in pairs {
        let value = match pair.value.value {
            Content::String(value) => value,
            Content::Number(value) => value.to_string(),
            Content::Null | Content::Bool(_) | Content::List(_) | Content::Map(_) => {
                return Err(refused(pair.place.line, "a value must be text; put it in quotes"));
            }
        };
        entries.insert(pair.key, value);
    }
    Ok(entries)
}

/// Replaces the file whole, readable by its owner alone.
pub(super) fn write(
    path: &Path,
    entries: &BTreeMap<String, String>,
) -> Result<(), CredentialError> {
    let mut text = String::new();
    for (name, value) in entries {
        // JSON's strings are YAML's.
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let _ = writeln!(text, "{}: {}", quoted(name), quoted(value));
    }
    let written = || -> std::io::Result<()> {
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let folder = path.parent().ok_or(ErrorKind::NotFound)?;
        if !folder.exists() {
            fs::create_dir_all(folder)?;
            fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
        }
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    };
    written().map_err(|error| {
        CredentialError::File(format!("`{}` cannot be written: {error}", path.display()))
    })
}
