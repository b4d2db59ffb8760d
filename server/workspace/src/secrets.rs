//! Names that look like secrets, which no tool reads, searches or lists.

use std::path::Path;

use dsh_protocol::workspace::ToolErrorCode;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::Failure;

/// What is denied when nobody configures anything else.
const DEFAULT: [&str; 21] = [
    ".env",
    ".env.*",
    "*.env",
    ".envrc",
    "!.env*.example",
    "!.env*.sample",
    "!.env*.template",
    "id_rsa*",
    "id_ecdsa*",
    "id_ed25519*",
    "!id_rsa*.pub",
    "!id_ecdsa*.pub",
    "!id_ed25519*.pub",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
];

/// The default list, in the form of [`crate::Options::secrets`].
pub fn default_patterns() -> Vec<String> {
    DEFAULT.iter().map(|&pattern| pattern.to_owned()).collect()
}

/// A compiled list of secret names.
#[derive(Debug)]
pub(crate) struct Secrets {
    names: GlobSet,
    /// Whether the pattern at the same index takes names out.
    exceptions: Vec<bool>,
}

impl Secrets {
    pub(crate) fn new(patterns: &[String]) -> Result<Secrets, Failure> {
        let mut names = GlobSetBuilder::new();
        let mut exceptions = Vec::new();
        for pattern in patterns {
            let glob = pattern.strip_prefix('!').unwrap_or(pattern);
            let compiled = GlobBuilder::new(glob).case_insensitive(true).build();
            names.add(compiled.map_err(|error| invalid(pattern, &error))?);
            exceptions.push(pattern.starts_with('!'));
        }
        let names = names.build().map_err(|error| invalid("the list of secret names", &error))?;
        Ok(Secrets { names, exceptions })
    }

    /// Whether a single name, of a file or a folder, looks like a secret's.
    pub(crate) fn is_secret(&self, name: &Path) -> bool {
        if !self.names.is_match(name) {
            return false;
        }
        let decides = self.names.matches(name).last().copied();
        decides.is_some_and(|index| !self.exceptions[index])
    }

    /// Whether any component looks like a secret's name: what lies in a secret folder is secret too.
    pub(crate) fn holds(&self, path: &Path) -> bool {
        path.iter().any(|name| self.is_secret(Path::new(name)))
    }
}

fn invalid(pattern: &str, error: &globset::Error) -> Failure {
    let message = format!("{pattern}: {}; correct the list of secret names", error.kind());
    Failure::new(ToolErrorCode::InvalidArgs, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_told_from_names_of_their_examples() {
        let secrets = Secrets::new(&default_patterns()).unwrap();
        for name in [
            ".env",
            ".ENV",
            ".env.local",
            "prod.env",
            ".envrc",
            "id_rsa",
            "id_rsa_work",
            "id_ed25519",
            ".netrc",
            ".npmrc",
            ".pypirc",
            ".git-credentials",
            "server.pem",
            "Server.KEY",
            "x.p12",
            "x.pfx",
            ".env.example.local",
        ] {
            assert!(secrets.is_secret(Path::new(name)), "{name}");
        }
        for name in [
            ".env.example",
            ".env.local.sample",
            ".env.template",
            "id_rsa.pub",
            "id_ed25519.pub",
            "env",
            "key",
            "environment.rs",
            "id_rs",
            "monkey.rs",
            ".environment",
        ] {
            assert!(!secrets.is_secret(Path::new(name)), "{name}");
        }
        assert!(secrets.holds(Path::new("a/.env/b")));
    }
}
