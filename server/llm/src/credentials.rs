//! Credentials: looked up by name for each request, never kept, never shown.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;

use dsh_kernel::service::Key;

/// The service's name.
pub const CREDENTIALS: Key<dyn Credentials> = Key::new("credentials");

/// Finds credentials.
pub trait Credentials: Send + Sync {
    /// The credential of a name, as it is now.
    fn resolve(&self, name: &str) -> Result<Secret, CredentialError>;

    /// The names of those that are kept here, in order.
    fn names(&self) -> Result<Vec<String>, CredentialError> {
        Ok(Vec::new())
    }

    /// Keeps one, in place of the one of that name.
    fn set(&self, name: &str, value: &str) -> Result<(), CredentialError> {
        let _ = (name, value);
        Err(CredentialError::NotKept)
    }

    /// Forgets one.
    fn delete(&self, name: &str) -> Result<(), CredentialError> {
        Err(CredentialError::Missing(name.to_owned()))
    }
}

/// Why there is no credential. The texts name it and say nothing of its value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CredentialError {
    /// Nobody set it.
    #[error("set {0}")]
    Missing(String),
    /// Its value cannot stand in a header.
    #[error("{0} holds a blank or a character that no key has; set it again without")]
    Invalid(String),
    /// The file that keeps them cannot be used; says which and why.
    #[error("{0}")]
    File(String),
    /// They cannot be kept here.
    #[error("credentials come from the environment alone")]
    NotKept,
}

/// The value of a credential: printable ASCII without blanks. It is no part of any text that is made of it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// A credential from what a person set. White space around it, such as the newline of a file, is dropped.
    pub fn parse(name: &str, value: &str) -> Result<Self, CredentialError> {
        let value = value.trim();
        if value.is_empty() {
            return Err(CredentialError::Missing(name.to_owned()));
        }
        if !value.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(CredentialError::Invalid(name.to_owned()));
        }
        Ok(Self(value.to_owned()))
    }

    /// The value itself, for a header and for nothing else.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// A text from outside, such as a provider's error, without the credential.
    pub fn redact(&self, text: &str) -> String {
        text.replace(&self.0, "[key]")
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret([key])")
    }
}

/// Variables that come from outside the configuration. A map stands in for the process in tests.
pub trait Environment: Send + Sync {
    /// The value of a variable, if it is set.
    fn variable(&self, name: &str) -> Option<OsString>;
}

/// The variables of this process.
pub struct ProcessEnvironment;

impl Environment for ProcessEnvironment {
    fn variable(&self, name: &str) -> Option<OsString> {
        // Names that the system cannot look up are not set; some of them would make it panic.
        let possible = !name.is_empty() && !name.contains(['=', '\0']);
        possible.then(|| std::env::var_os(name)).flatten()
    }
}

impl<E: Environment + ?Sized> Environment for &E {
    fn variable(&self, name: &str) -> Option<OsString> {
        (**self).variable(name)
    }
}

impl Environment for BTreeMap<String, String> {
    fn variable(&self, name: &str) -> Option<OsString> {
        self.get(name).map(OsString::from)
    }
}

/// Credentials that are the environment variables of their names.
pub struct FromEnvironment<E>(pub E);

impl<E: Environment> Credentials for FromEnvironment<E> {
    fn resolve(&self, name: &str) -> Result<Secret, CredentialError> {
        let value = self.0.variable(name);
        let value = value.ok_or_else(|| CredentialError::Missing(name.to_owned()))?;
        let value =
            value.into_string().map_err(|_not_utf8| CredentialError::Invalid(name.to_owned()))?;
        Secret::parse(name, &value)
    }
}

#[cfg(test)]
mod tests;
