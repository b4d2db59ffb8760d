//! Row `credentials`: the `credentials` service. A credential is the variable of its name, else the entry of its
//! name in the home folder's `credentials.yml`.

use std::path::PathBuf;
use std::sync::Arc;

use dsh_agent::host::HOST;
use dsh_kernel::Context;
use dsh_kernel::plugin::{Plugin, StartError};
use dsh_llm::credentials::{
    CREDENTIALS, CredentialError, Credentials, Environment, FromEnvironment, Secret,
};
use futures_util::future::BoxFuture;
use serde_json::Value;

mod file;

pub(crate) const PLUGIN: Plugin =
    Plugin { inject: &["host"], provides: &["credentials"], ..Plugin::new("credentials", start) };

fn start(context: Context, _config: Value) -> BoxFuture<'static, Result<(), StartError>> {
    Box::pin(async move {
        let host = context.get(&HOST)?;
        let kept = Kept {
            environment: Arc::clone(&host.environment),
            file: host.home.join("credentials.yml"),
        };
        context.provide(&CREDENTIALS, Arc::new(kept) as Arc<dyn Credentials>)
    })
}

/// Credentials of the environment, and below them those of a file, which is read each time.
struct Kept {
    environment: Arc<dyn Environment>,
    file: PathBuf,
}

impl Credentials for Kept {
    fn resolve(&self, name: &str) -> Result<Secret, CredentialError> {
        match FromEnvironment(&*self.environment).resolve(name) {
            Err(CredentialError::Missing(_)) => {}
            found => return found,
        }
        let missing = || CredentialError::Missing(name.to_owned());
        let value = file::read(&self.file)?.remove(name).ok_or_else(missing)?;
        Secret::parse(name, &value)
    }

    fn names(&self) -> Result<Vec<String>, CredentialError> {
        Ok(file::read(&self.file)?.into_keys().collect())
    }

    fn set(&self, name: &str, value: &str) -> Result<(), CredentialError> {
        let secret = Secret::parse(name, value)?;
        let mut entries = file::read(&self.file)?;
        entries.insert(name.to_owned(), secret.expose().to_owned());
        file::write(&self.file, &entries)
    }

    fn delete(&self, name: &str) -> Result<(), CredentialError> {
        let mut entries = file::read(&self.file)?;
        if entries.remove(name).is_none() {
            return Err(CredentialError::Missing(name.to_owned()));
        }
        file::write(&self.file, &entries)
    }
}

#[cfg(test)]
mod tests;
